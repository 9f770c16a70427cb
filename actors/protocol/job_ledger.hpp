// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "backends/backend.hpp"
#include "fiber/bytes.hpp"

namespace fiber::actors {

/// Records, in memory that a job shares with the driver, what the job takes from the
/// driver's channels and puts into them. So get() and put() return before a message is
/// sent, and yet the driver knows of them however the job ends.
///
/// The memory holds `lines`, each the count of items taken from one answer, and a ring
/// buffer of put items. Job and driver each have a JobLedger over the same page. Thread
/// safety: any thread may call any member function.
class JobLedger {
public:
  /// What the job had recorded at its end.
  struct Last {
    std::map<std::uint64_t, std::uint32_t> taken; ///< Items taken, by request.
    /// Object and item of the puts that had not arrived as messages, in order.
    std::vector<std::pair<std::uint64_t, Bytes>> puts;
  };

  static constexpr std::size_t bytes = std::size_t{512} << 10;

  /// Uses the last `bytes` of `page`.
  explicit JobLedger(std::shared_ptr<backends::SharedPage> page);

  // -- in the job --

  /// Opens a line that counts the items taken from the answer to `request`. Nothing if no
  /// line is free.
  std::optional<std::size_t> open(std::uint64_t request);
  /// Records that the first `count` items are taken. Returns whether the driver wants a
  /// message about it. Blocks for good once the driver has declared this process dead.
  bool take(std::size_t line, std::uint32_t count);
  /// Frees the line, when the driver knows of all items taken.
  void close(std::size_t line);

  /// Records that `item` is put. False if there is no room for it before sent().
  bool put(std::uint64_t object, std::span<const std::byte> item);
  /// Frees the room of all recorded puts, when their messages have left this process.
  void sent();

  // -- in the driver --

  /// Returns how many items of the answer to the request were taken; 0 if it has no line.
  std::uint32_t taken(std::uint64_t request) const;
  /// Makes the next take() for the request return true.
  void request_report(std::uint64_t request);
  /// The message of the oldest recorded put, an item of this size, has arrived.
  void received(std::size_t item_bytes);
  /// Ends the ledger of a job that was lost or declared dead: what it records later does
  /// not count.
  Last end();

private:
  static constexpr std::size_t lines = 63;
  static constexpr std::size_t ring_bytes = bytes - (lines + 1) * sizeof(std::uint64_t);

  std::atomic_ref<std::uint64_t> line(std::size_t index) const;
  /// Total bytes of puts ever recorded: the next one begins there, modulo `ring_bytes`.
  std::atomic_ref<std::uint64_t> end_of_puts() const;
  std::byte* ring() const;
  void write(std::uint64_t at, std::span<const std::byte> bytes);
  void read(std::uint64_t at, std::span<std::byte> bytes) const;

  const std::shared_ptr<backends::SharedPage> page_;
  std::byte* const data_;
  std::mutex mutex_;
  std::array<bool, lines> open_ = {}; ///< In the job: the lines in use.
  std::uint64_t sent_ = 0;            ///< In the job: end_of_puts() at the last sent().
  std::uint64_t received_ = 0;        ///< In the driver: bytes of puts that have arrived.
};

} // namespace fiber::actors
