// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "fiber/rl/detail/env_host.hpp"

namespace fiber::rl::vec {

/// A word that threads of several processes wait for.
using Word = std::atomic<std::uint32_t>;
static_assert(Word::is_always_lock_free && sizeof(Word) == 4);

/// Blocks while `word` is `value`, at most until `limit`; may return early. Only a wake()
/// with a bit of `bits` ends it.
void wait_while(const Word& word, std::uint32_t value,
                std::chrono::steady_clock::time_point limit, std::uint32_t bits = ~0U);
/// Wakes who waits for `word` with a bit of `bits`.
void wake(const Word& word, std::uint32_t bits = ~0U);

/// How many environments and jobs there are, and how large rows are.
struct RowsShape {
  std::size_t envs = 0;
  std::size_t jobs = 0;
  std::size_t observation_size = 0;
  std::size_t action_size = 0;
  std::size_t mask_size = 0;
};

/// The memory of a VecEnv: an order and a row for each environment. In shared memory it
/// is also where the driver and the jobs meet; then whatever a job may write is read by
/// the driver as data, never as a place or a length.
///
/// An order is given by writing `order`, `next_seed` and the action, then `asked`; the
/// job's `posted`, `bell` and wake(bell) follow. A row is published by writing it, then
/// `answered = asked`; the driver's `published` follows. So a job that dies leaves whole
/// rows or none.
class Rows {
public:
  /// What is about all jobs.
  struct alignas(64) Meeting {
    std::array<std::uint64_t, 2> tag; ///< Tells this memory from any other.
    RowsShape shape;
    std::uint64_t spin_ns;      ///< How long to look before one waits.
    std::uint32_t every_row;    ///< Whether each row is counted at once, or each round.
    Word leave;                 ///< 1: jobs are to return from EnvHost::serve().
    Word cpu;                   ///< The one that the driver posted on.
    alignas(64) Word bell;      ///< Counts posts. Jobs that sleep wait for it.
    alignas(64) Word published; ///< Counts rows. The driver waits for it.
    alignas(64) Word parked;    ///< 1: the driver waits until `published` is `target`.
    Word target;
  };
  /// What is about one job.
  struct alignas(128) Door {
    Word posted; ///< Counts posts of the driver for this job.
    Word parked; ///< 1: the job sleeps.
    Word cpu;    ///< The one that the job answered on.
  };
  /// What is about one environment.
  struct alignas(64) Cell {
    Word asked;
    detail::Op op;
    std::uint64_t next_seed;
    Word answered;
    detail::RowFacts facts;
  };
  static constexpr std::size_t error_size = 4096;

  /// Memory of this process, or of this machine's processes if `shared`. Throws
  /// std::system_error.
  Rows(const RowsShape& shape, bool shared);
  /// The shared memory of another process; nullptr if it is not there.
  static std::unique_ptr<Rows> open(const detail::SharedPlace& place);
  ~Rows();
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  /// Where others find it, if it is shared.
  const detail::SharedPlace& place() const { return place_; }
  const RowsShape& shape() const { return shape_; }
  Meeting& meeting() { return *at<Meeting>(0); }
  Door& door(std::size_t job) { return at<Door>(doors_)[job]; }
  Cell& cell(std::size_t id) { return at<Cell>(cells_)[id]; }
  std::span<float> action(std::size_t id) {
    return row(actions_, id, shape_.action_size);
  }
  std::span<float> observation(std::size_t id) {
    return row(observations_, id, shape_.observation_size);
  }
  std::span<float> final_observation(std::size_t id) {
    return row(finals_, id, shape_.observation_size);
  }
  std::span<std::uint8_t> mask(std::size_t id) {
    return {at<std::uint8_t>(masks_) + id * shape_.mask_size, shape_.mask_size};
  }
  /// All rows.
  std::span<const std::uint8_t> masks() {
    return {at<std::uint8_t>(masks_), shape_.envs * shape_.mask_size};
  }
  std::span<const float> observations() { return all(observations_); }
  std::span<const float> final_observations() { return all(finals_); }
  void set_error(std::size_t id, const std::string& text);
  std::string error(std::size_t id);

private:
  Rows() = default;
  void lay_out();
  bool map(int fd);
  template <class T>
  T* at(std::size_t offset) {
    return reinterpret_cast<T*>(data_ + offset);
  }
  std::span<float> row(std::size_t array, std::size_t i, std::size_t width) {
    return {at<float>(array) + i * width, width};
  }
  std::span<const float> all(std::size_t array) {
    return {at<float>(array), shape_.envs * shape_.observation_size};
  }

  RowsShape shape_;
  detail::SharedPlace place_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0, doors_ = 0, cells_ = 0, actions_ = 0, observations_ = 0,
              finals_ = 0, masks_ = 0, errors_ = 0;
};

} // namespace fiber::rl::vec
