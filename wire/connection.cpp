// SPDX-License-Identifier: Apache-2.0
#include "wire/connection.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/forked_child.hpp"

namespace fiber::wire {
namespace {

using namespace std::chrono_literals;

/// A link yields the thread to other links after this many reads.
constexpr int reads_in_a_row = 4;
/// A handler's replies are batched over at most this many messages.
constexpr std::size_t corked_messages = 32;
constexpr auto linger_time = 2s;
/// How often a flush asks the kernel whether it has sent all bytes.
constexpr auto unsent_interval = 100us;
/// Messages of send_soon() are batched if they come within `burst` of the last write, up
/// to these limits; appended parts cost less each.
constexpr auto burst = 50us;
constexpr std::size_t max_held_back = 32, max_held_back_bytes = std::size_t{16} << 10;
constexpr std::size_t max_appended_bytes = std::size_t{32} << 10;

std::chrono::steady_clock::duration tick_of(const LinkOptions& options) {
  return std::clamp(std::min(options.heartbeat_interval / 4, options.silence_limit / 8),
                    std::chrono::milliseconds{5}, std::chrono::milliseconds{1000});
}

} // namespace

template <class F>
void Connection::post(F f) {
  leadership_->post([self = shared_from_this(), f = std::move(f)] { f(*self); });
}

Connection::Connection(Reactor& reactor, std::unique_ptr<Transport> transport,
                       const LinkOptions& options)
  : options_(options), tick_(tick_of(options)), transport_(std::move(transport)),
    leadership_(reactor.leadership()), context_(reactor.shared_context()),
    descriptor_(*context_), timer_(*context_), pause_(*context_),
    receiver_(*this, options), silence_(tick_, options.silence_limit), sender_(options) {}

Connection::~Connection() {
  descriptor_.release(); // The transport owns it.
}

void Connection::open(Reactor& reactor) {
  reactor.enlist(weak_from_this());
  descriptor_.assign(transport_->fd());
  {
    Lock lock(mutex_);
    append_control(sender_.control(), FrameType::window, 0,
                   static_cast<std::uint32_t>(usable_window(options_)));
    write(lock);
  }
  post([](Connection& self) { self.wait_tick(); });
}

void Connection::start(std::shared_ptr<LinkHandler> handler) {
  if (context_->stopped())
    return handler->on_closed({"this process stopped its links"});
  post([handler = std::move(handler)](Connection& self) {
    if (self.ended_)
      return handler->on_closed(self.end_);
    self.handler_ = handler;
    self.on_readable();
  });
}

// In a forked child the link is the parent's: nothing is written there, and nothing waits
// for a mutex that one of the parent's threads may have held.

bool Connection::send(StreamId stream, Bytes head, Payload body) {
  if (is_forked_child())
    return false;
  Lock lock(mutex_);
  if (!push(stream, std::move(head), std::move(body)))
    return false;
  // While this thread delivers messages it only queues replies, which drain() writes.
  if (dispatching_.load(std::memory_order_relaxed) != std::this_thread::get_id())
    write(lock);
  return true;
}

bool Connection::send_soon(StreamId stream, Bytes head, Payload body) {
  if (is_forked_child())
    return false;
  Lock lock(mutex_);
  if (!push(stream, std::move(head), std::move(body)))
    return false;
  write_soon(lock, 1, max_held_back_bytes);
  return true;
}

bool Connection::append(StreamId stream, std::span<const std::byte> head,
                        std::span<const std::byte> part) {
  if (is_forked_child())
    return false;
  Lock lock(mutex_);
  if (closed_ || broken_)
    return false;
  auto joined = sender_.append(stream, head, part);
  messages_sent_ += joined ? 0 : 1;
  write_soon(lock, joined ? 0 : 1, max_appended_bytes);
  return true;
}

void Connection::write_soon(Lock& lock, std::size_t messages, std::size_t max_bytes) {
  if (dispatching_.load(std::memory_order_relaxed) == std::this_thread::get_id())
    return;
  auto alone = held_back_ == 0 && std::chrono::steady_clock::now() - written_ > burst;
  if (alone || held_back_ + messages >= max_held_back ||
      sender_.queued_bytes() >= max_bytes)
    return write(lock);
  if (held_back_ == 0) // Wakes no thread: the next leader runs this.
    boost::asio::post(*context_, [self = shared_from_this()] {
      Lock again(self->mutex_);
      self->write(again);
    });
  held_back_ += std::max<std::size_t>(messages, held_back_ == 0 ? 1 : 0);
}

bool Connection::push(StreamId stream, Bytes head, Payload body) {
  if (closed_ || broken_)
    return false;
  sender_.push(stream, {std::move(head), std::move(body)});
  ++messages_sent_;
  return true;
}

std::size_t Connection::backlog() const {
  const Lock lock(mutex_);
  return sender_.queued_bytes() + batch_bytes_ +
         (blocked_ ? transport_->held_bytes() : 0);
}

bool Connection::flush(std::chrono::milliseconds limit) {
  if (is_forked_child())
    return false;
  const auto until = std::chrono::steady_clock::now() + limit;
  const auto ended = [&] { return closed_ || broken_; };
  Lock lock(mutex_);
  write(lock);
  ++flushing_;
  auto sent = flushed_.wait_until(lock, until, [&] {
    return all_written() || ended();
  }) && transport_->unsent_bytes() == 0;
  while (!sent && !ended() && std::chrono::steady_clock::now() < until) {
    flushed_.wait_for(lock, unsent_interval); // The kernel tells nobody.
    sent = transport_->unsent_bytes() == 0;
  }
  --flushing_;
  return sent && !ended();
}

void Connection::close() {
  if (is_forked_child())
    return;
  {
    const Lock lock(mutex_);
    if (closed_)
      return;
    closed_ = true;
    if (!writing_)
      say_goodbye();
    notify_flush();
  }
  post([](Connection& self) {
    if (self.ended_)
      return;
    self.finish({"closed by this side"});
    self.linger();
  });
}

LinkStats Connection::stats() const {
  const Lock lock(mutex_);
  return {bytes_sent_, bytes_received_, messages_sent_, messages_received_, silent()};
}

void Connection::abandon() {
  close();
  finish({"this process stopped its links"});
  descriptor_.release(); // linger() may use the descriptor.
  timer_.cancel();
}

// -- reading --

bool Connection::message(StreamId stream, Bytes message) {
  messages_received_.fetch_add(1, std::memory_order_relaxed);
  handler_->on_message(stream, std::move(message));
  if (++delivered_ % corked_messages == 0) {
    Lock lock(mutex_);
    write(lock);
  }
  return !closed_;
}

bool Connection::credit(StreamId stream, std::uint32_t bytes) {
  const Lock lock(mutex_);
  return closed_ || broken_ || sender_.credit(stream, bytes);
}

bool Connection::window(std::uint32_t bytes) {
  const Lock lock(mutex_);
  return closed_ || broken_ || sender_.window(bytes);
}

void Connection::goodbye(std::string reason) {
  goodbye_ = std::move(reason);
}

void Connection::grant(StreamId stream, std::uint32_t bytes) {
  const Lock lock(mutex_);
  if (!closed_ && !broken_)
    append_control(sender_.control(), FrameType::credit, stream, bytes);
}

void Connection::on_readable() {
  if (ended_ || waits_for_handler())
    return;
  const bool more = drain();
  if (ended_ || closed_)
    return;
  if (more)
    post([](Connection& self) { self.on_readable(); });
  else
    wait_readable();
}

/// Reads and delivers messages. Returns whether there may be more.
bool Connection::drain() {
  dispatching_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  bool more = true, good = true, broken;
  {
    const Lock lock(mutex_);
    broken = broken_; // First, so that the reads below see all bytes from before.
  }
  IoResult result;
  try {
    for (int i = 0; i < reads_in_a_row && more && good && !must_wait(); ++i) {
      const auto space = receiver_.space();
      const std::array<iovec, 2> into{iovec{space[0].data(), space[0].size()},
                                      iovec{space[1].data(), space[1].size()}};
      result = transport_->read(std::span(into).first(space[1].empty() ? 1 : 2));
      bytes_received_.fetch_add(result.bytes, std::memory_order_relaxed);
      heard_ |= result.bytes > 0;
      leadership_->heard(result.bytes > frame_header_bytes);
      good = receiver_.commit(result.bytes);
      more = result.state == IoResult::State::ok &&
             result.bytes == space[0].size() + space[1].size();
    }
  } catch (const std::exception& failure) { // No memory, say: ends this link only.
    result = {0, IoResult::State::failed, failure.what()};
    more = false;
  }
  dispatching_.store({}, std::memory_order_relaxed);
  {
    Lock lock(mutex_);
    write(lock);
  }
  if (!good && !closed_)
    finish({"the peer broke the protocol: " + receiver_.error(), true});
  else if (!closed_ && (result.state != IoResult::State::ok || (broken && !more)))
    finish({end_reason(result.error)});
  return more;
}

std::string Connection::end_reason(const std::string& error) const {
  if (goodbye_)
    return "closed by the peer: " + *goodbye_;
  if (!error.empty())
    return "connection lost: " + error;
  const Lock lock(mutex_);
  return write_error_.empty() ? "connection lost: the peer ended without a goodbye"
                              : "connection lost: " + write_error_;
}

void Connection::wait_readable() {
  if (std::exchange(armed_, true))
    return;
  descriptor_.async_wait(
    boost::asio::posix::stream_descriptor::wait_read,
    [self = shared_from_this()](const boost::system::error_code& error) {
      self->armed_ = false;
      if (!error)
        self->on_readable();
    });
}

// -- writing --

/// Writes the queue, unless another thread is writing or the socket is full.
void Connection::write(Lock& lock) {
  if (writing_ || blocked_ || broken_ || closed_)
    return;
  held_back_ = 0; // In any case: another write may have taken the held messages.
  if (batch_.empty() && sender_.idle() && !transport_->must_write())
    return;
  writing_ = true;
  write_queued(lock);
  held_back_ = 0; // Messages queued meanwhile were written too.
  written_ = std::chrono::steady_clock::now();
  writing_ = false;
  if (closed_)
    say_goodbye();
  notify_flush();
}

void Connection::write_queued(Lock& lock) {
  while (!closed_) {
    if (batch_.empty())
      sender_.fill(batch_);
    if (batch_.empty() && !transport_->must_write())
      return;
    batch_bytes_ = batch_.bytes();
    lock.unlock();
    const auto result = transport_->write(batch_.pending());
    batch_.advance(result.bytes);
    if (batch_.empty())
      batch_.clear(); // Frees the messages outside the lock.
    lock.lock();
    bytes_sent_ += result.bytes;
    batch_bytes_ = batch_.bytes();
    if (result.state == IoResult::State::failed)
      return write_failed(result.error);
    if (result.state == IoResult::State::blocked) {
      blocked_ = true;
      return post([](Connection& self) { self.wait_writable(); });
    }
  }
}

void Connection::wait_writable() {
  if (ended_)
    return;
  descriptor_.async_wait(
    boost::asio::posix::stream_descriptor::wait_write,
    [self = shared_from_this()](const boost::system::error_code& error) {
      if (error)
        return;
      Lock lock(self->mutex_);
      self->blocked_ = false;
      self->write(lock);
    });
}

/// Ends the link only after reading what the peer had sent before.
void Connection::write_failed(const std::string& error) {
  broken_ = true;
  write_error_ = error;
  drop_queue();
  post([](Connection& self) {
    if (self.handler_)
      self.on_readable();
  });
}

/// Tells the peer that the end is planned, if a frame can begin here and the socket takes
/// it.
void Connection::say_goodbye() {
  if (!broken_ && !blocked_ && batch_.empty()) {
    sender_.clear();
    append_control(sender_.control(), FrameType::goodbye, 0, 4,
                   std::as_bytes(std::span("done", 4)));
    sender_.fill(batch_);
    static_cast<void>(
      transport_->write(batch_.pending())); // On failure the peer still sees the end.
  }
  drop_queue();
  ::shutdown(transport_->fd(), SHUT_WR);
}

void Connection::drop_queue() {
  sender_.clear();
  batch_.clear();
  batch_bytes_ = 0;
}

bool Connection::all_written() const {
  return !blocked_ && !writing_ && batch_bytes_ == 0 && sender_.queued_bytes() == 0;
}

void Connection::notify_flush() {
  if (flushing_ > 0)
    flushed_.notify_all();
}

// -- time and the end --

void Connection::wait_tick() {
  if (ended_)
    return;
  timer_.expires_after(tick_);
  timer_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    if (!error)
      self->on_tick();
  });
}

