// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "actors/objects/kept_answers.hpp"
#include "actors/objects/object_space.hpp"
#include "fiber/callable.hpp"
#include "fiber/detail/living_object.hpp"
#include "wire/leadership.hpp"

namespace fiber::actors {

/// The host of one manager's objects: runs the calls on one object one at a time in the
/// order of arrival, and calls on different objects on a few threads.
///
/// Thread safety: any thread may call any member function.
class ObjectHost final : public ObjectHome,
                         public std::enable_shared_from_this<ObjectHost> {
public:
  /// `threads`: how many calls run at the same time; calls that wait do not count.
  /// `leadership`: leadership of the reactor that brings calls.
  ObjectHost(std::size_t threads, std::shared_ptr<ObjectSpace> objects,
             std::shared_ptr<wire::Leadership> leadership);
  ~ObjectHost() override;

  /// Runs calls on threads of its own until it is told to stop or the session ends; then
  /// destroys all objects, in the reverse order of their creation.
  void run();
  /// Runs one call on this thread; false if there is none. Used instead of run() if there
  /// is one thread for everything.
  bool step();
  /// If the host was told to stop, destroys all objects except those with a running call;
  /// else returns false. Used with step().
  bool destroy_stopped();

  void asked(ObjectAsk ask) override;
  void freed(std::uint64_t) override {}
  void gone(std::uint64_t process) override;
  void close() override { stop(); }

  /// Marks this thread as waiting, so that another one may run calls. Has no effect on a
  /// thread that runs no call of a host.
  class Pause {
  public:
    Pause();
    ~Pause();
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

  private:
    ObjectHost* host_;
  };

private:
  struct Request {
    Asker who;
    Payload body;
    detail::KeptObjects kept;
  };
  /// One object and its queue of calls.
  struct Strand {
    explicit Strand(std::uint64_t of, std::uint64_t at = 0) : number(of), position(at) {}
    const std::uint64_t number;
    const std::uint64_t position; ///< In the order of creation.
    std::deque<Request> requests;
    bool busy = false; ///< It is in ready_, or a thread runs it.
    bool running = false;
    std::unique_ptr<detail::LivingObject> object;
  };
  using StrandPtr = std::shared_ptr<Strand>;

  void work();
  /// Queues a request; false if the host has stopped.
  bool enqueue(ObjectAsk& ask);
  /// Returns a request that has not begun to its sender.
  void give_back(const Asker& who, Payload body, detail::KeptObjects kept);
  bool step_locked(std::unique_lock<std::mutex>& lock);
  void run_strand(Strand& strand);
  void execute(Strand& strand, Request& request);
  void create(Strand& strand, Reader& reader, const Request& request, bool remade);
  void call(Strand& strand, Reader& reader, const Request& request);
  void reply(const Asker& who, ObjectAnswer answer, Haste haste = Haste::now);
  void fail(const Asker& who);
  void cancel(const Asker& who);
  void stop();
  /// Takes the strands without a running call, in the reverse order of creation.
  std::vector<StrandPtr> take_idle_locked();
  void destroy(const std::vector<StrandPtr>& strands);
  /// Makes a thread run the strands in ready_.
  void wake_locked();
  void pause(bool begins);

  const std::size_t threads_;
  const std::shared_ptr<ObjectSpace> objects_;
  const std::shared_ptr<wire::Leadership> leadership_;
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, StrandPtr> strands_;
  std::uint64_t strand_count_ = 0; ///< Strands so far.
  std::deque<StrandPtr> ready_;
  std::vector<wire::Waiter*> idle_threads_;
  std::size_t thread_count_ = 0; ///< Threads that exist.
  std::size_t paused_ = 0;
  bool stopping_ = false;
  bool told_to_stop_ = false;            ///< It was told to stop, so on_stop() runs.
  std::unique_ptr<wire::Waiter> runner_; ///< Waiter of the thread in run().
  KeptAnswers answers_;
};

/// Opens the one task of a manager's job: it runs a host, and tells the manager's control
/// object that the host is ready. Its arguments are those of pack_host_arguments().
std::unique_ptr<detail::Body> open_object_host(Reader& state);
Bytes pack_host_arguments(std::size_t threads, const detail::HeldId& control);

} // namespace fiber::actors
