// SPDX-License-Identifier: Apache-2.0
#include "base/code_place.hpp"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/build_note.hpp"
#include "base/code_symbol.hpp"
#include "fiber/callable.hpp"
#include "fiber/detail/call_name.hpp"

namespace fiber {
namespace {

/// A loaded executable or shared library.
struct Object {
  std::string path; ///< Empty: the executable.
  std::string build;
  std::uintptr_t base = 0;
  std::vector<std::pair<std::uintptr_t, std::uintptr_t>> code; ///< Executable segments.

  bool has_code(std::uintptr_t at) const {
    return std::any_of(code.begin(), code.end(), [&](auto& range) {
      return at >= range.first && at < range.second;
    });
  }
};

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

int add_object(dl_phdr_info* info, std::size_t, void* list) {
  auto& objects = *static_cast<std::vector<Object>*>(list);
  Object object;
  object.path = info->dlpi_name;
  object.base = info->dlpi_addr;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    auto& segment = info->dlpi_phdr[i];
    auto begin = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0)
      object.code.emplace_back(begin, begin + segment.p_memsz);
    if (segment.p_type == PT_NOTE && object.build.empty())
      object.build = text_of(
        find_build_id({reinterpret_cast<const std::byte*>(begin), segment.p_memsz}));
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

/// The cached list of this process's objects, refreshed after a load or unload.
class Objects {
public:
  /// Returns the first object for which `match` holds, or null.
  template <class Match>
  std::shared_ptr<const Object> find(Match match) {
    auto all = current();
    auto found = std::find_if(all->begin(), all->end(), match);
    if (found == all->end())
      return nullptr;
    return {all, &*found};
  }

private:
  using All = std::vector<Object>;

  std::shared_ptr<const All> current() {
    std::lock_guard lock(mutex_);
    if (auto changes = object_changes(); std::exchange(changes_, changes) != changes) {
      auto all = std::make_shared<All>();
      dl_iterate_phdr(add_object, all.get());
      all_ = std::move(all);
    }
    return all_;
  }

  std::mutex mutex_;
  std::shared_ptr<const All> all_ = std::make_shared<All>();
  unsigned long long changes_ = 0;
};

Objects& objects() {
  static Objects all;
  return all;
}

std::string hex(const std::string& bytes) {
  std::string text;
  for (unsigned char c : bytes) {
    text += "0123456789abcdef"[c >> 4];
    text += "0123456789abcdef"[c & 15];
  }
  return text;
}

} // namespace

void detail::pack_code(Writer& writer, const void* code) {
  if (writer.compares()) {
    writer.text(code_name(code));
    return;
  }
  auto at = reinterpret_cast<std::uintptr_t>(code);
  auto object = objects().find([&](const Object& o) { return o.has_code(at); });
  if (!object)
    throw Error("a callable is not in the program's code or that of a loaded library");
  if (object->build.empty())
    throw Error((object->path.empty() ? "the executable" : object->path) +
                " has no build id; link it with -Wl,--build-id");
  writer.text(object->path);
  writer.text(object->build);
  writer.put(static_cast<std::uint64_t>(at - object->base));
}

const void* detail::unpack_code(Reader& reader) {
  auto path = reader.text();
  auto build = reader.text();
  auto offset = reader.get<std::uint64_t>();
  auto object = objects().find([&](const Object& o) { return o.build == build; });
  auto name = path.empty() ? "the executable" : path;
  if (!object || object->code.empty())
    throw Error("a callable is in " + name + " (build " + hex(build) +
                "), which is not loaded in this job; load it before fiber::init");
  auto at = object->base + offset;
  if (!object->has_code(at))
    throw Error("a callable's place in " + name + " is not code");
  return reinterpret_cast<const void*>(at);
}

std::string detail::code_name(const void* code) {
  auto at = reinterpret_cast<std::uintptr_t>(code);
  auto object = objects().find([&](const Object& o) { return o.has_code(at); });
  if (!object)
    return "function " + std::to_string(at) + " of no loaded object";
  auto offset = at - object->base;
  auto name = symbol_at(object->path.empty() ? "/proc/self/exe" : object->path, offset);
  return name.empty()
           ? "function " + std::to_string(offset) + " of build " + hex(object->build)
           : name;
}

std::string build_id() {
  auto executable = objects().find([](const Object& o) { return o.path.empty(); });
  if (!executable || executable->build.empty())
    throw Error("the executable has no build id; link it with -Wl,--build-id");
  return hex(executable->build);
}

std::optional<std::uintptr_t> loaded_at(const std::string& build) {
  auto object = objects().find([&](const Object& o) { return hex(o.build) == build; });
  return object ? std::optional(object->base) : std::nullopt;
}

} // namespace fiber
