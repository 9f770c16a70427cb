// SPDX-License-Identifier: Apache-2.0
#include "libfiber/dashboard/report_file.hpp"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/file_draft.hpp"
#include "base/log.hpp"
#include "libfiber/dashboard/page.hpp"
#include "libfiber/observer/session_view.hpp"

namespace fiber::dashboard {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto report_patience = 300ms; ///< With pools that are busy.
constexpr int report_share = 100; ///< At most this part of the time goes into writing.

} // namespace

ReportFile::ReportFile(std::string path, observer::SessionView& view)
  : path_(std::move(path)), view_(view) {
  write(false);
  thread_ = std::thread([this] { run(); });
}

ReportFile::~ReportFile() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  thread_.join();
  try_write(true);
}

void ReportFile::write(bool over) {
  auto report = view_.report(report_patience);
  report["over"] = over;
  replace_file(path_, report_page(report));
}

void ReportFile::try_write(bool over) {
  try {
    write(over);
  } catch (const std::exception& error) {
    if (!std::exchange(failed_, true))
      log().warn("the report can't be written any more: {}", error.what());
  }
}

void ReportFile::run() {
  std::unique_lock lock(mutex_);
  Clock::duration pause = interval;
  while (!changed_.wait_for(lock, pause, [this] { return closing_; })) {
    lock.unlock();
    auto begin = Clock::now();
    try_write(false);
    pause = std::max<Clock::duration>(interval, report_share * (Clock::now() - begin));
    lock.lock();
  }
}

} // namespace fiber::dashboard
