// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "fiber/callable.hpp"
#include "fiber/value.hpp"

namespace fiber::detail {

/// A packed value or request for an object in another process.
struct PackedItem {
  Bytes bytes = {};
  KeptObjects kept = {}; ///< Objects that its handles refer to.

  /// Returns an item with the output of `write`.
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
