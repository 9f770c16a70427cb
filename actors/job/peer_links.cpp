// SPDX-License-Identifier: Apache-2.0
#include "actors/job/peer_links.hpp"

#include <chrono>
#include <thread>
#include <utility>

#include "actors/core/borrowed_thread.hpp"
#include "actors/protocol/node_protocol.hpp"
#include "base/log.hpp"
#include "wire/reactor.hpp"

namespace fiber::actors {
namespace {

constexpr std::chrono::seconds greeting_limit{5};

Bytes hello_of(std::uint64_t process, const PeerSecret& secret) {
  Bytes head;
  Writer writer(head);
  writer.put(Op::peer_hello);
  writer.put(process);
  writer.put(secret);
  return head;
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
    if (process_ != 0)
      send_on_this_thread(*of_->parts_.system, of_->node_,
                          FromPeer{process_, number_, Payload(std::move(message))});
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
    if (process_ == 0 &&
        end.broken_protocol) // A peer that only leaves may be a job that ends.
      return refuse(end.reason);
    log().debug("the link to {} is closed: {}", who_, end.reason);
    if (process_ != 0)
      send_on_this_thread(*of_->parts_.system, of_->node_, PeerClosed{process_, number_});
    refused_ = true;
  }
  void end_of_patience() {
    if (process_ == 0 && !refused_ && link_)
      refuse("it does not say who it is in time");
  }

private:
  bool greet(const Bytes& message) {
    std::uint64_t process = 0;
    PeerSecret secret{};
    try {
      Reader reader(message);
      if (read_op(reader) != Op::peer_hello)
        return false;
      process = reader.get<std::uint64_t>();
      secret = reader.get<PeerSecret>();
    } catch (const Error&) {
      return false;
    }
    if (process == 0 || !expected(process, secret))
      return false;
    process_ = process;
    number_ = ++of_->links_;
    who_ = "job " + std::to_string(process);
    // The link must be known here before the peer may use it.
    of_->parts_.objects->peers().connected(process, number_, link_, dialled_.has_value());
    if (!dialled_)
      link_->send(task_stream, hello_of(of_->parts_.objects->self(), secret));
    log().debug("there is a link to {}", who_);
    return true;
  }

  bool expected(std::uint64_t process, const PeerSecret& secret) {
    if (dialled_)
      return process == dialled_->peer && same(secret, dialled_->secret);
    std::lock_guard lock(of_->mutex_);
    auto known = of_->expected_.find(process);
    if (known == of_->expected_.end() || !same(secret, known->second))
      return false;
    of_->expected_.erase(known); // A secret is good for one link.
    return true;
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
  std::uint64_t process_ = 0, number_ = 0; ///< Set when the peer has proved itself.
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
    expected_[call.peer] = call.secret;
    if (listener_ || local_listener_)
      return tell_driver_locked(call);
    waiting_.push_back(call);
    if (waiting_.size() > 1)
      return;
  }
  if (in_background([](PeerLinks& self) { self.open_listener(); }))
    return;
  std::lock_guard lock(mutex_);
  waiting_.clear(); // The driver may call again.
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
  auto waiting = std::exchange(waiting_, {});
  if (problem)
    std::rethrow_exception(problem); // The driver may call again.
  listener_ = std::move(listener);
  local_listener_ = std::move(local_listener);
  host_ = std::move(host);
  for (auto& call : waiting)
    tell_driver_locked(call);
}

void PeerLinks::tell_driver_locked(PeerCall call) {
  call.host = host_;
  call.port = listener_ ? listener_->port() : 0;
  Bytes head;
  Writer writer(head);
  writer.put(Op::peer_listens);
  write(writer, call);
  parts_.driver->send(task_stream, std::move(head));
}

void PeerLinks::forget(std::uint64_t process) {
  std::lock_guard lock(mutex_);
  expected_.erase(process);
}

void PeerLinks::greeted(const std::string& who, const std::shared_ptr<wire::Link>& link) {
  auto handler = std::make_shared<Handler>(shared_from_this(), who, link, std::nullopt);
  start(link, std::move(handler));
}

// -- dialling --

void PeerLinks::dial(const PeerCall& call) {
  if (parts_.objects->peers().linked(call.peer))
    return; // If only the peer knows that the link is cut, the driver calls again.
  in_background([call](PeerLinks& self) {
    auto& parts = self.parts_;
    auto local = call.port == 0;
    if (local == parts.identity.has_value())
      throw Error("jobs of different kinds");
    auto link = local ? wire::dial_local(*parts.reactor, call.host, parts.link)
                      : wire::dial(*parts.reactor, call.host, call.port, *parts.identity,
                                   parts.hello, call.peer, greeting_limit, parts.link);
    auto handler = std::make_shared<Handler>(
      self.shared_from_this(), "job " + std::to_string(call.peer), link, call);
    self.start(link, std::move(handler));
    link->send(task_stream, hello_of(parts.objects->self(), call.secret));
  });
}

} // namespace fiber::actors
