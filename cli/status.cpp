// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "cli/sessions.hpp"
#include "cli/verbs.hpp"

namespace fiber::cli {
namespace {

constexpr std::size_t columns = 100;

void show_status(const std::string& name, bool as_json) {
  auto session = find_session(name);
  auto snapshot = ask(session, {{"op", "status"}});
  if (as_json)
    std::cout << snapshot.dump(2) << "\n";
  else
    print_session(session, snapshot, columns);
}

} // namespace

void add_status(CLI::App& app) {
  auto* verb = app.add_subcommand("status", "Show one session: its pools, jobs, "
                                            "supervisors, queues and last failures");
  struct Options {
    std::string name;
    bool as_json = false;
  };
  auto options = std::make_shared<Options>();
  verb->add_option("NAME", options->name, name_help)->required();
  verb->add_flag("--json", options->as_json,
                 "Print the snapshot as JSON: docs/internals/snapshot.md");
  verb->footer("Examples:\n  fiber status train\n"
               "  fiber status train --json | jq '.pools[].done'");
  verb->callback([options] { show_status(options->name, options->as_json); });
}

} // namespace fiber::cli
