// SPDX-License-Identifier: Apache-2.0
#include "actors/caf/actor_port.hpp"

#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "actors/caf/actor_message.hpp"
#include "actors/caf/remote_actor.hpp"
#include "actors/protocol/node_protocol.hpp"
#include "base/log.hpp"
#include "base/never_destroyed.hpp"
#include "base/what.hpp"
#include "fiber/detail/caf/scheduler.hpp"
#include "fiber/error.hpp"

namespace fiber::actors {
namespace {

/// A request to an actor.
enum class ActorOp : std::uint8_t {
  message, ///< CAF's message id, the sender and the message
  watch    ///< answered with the exit reason when the actor ends
};

/// The ports of this process. A job may have two: one for the session that it belongs to
/// and one for a session of its own.
struct OpenPorts {
  std::mutex mutex;
  std::vector<std::weak_ptr<ActorPort>> ports;
};
OpenPorts& open_ports() {
  static auto& ports = *never_destroyed<OpenPorts>();
  return ports;
}

thread_local ActorPort* scoped = nullptr;

RemoteActor* as_remote(const caf::strong_actor_ptr& actor) {
  return dynamic_cast<RemoteActor*>(actor->get());
}

void respond(const caf::strong_actor_ptr& from, caf::mailbox_element& request,
             caf::message response) {
  if (request.stages.empty()) {
    if (request.sender)
      request.sender->enqueue(from, request.mid.response_id(), std::move(response),
                              nullptr);
    return;
  }
  // For composed actors: the next one gets the response as its request.
  auto next = std::move(request.stages.back());
  request.stages.pop_back();
  next->enqueue(caf::make_mailbox_element(std::move(request.sender), request.mid,
                                          std::move(request.stages), std::move(response)),
                nullptr);
}

} // namespace

// -- the program's actors --

ProgramActors::~ProgramActors() {
  std::lock_guard lock(mutex_);
  if (!system_ || await_end_locked())
    return;
  // The destructors would wait for the actors for good.
  static_cast<void>(system_.release());
  static_cast<void>(config_.release());
}

caf::actor_system& ProgramActors::system() {
  std::lock_guard lock(mutex_);
  if (!system_) {
    config_ = std::make_unique<caf::actor_system_config>();
    detail::set_scheduler(*config_, "sharing");
    system_ = std::make_unique<caf::actor_system>(*config_);
  }
  return *system_;
}

bool ProgramActors::await_end_locked() {
  constexpr std::chrono::seconds patience{10};
  auto until = std::chrono::steady_clock::now() + patience;
  while (system_->registry().running() > 0) {
    if (std::chrono::steady_clock::now() > until)
      return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1)); // CAF can only be polled.
  }
  return true;
}

void ProgramActors::await_end() {
  std::lock_guard lock(mutex_);
  if (system_ && !await_end_locked())
    log().warn(
      "{} actors of the program still run at the end of the session and are left "
      "running: end them first",
      system_->registry().running());
}

// -- ports --

std::shared_ptr<ActorPort> ActorPort::open(std::shared_ptr<ObjectSpace> objects,
                                           std::uint64_t session,
                                           std::shared_ptr<ProgramActors> actors) {
  std::shared_ptr<ActorPort> port(
    new ActorPort(std::move(objects), session, std::move(actors)));
  auto& open = open_ports();
  std::lock_guard lock(open.mutex);
  std::erase_if(open.ports, [](auto& each) { return each.expired(); });
  open.ports.push_back(port);
  return port;
}

std::shared_ptr<ActorPort> ActorPort::of(std::uint64_t session) {
  auto& open = open_ports();
  std::lock_guard lock(open.mutex);
  for (auto& each : open.ports)
    if (auto port = each.lock(); port && port->session_ == session)
      return port;
  return nullptr;
}

std::shared_ptr<ActorPort> ActorPort::first() {
  auto& open = open_ports();
  std::lock_guard lock(open.mutex);
  for (auto& each : open.ports)
    if (auto port = each.lock())
      return port;
  return nullptr;
}

ActorPort::Scope::Scope(ActorPort& port) : outer_(std::exchange(scoped, &port)) {}
ActorPort::Scope::~Scope() {
  scoped = outer_;
}

// -- handles --

/// The home of an actor of this process that other processes have handles to.
class ActorPort::LocalActor final : public ObjectHome {
public:
  LocalActor(std::weak_ptr<ActorPort> port, caf::strong_actor_ptr actor)
    : port_(std::move(port)), actor_(std::move(actor)) {}

