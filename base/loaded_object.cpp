// SPDX-License-Identifier: Apache-2.0
#include "base/loaded_object.hpp"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <mutex>

#include "base/build_note.hpp"
#include "base/never_destroyed.hpp"

namespace fiber {
namespace {

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool is_in(const std::vector<std::pair<std::uintptr_t, std::uintptr_t>>& ranges,
           std::uintptr_t at) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](auto& range) { return at >= range.first && at < range.second; });
}

int add_object(dl_phdr_info* info, std::size_t, void* list) {
  auto& objects = *static_cast<std::vector<LoadedObject>*>(list);
  LoadedObject object;
  object.path = info->dlpi_name;
  object.base = info->dlpi_addr;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    auto& segment = info->dlpi_phdr[i];
    auto begin = info->dlpi_addr + segment.p_vaddr;
    std::span bytes(reinterpret_cast<const std::byte*>(begin), segment.p_memsz);
    if (segment.p_type == PT_LOAD)
      ((segment.p_flags & PF_X) != 0 ? object.code : object.data)
        .emplace_back(begin, begin + segment.p_memsz);
    if (segment.p_type == PT_NOTE && object.build.empty())
      object.build = text_of(find_build_id(bytes));
    if (segment.p_type == PT_GNU_EH_FRAME)
      object.frame_index = bytes;
  }
  objects.push_back(std::move(object));
  return 0;
}

/// Returns a counter that grows whenever an object is loaded or unloaded.
unsigned long long object_changes() {
  unsigned long long changes = 0;
  dl_iterate_phdr(
    [](dl_phdr_info* info, std::size_t, void* sum) {
      *static_cast<unsigned long long*>(sum) = info->dlpi_adds + info->dlpi_subs;
      return 1; // Every object reports the same counts.
    },
    &changes);
  return changes;
}

} // namespace

bool LoadedObject::has_code(std::uintptr_t at) const {
  return is_in(code, at);
}

bool LoadedObject::has_data(std::uintptr_t at) const {
  return is_in(data, at);
}

std::shared_ptr<const std::vector<LoadedObject>> loaded_objects() {
  using All = std::vector<LoadedObject>;
  static std::mutex mutex;
  static auto& all =
    *never_destroyed<std::shared_ptr<const All>>(std::make_shared<All>());
  static unsigned long long changes_at_last = 0;
  std::lock_guard lock(mutex);
  auto changes = object_changes();
  if (std::exchange(changes_at_last, changes) != changes) { // Objects came or went.
    auto fresh = std::make_shared<All>();
    dl_iterate_phdr(add_object, fresh.get());
    all = std::move(fresh);
  }
  return all;
}

} // namespace fiber
