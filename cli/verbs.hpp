// SPDX-License-Identifier: Apache-2.0
// The verbs of the command `fiber`. Each function adds one subcommand, with its help, its options and its callback.
//
// A callback throws fiber::Error for what goes wrong, which main prints, and CLI::RuntimeError for an exit code.
#pragma once

#include <CLI/App.hpp>

namespace fiber::cli {

} // namespace fiber::cli
