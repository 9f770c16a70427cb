// SPDX-License-Identifier: Apache-2.0
#include "base/entry_points.hpp"

#include <map>
#include <mutex>
#include <unordered_map>

#include "base/loaded_object.hpp"
#include "base/never_destroyed.hpp"

namespace fiber {
namespace {

/// The entry points of all objects that are or were loaded. They are kept by build and
/// offset, which remain true when an object is unloaded and another takes its addresses.
class EntryPoints {
public:
  void add(const LoadedObject& object, std::uintptr_t at, detail::CodeKind kind) {
    std::lock_guard lock(mutex_);
    kinds_[object.build][at - object.base] |= bit(kind);
  }
  bool has(const std::string& build, std::uint64_t offset, detail::CodeKind kind) {
    std::lock_guard lock(mutex_);
    auto offsets = kinds_.find(build);
    if (offsets == kinds_.end())
      return false;
    auto kinds = offsets->second.find(offset);
    return kinds != offsets->second.end() && (kinds->second & bit(kind)) != 0;
  }

private:
  /// A linker may make one function of two that are the same code.
  static unsigned bit(detail::CodeKind kind) { return 1U << static_cast<unsigned>(kind); }

  std::mutex mutex_;
  std::map<std::string, std::unordered_map<std::uint64_t, unsigned>> kinds_;
};

/// Made when the first entry point is noted, which is before main().
EntryPoints& entry_points() {
  static auto& all = *never_destroyed<EntryPoints>();
  return all;
}

} // namespace

detail::EntryPoint::EntryPoint(const void* code, CodeKind kind) {
  auto at = reinterpret_cast<std::uintptr_t>(code);
  auto object = object_with_code(at);
  if (object && !object->build.empty()) // Without a build id nothing of it travels.
    entry_points().add(*object, at, kind);
}

bool is_entry_point(const std::string& build, std::uint64_t offset,
                    detail::CodeKind kind) {
  return entry_points().has(build, offset, kind);
}

} // namespace fiber
