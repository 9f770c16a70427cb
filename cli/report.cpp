// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <memory>
#include <string>
#include <system_error>

#include <CLI/CLI.hpp>

#include "base/file_draft.hpp"
#include "cli/sessions.hpp"
#include "cli/verbs.hpp"
#include "fiber/error.hpp"
#include "libfiber/dashboard/page.hpp"

namespace fiber::cli {
namespace {

void write_report(const std::string& name, std::string file) {
  auto session = find_session(name);
  auto report = ask(session, {{"op", "report"}});
  if (!report.contains("stream"))
    throw Error(session.name + " runs an older Fiber, which makes no reports");
  if (file.empty())
    file = session.name + ".html";
  try {
    replace_file(file, dashboard::report_page(report));
  } catch (const std::system_error& error) {
    throw Error("can't write " + file + ": " + error.code().message());
  }
  std::cout << file << "\n";
}

} // namespace

void add_report(CLI::App& app) {
  auto* verb = app.add_subcommand(
    "report", "Write the live page of a session, as it is now, to one file");
  struct Options {
    std::string name, file;
  };
  auto options = std::make_shared<Options>();
  verb->add_option("NAME", options->name, name_help)->required();
  verb->add_option("-o,--output", options->file, "The file. Default: NAME.html");
  verb->footer("The file needs no server and nothing else: a browser opens it.\n\n"
               "Examples:\n  fiber report train\n  fiber report train -o run.html");
  verb->callback([options] { write_report(options->name, options->file); });
}

} // namespace fiber::cli
