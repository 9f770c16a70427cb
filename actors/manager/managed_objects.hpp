// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "actors/objects/kept_answers.hpp"
#include "actors/objects/object_space.hpp"
#include "fiber/callable.hpp"
#include "fiber/detail/living_object.hpp"

namespace fiber::actors {

/// The objects of one manager as the process knows them that made it. Handles stand for
/// objects of this process, so they outlive the manager's job: this passes on what is
/// asked of them to whichever host there is (object_host.hpp), keeps it while there is
/// none, and makes the objects again in the next one, where those calls run again that
/// may.
///
/// Thread safety: any thread may call any member function. No actor, as each call would
/// have to pass through it.
class ManagedObjects final : public ObjectHome,
                             public std::enable_shared_from_this<ManagedObjects> {
public:
  /// `again`: hosts may be replaced.
  ManagedObjects(std::shared_ptr<ObjectSpace> space, bool restartable);

  /// Who is told of each host. Called by any thread, which it must not hold up.
  struct Watcher {
    std::function<void()> up; ///< It has all objects, and runs calls.
    /// Once for each that could not be made as the one before was.
    std::function<void(std::exception_ptr)> failed;
  };
  /// From now on instead of the one before.
  std::uint64_t watch(Watcher watcher);
  /// No more of that one.
  void unwatch(std::uint64_t number);
  bool is_up() const;

  /// What create() is asked of, and hosts say that they are ready.
  std::shared_ptr<ObjectHandle> open();
  void set_restore(AnyCallable restore);
  /// A new object, made in every host, the first one included, as create() would be told
  /// by `body`. Throws Closed.
  std::shared_ptr<ObjectHandle> add(const Payload& body, detail::KeptObjects kept);
  /// There is a host, in the job or in this process.
  void ready(std::shared_ptr<ObjectHandle> host);
  /// The host is gone: what it had not answered may have run. `last`: none will follow,
  /// and so will have what is asked from now on.
  void lost(const std::exception_ptr& why, bool last);
  /// Asks the host to end; what is asked from now on waits for the next one. So do calls
  /// that have not begun there if `again`, else they are told `why`. False if there is
  /// none to ask.
  bool stop(const std::exception_ptr& why, bool restarting);
  /// There will be no host any more: from now on each call is told `why` as it is.
  void give_up(const std::exception_ptr& why);
  /// Everything is answered `closed` from now on. Asks the host to end; `asked` is called
  /// when it has understood, or is gone.
  void end(std::function<void()> asked);

  void asked(ObjectAsk ask) override;
  void freed(std::uint64_t number) override;
  void gone(std::uint64_t process) override;
  void close() override {}

private:
  enum class State : std::uint8_t {
    waiting,   ///< For a host.
    restoring, ///< What the host before had.
    up,
    stopping, ///< To make place for the next one.
    lost,     ///< For good.
    ended
  };
  /// How an object is made.
  struct Recipe {
    Payload body;
    detail::KeptObjects kept;
  };
  /// When it was asked: a number that goes up, by which calls keep their order though
  /// some of them run again.
  using Turn = std::uint64_t;
  struct Waiting {
    ObjectAsk ask = {};
    bool may_have_run = false;
  };
  /// What was passed on: the request to the host, once it has a number.
  struct PassedOn {
    std::uint64_t request = 0;
    std::uint64_t host = 0; ///< Which one, counted.
    Turn turn = 0;
    std::optional<ObjectAsk> retry = {}; ///< What may run once more.
  };
  struct Lost {
    Asker who;
    std::optional<ObjectAsk> retry = {};
  };

  /// Now that there is a host for it.
  void handle(Turn turn, ObjectAsk ask);
  void create(Turn turn, const Asker& who, const Payload& body, detail::KeptObjects kept);
  void pass_on(Turn turn, ObjectAsk ask);
  void host_answered(const Asker& who, std::uint64_t request, ObjectAnswer answer);
  /// From now on it is not passed on. Nothing if its process is gone.
  std::optional<PassedOn> take_passed_on(const Asker& who);
  /// Its host is gone, or has given it back.
  void host_left_unanswered(const Asker& who, PassedOn&& passed, ObjectAnswer answer);
  /// As it was asked, if that can be read.
  std::optional<ObjectAsk> ask_given_back(const Asker& who, ObjectAnswer answer) const;
  bool is_from_host_locked(const Asker& who) const;
  void forget_recipe(std::uint64_t number);
  void cancel(const Asker& who);
  static Bytes head_of(std::uint64_t number, detail::ObjectOp op);
  /// How the object of that number is made; `body` says so of any.
  static Payload recipe_of(std::uint64_t number, detail::ObjectOp op,
                           const Payload& body);
  void remake(bool first);
  void remade(std::uint64_t host, const ObjectAnswer& answer);
  void restore();
  void release_waiting();
  void lose_host(const std::exception_ptr& why, bool last);
  void answer_lost(const Asker& who);
  std::shared_ptr<ObjectHandle> host() const;
  /// `host`: none answers at once.
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
  std::uint64_t watcher_count_ = 0; ///< That there have been.
  State state_ = State::waiting;
  bool restarting_ = false;
  std::uint64_t control_ = 0;
  std::uint64_t host_count_ = 0; ///< That there have been.
  std::shared_ptr<ObjectHandle> host_;
  std::map<std::uint64_t, Recipe> recipes_; ///< By number, as they were made.
  std::size_t to_remake_ = 0;
  AnyCallable restore_;
  Turn last_turn_ = 0; ///< That there have been.
  std::map<Turn, Waiting> waiting_;
  std::map<Asker, PassedOn> passed_on_;
  std::map<Turn, Lost> lost_; ///< Whose host was lost, we don't know how yet.
  KeptAnswers answers_;
  std::exception_ptr why_; ///< How the last host was lost.
};

} // namespace fiber::actors
