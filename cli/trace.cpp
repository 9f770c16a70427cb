// SPDX-License-Identifier: Apache-2.0
#include <poll.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <system_error>

#include <CLI/CLI.hpp>

#include "cli/engines/interrupts.hpp"
#include "cli/sessions.hpp"
#include "cli/verbs.hpp"
#include "fiber/error.hpp"

namespace fiber::cli {
namespace {

using nlohmann::json;

constexpr int look_every_ms = 100;

struct TraceOptions {
  std::string name, file;
  double seconds = 5;
  bool as_json = false;
};

/// Waits until the session has written the trace. A signal ends it early.
void await_trace(Session& session, const std::string& file) {
  Interrupts interrupts;
  for (json request{{"op", "trace"}};; request.erase("stop")) {
    pollfd signals{interrupts.fd(), POLLIN, 0};
    ::poll(&signals, 1, look_every_ms);
    if (interrupts.take().number != 0)
      request["stop"] = true;
    try {
      if (!ask(session, request).value("tracing", false))
        return;
    } catch (const Error& error) {
      throw Error(std::string(error.what()) + "; " + file +
                  " has the trace as far as it was written");
    }
  }
}

void trace_session(const TraceOptions& options) {
  auto session = find_session(options.name);
  if (session.remote)
    throw Error(title_of(session) + " can't be traced from here, because its driver "
                                    "writes the file; start it with FIBER_TRACE=FILE, a "
                                    "file in a volume");
  auto file = std::filesystem::absolute(
                options.file.empty() ? session.name + ".trace.json" : options.file)
                .lexically_normal()
                .string();
  auto reply =
    ask(session, {{"op", "trace"}, {"file", file}, {"seconds", options.seconds}});
  if (!reply.contains("tracing"))
    throw Error(session.name +
                " runs an older Fiber, which can't be traced while it runs");
  await_trace(session, file);
  if (options.as_json) {
    std::error_code none;
    std::cout << json{{"name", session.name},
                      {"pid", session.pid},
                      {"file", file},
                      {"bytes", std::filesystem::file_size(file, none)}}
                   .dump(2)
              << "\n";
  } else
    std::cout << file << "\n";
}

} // namespace

void add_trace(CLI::App& app) {
  auto* verb = app.add_subcommand(
    "trace", "Record which worker runs which task in the next seconds of a session");
  auto options = std::make_shared<TraceOptions>();
  verb->add_option("NAME", options->name, name_help)->required();
  verb->add_option("--seconds", options->seconds, "How long; ^C ends it earlier")
    ->check(CLI::Range(0.001, 86400.0))
    ->capture_default_str();
  verb->add_option("-o,--output", options->file, "The file. Default: NAME.trace.json");
  verb->add_flag("--json", options->as_json, "Print JSON");
  verb->footer(
    "https://ui.perfetto.dev and chrome://tracing show the file. It has the "
    "tasks of pools that ended in\nthis time; FIBER_TRACE=FILE records a whole "
    "program.\n\n"
    "Examples:\n  fiber trace train\n"
    "  fiber trace train --seconds 30 -o run.json");
  verb->callback([options] { trace_session(*options); });
}

} // namespace fiber::cli
