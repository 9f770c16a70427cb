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

/// A link over `transport`; the peer does the same.
std::shared_ptr<Link> link_over(Reactor& reactor, std::unique_ptr<Transport> transport,
                                const LinkOptions& options);

/// What a stream link does. Lives on while the reactor works for it; the Link that users
/// hold only closes it.
///
/// Who reads: the reactor's thread, whichever that is now. Who writes: whoever comes
/// first; the others queue what they have and the writer takes it along (`writing_`).
/// Neither handler nor system call runs under the mutex.
class Connection final : public std::enable_shared_from_this<Connection>,
                         public ReactorMember,
                         private ReceiverSink {
public:
  Connection(Reactor& reactor, std::unique_ptr<Transport> transport,
             const LinkOptions& options);

  ~Connection();

  /// After the constructor, since it needs shared_from_this().
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

  // On the reactor's thread.
  void on_readable();
  bool drain();
  void wait_readable();
  void wait_writable();
  void wait_tick();
  void on_tick();
  void finish(const std::string& reason);
  std::string end_reason(const std::string& error) const;
  void linger();
  void discard();

  // Under the mutex.
  bool push(StreamId stream, Bytes head, Payload body);
  /// Writes now or with what follows; `messages`: how many have been queued.
  void write_soon(Lock& lock, std::size_t messages, std::size_t most_bytes);
  void write(Lock& lock);
  void write_queued(Lock& lock);
  void write_failed(const std::string& error);
  void say_goodbye();
  void drop_queue();
  bool all_written() const;
  void notify_flush();

  template <class F>
  void post(F f);

  const LinkOptions options_;
  const std::chrono::steady_clock::duration tick_;
  const std::unique_ptr<Transport> transport_;
  const std::shared_ptr<Leadership> leadership_;
  // Before what lives on it.
  const std::shared_ptr<boost::asio::io_context> context_;
  boost::asio::posix::stream_descriptor descriptor_;
  boost::asio::steady_timer timer_;

  // Reactor's thread only.
  Receiver receiver_;
  std::shared_ptr<LinkHandler> handler_;
  Silence silence_;
  std::optional<std::string> goodbye_;
  std::string finish_reason_;
  std::chrono::steady_clock::duration unsent_{}; ///< How long we have sent nothing.
  std::uint64_t sent_before_ = 0;
  std::size_t delivered_ = 0;
  bool heard_ = false, armed_ = false, ended_ = false;

  std::atomic<std::thread::id> dispatching_{}; ///< Reactor's thread while it delivers.
  std::atomic<bool> closed_ = false;           ///< Written under the mutex.
  std::atomic<std::uint64_t> bytes_received_ = 0, messages_received_ = 0;

  mutable std::mutex mutex_;
  std::condition_variable flushed_;
  Sender sender_;
  Batch batch_; ///< Of the thread that has set writing_.
  std::string write_error_;
  std::size_t batch_bytes_ = 0; ///< batch_.bytes(), for those who are not writing.
  std::size_t flushing_ = 0;
  std::uint64_t bytes_sent_ = 0, messages_sent_ = 0;
  std::chrono::steady_clock::time_point written_{}; ///< When we wrote last.
  std::size_t held_ = 0;                            ///< Messages that wait for others.
  bool writing_ = false; ///< Some thread is writing and will look at the queue again.
  bool blocked_ = false; ///< The socket is full; the reactor goes on when it is not.
  bool broken_ = false;  ///< Writing has failed; what the peer had sent is still read.
};

} // namespace fiber::wire
