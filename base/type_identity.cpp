// SPDX-License-Identifier: Apache-2.0
#include "fiber/detail/type_identity.hpp"

#include <cstdint>
#include <cstring>

#include "base/demangle.hpp"
#include "base/hex.hpp"
#include "base/loaded_object.hpp"
#include "fiber/detail/call_name.hpp"

namespace fiber::detail {
namespace {

/// Begins the place in an identity. No mangled name contains it.
constexpr char place_mark = '@';

/// Reads the name as the compiler wrote it.
struct CompilersName : std::type_info {
  CompilersName() = delete;
  static const char* of(const std::type_info& type) {
    return type.*(&CompilersName::__name);
  }
};

/// Whether another file may have a type of this name.
bool is_local(const std::type_info& type) {
  // g++ begins the name of such a type with a star, clang++ does not.
  return CompilersName::of(type)[0] == '*' ||
         std::strstr(type.name(), "_GLOBAL__N_") != nullptr;
}

std::string with_place(std::string name, const void* at) {
  auto address = reinterpret_cast<std::uintptr_t>(at);
  auto object = object_with_address(address);
  if (!object)
    return name + place_mark + ':' + std::to_string(address);
  auto build = object->build.empty() ? object->path
                                     : hex(std::string_view(object->build).substr(0, 8));
  return name + place_mark + build + ':' + std::to_string(address - object->base);
}

struct Identity {
  std::string_view name, build, place;

  explicit Identity(std::string_view text) {
    name = text.substr(0, text.find(place_mark));
    place = text.substr(name.size());
    build = place.substr(0, place.rfind(':'));
  }
};

} // namespace

std::string type_identity(const std::type_info& type) {
  return is_local(type) ? with_place(type.name(), &type) : type.name();
}

std::string code_identity(const void* code) {
  return with_place(code_name(code), code);
}

bool same_identity(std::string_view a, std::string_view b) {
  Identity one(a), other(b);
  return one.name == other.name && (one.build != other.build || one.place == other.place);
}

std::string name_in_identity(std::string_view identity) {
  return demangle(std::string(Identity(identity).name).c_str());
}

std::string two_types(std::string_view a, std::string_view between, std::string_view b) {
  auto one = name_in_identity(a), other = name_in_identity(b);
  return "a " + one + std::string(between) + "a " + other +
         (one == other ? " of another file" : "");
}

} // namespace fiber::detail