  void asked(ObjectAsk ask) override {
    if (auto port = port_.lock())
      port->asked(actor_, ask);
  }
  void freed(std::uint64_t number) override {
    if (auto port = port_.lock()) {
      std::lock_guard lock(port->mutex_);
      port->locals_.erase(number);
      if (auto known = port->places_.find(actor_->id());
          known != port->places_.end() && known->second.expired())
        port->places_.erase(known);
    }
  }
  void gone(std::uint64_t process) override {
    std::vector<detail::KeptObjects> last;
    if (auto port = port_.lock()) {
      std::lock_guard lock(port->mutex_);
      last = port->answers_.gone(process);
    }
  }
  void close() override {}

private:
  const std::weak_ptr<ActorPort> port_;
  const caf::strong_actor_ptr actor_; ///< Keeps it alive while somebody has a handle.
};

std::shared_ptr<ObjectHandle> ActorPort::place_of(const caf::strong_actor_ptr& actor) {
  if (auto* remote = as_remote(actor);
      remote != nullptr && remote->port().get() == this && !remote->has_keeper())
    if (auto place = remote->place())
      return place;
  std::lock_guard lock(mutex_);
  auto& known = places_[actor->id()];
  auto place = known.lock();
  if (!place) {
    known = place = objects_->add(std::make_shared<LocalActor>(weak_from_this(), actor));
    locals_[place->held_id().number] = caf::weak_actor_ptr(actor.get());
  }
  return place;
}

caf::strong_actor_ptr ActorPort::make_proxy(std::shared_ptr<ObjectHandle> place) {
  auto& system = actors_->system();
  caf::actor_config config;
  return caf::make_actor<RemoteActor, caf::strong_actor_ptr>(
    system.next_actor_id(), system.node(), &system, config, shared_from_this(),
    std::move(place));
}

caf::strong_actor_ptr ActorPort::proxy_at(const std::shared_ptr<ObjectHandle>& place) {
  std::lock_guard lock(mutex_);
  auto& known = proxies_[place->held_id()];
  auto proxy = known.lock();
  if (!proxy) {
    proxy = make_proxy(place);
    known = caf::weak_actor_ptr(proxy.get());
  }
  return proxy;
}

caf::strong_actor_ptr ActorPort::actor_at(const std::shared_ptr<ObjectHandle>& place) {
  if (place->held_id().home != objects_->self())
    return proxy_at(place);
  std::lock_guard lock(mutex_);
  auto known = locals_.find(place->held_id().number);
  return known == locals_.end() ? nullptr : known->second.lock();
}

caf::strong_actor_ptr ActorPort::make_spawned_proxy(std::shared_ptr<ObjectHandle> place) {
  return make_proxy(std::move(place));
}

void ActorPort::forget_proxy(const detail::HeldId& id) {
  caf::strong_actor_ptr successor; // Destroyed after the unlock: its end may lock again.
  std::lock_guard lock(mutex_);
  auto known = proxies_.find(id);
  if (known == proxies_.end())
    return;
  successor = known->second.lock();
  if (!successor)
    proxies_.erase(known);
}

void ActorPort::pack_here(Writer& writer, const caf::strong_actor_ptr& actor) {
  if (auto* port = scoped)
    return port->pack(writer, actor);
  auto port = first();
  if (auto* remote = actor ? as_remote(actor) : nullptr; remote != nullptr)
    port = remote->port();
  if (!port)
    throw Closed("there is no session to make a handle of an actor in");
  port->pack(writer, actor);
}

void ActorPort::pack(Writer& writer, const caf::strong_actor_ptr& actor) {
  writer.put(actor != nullptr);
  if (!actor)
    return;
  auto place = place_of(actor);
  writer.put(session_);
  writer.put(place->held_id());
  detail::KeepScope::keep(place);
}

std::pair<std::shared_ptr<ActorPort>, std::shared_ptr<ObjectHandle>>
ActorPort::read_handle(Reader& reader) {
  if (!reader.get<bool>())
    return {};
  auto session = reader.get<std::uint64_t>();
  auto id = reader.get<detail::HeldId>();
  auto port = of(session);
  if (!port)
    throw Error("the handle of an actor of another session can't be used in this one");
  auto place = port->objects_->handle(id);
  return {std::move(port), std::move(place)};
}

caf::strong_actor_ptr ActorPort::unpack(Reader& reader) {
  auto [port, place] = read_handle(reader);
  return place ? port->actor_at(place) : nullptr;
}

std::shared_ptr<ObjectHandle> ActorPort::unpack_place(Reader& reader) {
  return read_handle(reader).second;
}

// -- messages to other processes --

