// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace fiber::cli {

/// Runs a program, which is looked up in $PATH, with `input` at its stdin. Throws Error
/// if it fails; what it wrote to stderr is the reason. Returns what it wrote to stdout.
std::string output_of(const std::vector<std::string>& command,
                      const std::string& input = {});

} // namespace fiber::cli
