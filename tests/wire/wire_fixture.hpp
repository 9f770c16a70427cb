// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/unique_fd.hpp"
#include "wire/link.hpp"

namespace fiber::wire {

using namespace std::chrono_literals;

/// Waits for a condition. Returns false after a very long time.
inline bool eventually(const std::function<bool()>& condition,
                       std::chrono::seconds limit = 60s) {
  const auto until = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until)
      return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

inline std::pair<UniqueFd, UniqueFd> socket_pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw std::runtime_error("no socket pair");
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

inline Bytes bytes_of(std::string_view text) {
  Bytes bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

inline std::string text_of(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Returns bytes that depend on their position, which reveals a wrong order.
inline Bytes pattern(std::size_t size) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<std::byte>(i * 131 + (i >> 12));
  return bytes;
}

/// Records all callbacks of a link.
class Recorder : public LinkHandler {
public:
  struct Message {
    StreamId stream;
    Bytes bytes;
  };

  void on_message(StreamId stream, Bytes message) override {
    const std::lock_guard lock(mutex_);
    after_end_ |= closed_ > 0;
    messages_.push_back({stream, std::move(message)});
  }
  void on_silence() override {
    const std::lock_guard lock(mutex_);
    ++silences_;
  }
  void on_closed(const LinkEnd& end) override {
    const std::lock_guard lock(mutex_);
    ++closed_;
    reason_ = end.reason;
  }

  std::vector<Message> messages() const { return get(messages_); }
  std::size_t count() const {
    const std::lock_guard lock(mutex_);
    return messages_.size();
  }
  int silences() const { return get(silences_); }
  int closed() const { return get(closed_); }
  std::string reason() const { return get(reason_); }
  bool after_end() const {
    return get(after_end_);
  } ///< A message came after on_closed().

private:
  template <class T>
  T get(const T& member) const {
    const std::lock_guard lock(mutex_);
    return member;
  }

  mutable std::mutex mutex_;
  std::vector<Message> messages_;
  int silences_ = 0, closed_ = 0;
  std::string reason_;
  bool after_end_ = false;
};

/// A handler that only calls a function for each message.
class OnMessage : public Recorder {
public:
  explicit OnMessage(std::function<void(StreamId, Bytes)> f) : f_(std::move(f)) {}
  void on_message(StreamId stream, Bytes message) override {
    f_(stream, std::move(message));
  }

private:
  std::function<void(StreamId, Bytes)> f_;
};

} // namespace fiber::wire
