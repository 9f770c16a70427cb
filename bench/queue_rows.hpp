// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

namespace bench {

using Row = void (*)(const std::string& name);

/// The rows of object_bench that are about queues, by name.
std::map<std::string, Row> queue_rows();

} // namespace bench
