// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

namespace bench {

using Row = void (*)(const std::string& name);

// Rows of object_bench, by name.

/// Queues.
std::map<std::string, Row> queue_rows();
/// Many futures, and how long single calls take.
std::map<std::string, Row> future_rows();

} // namespace bench
