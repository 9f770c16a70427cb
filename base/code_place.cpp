// SPDX-License-Identifier: Apache-2.0
#include "base/code_place.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/code_symbol.hpp"
#include "base/entry_points.hpp"
#include "base/function_start.hpp"
#include "base/hex.hpp"
#include "base/loaded_object.hpp"
#include "fiber/byte_stream.hpp"
#include "fiber/detail/call_name.hpp"
#include "fiber/detail/entry_point.hpp"

namespace fiber {
namespace {

using detail::CodeKind;

/// What pack_code() writes. Refers to the bytes that it was read from.
struct Place {
  std::string_view path, build;
  std::uint64_t offset;

  explicit Place(Reader& reader)
    : path(reader.text_view()), build(reader.text_view()),
      offset(reader.get<std::uint64_t>()) {}
  /// Null if this process has not loaded it.
  std::shared_ptr<const LoadedObject> object() const {
    if (build.empty()) // Several libraries may have none.
      return nullptr;
    return find_object([this](auto& each) { return each.build == build; });
  }
};

bool is_callable(const LoadedObject& object, std::uint64_t offset, CodeKind kind) {
  return kind == CodeKind::function ? begins_function(object, object.base + offset)
                                    : is_entry_point(object.build, offset, kind);
}

/// What a function of that kind does, for people.
std::string text_of(CodeKind kind) {
  switch (kind) {
  case CodeKind::open:
    return "unpacks a callable";
  case CodeKind::make_object:
    return "makes an object";
  case CodeKind::call_object:
    return "calls an object";
  case CodeKind::function:
    break;
  }
  return "is a function";
}

std::string text_of(const LoadedObject& object, std::uint64_t offset) {
  return "offset " + std::to_string(offset) + " of " + object.name();
}

[[noreturn]] void refuse_to_pack(const LoadedObject& object, std::uint64_t offset,
                                 CodeKind kind) {
  if (kind != CodeKind::function)
    throw Error(text_of(object, offset) + " is no entry point that " + text_of(kind) +
                ": it was not taken from detail::entry()");
  throw Error("the function at " + text_of(object, offset) +
              " can't be sent: it has neither unwind information nor an exported name, "
              "by which another process can tell that a function begins there; compile "
              "it with -fasynchronous-unwind-tables, or call it in a lambda");
}

[[noreturn]] void refuse_place(const LoadedObject& object, std::uint64_t offset,
                               CodeKind kind) {
  if (kind != CodeKind::function)
    throw Error("a callable's place, " + text_of(object, offset) +
                ", is no entry point that " + text_of(kind) +
                ": right is one of those that this build itself sends");
  throw Error("a callable's place, " + text_of(object, offset) +
              ", is no function: right is where one begins");
}

} // namespace

void detail::pack_code(Writer& writer, const void* code, CodeKind kind) {
  if (writer.compares()) {
    writer.text(code_name(code));
    return;
  }
  auto at = reinterpret_cast<std::uintptr_t>(code);
  auto object = object_with_code(at);
  if (!object)
    throw Error("a callable is not in the program's code or that of a loaded library");
  if (object->build.empty())
    throw Error(object->name() + " has no build id; link it with -Wl,--build-id");
  std::uint64_t offset = at - object->base;
  if (!is_callable(*object, offset, kind))
    refuse_to_pack(*object, offset, kind);
  writer.text(object->path);
  writer.text(object->build);
  writer.put(offset);
}

const void* detail::unpack_code(Reader& reader, CodeKind kind) {
  Place place(reader);
  auto object = place.object();
  if (!object)
    throw Error("a callable is in " +
                std::string(place.path.empty() ? "the executable" : place.path) +
                " (build " + hex(place.build) +
                "), which is not loaded in this job; load it before fiber::init");
  if (!is_callable(*object, place.offset, kind))
    refuse_place(*object, place.offset, kind);
  return reinterpret_cast<const void*>(object->base + place.offset);
}

bool is_loaded(Reader place) {
  return Place(place).object() != nullptr;
}

std::string detail::code_name(const void* code) {
  auto at = reinterpret_cast<std::uintptr_t>(code);
  auto object = object_with_code(at);
  if (!object)
    return "function " + std::to_string(at) + " of no loaded object";
  auto offset = at - object->base;
  auto name = symbol_at(object->path.empty() ? "/proc/self/exe" : object->path, offset);
  return name.empty()
           ? "function " + std::to_string(offset) + " of build " + hex(object->build)
           : name;
}

std::string build_id() {
  auto program = find_object([](auto& each) { return each.path.empty(); });
  if (!program || program->build.empty())
    throw Error("the executable has no build id; link it with -Wl,--build-id");
  return hex(program->build);
}

std::optional<std::uintptr_t> loaded_at(const std::string& build) {
  auto object = find_object([&](auto& each) { return hex(each.build) == build; });
  return object ? std::optional(object->base) : std::nullopt;
}

} // namespace fiber
