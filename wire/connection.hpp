// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "wire/batch.hpp"
#include "wire/leadership.hpp"
#include "wire/link.hpp"
#include "wire/reactor.hpp"
#include "wire/receiver.hpp"
#include "wire/sender.hpp"
#include "wire/silence.hpp"
#include "wire/transport.hpp"

namespace fiber::wire {

/// The implementation of a stream link. It lives as long as the reactor works for it; the
/// Link that callers hold only closes it.
///
/// The reactor's thread reads, whichever thread that is at the moment. Any thread may
/// write: if one is writing (`writing_`), others only queue their messages and the writer
/// takes them too. Neither handlers nor system calls run under the mutex.
class Connection final : public std::enable_shared_from_this<Connection>,
                         public ReactorMember,
                         private ReceiverSink {
public:
  Connection(Reactor& reactor, std::unique_ptr<Transport> transport,
             const LinkOptions& options);

  ~Connection();

  /// Second step of construction, which needs shared_from_this().
  void open(Reactor& reactor);
  void start(std::shared_ptr<LinkHandler> handler);
  bool send(StreamId stream, Bytes head, Payload body);
  bool send_soon(StreamId stream, Bytes head, Payload body);
  bool append(StreamId stream, std::span<const std::byte> head,
              std::span<const std::byte> part);
  std::size_t backlog() const;
  bool flush(std::chrono::milliseconds limit);
  void close();
  LinkStats stats() const;

  void abandon() override;

private:
  using Lock = std::unique_lock<std::mutex>;

  bool message(StreamId stream, Bytes message) override;
  bool credit(StreamId stream, std::uint32_t bytes) override;
  bool window(std::uint32_t bytes) override;
  void goodbye(std::string reason) override;
  void grant(StreamId stream, std::uint32_t bytes) override;

  // Called on the reactor's thread.
  void on_readable();
  bool drain();
  void wait_readable();
  void wait_writable();
  void wait_tick();
  void on_tick();
  void finish(LinkEnd end);
  std::string end_reason(const std::string& error) const;
  void linger();
  void discard();

  // REQUIRES: mutex_ is held.
  bool push(StreamId stream, Bytes head, Payload body);
  /// Writes now or together with later messages. `messages` were queued.
  void write_soon(Lock& lock, std::size_t messages, std::size_t max_bytes);
  void write(Lock& lock);
  void write_queued(Lock& lock);
  void write_failed(const std::string& error);
  void say_goodbye();
  void drop_queue();
  bool all_written() const;
  void notify_flush();

  template <class F>
  void post(F f);

  bool must_wait() const {
    return handler_ && handler_->waiting() > options_.waiting_limit;
  }
  /// Whether nothing is to be read before the handler has used what it has. Asks again
  /// soon. That is no silence of the peer, unless it does not take what we send either.
  bool waits_for_handler() {
    if (!must_wait())
      return false;
    {
      const Lock lock(mutex_);
      heard_ = heard_ || !blocked_ || unsent_ == std::chrono::milliseconds(0);
    }
    pause_.expires_after(std::chrono::milliseconds(1));
    pause_.async_wait(
      [self = shared_from_this()](const boost::system::error_code& error) {
        if (!error)
          self->on_readable();
      });
    return true;
  }

  bool falls_silent() {
    auto now = std::chrono::steady_clock::now();
    if (heard_)
      heard_at_ = now;
    return silence_.tick(now, std::exchange(heard_, false));
  }
  std::chrono::milliseconds silent() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - heard_at_.load());
  }

  const LinkOptions options_;
  const std::chrono::steady_clock::duration tick_;
  const std::unique_ptr<Transport> transport_;
  const std::shared_ptr<Leadership> leadership_;
  // Declared before its users.
  const std::shared_ptr<boost::asio::io_context> context_;
  boost::asio::posix::stream_descriptor descriptor_;
  boost::asio::steady_timer timer_;
  boost::asio::steady_timer pause_; ///< Until the handler is asked again.

  // Used on the reactor's thread only.
  Receiver receiver_;
  std::shared_ptr<LinkHandler> handler_;
  Silence silence_;
  std::optional<std::string> goodbye_;
  LinkEnd end_;
  std::chrono::steady_clock::duration unsent_{}; ///< Time without sending.
  std::uint64_t sent_before_ = 0;
  std::size_t delivered_ = 0;
  bool heard_ = false, armed_ = false, ended_ = false;

  /// The reactor's thread while it delivers.
  std::atomic<std::thread::id> dispatching_{};
  std::atomic<bool> closed_ = false; ///< Written with mutex_ held.
  std::atomic<std::uint64_t> bytes_received_ = 0, messages_received_ = 0;
  /// The last look at which bytes had come.
  std::atomic<std::chrono::steady_clock::time_point> heard_at_ =
    std::chrono::steady_clock::now();

  mutable std::mutex mutex_;
  std::condition_variable flushed_;
  Sender sender_;
  Batch batch_; ///< Owned by the thread that set writing_.
  std::string write_error_;
  std::size_t batch_bytes_ = 0; ///< batch_.bytes(), for the other threads.
  std::size_t flushing_ = 0;
  std::uint64_t bytes_sent_ = 0, messages_sent_ = 0;
  std::chrono::steady_clock::time_point written_{}; ///< Time of the last write.
  std::size_t held_back_ = 0;                       ///< Messages held back for batching.
  bool writing_ = false; ///< A thread is writing and will check the queue again.
  bool blocked_ = false; ///< The socket is full; the reactor resumes writing.
  bool broken_ = false;  ///< Writing has failed; reading goes on to the end.
};

} // namespace fiber::wire
