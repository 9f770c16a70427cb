// SPDX-License-Identifier: Apache-2.0
#include "libfiber/observer/observer_socket.hpp"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <nlohmann/json.hpp>

#include "base/log.hpp"
#include "base/unique_fd.hpp"
#include "wire/refusal_log.hpp"

namespace fiber::observer {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
namespace asio = boost::asio;
using Error = boost::system::error_code;
using Stream = asio::local::stream_protocol::socket;

constexpr std::size_t max_request = 64 * 1024; ///< Bytes of a request.
constexpr int max_peers = 32;                  ///< Further ones are dropped at once.
constexpr auto idle_limit = 30s;               ///< Of a peer without a request.
constexpr auto write_limit = 5s;  ///< Of a peer that does not read its reply.
constexpr auto accept_pause = 1s; ///< After a failed accept, which would fail again.

UniqueFd listen_at(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    throw std::runtime_error(path + ": longer than the path of a socket may be");
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  // The mode of the socket becomes that of its file: nobody ever sees another one.
  if (!socket || ::fchmod(socket.get(), 0600) != 0 ||
      ::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    throw std::runtime_error(path + ": " + std::generic_category().message(errno));
  if (::listen(socket.get(), max_peers) != 0) {
    auto error = errno;
    ::unlink(path.c_str());
    throw std::runtime_error(path + ": " + std::generic_category().message(error));
  }
  return socket;
}

ucred peer_of(int socket) {
  ucred peer{.pid = 0, .uid = static_cast<uid_t>(-1), .gid = static_cast<gid_t>(-1)};
  socklen_t size = sizeof peer;
  ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size);
  return peer;
}

bool may_look(const ucred& peer) {
  return peer.uid == ::geteuid() || peer.uid == 0;
}

/// One peer. Used on the socket's thread only.
class Peer : public std::enable_shared_from_this<Peer> {
public:
  Peer(asio::io_context& context, UniqueFd socket, const ObserverSocket::Handler& handler,
       std::shared_ptr<std::atomic<int>> count)
    : stream_(context, asio::local::stream_protocol(), socket.get()), timer_(context),
      handler_(handler), count_(std::move(count)) {
    socket.release();
  }
  ~Peer() { --*count_; }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  void read() {
    limit(idle_limit);
    asio::async_read_until(
      stream_, asio::dynamic_buffer(in_, max_request), '\n',
      [self = shared_from_this()](const Error& error, std::size_t n) {
        if (!error)
          self->answer(n);
        else
          self->timer_.cancel();
      });
  }

private:
  void answer(std::size_t n) {
    auto request = json::parse(in_.begin(), in_.begin() + static_cast<std::ptrdiff_t>(n),
                               nullptr, false);
    in_.erase(0, n);
    auto reply = request.is_object()
                   ? handler_(request)
                   : json{{"error", "the request is no JSON object in one line"}};
    // What programs print need not be UTF-8.
    out_ = reply.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
    limit(write_limit);
    asio::async_write(stream_, asio::buffer(out_),
                      [self = shared_from_this()](const Error& error, std::size_t) {
                        if (!error)
                          self->read();
                        else
                          self->timer_.cancel();
                      });
  }

  /// Drops the peer unless the next step ends in time.
  void limit(std::chrono::steady_clock::duration time) {
    timer_.expires_after(time);
    timer_.async_wait([weak = weak_from_this()](const Error& cancelled) {
      auto self = weak.lock();
      Error ignored;
      if (!cancelled && self)
        self->stream_.close(ignored);
    });
  }

  Stream stream_;
  asio::steady_timer timer_;
  const ObserverSocket::Handler& handler_;
  const std::shared_ptr<std::atomic<int>> count_;
  std::string in_, out_;
};

} // namespace

