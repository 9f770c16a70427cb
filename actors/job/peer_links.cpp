// SPDX-License-Identifier: Apache-2.0
#include "actors/job/peer_links.hpp"

#include <chrono>
#include <thread>
#include <utility>

#include "actors/job/job_node.hpp"
#include "actors/protocol/node_protocol.hpp"
#include "actors/share/share_cache.hpp"
#include "base/log.hpp"
#include "wire/reactor.hpp"

namespace fiber::actors {
namespace {

constexpr std::chrono::seconds greeting_limit{5};

/// The first message of both ends.
struct PeerHello {
  std::uint64_t process = 0;
  PeerSecret secret{};
  std::uint64_t share = 0;
};
Bytes hello_of(const PeerHello& hello) {
  Bytes head;
  Writer writer(head);
  writer.put(Op::peer_hello);
  writer.put(hello);
  return head;
}

/// No more comes of this call: if it was for a shared value, the job needs that from the
/// driver, unless the value has arrived.
void share_ended(const PeerCall& call, bool unreached) {
  if (call.share != 0)
    ShareCache::instance().not_passed(call.share, unreached);
}

/// Compares in constant time.
bool same(const PeerSecret& a, const PeerSecret& b) {
  return ((a[0] ^ b[0]) | (a[1] ^ b[1])) == 0;
}

} // namespace

/// Greets a peer and then passes its messages to the node. Runs on the reactor's thread.
class PeerLinks::Handler final : public wire::LinkHandler {
public:
  /// `dialled`: the call, if this end has dialled.
  Handler(std::shared_ptr<PeerLinks> of, std::string who,
          std::shared_ptr<wire::Link> link, std::optional<PeerCall> dialled)
    : of_(std::move(of)), who_(std::move(who)), link_(std::move(link)),
      dialled_(std::move(dialled)) {}

  void on_message(wire::StreamId, Bytes message) override {
    if (process_ != 0 && share_ != 0)
      take_share(Payload(std::move(message)));
    else if (process_ != 0)
      pass_on(Payload(std::move(message)));
    else if (refused_)
      return;
    else if (!greet(message))
      refuse("it does not prove that it is a peer");
  }
  void on_silence() override {
    if (process_ != 0)
      link_->close();
    else
      end_of_patience();
  }
  void on_closed(const wire::LinkEnd& end) override {
    link_ = nullptr; // It holds this handler.
    if (dialled_)
      share_ended(*dialled_, false);
    if (process_ == 0 &&
        end.broken_protocol) // A peer that only leaves may be a job that ends.
      return refuse(end.reason);
    log().debug("the link to {} is closed: {}", who_, end.reason);
    if (auto node = of_->node_.lock(); node && process_ != 0 && share_ == 0)
      node->from_closed_peer(process_, number_);
    refused_ = true;
  }
  void end_of_patience() {
    if (process_ == 0 && !refused_ && link_)
      refuse("it does not say who it is in time");
  }

private:
  bool greet(const Bytes& message) {
    PeerHello hello;
    try {
      Reader reader(message);
      if (read_op(reader) != Op::peer_hello)
        return false;
      hello = reader.get<PeerHello>();
    } catch (const Error&) {
      return false;
    }
    if (hello.process == 0 || !expected(hello))
      return false;
    process_ = hello.process;
    share_ = hello.share;
    number_ = ++of_->links_;
    who_ = "job " + std::to_string(process_);
    auto& objects = *of_->parts_.objects;
    if (share_ == 0) // The link must be known here before the peer may use it.
      objects.peers().connected(process_, number_, link_, dialled_.has_value());
    if (!dialled_)
      link_->send(task_stream, hello_of({objects.self(), hello.secret, share_}));
    if (!dialled_ && share_ != 0)
      ShareCache::instance().pass_on(share_, *link_);
    log().debug("there is a link to {}", who_);
    return true;
  }

  bool expected(const PeerHello& hello) {
    if (dialled_)
      return hello.process == dialled_->peer && hello.share == dialled_->share &&
             same(hello.secret, dialled_->secret);
    std::lock_guard lock(of_->mutex_);
    auto known = of_->expected_.find({hello.process, hello.share});
    if (known == of_->expected_.end() || !same(hello.secret, known->second))
      return false;
    of_->expected_.erase(known); // A secret is good for one link.
    return true;
  }

  void pass_on(const Payload& message) {
    if (auto node = of_->node_.lock())
      node->from_peer(process_, number_, message);
  }

  /// Takes the value that the peer passes on. The link is of no use then, nor is it if
  /// anything else comes.
  void take_share(const Payload& message) {
    try {
      Reader reader(message.bytes());
      if (!dialled_ || read_op(reader) != Op::shared)
        throw Error("a message that no peer may send");
      ShareCache::instance().passed_on(reader, message, share_, dialled_->digest);
    } catch (const Error& error) {
      log().debug("no shared value from {}: {}", who_, error.what());
    }
    link_->close();
  }

  void refuse(const std::string& why) {
    refused_ = true;
    if (dialled_)
      log().debug("no link to {}: {}", who_, why);
    else
      of_->refusals_.refused(who_, why);
    if (link_)
      link_->close();
  }

