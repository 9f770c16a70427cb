// SPDX-License-Identifier: Apache-2.0
#include "libfiber/dashboard/report_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/log.hpp"
#include "base/unique_fd.hpp"
#include "libfiber/dashboard/page.hpp"
#include "libfiber/observer/session_view.hpp"

namespace fiber::dashboard {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto report_patience = 300ms; ///< With pools that are busy.
constexpr int report_share = 100; ///< At most this part of the time goes into writing.

[[noreturn]] void fail(const std::string& path, int error) {
  throw std::system_error(error, std::generic_category(), path);
}

} // namespace

void write_page(const std::string& path, const std::string& page) {
  auto draft = path + "." + std::to_string(::getpid()) + ".part";
  {
    UniqueFd file(::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!file)
      fail(path, errno);
    for (std::size_t done = 0; done < page.size();) {
      auto n = ::write(file.get(), page.data() + done, page.size() - done);
      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0) {
        auto error = errno;
        ::unlink(draft.c_str());
        fail(path, error);
      }
      done += static_cast<std::size_t>(n);
    }
  }
  if (::rename(draft.c_str(), path.c_str()) != 0) {
    auto error = errno;
    ::unlink(draft.c_str());
    fail(path, error);
  }
}

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
  write_page(path_, report_page(report));
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
