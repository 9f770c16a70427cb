// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "actors/manager/object_job.hpp"
#include "fiber/callable.hpp"

namespace fiber::detail {

class Runtime;

/// Returns the function that starts the jobs of a manager or of a supervisor's child.
/// `number` and `name` identify them in the trace. Throws Closed.
actors::ObjectJob::Start starter_of_object_jobs(Runtime& runtime,
                                                const Resources& resources,
                                                std::uint64_t number,
                                                const std::string& name);

} // namespace fiber::detail