void ActorPort::send(const std::shared_ptr<ObjectHandle>& to,
                     caf::mailbox_element_ptr what, const caf::strong_actor_ptr& proxy) {
  auto is_request = what->mid.is_request();
  detail::PackedItem item;
  try {
    const Scope scope(*this);
    item = detail::PackedItem::of([&](Writer& writer) {
      writer.put(ActorOp::message);
      writer.put(what->mid.integer_value());
      pack(writer, what->sender);
      pack_message(writer, what->content());
    });
    check_size(item.bytes.size());
  } catch (const std::exception& error) {
    if (is_request)
      respond(
        proxy, *what,
        caf::make_message(caf::make_error(caf::sec::invalid_argument, what_of(error))));
    else
      log().error("a message to an actor in another process was dropped: {}",
                  what_of(error));
    return;
  }
  auto body = Payload(std::move(item.bytes));
  if (!is_request && item.kept.empty())
    return objects_->tell(to->held_id(), 0, AskKind::call, std::move(body));
  std::shared_ptr<caf::mailbox_element> request;
  if (is_request)
    request = std::shared_ptr<caf::mailbox_element>(
      what.release(), caf::mailbox_element_ptr::deleter_type());
  objects_->ask(to->held_id(), AskKind::call, std::move(body), std::move(item.kept),
                [self = shared_from_this(), to, proxy,
                 request](std::uint64_t number, const ObjectAnswer& answer) {
                  if (request)
                    self->answered(to, proxy, *request, number, answer);
                });
}

void ActorPort::answered(const std::shared_ptr<ObjectHandle>& by,
                         const caf::strong_actor_ptr& proxy,
                         caf::mailbox_element& request, std::uint64_t number,
                         const ObjectAnswer& answer) {
  caf::message message;
  try {
    Reader reader(answer.body.bytes());
    if (answer.what == Answer::value)
      message = unpack_message(reader);
    else if (answer.what == Answer::refused)
      message =
        caf::make_message(caf::make_error(caf::sec::invalid_argument, reader.text()));
    else
      message = caf::make_message(caf::make_error(caf::sec::request_receiver_down));
  } catch (const std::exception& error) {
    message =
      caf::make_message(caf::make_error(caf::sec::invalid_argument, what_of(error)));
  }
  if (!answer.kept.empty())
    objects_->tell(by->held_id(), number, AskKind::took);
  respond(proxy, request, std::move(message));
}

void ActorPort::watch(const std::shared_ptr<ObjectHandle>& place, Ended f) {
  Bytes body;
  Writer(body).put(ActorOp::watch);
  objects_->ask(place->held_id(), AskKind::call, Payload(std::move(body)), {},
                [place, f = std::move(f)](std::uint64_t, const ObjectAnswer& answer) {
                  try {
                    Reader reader(answer.body.bytes());
                    if (answer.what == Answer::value)
                      return f(unpack_error(reader));
                  } catch (const Error&) { // Treated as if the process were gone.
                  }
                  f(std::nullopt);
                });
}

// -- messages from other processes --

void ActorPort::asked(const caf::strong_actor_ptr& actor, ObjectAsk& ask) {
  if (ask.what == AskKind::took) {
    detail::KeptObjects last;
    std::lock_guard lock(mutex_);
    last = answers_.took(ask.who);
    return;
  }
  if (ask.what != AskKind::call)
    return; // Nothing to cancel: the actor answers when it is done.
  try {
    Reader reader(ask.body.bytes());
    if (reader.get<ActorOp>() == ActorOp::message)
      return take_message(actor, ask.who, reader);
    actor->get()->attach_functor(
      [port = weak_from_this(), who = ask.who](const caf::error& reason) {
        if (auto open = port.lock())
          open->send_answer(who, detail::PackedItem::of([&](Writer& writer) {
                              const Scope scope(*open);
                              pack_error(writer, reason);
                            }));
      });
  } catch (const std::exception& error) {
    if (ask.who.request == 0) {
      log().error("a message from another process was dropped: {}", what_of(error));
      return;
    }
    objects_->refuse(ask.who, error.what());
  }
}

void ActorPort::take_message(const caf::strong_actor_ptr& actor, const Asker& who,
                             Reader& reader) {
  auto mid = caf::message_id(reader.get<std::uint64_t>());
  auto [port, place] = read_handle(reader);
  auto message = unpack_message(reader);
  if (!mid.is_request()) {
    actor->enqueue(place ? actor_at(place) : nullptr, mid, std::move(message), nullptr);
    if (who.request != 0)
      objects_->answer(who, {Answer::done}, Haste::soon);
    return;
  }
  if (!place)
    throw Error("a request has no sender");
  auto asker = proxy_at(place);
  as_remote(asker)->expect_answer(mid, who);
  actor->enqueue(std::move(asker), mid, std::move(message), nullptr);
}

void ActorPort::answer(const Asker& who, const detail::MessageContent& message) {
  try {
    send_answer(who, detail::PackedItem::of([&](Writer& writer) {
                  const Scope scope(*this);
                  pack_message(writer, message);
                }));
  } catch (const std::exception& error) {
    objects_->refuse(who, error.what());
  }
}

void ActorPort::send_answer(const Asker& who, detail::PackedItem item) {
  {
    std::lock_guard lock(mutex_);
    answers_.keep(who, item.kept);
  }
  objects_->answer(who,
                   {Answer::value, Payload(std::move(item.bytes)), std::move(item.kept)});
}

} // namespace fiber::actors
