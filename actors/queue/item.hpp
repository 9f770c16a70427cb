// SPDX-License-Identifier: Apache-2.0
#pragma once

// queue/ is the home of queues and pipes: the channel that both are built on, a state
// machine without messages or threads, and the actor that serves it to other processes.

#include <cstddef>
#include <cstdint>
#include <string>

#include "fiber/bytes.hpp"
#include "fiber/callable.hpp"

namespace fiber::actors {

/// An item of a channel.
struct Item {
  std::string type;              ///< Empty in a channel whose items all have one type.
  Payload bytes;                 ///< As the `put` brought it.
  detail::KeptObjects kept = {}; ///< The objects that handles in `bytes` refer to.

  /// What the item counts against Channel::Limits::bytes, with an allowance for
  /// bookkeeping.
  std::size_t cost() const { return item_overhead + type.size() + bytes.size(); }
  static constexpr std::size_t item_overhead = 256;
};

/// An item with its place in a channel.
struct StoredItem {
  std::uint64_t place = 0; ///< Position in the order of arrival.
  Item item;
  int redeliveries = 0; ///< How often a consumer has ended that had taken it.
};

} // namespace fiber::actors
