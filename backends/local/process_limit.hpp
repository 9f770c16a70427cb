// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace fiber::backends::local {

/// Describes the error of a fork. If this process may have no more processes, the text
/// names the lowest limit of them. Tests pass a folder as `root` in place of "/".
std::string fork_error_text(int error, const std::string& root = "");

} // namespace fiber::backends::local
