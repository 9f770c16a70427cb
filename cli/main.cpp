// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

#include "base/edit_distance.hpp"
#include "base/terminal_text.hpp"
#include "cli/verbs.hpp"
#include "fiber/session.hpp"

namespace {

constexpr int wrong_use = 2; ///< The exit code for a command line that is not understood.

/// Returns the verb that was most likely meant; empty if none is near.
std::string nearest_verb(const CLI::App& app, std::string_view word) {
  std::string nearest;
  std::size_t least = 3; // More letters are another word.
  for (auto* verb : app.get_subcommands({}))
    if (auto distance = fiber::edit_distance(verb->get_name(), word);
        distance < least && distance < word.size()) {
      least = distance;
      nearest = verb->get_name();
    }
  return nearest;
}

bool is_verb(const CLI::App& app, const std::string& word) {
  return std::ranges::any_of(app.get_subcommands({}),
                             [&](auto* verb) { return verb->check_name(word); });
}

int refuse_verb(const CLI::App& app, const std::string& word) {
  auto nearest = nearest_verb(app, word);
  std::fprintf(stderr, "fiber: there is no verb '%s'%s; fiber --help names all\n",
               word.c_str(),
               nearest.empty() ? "" : ("; did you mean " + nearest + "?").c_str());
  return wrong_use;
}

} // namespace

int main(int argc, char** argv) {
  if (std::getenv("FIBER_NODE") != nullptr) // A job of a session that a verb opened.
    auto session = fiber::init(argc, argv);
  CLI::App app("Starts, shows and stops programs that use Fiber, here and on clusters.",
               "fiber");
  app.require_subcommand(1);
  app.set_version_flag("--version", "fiber " FIBER_VERSION, "Print the version and exit");
  fiber::cli::add_completion(app);
  fiber::cli::add_config(app);
  fiber::cli::add_cp(app);
  fiber::cli::add_doctor(app);
  fiber::cli::add_kill(app);
  fiber::cli::add_logs(app);
  fiber::cli::add_ps(app);
  fiber::cli::add_report(app);
  fiber::cli::add_run(app);
  fiber::cli::add_status(app);
  fiber::cli::add_stop(app);
  fiber::cli::add_top(app);
  fiber::cli::add_trace(app);
  if (argc > 1 && argv[1][0] != '-' && !is_verb(app, argv[1]))
    return refuse_verb(app, argv[1]);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Error& error) {
    auto code = app.exit(error);
    // CLI11 has a code of its own for each wrong use, from 100 on.
    return dynamic_cast<const CLI::ParseError*>(&error) != nullptr &&
               error.get_name() != "RuntimeError" && code != 0
             ? wrong_use
             : code;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fiber: %s\n",
                 fiber::for_terminal(error.what(), fiber::Passing::lines).c_str());
    return 1;
  }
  return 0;
}
