// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include <caf/all.hpp>

#include "fiber/as_completed.hpp"
#include "fiber/callable.hpp"
#include "fiber/detail/archived_handle.hpp"
#include "fiber/detail/caf/message_content.hpp"
#include "fiber/detail/caf/message_type.hpp"
#include "fiber/manager.hpp"
#include "fiber/supervision.hpp"
#include "fiber/value.hpp"

// CAF actors in jobs: the only header that shows CAF. To move an actor to a job, write
// fiber::spawn<behavior_fn>({}, args...) instead of system.spawn(behavior_fn, args...).
//
// spawn() returns a proxy in this process, an actor like any other: messages can be sent
// to it, it can be asked, linked, monitored and delegated to, and it can be part of
// messages, also to another process of the session. Messages between two processes may
// contain what CAF has type numbers for (arithmetic types, strings, atoms, actors,
// errors, ...), and types that FIBER_MESSAGE declares. A message that can't travel is
// answered with an error, or logged and dropped if no one waits for an answer.

namespace fiber {

/// The system that the program's actors live in. In the driver it ends with the session,
/// which waits for its actors; in a job it lives as long as the job. Its actors run on
/// separate threads, so they may block. Throws Closed without a session.
caf::actor_system& actor_system();

namespace detail {

/// Lets messages between processes contain values of that type.
bool announce_message(TypeKey key, const std::type_info& type,
                      void (*pack)(Writer& writer, const void* value),
                      void (*append)(Reader& reader, caf::message_builder& message));

template <class T>
bool announce_message() {
  check_value<T>();
  return announce_message(
    type_key<T>(), typeid(T),
    [](Writer& writer, const void* value) {
      pack<T>(writer, *static_cast<const T*>(value));
    },
    [](Reader& reader, caf::message_builder& message) {
      message.append(unpack<T>(reader));
    });
}

/// Packs the handle of an actor: its session, process and number.
void pack_actor(Writer& writer, const caf::strong_actor_ptr& actor);
caf::strong_actor_ptr unpack_actor(Reader& reader);

/// Where an actor lives, for its proxy.
struct ActorPlace {
  /// The actor; set in its own process.
  caf::strong_actor_ptr actor = {};
  /// What keeps it alive; set in other processes.
  std::shared_ptr<const Held> held = {};

  void fiber_pack(Writer& writer) const { pack_actor(writer, actor); }
  static ActorPlace fiber_unpack(Reader& reader);
};

template <auto f>
struct SpawnFunction {
  template <caf::spawn_options options, class... Args>
  static auto spawn(caf::actor_system& system, Args&&... args) {
    if constexpr (sizeof...(Args) > 0)
      return system.spawn<options>(f, std::forward<Args>(args)...);
    else
      return spawn_alone<options>(system,
                                  static_cast<typename Traits::arg_types*>(nullptr));
  }

private:
  using Traits =
    typename caf::detail::get_callable_trait<std::remove_cv_t<decltype(f)>>::type;
  using Result = typename Traits::result_type;

  // Without arguments CAF dereferences a null pointer to them, and a standard library
  // with assertions aborts. So there is always one.
  template <class Self>
  static Result call_with_self(Self self, char) {
    return f(self);
  }
  static Result call(char) { return f(); }
  template <caf::spawn_options options, class Self>
  static auto spawn_alone(caf::actor_system& system, caf::detail::type_list<Self>*) {
    return system.spawn<options>(&call_with_self<Self>, '\0');
  }
  template <caf::spawn_options options>
  static auto spawn_alone(caf::actor_system& system, caf::detail::type_list<>*) {
    return system.spawn<options>(&call, '\0');
  }
};
template <class C>
struct SpawnClass {
  template <caf::spawn_options options, class... Args>
  static auto spawn(caf::actor_system& system, Args&&... args) {
    return system.spawn<C, options>(std::forward<Args>(args)...);
  }
};

/// The handle of what is spawned: caf::actor, or a typed one.
template <class How, class... Args>
using spawned_t = decltype(How::template spawn<caf::no_spawn_options>(
  std::declval<caf::actor_system&>(), std::declval<Args&>()...));

/// The object in the job that owns an actor.
template <class How, class... Args>
class ActorCell {
public:
  explicit ActorCell(bool detached, Args... args)
    : detached_(detached), args_(std::move(args)...) {
    spawn_again();
  }
  ActorCell(const ActorCell&) = delete;
  ActorCell& operator=(const ActorCell&) = delete;
  ~ActorCell() { caf::anon_send_exit(actor_, caf::exit_reason::user_shutdown); }

