// SPDX-License-Identifier: Apache-2.0
#include "actors/trace/trace.hpp"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <iterator>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/chrono.h>
#include <fmt/compile.h>
#include <nlohmann/json.hpp>

#include "base/log.hpp"
#include "base/trusted_file.hpp"

namespace fiber::actors {
namespace {

/// Limits of what waits to be written: 6 MB of spans, as much again while those are
/// written, and a megabyte of lines.
constexpr std::size_t max_spans = 65536, max_line_bytes = 1 << 20;
/// So many spans wake the writing thread before `write_every` is over.
constexpr std::size_t many_spans = max_spans / 4;
constexpr std::chrono::milliseconds write_every{200};
/// How long add() waits for room. It is short, since the caller may be the thread that
/// sends the heartbeats.
constexpr std::chrono::milliseconds room_timeout{200};
constexpr std::size_t write_bytes = 256 * 1024;

[[noreturn]] void fail(int error) {
  throw std::system_error(error, std::generic_category());
}

UniqueFd open_file(const std::string& path) {
  auto file = open_trusted(path, O_WRONLY | O_CREAT, {.devices = true});
  if (!file)
    fail(errno);
  struct stat is {};
  if (::fstat(file.get(), &is) != 0)
    fail(errno);
  if (S_ISFIFO(is.st_mode))
    fail(ESPIPE);
  if (!S_ISREG(is.st_mode))
    return file;
  // Lock before truncating: a program that a task starts inherits FIBER_TRACE and must
  // not empty the file. A file system without locks is accepted.
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    throw TraceTaken("another driver writes to " + path);
  if (::ftruncate(file.get(), 0) != 0)
    fail(errno);
  return file;
}

/// Returns 0, or errno if not all of the text was written.
int write_all(int file, std::string_view text) {
  while (!text.empty()) {
    auto n = ::write(file, text.data(), text.size());
    if (n < 0 && errno != EINTR)
      return errno;
    if (n > 0)
      text.remove_prefix(static_cast<std::size_t>(n));
  }
  return 0;
}

constexpr std::string_view name_of(TraceSpan::Outcome outcome) {
  switch (outcome) {
  case TraceSpan::Outcome::value:
    return "value";
  case TraceSpan::Outcome::failed:
    return "failed";
  case TraceSpan::Outcome::overdue:
    return "overdue";
  case TraceSpan::Outcome::cancelled:
    return "cancelled";
  case TraceSpan::Outcome::overtaken:
    return "overtaken";
  case TraceSpan::Outcome::lost:
    return "lost";
  }
  return "";
}

constexpr std::string_view name_of(TraceSpan::Kind kind) {
  return kind == TraceSpan::Kind::queued ? "queued"
         : kind == TraceSpan::Kind::sent ? "sent"
                                         : "returning";
}

/// A hash that is the same for all runs of a task and in practice unique to it.
std::uint64_t identity_of(const TraceSpan& run) {
  auto mixed = (std::uint64_t{run.pool} << 56) ^ (run.call << 40) ^ (run.first + 1);
  return mixed * 0x9e3779b97f4a7c15;
}

/// Returns the thread id of a worker, which is not 0: some readers treat 0 specially.
std::uint32_t row_of(std::uint32_t worker) {
  return worker + 1;
}

/// Appends spans as lines. Each line begins with the comma that ends the previous one.
class SpanText {
public:
  SpanText(std::string& text, TraceSpan::Time start) : text_(text), start_(start) {}

