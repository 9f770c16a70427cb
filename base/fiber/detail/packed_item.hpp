// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fiber/callable.hpp"
#include "fiber/value.hpp"

namespace fiber::detail {

/// A value on its way to an object in another process.
struct PackedItem {
  Bytes bytes = {};
  /// Objects that its handles refer to.
  KeptObjects kept = {};

  /// Holds what `write` writes.
  template <class Write>
  static PackedItem of(Write write) {
    PackedItem item;
    KeepScope scope;
    Writer writer(item.bytes);
    write(writer);
    item.kept = scope.take();
    return item;
  }
};

} // namespace fiber::detail
