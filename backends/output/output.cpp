// SPDX-License-Identifier: Apache-2.0
#include "backends/output/output.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <thread>
#include <vector>

#include "base/terminal_text.hpp"

namespace fiber::backends {

namespace {

constexpr std::size_t longest_line = 64 * 1024;
// While another thread writes to stderr.
constexpr std::chrono::milliseconds busy_pause{5};
constexpr std::size_t read_at_once = 256 * 1024; // Per job, then the next.

} // namespace

Output::Output(bool forward, std::shared_ptr<StatusLines> terminal, Tap tap)
  : forward_(forward), tap_(std::move(tap)),
    terminal_(terminal ? std::move(terminal) : std::make_shared<StatusLines>()) {}

Output::~Output() {
  loop_.stop();
  auto end = Loop::Clock::now() + std::chrono::milliseconds(500);
  while (!pending_.empty()) {
    auto written = terminal_->write(writer_, pending_);
    pending_.erase(0, written.value_or(0));
    auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(end - Loop::Clock::now());
    if (pending_.empty() || left.count() <= 0)
      break;
    pollfd ready{writer_.fd(), POLLOUT, 0};
    if (written)
      ::poll(&ready, 1, static_cast<int>(left.count()));
    else
      std::this_thread::sleep_for(busy_pause);
  }
  terminal_->end_line();
}

void Output::add(Key key, const std::string& name, UniqueFd pipe) {
  auto stream = std::make_shared<Stream>();
  stream->name = name;
  stream->pipe = std::move(pipe);
  {
    std::lock_guard lock(mutex_);
    streams_[key] = stream;
  }
  if (!stream->pipe)
    return;
  loop_.post([this, stream] {
    if (!paused_)
      watch(stream);
  });
}

void Output::finish(Key key, std::chrono::milliseconds limit,
                    std::function<void()> done) {
  loop_.post([this, key, limit, done = std::move(done)]() mutable {
    auto stream = find(key);
    if (!stream || !stream->pipe)
      return done();
    stream->done = std::move(done);
    stream->timer = loop_.after(limit, [this, stream] { close(stream); });
    if (paused_) // The rest of an ended job's output is bounded.
      watch(stream);
  });
}

std::string Output::last(Key key) {
  std::lock_guard lock(mutex_);
  auto stream = streams_.find(key);
  if (stream == streams_.end())
    return {};
  auto& kept = stream->second->kept;
  return kept.substr(kept.size() - std::min(kept.size(), kept_bytes));
}

void Output::forget(Key key) {
  std::lock_guard lock(mutex_);
  streams_.erase(key);
}

Output::StreamPtr Output::find(Key key) {
  std::lock_guard lock(mutex_);
  auto stream = streams_.find(key);
  return stream == streams_.end() ? nullptr : stream->second;
}

void Output::watch(const StreamPtr& stream) {
  loop_.watch(stream->pipe.get(), EPOLLIN,
              [this, stream](std::uint32_t) { read(stream, read_at_once); });
}

void Output::read(const StreamPtr& stream, std::size_t most) {
  std::array<char, 64 * 1024> buffer;
  for (std::size_t total = 0; total < most;) {
    ssize_t got = ::read(stream->pipe.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0 && errno == EAGAIN)
      break;
    if (got <= 0)
      return close(stream);
    std::string_view text(buffer.data(), static_cast<std::size_t>(got));
    total += text.size();
    keep(*stream, text);
    forward(*stream, text);
  }
  flush();
}

bool Output::write(Key key, std::string_view text) {
  auto stream = find(key);
  if (!stream)
    return true;
  keep(*stream, text);
  if (!forward_)
    return true;
  waiting_bytes_ += text.size();
  loop_.post([this, stream, text = std::string(text)] {
    forward(*stream, text);
    flush();
    waiting_bytes_ -= text.size();
  });
  return has_room();
}

void Output::close(Key key) {
  loop_.post([this, stream = find(key)] {
    if (stream) {
      forward_end(*stream);
      flush();
    }
  });
}

void Output::keep(Stream& stream, std::string_view text) {
  std::lock_guard lock(mutex_);
  stream.kept += text;
  if (stream.kept.size() > 2 * kept_bytes)
    stream.kept.erase(0, stream.kept.size() - kept_bytes);
}

/// Ends a stream.
void Output::close(const StreamPtr& stream) {
  if (!stream->pipe)
    return;
  loop_.unwatch(stream->pipe.get());
  stream->pipe.reset();
  forward_end(*stream);
  flush();
  if (stream->done) {
    loop_.cancel(stream->timer);
    std::exchange(stream->done, nullptr)();
  }
}

void Output::forward(Stream& stream, std::string_view text) {
  if (tap_)
    return tap_(stream.name, text);
  if (!forward_)
    return;
  to_terminal_ = ::isatty(STDERR_FILENO) != 0; // It may have been redirected.
  stream.filter.pass(text, [&](std::string_view part) { queue_lines(stream, part); });
}

/// Forwards the rest, and ends an unfinished line.
void Output::forward_end(Stream& stream) {
  stream.filter.end([&](std::string_view part) { queue_lines(stream, part); });
  if (!stream.partial.empty())
    queue_lines(stream, "\n");
}

/// Queues complete lines.
void Output::queue_lines(Stream& stream, std::string_view text) {
  while (!text.empty()) {
    auto end = text.find('\n');
    auto room = longest_line - stream.partial.size();
    auto piece = text.substr(0, std::min(end == text.npos ? text.size() : end, room));
    stream.partial += piece;
    text.remove_prefix(piece.size());
    bool whole = !text.empty() && text.front() == '\n';
    if (whole)
      text.remove_prefix(1);
    if (!whole && stream.partial.size() < longest_line)
      return;
    queue_line(stream);
    stream.partial.clear();
  }
}

void Output::queue_line(const Stream& stream) {
  pending_.append("[").append(stream.name).append("] ");
  pending_ += to_terminal_ ? for_terminal(stream.partial) : stream.partial;
  pending_ += '\n';
}

void Output::flush() {
  if (waiting_ || pending_.empty())
    return pause(pending_.size() > pending_limit);
  auto written = terminal_->write(writer_, pending_);
  pending_.erase(0, written.value_or(0));
  if (!written) {
    waiting_ = true;
    loop_.after(busy_pause, [this] {
      waiting_ = false;
      flush();
    });
  } else if (!pending_.empty()) {
    int fd = writer_.fd();
    waiting_ = loop_.watch(fd, EPOLLOUT, [this, fd](std::uint32_t) {
      waiting_ = false;
      loop_.unwatch(fd);
      flush();
    });
  }
  pause(pending_.size() > pending_limit);
}

void Output::pause(bool on) {
  pending_bytes_ = pending_.size();
  if (on == paused_)
    return;
  paused_ = on;
  std::vector<StreamPtr> open;
  {
    std::lock_guard lock(mutex_);
    for (auto& [key, stream] : streams_)
      if (stream->pipe && !stream->done)
        open.push_back(stream);
  }
  for (auto& stream : open)
    if (on)
      loop_.unwatch(stream->pipe.get());
    else
      watch(stream);
}

} // namespace fiber::backends
