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

/// What a job has taken from the driver's channels and put into them, in memory that it
/// shares with the driver: so nothing need be sent before a get() or a put() returns, and
/// yet the driver knows of it however the job ends.
///
/// Job and driver each have one over the same page. Thread safety: any thread may call
/// any member function.
class JobLedger {
public:
  /// What was recorded, and had not been heard of.
  struct Last {
    std::map<std::uint64_t, std::uint32_t> taken;      ///< Of each request.
    std::vector<std::pair<std::uint64_t, Bytes>> puts; ///< Object and item, in order.
  };

  static constexpr std::size_t bytes = std::size_t{512} << 10;

  /// Uses the last `bytes` of `page`.
  explicit JobLedger(std::shared_ptr<backends::SharedPage> page);

  // -- in the job --

  /// A line to count on what is taken of the answer to `request`. Nothing if none is
  /// free.
  std::optional<std::size_t> open(std::uint64_t request);
  /// The first `count` items are taken. True if the driver wants to be told. Does not
  /// return once the driver has given this process up.
  bool take(std::size_t line, std::uint32_t count);
  /// The driver has heard of it all.
  void close(std::size_t line);

  /// Records that `item` is put. False if there is no room for it before sent().
  bool put(std::uint64_t object, std::span<const std::byte> item);
  /// All that was put has left this process.
  void sent();

  // -- in the driver --

  /// How many were taken of the answer to that request; 0 if it has no line.
  std::uint32_t taken(std::uint64_t request) const;
  /// The next take() of it is to be told.
  void ask(std::uint64_t request);
  /// An item of this size came as it was put.
  void received(std::size_t item_bytes);
  /// Nothing counts any more that the job records from now on.
  Last end();

private:
  static constexpr std::size_t lines = 63;
  static constexpr std::size_t ring_bytes = bytes - (lines + 1) * sizeof(std::uint64_t);

  std::atomic_ref<std::uint64_t> line(std::size_t index) const;
  /// Where in the endless sequence of what is put the next one begins.
  std::atomic_ref<std::uint64_t> end_of_puts() const;
  std::byte* ring() const;
  void write(std::uint64_t at, std::span<const std::byte> bytes);
  void read(std::uint64_t at, std::span<std::byte> bytes) const;

  const std::shared_ptr<backends::SharedPage> page_;
  std::byte* const data_;
  std::mutex mutex_;
  std::array<bool, lines> open_ = {}; ///< The job's.
  std::uint64_t sent_ = 0;            ///< The job's, of what is put.
  std::uint64_t received_ = 0;        ///< The driver's likewise.
};

} // namespace fiber::actors
