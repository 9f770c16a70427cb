// SPDX-License-Identifier: Apache-2.0
#include "cli/engines/probe.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <vector>

#include <spdlog/sinks/base_sink.h>

#include "base/log.hpp"
#include "fiber/detail/classic_locale.hpp"
#include "fiber/error.hpp"
#include "fiber/process.hpp"
#include "fiber/session.hpp"

namespace fiber::cli {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Returns how many seconds ago this process was started: the job's own clock is enough
/// for that.
double age_of_this_process() {
  constexpr int start_time =
    22; // A field of /proc/PID/stat; the name, field 2, may have spaces.
  fiber::detail::Classic<std::ifstream> file("/proc/self/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  fiber::detail::Classic<std::istringstream> fields(text.substr(text.rfind(')') + 1));
  std::string field;
  for (int i = 3; i < start_time; ++i)
    fields >> field;
  double started = 0;
  fields >> started;
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  const auto ticks = started / static_cast<double>(::sysconf(_SC_CLK_TCK));
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9 -
         ticks;
}

/// Keeps the log records of the session, which say what it waits for.
class Records : public spdlog::sinks::base_sink<std::mutex> {
public:
  /// Returns the records, each after a line break, but those that have the reason in
  /// `problem`, which is behind its first ": ".
  std::string beside(const std::string& problem) {
    auto colon = problem.find(": ");
    auto reason = problem.substr(colon == problem.npos ? 0 : colon + 2);
    std::lock_guard lock(mutex_);
    std::string text;
    for (auto& record : records_)
      if (record.find(reason) == record.npos)
        text += "\n" + record;
    return text;
  }

protected:
  void sink_it_(const spdlog::details::log_msg& record) override {
    records_.emplace_back(record.payload.begin(), record.payload.end());
  }
  void flush_() override {}

private:
  std::vector<std::string> records_;
};

/// Listens to the log while it lives. No other thread may log at its begin and end.
class LogHeard {
public:
  LogHeard() : records_(std::make_shared<Records>()) {
    log().sinks().push_back(records_);
  }
  ~LogHeard() { log().sinks().pop_back(); }
  LogHeard(const LogHeard&) = delete;
  LogHeard& operator=(const LogHeard&) = delete;
  Records& records() { return *records_; }

private:
  std::shared_ptr<Records> records_;
};

bool has(const std::string& text, const char* words) {
  return text.find(words) != text.npos;
}

std::string general_advice(const std::string& problem) {
  if (has(problem, "another build"))
    return "make the image anew from this very program: fiber run --build makes it, and "
           "so does make-image";
  if (has(problem, "cannot reach") || has(problem, "has not connected"))
    return "set advertise_address (FIBER_ADVERTISE_ADDRESS) to an address of this "
           "machine that jobs can reach, and "
           "open its firewall to them; or run the driver on the engine: fiber run";
  if (has(problem, "before it reached fiber::init"))
    return "the image's entrypoint must be this program, which calls fiber::init first: "
           "fiber run --build makes such "
           "an image";
  return {};
}

/// Returns whether the job ran when this went wrong.
bool job_ran(const std::string& problem) {
  return has(problem, "another build") || has(problem, "cannot reach") ||
         has(problem, "has not connected") ||
         has(problem, "before it reached fiber::init");
}

} // namespace

void probe(const std::string& engine, const Config& config, Report& report,
           const std::function<std::string(const std::string&)>& advice) {
  LogHeard heard;
  auto trouble = [&](const std::exception& error) {
    auto problem = error.what() + heard.records().beside(error.what());
    auto special = advice(problem);
    return Trouble(problem, special.empty() ? general_advice(problem) : special);
  };
  std::optional<fiber::Session> session;
  auto open = [&]() -> std::string {
    try {
      char name[] = "fiber";
      char* words[] = {name, nullptr};
      int count = 1;
      char** arguments = words;
      session.emplace(fiber::init(count, arguments, config));
      return "opened";
    } catch (const std::exception& error) {
      throw trouble(error);
    }
  };
  if (!report.check(engine, "session", open))
    return;
  auto begin = Clock::now();
  Check start{
    .engine = engine, .name = "job starts", .detail = "its process runs", .advice = {}};
  Check dial{.engine = engine,
             .name = "job dials back",
             .detail = "it has run a task",
             .advice = {}};
  try {
    auto age = fiber::async(age_of_this_process).get();
    auto all = since(begin);
    dial.seconds = std::min(age, all);
    start.seconds = all - dial.seconds;
  } catch (const std::exception& error) {
    auto problem = trouble(error);
    auto& bad = job_ran(problem.what()) ? dial : start;
    bad.state = Check::State::failed;
    bad.seconds = since(begin);
    bad.detail = problem.what();
    bad.advice = problem.advice;
  }
  report.add(start);
  if (start.state == Check::State::ok)
    report.add(dial);
}

} // namespace fiber::cli
