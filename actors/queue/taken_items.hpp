// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actors/protocol/object_protocol.hpp"
#include "actors/queue/item.hpp"

namespace fiber::actors {

/// Identifies an item that a process has taken: the request that brought it, and which of
/// the items of its answer it is.
struct TakenKey {
  std::uint64_t request = 0;
  std::size_t index = 0;
  bool operator==(const TakenKey&) const = default;
};

/// The items that consumers have taken and not finished. With redelivery it has the items
/// themselves, otherwise only how many each consumer has.
class TakenItems {
public:
  struct Entry {
    TakenKey key;
    StoredItem item;
  };
  /// What one process has taken.
  class Consumer {
  public:
    /// Only counts the item.
    void add() { ++count_; }
    void add(TakenKey key, StoredItem item) {
      ++count_;
      entries_.push_back({key, std::move(item)});
    }
    std::uint64_t count() const { return count_; }

  private:
    friend class TakenItems;
    std::uint64_t count_ = 0;
    std::deque<Entry> entries_; ///< In the order in which they were taken.
  };

  /// Stays valid until take_all() of that process, or clear().
  Consumer& of(std::uint64_t process) { return consumers_[process]; }
  /// Returns how many items the process has taken and not finished.
  std::uint64_t count(std::uint64_t process) const;
  /// Whether redelivery may bring back an item of a process other than this one: neither
  /// of the driver nor of the `home` of the queue, which ends with them, nor one that was
  /// redelivered max_redeliveries times (-1: no limit).
  bool may_come_back(std::uint64_t process, std::uint64_t home,
                     int max_redeliveries) const;
  /// Finishes the item with this key; without a key the oldest one. False if the process
  /// does not have it.
  bool finish(std::uint64_t process, const std::optional<TakenKey>& key);
  /// Removes the process. Returns how many items it had, and the items themselves if
  /// there is redelivery.
  std::pair<std::uint64_t, std::deque<Entry>> take_all(std::uint64_t process);
  void clear() { consumers_.clear(); }

private:
  std::map<std::uint64_t, Consumer> consumers_;
};

/// The items that were lost with their consumers, and which processes have been told.
class LostRecord {
public:
  /// The last consumer of these items, a job, has ended.
  void add(std::uint64_t process, const std::string& job, std::uint64_t items);
  /// Returns how many items were lost so far.
  std::uint64_t items() const { return items_; }
  /// Returns what was lost since told() of the process; null if nothing was.
  std::shared_ptr<LostItems> untold(std::uint64_t process) const;
  void told(std::uint64_t process) { told_[process] = items_; }
  void forget(std::uint64_t process) { told_.erase(process); }

private:
  static constexpr std::size_t max_named = 8;
  struct Loss {
    std::string job;
    std::uint64_t items = 0;
    std::uint64_t upto = 0; ///< items_ after this loss.
  };

  std::uint64_t items_ = 0;
  std::deque<Loss> last_;                       ///< The latest, at most max_named.
  std::map<std::uint64_t, std::uint64_t> told_; ///< By process: items_ at that time.
};

} // namespace fiber::actors