  void run(const TraceSpan& span) {
    text_ += ",\n";
    put(FMT_COMPILE(R"({{"ph":"X","pid":{},"tid":{},"ts":)"), span.pool,
        row_of(span.worker));
    put_time(span.from - start_);
    text_ += R"(,"dur":)";
    put_time(span.to - span.from);
    put(FMT_COMPILE(R"(,"cat":"task","name":"task {}",)"), span.first);
    // Makes readers draw an arrow from each run of a task to the next.
    auto again = span.attempt > 1;
    auto unfinished = span.copied || span.outcome == TraceSpan::Outcome::lost ||
                      span.outcome == TraceSpan::Outcome::failed;
    if (again || unfinished)
      put(FMT_COMPILE(R"("bind_id":"{:#x}",{}{})"), identity_of(span),
          again ? R"("flow_in":true,)" : "", unfinished ? R"("flow_out":true,)" : "");
    put(FMT_COMPILE(
          R"("args":{{"call":{},"index":{},"attempt":{},"outcome":"{}","queued":)"),
        span.call, span.first, span.attempt, name_of(span.outcome));
    put_time(span.queued_at - start_);
    text_ += R"(,"sent":)";
    put_time(span.sent_at - start_);
    text_ += R"(,"returned":)";
    put_time(span.returned_at - start_);
    text_ += "}}";
  }

  void phase(const TraceSpan& span, std::uint64_t id) {
    put_phase('b', span, id, span.from);
    put(FMT_COMPILE(
          R"(,"args":{{"call":{},"first":{},"tasks":{},"attempt":{},"worker":{}}}}})"),
        span.call, span.first, span.tasks, span.attempt, span.worker);
    put_phase('e', span, id, span.to);
    text_ += '}';
  }

private:
  template <class... Args>
  void put(const Args&... args) {
    fmt::format_to(std::back_inserter(text_), args...);
  }
  /// Writes microseconds, the unit of the format.
  void put_time(std::chrono::nanoseconds time) {
    auto ns = static_cast<std::uint64_t>(std::max(time.count(), std::int64_t{0}));
    put(FMT_COMPILE("{}.{:03}"), ns / 1000, ns % 1000);
  }
  void put_phase(char which, const TraceSpan& span, std::uint64_t id,
                 TraceSpan::Time at) {
    auto name = name_of(span.kind);
    put(FMT_COMPILE(",\n"
                    R"({{"ph":"{}","pid":{},"tid":{},"id2":{{"local":"{:#x}"}},)"
                    R"("cat":"{}","name":"{}","ts":)"),
        which, span.pool, row_of(span.worker), id, name, name);
    put_time(at - start_);
  }

  std::string& text_;
  TraceSpan::Time start_;
};

std::string text_of(const nlohmann::json& event) {
  // Texts from a cluster need not be UTF-8.
  return event.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string begin_of_file() {
  nlohmann::json event{
    {"ph", "M"},
    {"pid", 1},
    {"name", "fiber_session"},
    {"args",
     {{"began", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))},
      {"driver", ::getpid()}}}};
  return "[\n" + text_of(event);
}

} // namespace

Trace::Trace(std::string path) : path_(std::move(path)), file_(open_file(path_)) {
  auto begin = begin_of_file();
  if (auto error = write_all(file_.get(), begin); error != 0)
    fail(error);
  size_ = begin.size();
  thread_ = std::thread([this] { run(); });
}

Trace::~Trace() {
  close();
}

void Trace::add(const TraceSpan& span) {
  std::unique_lock lock(mutex_);
  if (!has_room(lock))
    return;
  spans_.push_back(span);
  if (spans_.size() == many_spans)
    changed_.notify_one();
}

/// Returns whether there is room, and waits for it once: not again until the thread has
/// written.
bool Trace::has_room(std::unique_lock<std::mutex>& lock) {
  auto enough = [&] {
    return spans_.size() < max_spans && lines_.size() < max_line_bytes;
  };
  if (!stalled_ && !closing_ && !broken_ && !enough()) {
    changed_.notify_one();
    stalled_ = !room_.wait_for(lock, room_timeout, [&] { return broken_ || enough(); });
  }
  if (closing_ || broken_)
    return false;
  if (!enough()) {
    ++left_out_;
    return false;
  }
  return true;
}

void Trace::add_line(const std::string& line) {
  std::unique_lock lock(mutex_);
  if (has_room(lock))
    lines_ += ",\n" + line;
}

void Trace::add_instant(std::uint32_t pool, std::uint32_t worker, const std::string& what,
                        const nlohmann::json& details) {
  std::chrono::duration<double, std::micro> at = Clock::now() - start_;
  add_line(text_of({{"ph", "i"},
                    {"s", "t"},
                    {"pid", pool},
                    {"tid", row_of(worker)},
                    {"ts", at.count()},
                    {"cat", "worker"},
                    {"name", what},
                    {"args", details}}));
}

void Trace::add_slice(std::uint32_t pool, std::uint32_t worker, const std::string& what,
                      TraceSpan::Time from, TraceSpan::Time to,
                      const nlohmann::json& details) {
  using Micro = std::chrono::duration<double, std::micro>;
  add_line(text_of({{"ph", "X"},
                    {"pid", pool},
                    {"tid", row_of(worker)},
                    {"ts", Micro(from - start_).count()},
                    {"dur", Micro(to - from).count()},
                    {"cat", "process"},
                    {"name", what},
                    {"args", details}}));
}

void Trace::name_pool(std::uint32_t pool, const std::string& name) {
  add_line(text_of(
    {{"ph", "M"}, {"pid", pool}, {"name", "process_name"}, {"args", {{"name", name}}}}));
}

void Trace::name_worker(std::uint32_t pool, std::uint32_t worker) {
  name_row(pool, worker, "worker " + std::to_string(worker));
}

void Trace::name_row(std::uint32_t pool, std::uint32_t row, const std::string& name) {
  for (auto& [what, args] :
       {std::pair{"thread_name", nlohmann::json{{"name", name}}},
        {"thread_sort_index", nlohmann::json{{"sort_index", row_of(row)}}}})
    add_line(text_of({{"ph", "M"},
                      {"pid", pool},
                      {"tid", row_of(row)},
                      {"name", what},
                      {"args", args}}));
}

void Trace::close() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable())
    thread_.join();
}

// -- the writing thread --

void Trace::run() {
  std::vector<TraceSpan> spans;
  for (auto last = false; !last;) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, write_every, [&] {
      return closing_ || spans_.size() >= many_spans || lines_.size() >= max_line_bytes;
    });
    last = closing_;
    spans.clear();
    spans.swap(spans_);
    auto lines = std::exchange(lines_, {});
    stalled_ = false;
    lock.unlock();
    room_.notify_all();
    write_out(spans, std::move(lines));
  }
  end_file();
}

