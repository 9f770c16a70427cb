// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <typeinfo>

#include "fiber/error.hpp"
#include "fiber/value.hpp"

namespace fiber {

namespace detail {

/// How exceptions of one type travel.
struct Throwable {
  void (*pack_current)(Writer& writer); ///< Packs the exception that is being handled.
  void (*throw_packed)(Reader& reader);
};
void add_throwable(const std::type_info& type, Throwable throwable);

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
  static bool add() {
    add_throwable(typeid(E), {&pack_current, &throw_packed});
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
