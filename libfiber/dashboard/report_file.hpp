// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace fiber::observer {
class SessionView;
}

namespace fiber::dashboard {

/// The file that a session keeps of itself. A thread of its own rewrites it every few
/// seconds, more seldom if that takes long, so that a driver that is killed leaves its
/// last state. The destructor writes it once more.
class ReportFile {
public:
  static constexpr std::chrono::seconds interval{2};

  /// Writes the file at once. Throws std::system_error if it can't. Later failures are
  /// logged once, and do not disturb the program.
  ReportFile(std::string path, observer::SessionView& view);
  ~ReportFile();
  ReportFile(const ReportFile&) = delete;
  ReportFile& operator=(const ReportFile&) = delete;

private:
  void write(bool over);
  void try_write(bool over);
  void run();

  const std::string path_;
  observer::SessionView& view_;
  bool failed_ = false; ///< A failure was logged.
  std::mutex mutex_;
  std::condition_variable changed_;
  bool closing_ = false; ///< Guarded by mutex_.
  std::thread thread_;
};

} // namespace fiber::dashboard