  ActorPlace place() const { return {actor_, nullptr}; }
  /// Spawns the actor again, after its end.
  ActorPlace spawn_again() {
    actor_ = std::apply(
      [&](auto&... args) {
        auto& system = actor_system();
        return caf::actor_cast<caf::strong_actor_ptr>(
          detached_ ? How::template spawn<caf::detached>(system, args...)
                    : How::template spawn<caf::no_spawn_options>(system, args...));
      },
      args_);
    return place();
  }

private:
  const bool detached_;
  std::tuple<Args...> args_;
  caf::strong_actor_ptr actor_;
};

/// Calls of a cell, whatever is in it. The results are ActorPlaces.
struct CellCalls {
  std::function<std::shared_ptr<Results>()> place, spawn_again;
};
/// Asks a cell for its place, again after a loss: it may be in another job by then.
struct PlaceOf {
  static constexpr bool idempotent = true;
  template <class Cell>
  ActorPlace operator()(const Cell& cell) const {
    return cell.place();
  }
};
void check_spawn(const SpawnOptions& options);
ManagerOptions manager_of(const SpawnOptions& options);
/// Returns the proxy, which keeps the manager.
caf::strong_actor_ptr supervise(const SpawnOptions& options, Manager manager,
                                CellCalls cell);

template <class How, class... Args>
spawned_t<How, value_t<Args>...> spawn_in_job(const SpawnOptions& options,
                                              Args&&... args) {
  using Cell = ActorCell<How, value_t<Args>...>;
  check_spawn(options);
  Manager manager(manager_of(options));
  auto cell = manager.create<Cell>(options.detached, std::forward<Args>(args)...);
  auto results = [](Future<ActorPlace> future) {
    return results_of(std::vector{std::move(future)}).front();
  };
  CellCalls calls{[=] { return results(cell.async(PlaceOf{})); },
                  [=] { return results(cell.template async<&Cell::spawn_again>()); }};
  return caf::actor_cast<spawned_t<How, value_t<Args>...>>(
    supervise(options, std::move(manager), std::move(calls)));
}

} // namespace detail

/// Spawns an actor in a separate job, blocks until it is there, and returns a proxy: a
/// caf::actor, or the typed handle. `f` and `args` are those of caf::actor_system::spawn:
/// a function whose first parameter may be a pointer to the actor, and that returns
/// nothing or a behavior, dynamically or statically typed.
///
/// If the job is lost, the proxy lives on unless options.restart is temporary: `f` starts
/// again in another job with copies of the same arguments, at most 5 times within 10 s.
/// Requests in flight are answered with sec::request_receiver_down, as they may have run;
/// up to 4,096 messages that arrive in between wait. An actor that ends by itself starts
/// again in the same job if options.restart covers that kind of end, but never after
/// exit_reason::user_shutdown or kill.
///
/// Monitors and links hear of the final end only. The end by a lost job is
/// exit_reason::remote_link_unreachable, whose context has options.name and the cause.
/// The actor and its job end with the last handle to the proxy, and with the session.
/// With options.detached the actor has CAF's `detached` there: a separate thread.
///
/// Throws Closed without a session, ConfigError for options that can't be used,
/// RemoteError if the constructor of a class throws; BackendError, TimeoutError or
/// WorkerLost if there is no job.
template <auto f, class... Args>
detail::spawned_t<detail::SpawnFunction<f>, detail::value_t<Args>...>
spawn(const SpawnOptions& options = {}, Args&&... args) {
  return detail::spawn_in_job<detail::SpawnFunction<f>>(options,
                                                        std::forward<Args>(args)...);
}
/// The same for an actor that is a class.
template <class C, class... Args>
detail::spawned_t<detail::SpawnClass<C>, detail::value_t<Args>...>
spawn(const SpawnOptions& options = {}, Args&&... args) {
  return detail::spawn_in_job<detail::SpawnClass<C>>(options,
                                                     std::forward<Args>(args)...);
}

} // namespace fiber

/// Lets messages between processes contain values of a type, see fiber/value.hpp.
/// Write FIBER_MESSAGE(my::Type) once, before the type's first use, outside of all
/// namespaces. With CAF 0.18 it needs a type id first (CAF_ADD_TYPE_ID).
#define FIBER_MESSAGE(...) FIBER_MESSAGE_AT(__COUNTER__, __VA_ARGS__)
#define FIBER_MESSAGE_AT(n, ...) FIBER_MESSAGE_NAMED(n, __VA_ARGS__)
#define FIBER_MESSAGE_NAMED(n, ...)                                                      \
  FIBER_ACTOR_MESSAGE_NAMED(n, __VA_ARGS__)                                              \
  namespace {                                                                            \
  [[maybe_unused]] const bool fiber_message_##n =                                        \
    fiber::detail::announce_message<__VA_ARGS__>();                                      \
  }

// Lets arguments and declared types contain actors.
namespace boost::serialization {

template <class Archive>
void serialize(Archive& archive, caf::strong_actor_ptr& actor, unsigned) {
  using namespace fiber::detail;
  if constexpr (Archive::is_saving::value)
    save_block(archive, [&](auto& writer) { pack_actor(writer, actor); });
  else
    actor = load_block(archive, [](auto& reader) { return unpack_actor(reader); });
}
// `const` as in Boost's own template: else clang 16 does not compare constraints.
template <class Archive, class Handle>
  requires caf::is_actor_handle<Handle>::value
void serialize(Archive& archive, Handle& handle, const unsigned) {
  auto actor = caf::actor_cast<caf::strong_actor_ptr>(handle);
  archive& actor;
  handle = caf::actor_cast<Handle>(actor);
}

} // namespace boost::serialization
