// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace fiber::backends {

// The running program, which jobs run too.
std::string program_path(); ///< Empty if unknown.
std::string program_directory();
std::vector<std::string> program_words();     ///< As the program got them, with argv[0].
std::vector<std::string> program_arguments(); ///< Without argv[0].

} // namespace fiber::backends
