// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

#include "actors/objects/kept_answers.hpp"
#include "actors/objects/object_space.hpp"
#include "fiber/callable.hpp"
#include "fiber/detail/living_object.hpp"

namespace fiber::actors {

/// The objects of one manager, as seen by the process that made the manager. Handles
/// refer to objects of this process, so they outlive the manager's job, the host
/// (object_host.hpp). This class passes calls on to the current host, queues them while
/// there is none, and remakes the objects in the next host, where it retries the calls
/// that may be repeated.
///
/// Thread safety: any thread may call any member function. It is not an actor, since each
/// call would have to pass through it.
class ManagedObjects final : public ObjectHome,
                             public std::enable_shared_from_this<ManagedObjects> {
public:
  /// `restartable`: a lost host is replaced.
  ManagedObjects(std::shared_ptr<ObjectSpace> space, bool restartable);

  /// Functions that are told of each host. Any thread may call them; they must not block.
  struct Watcher {
    std::function<void()> up; ///< The host has all objects, and runs calls.
    /// The host could not remake the objects; called once for each host.
    std::function<void(std::exception_ptr)> failed;
  };
  /// Replaces the watcher; returns its number.
  std::uint64_t watch(Watcher watcher);
  /// Removes the watcher with this number.
  void unwatch(std::uint64_t number);
  bool is_up() const;

  /// What observers see.
  struct Glance {
    enum class State : std::uint8_t { starting, up, lost, ended };
    State state = State::starting;
    /// How many objects each MakeObject has made that are there still.
    std::map<const void*, std::size_t> objects = {};
    std::uint64_t calls = 0;    ///< Received so far.
    std::size_t running = 0;    ///< Calls that the host has not answered.
    std::size_t waiting = 0;    ///< Calls that wait for a host.
    std::uint64_t restarts = 0; ///< Hosts after the first one.
  };
  Glance glance() const;

  /// Opens the control object, which takes create requests and the hosts' `ready`.
  std::shared_ptr<ObjectHandle> open();
  /// Sets the callable that each new host but the first one runs before calls.
  void set_restore(AnyCallable restore);
  /// Adds an object that every host makes, from `body`, a create request. Throws Closed.
  std::shared_ptr<ObjectHandle> add(const Payload& body, detail::KeptObjects kept);
  /// A host is ready, in the job or in this process.
  void ready(std::shared_ptr<ObjectHandle> host);
  /// The host is gone, so calls that it had not answered may have run. `last`: no other
  /// host will follow, so later calls fail with `why` too.
  void lost(const std::exception_ptr& why, bool last);
  /// Asks the host to end; later calls wait for the next host. Calls that have not begun
  /// wait too if `restarting`, else they fail with `why`. False if there is no host.
  bool stop(const std::exception_ptr& why, bool restarting);
  /// No host will follow: from now on each call fails with `why`, unchanged.
  void give_up(const std::exception_ptr& why);
  /// Answers all calls with `closed` from now on. Asks the host to end; `asked` is called
  /// when the host has acknowledged that, or is gone.
  void end(std::function<void()> asked);

  void asked(ObjectAsk ask) override;
  void freed(std::uint64_t number) override;
  void gone(std::uint64_t process) override;
  void close() override {}

private:
  enum class State : std::uint8_t {
    waiting,   ///< There is no host yet.
    restoring, ///< The host remakes the objects.
    up,        ///< The host runs calls.
    stopping,  ///< The host ends; another may follow.
    lost,      ///< The last host is lost.
    ended      ///< end() was called.
  };
  /// The request that makes an object.
  struct Recipe {
    std::uint64_t position = 0; ///< In the order of creation.
    Payload body;
    detail::KeptObjects kept;
  };
  /// The position of a call in the order of arrival. Calls keep it when they are retried.
  using Turn = std::uint64_t;
  struct Waiting {
    ObjectAsk ask = {};
    bool may_have_run = false;
  };
  /// A call that was passed on to a host.
  struct PassedOn {
    std::uint64_t request = 0; ///< Number of the request to the host; 0: not yet known.
    std::uint64_t host = 0;    ///< Number of the host.
    Turn turn = 0;
    std::optional<ObjectAsk> retry = {}; ///< The call, if it may be repeated.
  };
  /// A call that its host left unanswered.
  struct Lost {
    Asker who;
    std::optional<ObjectAsk> retry = {};
  };

  /// Handles a request, as there is a host for it.
  void handle(Turn turn, ObjectAsk ask);
  void create(Turn turn, const Asker& who, const Payload& body, detail::KeptObjects kept);
  void pass_on(Turn turn, ObjectAsk ask);
  void host_answered(const Asker& who, std::uint64_t request, ObjectAnswer answer);
  /// Removes the call from passed_on_; nothing if its process is gone.
  std::optional<PassedOn> take_passed_on_locked(const Asker& who);
  /// The host is gone, or has given the call back: retries or fails the call.
  void host_left_unanswered(const Asker& who, PassedOn&& passed, ObjectAnswer answer);
  /// Returns the call that the host gave back; nothing if it is malformed.
  std::optional<ObjectAsk> ask_given_back(const Asker& who, ObjectAnswer answer) const;
  bool is_from_host_locked(const Asker& who) const;
  void forget_recipe(std::uint64_t number);
  void cancel(const Asker& who);
  static Bytes head_of(std::uint64_t number, detail::ObjectOp op);
  /// Returns the request that makes object `number`, from the request `body` of any
  /// object.
  static Payload recipe_of(std::uint64_t number, detail::ObjectOp op,
                           const Payload& body);
  /// Returns the MakeObject of a recipe, or null if it is malformed.
  static const void* maker_of(const Payload& recipe);
  void remake(bool first);
  void remade(std::uint64_t host, const ObjectAnswer& answer);
  void restore();
  void release_waiting();
  void lose_host(const std::exception_ptr& why, bool last);
  void answer_lost(const Asker& who);
  std::shared_ptr<ObjectHandle> host() const;
  /// Sends a request to the host; if `host` is null, `done` gets `closed` at once.
  std::uint64_t ask_host(const std::shared_ptr<ObjectHandle>& host, Payload body,
                         detail::KeptObjects kept, ObjectSpace::Done done,
                         Haste haste = Haste::now);

  template <class... Args>
  void tell(std::function<void(Args...)> Watcher::*what, Args... args) {
    std::unique_lock lock(mutex_);
    auto f = watcher_.*what;
    lock.unlock();
    if (f)
      f(std::move(args)...);
  }

  const std::shared_ptr<ObjectSpace> space_;
  const bool restartable_;
  mutable std::mutex mutex_;
  Watcher watcher_;
  std::uint64_t watcher_count_ = 0; ///< Watchers so far.
  State state_ = State::waiting;
  bool restarting_ = false;
  std::uint64_t control_ = 0;
  std::uint64_t host_count_ = 0; ///< Hosts so far.
  std::shared_ptr<ObjectHandle> host_;
  std::unordered_map<std::uint64_t, Recipe> recipes_; ///< By the object's number.
  std::uint64_t recipe_count_ = 0;                    ///< Recipes so far.
  /// By the number of a living object.
  std::unordered_map<std::uint64_t, const void*> makers_;
  std::uint64_t calls_ = 0; ///< Calls so far.
  std::size_t to_remake_ = 0;
  AnyCallable restore_;
  Turn last_turn_ = 0;
  std::map<Turn, Waiting> waiting_;
  std::map<Asker, PassedOn> passed_on_;
  std::map<Turn, Lost> lost_; ///< Calls of a lost host, until lost() tells why.
  KeptAnswers answers_;
  std::exception_ptr why_; ///< Why the last host was lost.
};

} // namespace fiber::actors
