// SPDX-License-Identifier: Apache-2.0
// The verbs of the command `fiber`. Each function adds one subcommand, with its help, its
// options and its callback.
//
// A callback throws fiber::Error for what goes wrong, which main prints, and
// CLI::RuntimeError for an exit code.
#pragma once

#include <CLI/CLI.hpp>

namespace fiber::cli {

void add_completion(CLI::App& app);
void add_config(CLI::App& app);
void add_cp(CLI::App& app);
void add_doctor(CLI::App& app);
void add_kill(CLI::App& app);
void add_logs(CLI::App& app);
void add_ps(CLI::App& app);
void add_report(CLI::App& app);
void add_run(CLI::App& app);
void add_status(CLI::App& app);
void add_stop(CLI::App& app);
void add_top(CLI::App& app);
void add_trace(CLI::App& app);

} // namespace fiber::cli
