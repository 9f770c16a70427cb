// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
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
  std::span<const std::byte> frame_index; ///< .eh_frame_hdr; empty if there is none.

  bool has_code(std::uintptr_t at) const;
  /// For people.
  std::string name() const { return path.empty() ? "the executable" : path; }
};

/// Returns the first object for which `match` holds, or null. Any thread may call it.
std::shared_ptr<const LoadedObject>
find_object(const std::function<bool(const LoadedObject&)>& match);
/// Returns the object that has this code, or null. Any thread may call it.
std::shared_ptr<const LoadedObject> object_with_code(std::uintptr_t at);

} // namespace fiber
