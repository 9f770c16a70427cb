// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace fiber::backends {

// This very program, which jobs run again.
std::string program_path(); ///< Empty if it is not known.
std::string program_directory();
std::vector<std::string> program_arguments(); ///< Without argv[0].

} // namespace fiber::backends
