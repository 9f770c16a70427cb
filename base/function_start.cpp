// SPDX-License-Identifier: Apache-2.0
#include "base/function_start.hpp"

#include <dlfcn.h>
#include <dwarf.h>
#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string>

#include "fiber/byte_stream.hpp"
#include "fiber/error.hpp"

// The forms are those of the Linux Standard Base: .eh_frame_hdr is a sorted table of the
// functions in .eh_frame, which has a frame description (FDE) for each, and what several
// of them share (CIE).

namespace fiber {
namespace {

/// The head of .eh_frame_hdr in the only form that linkers write.
struct IndexHead {
  std::uint8_t version, frames_form, count_form, rows_form;
  std::int32_t frames;
  std::uint32_t count;
};
/// Both are distances from the head.
struct IndexRow {
  std::int32_t function, frame;
};

constexpr std::uint8_t size_bits = 7;

/// Returns the rows of the index, or none if it has another form.
std::span<const IndexRow> rows_of(std::span<const std::byte> index) {
  IndexHead head;
  if (index.size() < sizeof head)
    return {};
  std::memcpy(&head, index.data(), sizeof head);
  if (head.version != 1 || (head.frames_form & size_bits) != DW_EH_PE_udata4 ||
      head.count_form != DW_EH_PE_udata4 ||
      head.rows_form != (DW_EH_PE_datarel | DW_EH_PE_sdata4) ||
      head.count > (index.size() - sizeof head) / sizeof(IndexRow))
    return {};
  return {reinterpret_cast<const IndexRow*>(index.data() + sizeof head), head.count};
}

std::uint64_t read_leb128(Reader& reader) {
  std::uint64_t value = 0;
  for (unsigned shift = 0;; shift += 7) {
    auto byte = reader.get<std::uint8_t>();
    if (shift < 64)
      value |= std::uint64_t{byte & 0x7fU} << shift;
    if ((byte & 0x80U) == 0)
      return value;
  }
}

/// The bytes of a CIE or FDE behind its length; none if it has another form.
std::span<const std::byte> record_at(const std::byte* at) {
  std::uint32_t length = 0;
  std::memcpy(&length, at, sizeof length);
  if (length == UINT32_MAX) // A length of 64 bits follows.
    return {};
  return {at + sizeof length, length};
}

std::size_t size_of(std::uint8_t form) {
  switch (form & size_bits) {
  case DW_EH_PE_udata2:
    return 2;
  case DW_EH_PE_udata4:
    return 4;
  case DW_EH_PE_udata8:
    return 8;
  default:
    return sizeof(void*);
  }
}

/// What a CIE says of the FDEs that refer to it.
struct FrameForm {
  std::size_t address_bytes = sizeof(void*);
  bool augmented = false;
};

FrameForm read_form(Reader cie) {
  cie.get<std::uint32_t>(); // Says that it is a CIE.
  auto version = cie.get<std::uint8_t>();
  std::string augmentation;
  while (auto c = cie.get<char>())
    augmentation += c;
  read_leb128(cie); // Alignment of code, then of data.
  read_leb128(cie);
  if (version == 1) // The register of the return address.
    cie.get<std::uint8_t>();
  else
    read_leb128(cie);
  FrameForm form;
  if (!augmentation.starts_with('z'))
    return form;
  form.augmented = true;
  read_leb128(cie);
  for (auto c : augmentation.substr(1))
    if (c == 'R') {
      form.address_bytes = size_of(cie.get<std::uint8_t>());
      break;
    } else if (c == 'L') {
      cie.get<std::uint8_t>();
    } else if (c == 'P') {
      cie.raw(size_of(cie.get<std::uint8_t>()));
    }
  return form;
}

bool is_advance(std::uint8_t instruction) {
  return (instruction & 0xc0U) == DW_CFA_advance_loc ||
         instruction == DW_CFA_advance_loc1 || instruction == DW_CFA_advance_loc2 ||
         instruction == DW_CFA_advance_loc4;
}

/// Whether the FDE describes code that begins without a frame, as every function does: it
/// changes nothing before the first instruction has run.
bool begins_without_frame(const std::byte* at) {
  Reader fde(record_at(at));
  auto back = fde.get<std::uint32_t>();
  auto form = read_form(Reader(record_at(at + sizeof back - back)));
  fde.raw(2 * form.address_bytes); // Its first address, and its size.
  if (form.augmented)
    fde.raw(static_cast<std::size_t>(read_leb128(fde)));
  while (!fde.empty())
    if (auto instruction = fde.get<std::uint8_t>(); instruction != DW_CFA_nop)
      return is_advance(instruction);
  return true;
}

bool is_in_index(std::span<const std::byte> index, std::uintptr_t at) {
  auto begin = reinterpret_cast<std::uintptr_t>(index.data());
  auto rows = rows_of(index);
  auto distance = static_cast<std::int64_t>(at - begin);
  auto row = std::ranges::lower_bound(rows, distance, {}, &IndexRow::function);
  if (row == rows.end() || row->function != distance)
    return false;
  try {
    return begins_without_frame(index.data() + row->frame);
  } catch (const Error&) { // It has a form of its own.
    return false;
  }
}

/// Whether a dynamic symbol of type function has this address.
bool is_dynamic_function(std::uintptr_t at) {
  Dl_info info;
  void* found = nullptr;
  auto known = ::dladdr1(reinterpret_cast<void*>(at), &info, &found, RTLD_DL_SYMENT) != 0;
  auto* symbol = static_cast<const ElfW(Sym)*>(found);
  return known && symbol != nullptr &&
         reinterpret_cast<std::uintptr_t>(info.dli_saddr) == at &&
         ELF64_ST_TYPE(symbol->st_info) == STT_FUNC;
}

} // namespace

bool begins_function(const LoadedObject& object, std::uintptr_t at) {
  return object.has_code(at) &&
         (is_in_index(object.frame_index, at) || is_dynamic_function(at));
}

} // namespace fiber