class ObserverSocket::Impl final : public std::enable_shared_from_this<Impl>,
                                   public wire::ReactorMember {
public:
  Impl(wire::Reactor& reactor, std::string path, Handler handler)
    : path_(std::move(path)), handler_(std::move(handler)), socket_(listen_at(path_)),
      reactor_context_(reactor.shared_context()),
      listening_(*reactor_context_, socket_.get()), pause_(*reactor_context_) {}

  /// On the reactor's thread.
  void wait() {
    if (closed_)
      return;
    listening_.async_wait(asio::posix::stream_descriptor::wait_read,
                          [self = shared_from_this()](const Error& error) {
                            if (!error)
                              self->accept();
                          });
  }

  void close(wire::Reactor& reactor) {
    ::unlink(path_.c_str());
    std::unique_lock lock(mutex_);
    closed_ = true;
    // The descriptor belongs to the reactor's thread, which may be in a handler.
    reactor.post([self = shared_from_this()] { self->abandon(); });
    auto thread = std::move(thread_);
    lock.unlock();
    if (!thread.joinable())
      return;
    context_.stop();
    thread.join();
    handler_ = nullptr; // What it holds must end before the session.
  }

  void abandon() override {
    closed_ = true;
    if (listening_.is_open())
      listening_.release();
    pause_.cancel();
    std::lock_guard lock(mutex_);
    socket_.reset();
  }

  const std::string& path() const { return path_; }

private:
  void accept() {
    std::unique_lock lock(mutex_);
    if (closed_)
      return;
    UniqueFd peer(
      ::accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (peer)
      serve_or_refuse_locked(std::move(peer));
    else if (!peer && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
      return pause();
    lock.unlock();
    wait();
  }

  void pause() {
    pause_.expires_after(accept_pause);
    pause_.async_wait([self = shared_from_this()](const Error& cancelled) {
      if (!cancelled)
        self->wait();
    });
  }

  void serve_or_refuse_locked(UniqueFd socket) {
    const auto peer = peer_of(socket.get());
    const auto who = "process " + std::to_string(peer.pid);
    if (!may_look(peer))
      refusals_.refused(who, "it is of user " + std::to_string(peer.uid) +
                               ", who may not look at this session");
    else if (*peers_ >= max_peers)
      refusals_.refused(who, std::to_string(max_peers) +
                               " others look at this session already");
    else
      serve_locked(std::move(socket));
  }

  void serve_locked(UniqueFd socket) {
    ++*peers_;
    // Shared, because a handler must be copyable.
    auto peer = std::make_shared<Peer>(context_, std::move(socket), handler_, peers_);
    asio::post(context_, [peer = std::move(peer)] { peer->read(); });
    if (!thread_.joinable())
      thread_ = std::thread([this] {
        auto work = asio::make_work_guard(context_);
        context_.run();
      });
  }

  const std::string path_;
  Handler handler_;
  std::mutex mutex_;
  UniqueFd socket_;           ///< Guarded by mutex_.
  wire::RefusalLog refusals_; ///< The reactor's thread only.
  std::atomic<bool> closed_ = false;
  const std::shared_ptr<std::atomic<int>> peers_ = std::make_shared<std::atomic<int>>(0);
  const std::shared_ptr<asio::io_context> reactor_context_;
  asio::posix::stream_descriptor listening_; ///< The reactor's thread only.
  asio::steady_timer pause_;                 ///< The reactor's thread only.
  asio::io_context context_{1};
  std::thread thread_; ///< Guarded by mutex_.
};

ObserverSocket::ObserverSocket(wire::Reactor& reactor, std::string path, Handler handler)
  : impl_(std::make_shared<Impl>(reactor, std::move(path), std::move(handler))),
    reactor_(reactor) {
  reactor.enlist(impl_);
  reactor.post([impl = impl_] { impl->wait(); });
}

ObserverSocket::~ObserverSocket() {
  impl_->close(reactor_);
}

const std::string& ObserverSocket::path() const {
  return impl_->path();
}

} // namespace fiber::observer