void Trace::write_out(const std::vector<TraceSpan>& spans, std::string lines) {
  if (!file_)
    return;
  text_ = std::move(lines);
  SpanText text(text_, start_);
  for (auto& span : spans) {
    if (span.kind == TraceSpan::Kind::run)
      text.run(span);
    else
      text.phase(span, next_id_++);
    if (text_.size() >= write_bytes) {
      write(text_);
      text_.clear();
    }
  }
  write(text_);
  text_.clear();
}

void Trace::write(std::string_view text) {
  if (!file_ || text.empty())
    return;
  auto error = write_all(file_.get(), text);
  if (error == 0) {
    size_ += text.size();
    return;
  }
  {
    std::lock_guard lock(mutex_);
    broken_ = true;
    spans_ = {};
    lines_ = {};
  }
  room_.notify_all();
  log().warn("can't write the trace {}: {}; it ends here, but the work goes on", path_,
             std::generic_category().message(error));
  // Cut off the partial line, which is not JSON. That makes room for the closing bracket.
  if (::ftruncate(file_.get(), static_cast<off_t>(size_)) == 0)
    ::lseek(file_.get(), static_cast<off_t>(size_), SEEK_SET);
  write_all(file_.get(), "\n]\n");
  file_.reset();
}

void Trace::end_file() {
  if (!file_)
    return;
  if (left_out_ > 0) {
    log().warn(
      "the trace {} lacks {} events, which came faster than they could be written", path_,
      left_out_);
    write(",\n" + text_of({{"ph", "M"},
                           {"pid", 1},
                           {"name", "fiber_left_out"},
                           {"args", {{"events", left_out_}}}}));
  }
  write("\n]\n");
  file_.reset();
}

} // namespace fiber::actors
