// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

#include "rl/vec/rows.hpp"

// How a driver and its jobs wait for each other in the memory that they share. Who waits
// looks for Rows::Meeting::spin_ns first, and then sleeps until the other wakes it, which
// costs a system call on both sides, and much more if the other's core must wake up. Who
// is on a core that another one of them was on last sleeps at once: looking would keep
// the other from its work.

namespace fiber::rl::vec {

/// Driver: tells these jobs that there are orders.
void post(Rows& rows, std::span<const std::size_t> jobs);
/// Job: waits until the driver has posted more than `seen`; may return early.
void await_post(Rows& rows, std::size_t job, std::uint32_t seen);

/// Job: counts rows that it has published.
void count_rows(Rows::Meeting& meeting, std::uint32_t rows);
/// Driver: waits until `missing` rows more than `seen` are counted; returns after `limit`
/// anyway.
void await_rows(Rows& rows, std::uint32_t seen, std::size_t missing,
                std::chrono::nanoseconds limit);

} // namespace fiber::rl::vec
