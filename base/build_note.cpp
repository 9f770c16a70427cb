// SPDX-License-Identifier: Apache-2.0
#include "base/build_note.hpp"

#include <elf.h>
#include <link.h>

#include <cstring>

namespace fiber {

std::span<const std::byte> find_build_id(std::span<const std::byte> notes) {
  auto aligned = [](std::size_t n) { return (n + 3) & ~std::size_t{3}; };
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) header;
    std::memcpy(&header, notes.data(), sizeof header);
    auto name_at = sizeof header;
    auto text_at = name_at + aligned(header.n_namesz);
    auto end = text_at + aligned(header.n_descsz);
    if (end > notes.size())
      break;
    if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == 4 &&
        std::memcmp(notes.data() + name_at, "GNU", 4) == 0)
      return notes.subspan(text_at, header.n_descsz);
    notes = notes.subspan(end);
  }
  return {};
}

} // namespace fiber
