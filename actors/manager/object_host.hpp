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

/// The objects of one manager, where they live: runs the calls on one object one at a
/// time in the order in which they came, those on different ones on a few threads.
///
/// Thread safety: any thread may call any member function.
class ObjectHost final : public ObjectHome,
                         public std::enable_shared_from_this<ObjectHost> {
public:
  /// So many calls run at the same time; those that wait for something do not count.
  /// `leadership`: of the reactor that brings calls.
  ObjectHost(std::size_t threads, std::shared_ptr<ObjectSpace> objects,
             std::shared_ptr<wire::Leadership> leadership);
  ~ObjectHost() override;

  /// Runs calls on threads of its own until a call says that it is to stop, or the
  /// session ends; then destroys all objects, those first asked for last.
  void run();
  /// Instead of run(), where there is one thread for all: runs one call on this one.
  /// False if there is none.
  bool step();
  /// The same: destroys all objects but one whose call goes on, if it was told to stop.
  /// Else false.
  bool destroy_stopped();

  void asked(ObjectAsk ask) override;
  void freed(std::uint64_t) override {}
  void gone(std::uint64_t process) override;
  void close() override { stop(); }

  /// While it lives its thread waits for something. Has no effect on a thread that runs
  /// no call of a host.
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
  struct Strand {
    explicit Strand(std::uint64_t of) : number(of) {}
    const std::uint64_t number;
    std::deque<Request> requests;
    bool busy = false; ///< It stands in ready_, or a thread is at it.
    bool running = false;
    std::unique_ptr<detail::LivingObject> object;
  };
  using StrandPtr = std::shared_ptr<Strand>;

  void work();
  /// False if the host takes no more.
  bool enqueue(ObjectAsk& ask);
  /// It has not begun here.
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
  /// Those asked for last first: numbers go up, and outlive hosts.
  std::vector<StrandPtr> take_idle_locked();
  void destroy(const std::vector<StrandPtr>& strands);
  /// There is something to do: somebody must see to it.
  void wake_locked();
  void pause(bool begins);

  const std::size_t threads_;
  const std::shared_ptr<ObjectSpace> objects_;
  const std::shared_ptr<wire::Leadership> leadership_;
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, StrandPtr> strands_;
  std::deque<StrandPtr> ready_;
  std::vector<wire::Waiter*> idle_threads_;
  std::size_t thread_count_ = 0; ///< Threads.
  std::size_t paused_ = 0;
  bool stopping_ = false;
  bool told_to_stop_ = false;            ///< It was told to stop.
  std::unique_ptr<wire::Waiter> runner_; ///< Who is in run().
  KeptAnswers answers_;
};

/// What a manager's job runs as its one task: a host, and says to the manager's control
/// object that it is ready. Its arguments are those of pack_host_arguments().
std::unique_ptr<detail::Body> open_object_host(Reader& state);
Bytes pack_host_arguments(std::size_t threads, const detail::HeldId& control);

} // namespace fiber::actors
