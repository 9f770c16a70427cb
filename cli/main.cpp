// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs.hpp"
#include "fiber/error.hpp"

#include <CLI/CLI.hpp>

#include <cstdio>

int main(int argc, char** argv) {
  CLI::App app("Starts, shows and stops programs that use Fiber, here and on clusters.",
               "fiber");
  app.require_subcommand(1);
  fiber::cli::add_kill(app);
  fiber::cli::add_logs(app);
  fiber::cli::add_ps(app);
  fiber::cli::add_status(app);
  fiber::cli::add_stop(app);
  fiber::cli::add_top(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Error& error) {
    return app.exit(error);
  } catch (const fiber::Error& error) {
    std::fprintf(stderr, "fiber: %s\n", error.what());
    return 1;
  }
  return 0;
}
