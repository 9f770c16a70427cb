// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "fiber/bytes.hpp"

namespace fiber::actors {

/// A message with the results of one task of so many bytes.
Bytes results_of(std::size_t bytes);

/// One message of each kind that a job may send to its driver, and one of each kind that
/// it may not send, each with a name for people.
std::vector<std::pair<std::string, Bytes>> every_message_of_a_job();

/// One message of each kind that a driver sends to a job, or a job to another job.
std::vector<std::pair<std::string, Bytes>> every_message_to_a_job();

} // namespace fiber::actors
