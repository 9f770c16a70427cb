// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <typeinfo>

namespace fiber::detail {

/// Identifies a type in all processes of this build: by its mangled name and, if another
/// file may have a type of the same name (of an unnamed namespace, of a static function),
/// by the place of its type_info within its executable or library. Any thread may call
/// this and the functions below, even before main().
std::string type_identity(const std::type_info& type);
/// The same, made once.
template <class T>
const std::string& type_identity() {
  static const std::string& identity = *new std::string(type_identity(typeid(T)));
  return identity; // Never destroyed: static handles use it while the program exits.
}

/// The same of a function: what code_name() gives, and the place of the function.
std::string code_identity(const void* code);

/// Whether an identity from a file, perhaps of another build, and one of this process are
/// of one type or function. Of two builds only the names can be compared.
bool same_identity(std::string_view a, std::string_view b);

/// The demangled name in an identity.
std::string name_in_identity(std::string_view identity);
/// "a Point, and a Line": two types that differ, for people.
std::string two_types(std::string_view a, std::string_view between, std::string_view b);

} // namespace fiber::detail
