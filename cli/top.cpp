// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>

#include "cli/job_log.hpp"
#include "cli/screen.hpp"
#include "cli/session_text.hpp"
#include "cli/sessions.hpp"
#include "cli/top_view.hpp"
#include "cli/verbs.hpp"
#include "fiber/error.hpp"

namespace fiber::cli {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t columns_elsewhere = 100; ///< Where there is no terminal.

struct TopOptions {
  std::string name;
  double interval = 1;
  bool once = false;
};

/// Shows a session until a key, or the end of the session, ends that.
class Top {
public:
  Top(Session session, milliseconds interval)
    : session_(std::move(session)), interval_(interval) {}

  /// Returns why it ended, if not by a key. Throws Error if there is no terminal.
  std::string run() {
    Screen screen;
    try {
      for (;;) {
        look();
        auto next = Clock::now() + interval_;
        do {
          Screen::draw(view_.rows(Screen::size()));
          auto left = std::chrono::ceil<milliseconds>(next - Clock::now());
          auto key = screen.key(std::max(left, milliseconds(0)));
          if (key != Screen::none && !view_.press(key))
            return {};
          if (view_.open_job() != shown_)
            break; // Its output should be there at once.
        } while (Clock::now() < next);
      }
    } catch (const Error& error) {
      if (is_alive(session_))
        throw;
      return session_.name + " has ended";
    }
  }

private:
  void look() {
    shown_ = view_.open_job();
    if (!shown_)
      log_.reset();
    else if (!log_)
      log_.emplace(*shown_);
    if (log_)
      read_log();
    if (!view_.is_paused())
      read_status();
  }

  void read_status() {
    try {
      view_.set(ask(session_, {{"op", "status"}}));
      view_.set_note({});
    } catch (const Error& error) {
      if (!is_alive(session_))
        throw;
      view_.set_note(error.what());
    }
  }

  void read_log() {
    try {
      view_.add_log(log_->read(session_));
      problem_.clear();
    } catch (const Error& error) {
      if (!is_alive(session_))
        throw;
      if (std::exchange(problem_, error.what()) != error.what())
        view_.add_log("(" + std::string(error.what()) + ")\n");
    }
  }

  Session session_;
  const milliseconds interval_;
  TopView view_;
  std::optional<std::string> shown_; ///< The job whose output is shown.
  std::optional<JobLog> log_;
  std::string problem_; ///< Why its output can't be read.
};

void show_top(const TopOptions& options) {
  auto session = find_session(options.name);
  if (options.once) {
    auto snapshot = ask(session, {{"op", "status"}});
    return print_session(session, snapshot, columns_elsewhere);
  }
  auto interval = milliseconds(static_cast<std::int64_t>(options.interval * 1000));
  if (auto why = Top(std::move(session), interval).run(); !why.empty())
    std::cout << why << "\n";
}

} // namespace

void add_top(CLI::App& app) {
  auto* verb = app.add_subcommand("top", "Show a session as it goes on: pools, jobs, "
                                         "supervisors, queues, failures");
  auto options = std::make_shared<TopOptions>();
  verb->add_option("NAME", options->name, name_help)->required();
  verb->add_option("--interval", options->interval, "Seconds from one look to the next")
    ->check(CLI::Range(0.1, 3600.0))
    ->capture_default_str();
  verb->add_flag("--once", options->once, "Print one picture and end; needs no terminal");
  verb->footer("Keys: q quit; s sort jobs by name, tasks, restarts or age; up and down "
               "select a job, Enter\nshows its output, q goes back; p stops the picture."
               "\n\nExamples:\n  fiber top train\n  fiber top train --once | head");
  verb->callback([options] { show_top(*options); });
}

} // namespace fiber::cli
