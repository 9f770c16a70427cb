// SPDX-License-Identifier: Apache-2.0
#include "wire/stream_link.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace fiber::wire {
namespace {

struct Letter {
  StreamId stream;
  Bytes message;
};

/// The incoming messages of one end. The thread that puts a message in delivers it,
/// unless another thread is delivering and takes it too. So calls never overlap, and a
/// handler that replies does not recurse.
class Inbox {
public:
  void start(std::shared_ptr<LinkHandler> handler) {
    std::unique_lock lock(mutex_);
    handler_ = std::move(handler);
    deliver(lock);
  }

  bool put(Letter letter) {
    std::unique_lock lock(mutex_);
    if (end_)
      return false;
    bytes_ += letter.message.size();
    ++messages_;
    total_ += letter.message.size();
    letters_.push_back(std::move(letter));
    deliver(lock);
    return true;
  }

  /// Accepts no more letters. Delivers or drops the queued ones first.
  void close(const std::string& reason, bool drop) {
    std::unique_lock lock(mutex_);
    if (drop) {
      letters_.clear();
      bytes_ = 0;
    }
    if (!end_)
      end_ = reason;
    deliver(lock);
    emptied_.notify_all();
  }

  std::size_t bytes() const {
    const std::lock_guard lock(mutex_);
    return bytes_;
  }

  bool wait_empty(std::chrono::milliseconds limit) {
    std::unique_lock lock(mutex_);
    emptied_.wait_for(lock, limit, [&] { return letters_.empty() || end_; });
    return letters_.empty();
  }

  std::pair<std::uint64_t, std::uint64_t> totals() const {
    const std::lock_guard lock(mutex_);
    return {total_, messages_};
  }

private:
  void deliver(std::unique_lock<std::mutex>& lock) {
    if (delivering_)
      return;
    delivering_ = true;
    while (handler_ && !letters_.empty()) {
      auto letter = std::move(letters_.front());
      letters_.pop_front();
      bytes_ -= letter.message.size();
      const auto handler = handler_;
      lock.unlock();
      handler->on_message(letter.stream, std::move(letter.message));
      lock.lock();
      if (letters_.empty())
        emptied_.notify_all();
    }
    delivering_ = false;
    if (!handler_ || !end_)
      return;
    const auto handler = std::exchange(handler_, nullptr);
    const auto reason = *end_;
    lock.unlock();
    handler->on_closed({reason});
    lock.lock();
  }

  mutable std::mutex mutex_;
  std::condition_variable emptied_;
  std::shared_ptr<LinkHandler> handler_;
  std::deque<Letter> letters_;
  std::optional<std::string> end_; ///< Why the link has ended.
  std::size_t bytes_ = 0;
  std::uint64_t total_ = 0, messages_ = 0;
  bool delivering_ = false;
};

class LoopbackLink final : public Link {
public:
  LoopbackLink(std::shared_ptr<Inbox> own, std::shared_ptr<Inbox> peer)
    : own_(std::move(own)), peer_(std::move(peer)) {}
  ~LoopbackLink() override { close(); }

  void start(std::shared_ptr<LinkHandler> handler) override {
    own_->start(std::move(handler));
  }

  bool send(StreamId stream, Bytes head, Payload body) override {
    const auto rest = body.bytes();
    head.insert(head.end(), rest.begin(), rest.end());
    return peer_->put({stream, std::move(head)});
  }

  std::size_t backlog() const override { return peer_->bytes(); }
  bool flush(std::chrono::milliseconds limit) override {
    return peer_->wait_empty(limit);
  }

  void close() override {
    // Notifies both ends; the peer after all earlier messages.
    const auto own = own_, peer = peer_; // A handler may destroy this link.
    own->close("closed by this side", true);
    peer->close("closed by the peer: done", false);
  }

  LinkStats stats() const override {
    const auto [sent, messages_sent] = peer_->totals();
    const auto [received, messages_received] = own_->totals();
    return {sent, received, messages_sent, messages_received, {}};
  }

private:
  std::shared_ptr<Inbox> own_, peer_;
};

} // namespace

std::pair<std::shared_ptr<Link>, std::shared_ptr<Link>> loopback() {
  const auto left = std::make_shared<Inbox>(), right = std::make_shared<Inbox>();
  return {std::make_shared<LoopbackLink>(left, right),
          std::make_shared<LoopbackLink>(right, left)};
}

} // namespace fiber::wire
