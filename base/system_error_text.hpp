// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace fiber {

/// Describes the error number of a system call. If a limit of open files was reached, the
/// text names the limit, its value and the command that raises it.
std::string system_error_text(int error);

} // namespace fiber