  const std::shared_ptr<PeerLinks> of_;
  std::string who_;
  std::shared_ptr<wire::Link> link_;
  const std::optional<PeerCall> dialled_;
  // Set when the peer has proved itself:
  std::uint64_t process_ = 0, number_ = 0;
  std::uint64_t share_ = 0; ///< The value that the link is for, if not 0.
  bool refused_ = false;
};

template <class F>
bool PeerLinks::in_background(F f) {
  auto run = [self = shared_from_this(), f = std::move(f)] {
    try {
      f(*self);
    } catch (const std::exception& error) {
      log().debug("no link to another job: {}", error.what());
    }
  };
  try {
    std::thread(std::move(run)).detach();
    return true;
  } catch (const std::system_error& error) {
    log().debug("no link to another job: {}", error.what());
    return false;
  }
}

void PeerLinks::start(const std::shared_ptr<wire::Link>& link,
                      std::shared_ptr<Handler> handler) {
  parts_.reactor->after(greeting_limit, [weak = std::weak_ptr(handler)] {
    if (auto waiting = weak.lock())
      waiting->end_of_patience();
  });
  link->start(std::move(handler));
}

// -- listening --

void PeerLinks::listen(const PeerCall& call) {
  {
    std::lock_guard lock(mutex_);
    if (call.share != 0) // It is passed on to one job at a time; an earlier one is gone.
      std::erase_if(expected_,
                    [&](auto& link) { return link.first.second == call.share; });
    expected_[{call.peer, call.share}] = call.secret;
    if (listener_ || local_listener_)
      return tell_driver_locked(call);
    waiting_.push_back(call);
    if (waiting_.size() > 1)
      return;
  }
  if (in_background([](PeerLinks& self) { self.open_listener(); }))
    return;
  std::lock_guard lock(mutex_);
  can_not_listen_locked();
}

void PeerLinks::open_listener() {
  std::unique_ptr<wire::Listener> listener;
  std::unique_ptr<wire::LocalListener> local_listener;
  std::string host;
  std::exception_ptr problem;
  // This object lives as long as the listeners: the process never destroys either.
  auto accept = [self = this](const std::string& who,
                              const std::shared_ptr<wire::Link>& link) {
    self->greeted(who, link);
  };
  try {
    if (parts_.identity) {
      host = parts_.own_address();
      listener = std::make_unique<wire::Listener>(
        *parts_.reactor, *parts_.identity, parts_.hello,
        wire::ListenerOptions{
          .host = host, .handshake_limit = greeting_limit, .link = parts_.link},
        [accept](const wire::Hello& peer, const std::shared_ptr<wire::Link>& link) {
          accept("job " + std::to_string(peer.incarnation), link);
        });
    } else {
      local_listener =
        std::make_unique<wire::LocalListener>(*parts_.reactor, parts_.link, accept);
      host = local_listener->name();
    }
  } catch (...) {
    problem = std::current_exception();
  }
  std::lock_guard lock(mutex_);
  if (problem) {
    can_not_listen_locked();
    std::rethrow_exception(problem);
  }
  auto waiting = std::exchange(waiting_, {});
  listener_ = std::move(listener);
  local_listener_ = std::move(local_listener);
  host_ = std::move(host);
  for (auto& call : waiting)
    tell_driver_locked(call);
}

void PeerLinks::tell_driver_locked(PeerCall call) {
  call.host = host_;
  call.port = listener_ ? listener_->port() : 0;
  send_op(*parts_.driver, call.share != 0 ? Op::share_listens : Op::peer_listens, call);
}

/// The driver may call again. It must know if it waits to have a value passed on.
void PeerLinks::can_not_listen_locked() {
  for (auto& call : std::exchange(waiting_, {}))
    if (call.share != 0)
      send_op(*parts_.driver, Op::share_listens, call);
}

void PeerLinks::forget(std::uint64_t process) {
  std::lock_guard lock(mutex_);
  std::erase_if(expected_, [&](auto& link) { return link.first.first == process; });
}

void PeerLinks::greeted(const std::string& who, const std::shared_ptr<wire::Link>& link) {
  auto handler = std::make_shared<Handler>(shared_from_this(), who, link, std::nullopt);
  start(link, std::move(handler));
}

// -- dialling --

void PeerLinks::dial(const PeerCall& call) {
  if (call.share == 0 && parts_.objects->peers().linked(call.peer))
    return; // If only the peer knows that the link is cut, the driver calls again.
  auto begun = in_background([call](PeerLinks& self) {
    try {
      self.dial_now(call);
    } catch (...) {
      share_ended(call, true);
      throw;
    }
  });
  if (!begun)
    share_ended(call, false);
}

void PeerLinks::dial_now(const PeerCall& call) {
  auto local = call.port == 0;
  if (local == parts_.identity.has_value())
    throw Error("jobs of different kinds");
  auto link = local ? wire::dial_local(*parts_.reactor, call.host, parts_.link)
                    : wire::dial(*parts_.reactor, call.host, call.port, *parts_.identity,
                                 parts_.hello, call.peer, greeting_limit, parts_.link);
  start(link, std::make_shared<Handler>(shared_from_this(),
                                        "job " + std::to_string(call.peer), link, call));
  link->send(task_stream, hello_of({parts_.objects->self(), call.secret, call.share}));
}

} // namespace fiber::actors
