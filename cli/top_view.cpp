// SPDX-License-Identifier: Apache-2.0
#include "cli/top_view.hpp"

#include <algorithm>
#include <sstream>
#include <utility>

#include "cli/printable.hpp"
#include "fiber/detail/classic_locale.hpp"

namespace fiber::cli {
namespace {

using nlohmann::json;

constexpr std::size_t max_log = 256 * 1024; ///< Bytes of output that are kept.
constexpr std::size_t min_jobs = 4;         ///< Lines, with the title.

Lines at_most(Lines lines, std::size_t most) {
  if (lines.size() > most) {
    lines.resize(most);
    if (!lines.empty())
      lines.back() = "  ...";
  }
  return lines;
}

/// Adds lines below an empty one; the first is a title.
void add_section(std::vector<Row>& rows, const Lines& lines) {
  if (lines.empty())
    return;
  rows.push_back({});
  for (auto& line : lines)
    rows.push_back(
      {line, &line == &lines.front() ? Row::Style::title : Row::Style::plain});
}

Lines with_title(const char* title, Lines lines) {
  if (!lines.empty())
    lines.insert(lines.begin(), title);
  return lines;
}

} // namespace

void TopView::set(json snapshot) {
  snapshot_ = std::move(snapshot);
  jobs_ = sorted_jobs(snapshot_, order_);
  // The selection stays with its job.
  auto same = std::ranges::find_if(
    jobs_, [&](auto& job) { return job.value("job", "") == selected_job_; });
  if (same != jobs_.end())
    selected_ = static_cast<std::size_t>(same - jobs_.begin());
  move(0);
}

void TopView::add_log(const std::string& text) {
  log_ += printable(text, true);
  log_.erase(0, log_.size() - std::min(log_.size(), max_log));
}

void TopView::move(std::ptrdiff_t by) {
  if (jobs_.empty())
    return;
  auto last = static_cast<std::ptrdiff_t>(jobs_.size()) - 1;
  selected_ = static_cast<std::size_t>(
    std::clamp(static_cast<std::ptrdiff_t>(selected_) + by, std::ptrdiff_t{0}, last));
  selected_job_ = jobs_[selected_].value("job", "");
}

bool TopView::press(int key) {
  if (open_)
    return press_in_log(key);
  auto page = static_cast<std::ptrdiff_t>(page_);
  if (key == 'q')
    return false;
  if (key == 's') {
    order_ = order_ == JobOrder::age
               ? JobOrder::name
               : static_cast<JobOrder>(static_cast<int>(order_) + 1);
    jobs_ = sorted_jobs(snapshot_, order_);
    selected_ = 0;
    move(0);
  } else if (key == 'p' || key == ' ') {
    paused_ = !paused_;
  } else if (key == Screen::up || key == 'k') {
    move(-1);
  } else if (key == Screen::down || key == 'j') {
    move(1);
  } else if (key == Screen::page_up) {
    move(-page);
  } else if (key == Screen::page_down) {
    move(page);
  } else if ((key == '\n' || key == '\r' || key == 'l') && !jobs_.empty()) {
    open_ = selected_job_;
    log_.clear();
    back_ = 0;
  }
  return true;
}

bool TopView::press_in_log(int key) {
  if (key == 'q' || key == Screen::escape)
    open_.reset();
  else if (key == Screen::up || key == 'k')
    ++back_;
  else if (key == Screen::down || key == 'j')
    back_ -= std::min<std::size_t>(back_, 1);
  else if (key == Screen::page_up)
    back_ += page_;
  else if (key == Screen::page_down)
    back_ -= std::min(back_, page_);
  return true;
}

std::vector<Row> TopView::rows(Screen::Size size) {
  auto rows = open_ ? log_rows(size) : session_rows(size);
  if (rows.size() > size.rows)
    rows.resize(size.rows);
  return rows;
}

std::vector<Row> TopView::session_rows(Screen::Size size) {
  std::vector<Row> rows;
  rows.push_back({headline(snapshot_), Row::Style::title});
  rows.push_back({std::string("q quit  s sort by ") + text_of(order_) +
                  "  up/down select  enter output  p " +
                  (paused_ ? "go on (paused)" : "pause")});
  if (!note_.empty())
    rows.push_back({printable(note_), Row::Style::title});
  auto share = [&](std::size_t part) {
    return std::max<std::size_t>(3, size.rows / part);
  };
  add_section(rows, at_most(pool_lines(snapshot_, size.columns), share(3)));
  std::vector<Row> below;
  if (auto why = jobs_.empty() ? "" : waits_for(jobs_[selected_]); !why.empty())
    add_section(below, {"WHY THE SELECTED JOB WAITS", why});
  add_section(below,
              at_most(with_title("SUPERVISORS", supervisor_lines(snapshot_)), share(4)));
  for (auto& lines :
       {ring_lines(snapshot_), manager_lines(snapshot_), queue_lines(snapshot_)})
    add_section(below, at_most(lines, share(6)));
  add_section(below, with_title("LAST FAILURES", failure_lines(snapshot_, share(8))));
  auto used = rows.size() + below.size() + 1;
  auto room = size.rows > used ? size.rows - used : 0;
  add_jobs(rows, std::max(room, min_jobs));
  rows.insert(rows.end(), below.begin(), below.end());
  return rows;
}

/// Adds the titles and those jobs around the selected one that fit into `room` lines.
void TopView::add_jobs(std::vector<Row>& rows, std::size_t room) {
  auto lines = job_lines(jobs_);
  if (lines.empty())
    return;
  rows.push_back({});
  rows.push_back({lines.front(), Row::Style::title});
  page_ = room - 1;
  auto first = selected_ < page_ ? 0 : selected_ - page_ + 1;
  for (auto i = first; i < std::min(jobs_.size(), first + page_); ++i)
    rows.push_back(
      {lines[i + 1], i == selected_ ? Row::Style::selected : Row::Style::plain});
}

std::vector<Row> TopView::log_rows(Screen::Size size) {
  std::vector<Row> rows;
  rows.push_back(
    {"output of " + printable(*open_) + "   q back  up/down scroll", Row::Style::title});
  Lines lines;
  fiber::detail::Classic<std::istringstream> text(log_);
  for (std::string line; std::getline(text, line);) {
    for (auto tab = line.find('\t'); tab != line.npos; tab = line.find('\t'))
      line.replace(tab, 1, "    ");
    lines.push_back(std::move(line));
  }
  page_ = size.rows - std::min<std::size_t>(size.rows, 1);
  back_ = std::min(back_, lines.size() - std::min(lines.size(), page_));
  auto end = lines.size() - back_;
  for (auto i = end - std::min(end, page_); i < end; ++i)
    rows.push_back({lines[i]});
  if (lines.empty())
    rows.push_back({"(it has printed nothing)"});
  return rows;
}

} // namespace fiber::cli
