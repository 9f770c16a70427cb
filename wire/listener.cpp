// SPDX-License-Identifier: Apache-2.0
#include "wire/listener.hpp"

#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <future>
#include <list>
#include <map>
#include <mutex>
#include <system_error>
#include <utility>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/log.hpp"
#include "base/system_error_text.hpp"
#include "wire/address.hpp"
#include "wire/error.hpp"
#include "wire/greeting.hpp"
#include "wire/reactor.hpp"
#include "wire/refusal_log.hpp"
#include "wire/stream_link.hpp"

namespace fiber::wire {
namespace {

using namespace std::chrono_literals;
using Descriptor = boost::asio::posix::stream_descriptor;
using Error = boost::system::error_code;

/// Limits on concurrent handshakes, of all peers and of those of one address; further
/// peers are held. At a limit, a handshake that has taken longer than crowded_limit is
/// dropped, so that silent peers cannot block the others.
constexpr std::size_t pending_limit = 256, pending_of_one_limit = 224;
/// The limit for a peer that has not sent its whole ClientHello. A dialler sends it as
/// soon as it is connected.
constexpr auto silent_limit = 100ms;
/// Limit on peers that are held, and on their part of all descriptors of this process.
/// Beyond it, the last one of the address that has most of them is dropped.
constexpr std::size_t max_held = 1024, held_part = 4;
/// Then handshakes go on, before more peers are accepted.
constexpr int accepts_in_a_row = 64;
/// Pause after a failed accept, which would fail again at once.
constexpr auto accept_pause = 100ms;

std::size_t held_limit() {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  return std::min<std::size_t>(max_held, files.rlim_cur / held_part);
}

/// The caller's function, and whether it may still be called.
struct Gate {
  explicit Gate(Listener::Accept f) : accept(std::move(f)) {}
  std::recursive_mutex mutex; ///< The function may destroy the listener.
  Listener::Accept accept;
  bool open = true;
};

/// A connection between the begin of its handshake and its link. `network`: as
/// peer_network() returns it.
class PendingPeer final : public std::enable_shared_from_this<PendingPeer>,
                          public ReactorMember {
public:
  /// Called once: with the greeting when the peer is accepted, with null when it is
  /// dropped.
  using Done = std::function<void(Greeting*)>;

  PendingPeer(Reactor& reactor, UniqueFd socket, std::string network,
              const Identity& identity, const Hello& own, RefusalLog& refusals, Done done)
    : peer_(peer_text(socket.get())), network_(std::move(network)), refusals_(refusals),
      greeting_(std::move(socket), identity, TlsRole::server, own),
      descriptor_(reactor.context(), greeting_.fd()), timer_(reactor.context()),
      done_(std::move(done)) {}

  ~PendingPeer() {
    if (done_)
      descriptor_.release(); // The greeting owns it.
  }

  void begin(std::chrono::milliseconds limit) {
    timer_.expires_after(limit);
    timer_.async_wait([self = shared_from_this()](const Error& error) {
      if (!error)
        self->give_up();
    });
    proceed();
  }

  std::chrono::steady_clock::duration age() const {
    return std::chrono::steady_clock::now() - begun_;
  }

  bool silent() const { return !greeting_.answered(); }
  const std::string& network() const { return network_; }

  /// Drops the peer, which has taken too long.
  void give_up() {
    if (done_)
      refuse(greeting_.unfinished());
  }

  void abandon() override {
    if (done_)
      end(nullptr);
  }

private:
  void proceed() {
    if (!done_)
      return;
    const auto progress = greeting_.step();
    if (progress == Greeting::Progress::done)
      return end(&greeting_);
    if (progress == Greeting::Progress::failed)
      return refuse(greeting_.error());
    if (progress == Greeting::Progress::lost)
      return leave();
    descriptor_.async_wait(progress == Greeting::Progress::want_write
                             ? Descriptor::wait_write
                             : Descriptor::wait_read,
                           [self = shared_from_this()](const Error& error) {
                             if (!error)
                               self->proceed();
                           });
  }

  void refuse(const std::string& reason) {
    refusals_.refused(peer_, reason);
    ::shutdown(greeting_.fd(), SHUT_WR); // Flushes the refusal before the end.
    end(nullptr);
  }

  /// A job that is ended while it joins does so.
  void leave() {
    log().debug("{} left before it joined: {}", peer_, greeting_.error());
    end(nullptr);
  }

  void end(Greeting* accepted) {
    descriptor_.release();
    timer_.cancel();
    std::exchange(done_, nullptr)(accepted);
  }

  const std::string peer_, network_;
  RefusalLog& refusals_;
  const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  Greeting greeting_;
  Descriptor descriptor_;
  boost::asio::steady_timer timer_;
  Done done_;
};

} // namespace

class Listener::Impl {
public:
  Impl(Reactor& reactor, Identity identity, Hello own, ListenerOptions options,
       Accept accept)
    : reactor_(reactor), identity_(std::move(identity)), own_(std::move(own)),
      options_(std::move(options)), gate_(std::make_shared<Gate>(std::move(accept))),
      socket_(listen_on(options_.host, options_.port, options_.later)),
      port_(port_of(socket_.get())),
      descriptor_(handshake_reactor_.context(), socket_.get()),
      timer_(handshake_reactor_.context()) {
    handshake_reactor_.post([this] { wait(); });
  }

