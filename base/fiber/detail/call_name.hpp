// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <type_traits>

#include "fiber/callable.hpp"
#include "fiber/detail/type_identity.hpp"
#include "fiber/value.hpp"

namespace fiber::detail {

/// The mangled name of the function at `code`, or its place within this build if the
/// program has no name for it.
std::string code_name(const void* code);

/// Whether a `T` contains a handle or a callable: these refer to what ends with the
/// session, or is found in this build only.
template <class T>
struct CarriesHandle;
template <class T>
inline constexpr bool carries_handle = CarriesHandle<T>::value;

template <class T>
consteval bool refers() {
  if constexpr (SelfPacking<T>)
    return true;
  else if constexpr (requires { typename T::value_type; } && !Flat<T>)
    return !std::is_same_v<typename T::value_type, T> &&
           carries_handle<typename T::value_type>;
  else
    return false;
}
template <class T>
struct CarriesHandle : std::bool_constant<refers<T>()> {};
template <class T>
struct CarriesHandle<const T> : CarriesHandle<T> {};
template <class... Parts>
struct CarriesHandle<std::tuple<Parts...>>
  : std::bool_constant<(carries_handle<Parts> || ...)> {};
template <class... Parts>
struct CarriesHandle<std::variant<Parts...>>
  : std::bool_constant<(carries_handle<Parts> || ...)> {};
template <class A, class B>
struct CarriesHandle<std::pair<A, B>>
  : std::bool_constant<carries_handle<A> || carries_handle<B>> {};

/// Identifies a call for a journal, in another run of the program and in another build.
/// The texts are identities: compare them with same_identity().
struct CallName {
  std::string function; ///< A plain function, else the callable's type.
  Bytes bound;          ///< What the callable holds, for comparing.
  std::string argument, result;
  std::size_t result_size = 0; ///< Often tells that a struct has changed.
  bool spread = false;         ///< Called with the parts of its argument.
  bool handles = false;        ///< Results contain handles, so they can't be kept.

  template <class R, class Argument, bool spread_parts, class F>
  static CallName of(const F& f) {
    CallName name;
    if constexpr (is_function<F>)
      name.function = code_identity(reinterpret_cast<const void*>(f));
    else
      name.function = type_identity<F>();
    auto writer = Writer::comparing(name.bound);
    pack_callable(writer, f);
    name.argument = type_identity<Argument>();
    name.result = type_identity<R>();
    name.spread = spread_parts;
    if constexpr (!std::is_void_v<R>) {
      name.result_size = sizeof(R);
      name.handles = carries_handle<R>;
    }
    return name;
  }
};

} // namespace fiber::detail
