// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace fiber {

/// Adds `value` to the series `name` of the session, which its live page and its report
/// draw over time (docs/reference/dashboard.md). Cheap, whether the page has viewers or
/// not: a call never waits for them.
///
/// Memory is bounded: a series keeps at most 512 points. A longer one is thinned, and the
/// page says how many values each of its points is the mean of. A session has at most 64
/// series; values of further ones are counted and left out.
///
/// In a job, for example a task or a member of a ring, the value goes to the driver,
/// which gives it the time at which it comes. Values of one name make one series,
/// whichever process they are from. A job sends each value as a separate message and
/// waits while 1 MiB of them is on the way: publish some hundred values per second rather
/// than each step.
///
/// Throws ConfigError if `name` is empty or longer than 100 bytes, Closed if there is no
/// session, and, in a job, Error in a stop callback, which must not wait. Any thread may
/// call it.
///
///     fiber::publish("return", mean_return);
void publish(std::string_view name, double value);

} // namespace fiber