  ~Impl() {
    {
      const std::lock_guard lock(gate_->mutex);
      gate_->open = false;
    }
    std::promise<void> closed;
    handshake_reactor_.post([&] {
      closing_ = true;
      descriptor_.release();
      timer_.cancel();
      closed.set_value();
    });
    closed.get_future().wait();
  }

  std::uint16_t port() const { return port_; }

private:
  void wait() {
    if (closing_ || waiting_)
      return;
    waiting_ = true;
    descriptor_.async_wait(Descriptor::wait_read, [this](const Error& error) {
      waiting_ = false;
      if (!error && !closing_)
        accept_some();
    });
  }

  void accept_some() {
    int problem = 0;
    for (int accepted = 0; accepted < accepts_in_a_row && problem == 0; ++accepted) {
      UniqueFd socket(
        ::accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (!socket) {
        problem = errno == EINTR || errno == ECONNABORTED ? 0 : errno;
        continue;
      }
      exhausted_ = false;
      auto& same_network = held_[peer_network(socket.get())];
      same_network.push_back(std::move(socket));
      if (++held_count_ > held_limit_)
        drop_held();
    }
    greet_held();
    if (problem != 0 && problem != EAGAIN && problem != EWOULDBLOCK)
      return pause(problem);
    if (!held_.empty())
      accept_later(silent_limit);
    wait();
  }

  /// Begins the handshakes for which there is room. The networks take turns, so that none
  /// gets every place that becomes free.
  void greet_held() {
    for (std::size_t full = 0; full < held_.size();) {
      if (pending_.size() >= pending_limit && !drop_slow_peer(nullptr))
        return;
      auto next = held_.upper_bound(last_greeted_);
      if (next == held_.end())
        next = held_.begin();
      last_greeted_ = next->first;
      const auto pending = pending_of_.find(next->first);
      if (pending != pending_of_.end() && pending->second >= pending_of_one_limit &&
          !drop_slow_peer(&next->first)) {
        ++full;
        continue;
      }
      full = 0;
      auto socket = std::move(next->second.front());
      next->second.pop_front();
      --held_count_;
      if (next->second.empty())
        held_.erase(next);
      greet(std::move(socket), last_greeted_);
    }
  }

  /// Drops the oldest peer, of one network if it is given, that has taken too long.
  /// Returns whether there was one.
  bool drop_slow_peer(const std::string* network) {
    for (const auto& peer : pending_) { // The oldest first.
      const auto limit = peer->silent() ? silent_limit : options_.crowded_limit;
      if (peer->age() < limit || (network && peer->network() != *network))
        continue;
      const auto keep = peer;
      keep->give_up();
      return true;
    }
    return false;
  }

  /// Drops the last peer of the network that has most of those that are held.
  void drop_held() {
    const auto most = std::ranges::max_element(
      held_, {}, [](auto& network) { return network.second.size(); });
    refusals_.refused(peer_text(most->second.back().get()),
                      "dialled while too many others waited");
    most->second.pop_back();
    if (most->second.empty())
      held_.erase(most);
    --held_count_;
  }

  void accept_later(std::chrono::milliseconds pause) {
    timer_.expires_after(pause);
    timer_.async_wait([this](const Error& cancelled) {
      if (!cancelled && !closing_)
        accept_some();
    });
  }

  /// Handles lack of descriptors or memory. Peers wait in the backlog meanwhile.
  void pause(int error) {
    if (!std::exchange(exhausted_, true))
      log().error("cannot accept connections on port {}: {}", port_,
                  system_error_text(error));
    accept_later(accept_pause);
  }

  void greet(UniqueFd socket, const std::string& network) {
    set_tcp_options(socket.get());
    const auto place = pending_.insert(pending_.end(), nullptr);
    ++pending_of_[network];
    try {
      *place = std::make_shared<PendingPeer>(handshake_reactor_, std::move(socket),
                                             network, identity_, own_, refusals_,
                                             [this, place](Greeting* greeting) {
                                               const auto keep = *place;
                                               leave(place, keep->network());
                                               if (greeting)
                                                 hand_over(*greeting);
                                             });
      const auto peer = *place;
      handshake_reactor_.enlist(peer);
      peer->begin(options_.handshake_limit);
    } catch (const std::exception& failure) {
      leave(place, network);
      log().error("cannot greet a connection on port {}: {}", port_, failure.what());
    }
  }

  void leave(std::list<std::shared_ptr<PendingPeer>>::iterator place,
             const std::string& network) {
    pending_.erase(place);
    if (auto count = pending_of_.find(network); --count->second == 0)
      pending_of_.erase(count);
    if (!held_.empty() && !closing_ && !std::exchange(greet_posted_, true))
      handshake_reactor_.post([this] {
        greet_posted_ = false;
        if (!closing_)
          greet_held();
      });
  }

  void hand_over(Greeting& greeting) {
    // Shared, because std::function must be copyable and a transport is not.
    auto transport =
      std::make_shared<std::unique_ptr<Transport>>(greeting.take_transport());
    reactor_.post([gate = gate_, peer = greeting.peer(), transport, link = options_.link,
                   &reactor = reactor_] {
      const std::lock_guard lock(gate->mutex);
      if (gate->open)
        gate->accept(peer, link_over(reactor, std::move(*transport), link));
    });
  }

  Reactor& reactor_;
  const Identity identity_;
  const Hello own_;
  const ListenerOptions options_;
  const std::shared_ptr<Gate> gate_;
  const UniqueFd socket_;
  const std::uint16_t port_;
  // Used on the thread of handshake_reactor_ only.
  RefusalLog refusals_;
  /// Peers that wait for a handshake, by network, in the order in which they came.
  std::map<std::string, std::deque<UniqueFd>> held_;
  std::size_t held_count_ = 0;
  const std::size_t held_limit_ = held_limit();
  std::string last_greeted_; ///< The network whose turn it was.
  std::list<std::shared_ptr<PendingPeer>> pending_;
  std::map<std::string, std::size_t> pending_of_; ///< How many, by network.
  bool waiting_ = false, exhausted_ = false, greet_posted_ = false, closing_ = false;
  Reactor handshake_reactor_; ///< Runs the handshakes, so that they delay no link.
  Descriptor descriptor_;
  boost::asio::steady_timer timer_;
};

Listener::Listener(Reactor& reactor, Identity identity, Hello own,
                   ListenerOptions options, Accept accept)
  : impl_(std::make_unique<Impl>(reactor, std::move(identity), std::move(own),
                                 std::move(options), std::move(accept))) {}
Listener::~Listener() = default;

std::uint16_t Listener::port() const {
  return impl_->port();
}

} // namespace fiber::wire
