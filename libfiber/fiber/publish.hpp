// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace fiber {

/// Adds `value` to the series `name` of the session, which its live page and its report
/// draw over time (docs/dashboard.md). Cheap whether somebody looks or not: it never
/// waits for those who do.
///
/// Memory is bounded: a series keeps at most 512 points. A longer one is thinned, and the
/// page says how many values each of its points is the mean of. A session has at most 64
/// series; values of further ones are counted and left out.
///
/// Only the driver may publish: a task returns what it has measured, and the driver
/// publishes that. Throws ConfigError if `name` is empty or longer than 100 bytes, Error
/// in a job, and Closed if there is no session. Any thread may call it.
///
///     fiber::publish("return", mean_return);
void publish(std::string_view name, double value);

} // namespace fiber
