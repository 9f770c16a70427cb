// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <type_traits>
#include <typeinfo>

#include "fiber/error.hpp"
#include "fiber/value.hpp"

namespace fiber {

namespace detail {

/// How exceptions of one type travel.
struct Throwable {
  void (*pack_current)(Writer& writer); ///< Packs the exception that is being handled.
  void (*throw_packed)(Reader& reader);
  /// Throws it with the exception that is being handled as its cause.
  void (*throw_nested)(Reader& reader);
};
void add_throwable(const std::type_info& type, Throwable throwable);

/// Calls `add` with the type_info of `E`, and with that of what std::throw_with_nested()
/// throws for an `E`.
template <class E, class Add>
void for_thrown_types(Add add) {
  add(typeid(E));
  if constexpr (std::is_class_v<E> && !std::is_final_v<E> &&
                !std::is_base_of_v<std::nested_exception, E> &&
                std::is_nothrow_destructible_v<E>) {
    // The standard has no name for that type.
    add(typeid(std::_Nested_exception<E>));
  }
}

/// Makes `E` known in every process of this program: driver and jobs run the same
/// program, so one line that names the type is enough, wherever it is.
template <class E>
struct KnownThrowable {
  static void pack_current(Writer& writer) {
    try {
      throw;
    } catch (const E& error) {
      pack(writer, error);
    }
  }
  static void throw_packed(Reader& reader) { throw unpack<E>(reader); }
  static void throw_nested(Reader& reader) { std::throw_with_nested(unpack<E>(reader)); }
  static bool add() {
    for_thrown_types<E>([](const std::type_info& type) {
      add_throwable(type, {&pack_current, &throw_packed, &throw_nested});
    });
    return true;
  }
  static inline const bool added = add();
};

} // namespace detail

template <class... E>
  requires(sizeof...(E) > 0)
void RemoteError::rethrow_original() const {
  (static_cast<void>(detail::KnownThrowable<E>::added), ...);
  rethrow_original();
}

} // namespace fiber