void Connection::on_tick() {
  if (ended_ || closed_)
    return;
  {
    Lock lock(mutex_);
    unsent_ =
      bytes_sent_ == std::exchange(sent_before_, bytes_sent_) ? unsent_ + tick_ : 0ms;
    if (unsent_ + tick_ >= options_.heartbeat_interval && !writing_ && !blocked_ &&
        !broken_) {
      append_control(sender_.control(), FrameType::heartbeat, 0, 0);
      write(lock);
    }
  }
  if (handler_) {
    if (!heard_ && !must_wait() && drain())
      post([](Connection& self) { self.on_readable(); });
    if (ended_ || closed_)
      return;
    if (falls_silent())
      handler_->on_silence();
  }
  wait_tick();
}

void Connection::finish(LinkEnd end) {
  if (std::exchange(ended_, true))
    return;
  end_ = std::move(end);
  descriptor_.release(); // The transport owns it.
  timer_.cancel();
  pause_.cancel();
  {
    const Lock lock(mutex_);
    // After our own close() linger() goes on reading.
    ::shutdown(transport_->fd(), closed_.exchange(true) ? SHUT_WR : SHUT_RDWR);
    if (!writing_)
      drop_queue();
    notify_flush();
  }
  if (const auto handler = std::exchange(handler_, nullptr))
    handler->on_closed(end_);
}

/// Keeps the socket until the peer has closed too, for at most linger_time. Closing a TCP
/// socket with unread bytes, even a heartbeat, would discard our last bytes.
void Connection::linger() {
  descriptor_.assign(transport_->fd());
  timer_.expires_after(linger_time);
  timer_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    if (!error)
      self->descriptor_.release();
  });
  discard();
}

void Connection::discard() {
  std::array<std::byte, 16 * 1024> nowhere;
  const iovec room{nowhere.data(), nowhere.size()};
  for (int i = 0; i < reads_in_a_row; ++i) {
    const auto got = receive_some(transport_->fd(), {&room, 1});
    if (got.state != IoResult::State::ok) {
      descriptor_.release();
      timer_.cancel();
      return;
    }
    if (got.bytes < room.iov_len)
      break;
  }
  descriptor_.async_wait(
    boost::asio::posix::stream_descriptor::wait_read,
    [self = shared_from_this()](const boost::system::error_code& error) {
      if (!error)
        self->discard();
    });
}

} // namespace fiber::wire
