// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace fiber {

/// A loaded executable or shared library.
struct LoadedObject {
  std::string path; ///< Empty: the executable.
  std::string build;
  std::uintptr_t base = 0;
  std::vector<std::pair<std::uintptr_t, std::uintptr_t>> code; ///< Executable segments.
  std::vector<std::pair<std::uintptr_t, std::uintptr_t>> data; ///< All other segments.
  std::span<const std::byte> frame_index; ///< .eh_frame_hdr; empty if there is none.

  bool has_code(std::uintptr_t at) const;
  bool has_data(std::uintptr_t at) const;
  /// For people.
  std::string name() const { return path.empty() ? "the executable" : path; }
};

/// Returns all objects of this process, the executable first. Any thread may call it.
std::shared_ptr<const std::vector<LoadedObject>> loaded_objects();

/// Returns the first object for which `match` holds, or null. Any thread may call it.
template <class Match>
std::shared_ptr<const LoadedObject> find_object(Match match) {
  auto all = loaded_objects();
  for (auto& object : *all)
    if (match(object))
      return {std::move(all), &object};
  return nullptr;
}

/// Returns the object that has this code, or null. Any thread may call it.
inline std::shared_ptr<const LoadedObject> object_with_code(std::uintptr_t at) {
  return find_object([at](const LoadedObject& object) { return object.has_code(at); });
}

/// Returns the object that has this code or data, or null. Any thread may call it.
inline std::shared_ptr<const LoadedObject> object_with_address(std::uintptr_t at) {
  return find_object([at](const LoadedObject& object) {
    return object.has_code(at) || object.has_data(at);
  });
}

} // namespace fiber
