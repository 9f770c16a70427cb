// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/screen.hpp"
#include "cli/session_text.hpp"

namespace fiber::cli {

/// What `fiber top` shows: one session, or the output of one of its jobs.
class TopView {
public:
  /// The latest snapshot of the session.
  void set(nlohmann::json snapshot);
  /// Something to know about the session; empty: nothing.
  void set_note(std::string note) { note_ = std::move(note); }
  /// More output of the job that is open.
  void add_log(const std::string& text);

  /// Handles a key. Returns false if it ends the program.
  bool press(int key);
  /// Returns the job whose output is to be shown, if any.
  const std::optional<std::string>& open_job() const { return open_; }
  bool is_paused() const { return paused_; }

  /// Returns what fits into a screen of this size.
  std::vector<Row> rows(Screen::Size size);

private:
  std::vector<Row> session_rows(Screen::Size size);
  std::vector<Row> log_rows(Screen::Size size);
  void add_jobs(std::vector<Row>& rows, std::size_t room);
  void move(std::ptrdiff_t by);
  bool press_in_log(int key);

  nlohmann::json snapshot_ = nlohmann::json::object();
  std::vector<nlohmann::json> jobs_; ///< In the order of the screen.
  JobOrder order_ = JobOrder::name;
  std::size_t selected_ = 0; ///< Index in jobs_.
  std::string selected_job_;
  bool paused_ = false;
  std::string note_;
  std::optional<std::string> open_;
  std::string log_;       ///< The end of the output of open_.
  std::size_t back_ = 0;  ///< Lines that the output is scrolled back.
  std::size_t page_ = 20; ///< Lines of the last screen.
};

} // namespace fiber::cli
