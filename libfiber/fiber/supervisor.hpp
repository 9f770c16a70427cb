// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "fiber/callable.hpp"
#include "fiber/checkpoint.hpp"
#include "fiber/ref.hpp"
#include "fiber/supervision.hpp"
#include "fiber/this_object.hpp"
#include "fiber/value.hpp"

namespace fiber {

namespace detail {

class SupervisorCore;

/// A `C` that a supervisor keeps alive.
template <class C>
class Supervised final : public Living<C> {
public:
  template <class... Args>
  Supervised(Checkpoint checkpoint, bool detached, Args&&... args)
    : Living<C>(std::forward<Args>(args)...), checkpoint_(std::move(checkpoint)),
      detached_(detached) {}

  void run(CallObject call, Reader& arguments, Writer& result) override {
    ObjectScope scope(checkpoint_);
    call(*this, arguments, result);
  }
  void restarted() override {
    if constexpr (requires { this->object.on_restart(checkpoint_); }) {
      ObjectScope scope(checkpoint_);
      this->object.on_restart(checkpoint_);
    }
  }
  void stopping() override {
    if constexpr (requires { this->object.on_stop(); }) {
      ObjectScope scope(checkpoint_);
      this->object.on_stop();
    }
  }
  bool detached() const override { return detached_; }

private:
  Checkpoint checkpoint_;
  const bool detached_;
};

template <class C, class... Args>
std::unique_ptr<LivingObject> make_supervised(Reader& arguments) {
  auto checkpoint = unpack<Checkpoint>(arguments);
  auto detached = unpack<bool>(arguments);
  auto args = unpack<std::tuple<Args...>>(arguments);
  ObjectScope scope(checkpoint);
  return std::apply(
    [&](auto&... each) -> std::unique_ptr<LivingObject> {
      return std::make_unique<Supervised<C>>(checkpoint, detached, std::move(each)...);
    },
    args);
}

/// Writes the head of a request of Supervisor::spawn().
void begin_spawn(Writer& writer);
/// The object of that name, if it is a `type`.
std::optional<ObjectRef> find_object(const std::string& name, const std::type_info& type);

} // namespace detail

/// Keeps objects in jobs alive, as OTP's supervisors do. A child whose job ends restarts,
/// and others with it as the strategy says, from the arguments of its spawn(). Its Refs
/// remain valid: calls wait for the restart.
///
/// A restart runs the constructor and then the member function on_restart(Checkpoint&),
/// if the class has it, before any call. An exception in either is one more failure. A
/// planned end runs on_stop(), if the class has it: when the child or its supervisor is
/// stopped, or when the strategy restarts it with others. Calls that run then end first,
/// for which they have 5 s; calls that have not begun wait for the restart. A loss runs
/// nothing.
///
/// After more than `intensity` failures within `period` the supervisor gives up: it stops
/// its children in reverse order, and then counts as a failed, permanent child of its
/// parent. When the uppermost supervisor gives up, spawn() and all calls to its children
/// throw WorkerLost, which names the causes from the top down.
///
/// The destructor of the uppermost supervisor ends it, as stop() does; the parent ends
/// those that supervisor() made.
///
/// On an inline session objects live in this process, and nothing restarts.
///
/// Thread safety: any thread may call any member function. All throw Closed after stop()
/// and after the end of the session.
class Supervisor {
public:
  /// A supervisor without children. Throws Closed without a session, ConfigError for
  /// options that can't be used.
  Supervisor() : Supervisor(SupervisorOptions{}) {}
  explicit Supervisor(SupervisorOptions options);
  /// Assigning to a Supervisor first does what ~Supervisor() does.
  Supervisor(Supervisor&&) noexcept;
  Supervisor& operator=(Supervisor&&) noexcept;
  /// As stop(), if it is the uppermost one.
  ~Supervisor();

  /// Starts a child and blocks until its object is made: C(args...), whose arguments are
  /// kept for restarts. If that fails there is no such child, and this throws the reason:
  /// RemoteError if the constructor threw; BackendError, TimeoutError or VersionMismatch
  /// if the job could not be started; WorkerLost if it was lost. Throws ConfigError if
  /// the name is taken.
  template <class C, class... Args>
  Ref<C> spawn(const SpawnOptions& options, Args&&... args) {
    static_assert(std::is_constructible_v<C, detail::value_t<Args>&&...>,
                  "fiber: the object can't be made from these arguments, as values");
    (detail::check_value<detail::value_t<Args>>(), ...);
    auto recipe = detail::PackedItem::of([&](Writer& writer) {
      detail::begin_spawn(writer);
      detail::pack_entry<detail::CodeKind::make_object,
                         &detail::make_supervised<C, detail::value_t<Args>...>>(writer);
      pack<detail::CheckpointHandle>(writer, new_checkpoint());
      pack<bool>(writer, options.detached);
      using Tuple = std::tuple<detail::value_t<Args>...>;
      pack<Tuple>(writer, Tuple(std::forward<Args>(args)...));
    });
    return Ref<C>(spawn_object(options, typeid(C), recipe));
  }
  /// The same with default options, without arguments.
  template <class C>
  Ref<C> spawn() {
    return spawn<C>(SpawnOptions{});
  }

  /// Starts a supervisor as a permanent child, and returns it. It restarts with all of
  /// its children.
  Supervisor supervisor(SupervisorOptions options = {});

  /// Stops the children in reverse order of their start and ends their jobs. Blocks until
  /// this is done: each child first ends the calls that run, and its on_stop(), for which
  /// it has 5 s. A second call has no effect.
  void stop();

  /// Runs f(Ref<C>) or f() in this process after each restart of that child, on the
  /// thread that all continuations share. Throws Error if it is no child of this
  /// supervisor.
  template <class C, class F>
  void on_restart(Ref<C> child, F f) {
    if constexpr (std::is_invocable_v<F&, Ref<C>>)
      tell_restarts(child.object_, [child, f = std::move(f)]() mutable { f(child); });
    else
      tell_restarts(child.object_, [f = std::move(f)]() mutable { f(); });
  }

  /// The children in order of their start; supervisors among them have no job. Empty
  /// after stop().
  std::vector<ChildInfo> children() const;

private:
  explicit Supervisor(std::shared_ptr<detail::SupervisorCore> core);
  const std::shared_ptr<detail::SupervisorCore>& core() const;
  detail::CheckpointHandle new_checkpoint() const;
  detail::ObjectRef spawn_object(const SpawnOptions& options, const std::type_info& type,
                                 const detail::PackedItem& recipe);
  void tell_restarts(const detail::ObjectRef& child, std::function<void()> f);

  std::shared_ptr<detail::SupervisorCore> core_;
};

/// The child that any supervisor in this session has spawned with this
/// SpawnOptions::name; nothing if there is none, or if it has ended for good. Works in
/// jobs as well. Throws Error, which names both types, if it is no `C`; Closed without a
/// session.
template <class C>
std::optional<Ref<C>> find(const std::string& name) {
  auto found = detail::find_object(name, typeid(C));
  return found ? std::optional(Ref<C>(std::move(*found))) : std::nullopt;
}

} // namespace fiber
