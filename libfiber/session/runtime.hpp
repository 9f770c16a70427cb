// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <vector>

#include <caf/all.hpp>

#include "actors/caf/actor_port.hpp"
#include "actors/core/borrowed_thread.hpp"
#include "actors/driver/node_link_actor.hpp"
#include "actors/job/anchor.hpp"
#include "actors/objects/object_space.hpp"
#include "actors/share/share_store.hpp"
#include "actors/supervision/supervisor_actor.hpp"
#include "backends/backend.hpp"
#include "fiber/error.hpp"
#include "libfiber/monitor/progress.hpp"
#include "libfiber/session/inline_host.hpp"
#include "libfiber/session/settings.hpp"
#include "libfiber/session/work_thread.hpp"
#include "wire/listener.hpp"
#include "wire/reactor.hpp"
#include "wire/tls.hpp"

namespace fiber::detail {

class Metrics;
class StatsSource;
class NameTable;
class ProcessTable;

/// Something that holds actors of the session and must let go of them before it ends.
class ActorHolder {
public:
  virtual ~ActorHolder() = default;
  /// Called while no tell() is under way; none will reach an actor after it.
  virtual void release() = 0;
  /// Called before the session closes: end what takes its time in peace.
  virtual void closing() {}
};

/// A session's machinery: the actor system with the root supervisor and the job backend's
/// actor, the reactor and the backend. Facade objects share it and may outlive the
/// session: after close() it is an empty shell whose calls throw Closed.
class Runtime : public std::enable_shared_from_this<Runtime> {
public:
  /// The session's, as long as it lives; null otherwise.
  static std::shared_ptr<Runtime> current();
  /// The same; throws Closed if there is none. A job opens one of its own when it is
  /// first asked for.
  static std::shared_ptr<Runtime> require();
  /// Says how a job opens its own one.
  using OpenNested =
    std::function<std::shared_ptr<Runtime>(const std::function<void(Settings&)>& edit)>;
  static void nest(OpenNested open);
  /// Ends that, if there is one.
  static void close_nested();
  /// Makes it the current one. Throws Error if there is one.
  static std::shared_ptr<Runtime> open(Settings settings);

  explicit Runtime(Settings settings);
  ~Runtime();

  /// Ends all jobs and everything that runs. The second call has no effect.
  void close();

  /// Sends to an actor from any thread, which is lent to it. `actor` is read after the
  /// check that the session lives. Throws Closed after close().
  template <class Message>
  void tell(const caf::actor& actor, Message message) {
    auto lock = enter();
    actors::send_on_this_thread(*system_, actor, std::move(message));
  }
  /// The same, without the thread's help: what is asked by the way must not wait.
  template <class Message>
  void post(const caf::actor& actor, Message message) {
    auto lock = enter();
    caf::anon_send(actor, std::move(message));
  }
  /// Throws Closed after close().
  void check_open() const;
  /// Calls `use` with the actor system, which stays for as long as that takes. Throws
  /// Closed.
  template <class Use>
  decltype(auto) with_system(Use use) {
    auto lock = enter();
    return use(*system_);
  }
  /// Puts the actor that `make` makes in the actor system into `actor`, a child of the
  /// root supervisor that is called `kind` and its number, and is never restarted.
  /// `actor` is to be released when the session ends. Throws Closed.
  template <class Make>
  void spawn(const char* kind, caf::actor& actor, Make make) {
    auto lock = enter();
    actor = make(*system_);
    supervise(kind + std::to_string(actor.id()), actor);
  }
  /// Of an inline session: who waits runs these calls too.
  void run_calls_of(std::weak_ptr<actors::ObjectHost> host);
  /// Calls release() when the session ends.
  void enlist(std::weak_ptr<ActorHolder> holder);
  /// Tells of the pool what its metrics are, if anybody may ask for them.
  void measure(const std::shared_ptr<StatsSource>& pool);
  /// For the nodes of a pool. Throws Closed.
  std::shared_ptr<const actors::NodeServices> services();
  actors::ShareStore& shares() { return *shares_; }
  const std::shared_ptr<actors::ObjectSpace>& objects() const { return objects_; }
  NameTable& names() { return *names_; }
  /// Tells its handles from those of other sessions.
  std::uint64_t session_tag() const { return session_tag_; }
  /// Of the program's own CAF actors.
  const std::shared_ptr<actors::ActorPort>& actor_port() const { return actor_port_; }
  /// For those who wait for workers.
  const std::shared_ptr<wire::Leadership>& leadership() const { return leadership_; }

  /// Whether tasks run on the threads that wait for them.
  bool is_inline() const { return inline_host_ != nullptr; }
  /// Runs one task on this thread, if the session is inline and there is one.
  bool run_one();

  const Settings& settings() const { return settings_; }
  /// The address of this process that jobs dial; empty if they inherit their links.
  const std::string& dialled_address() const { return jobs_dial_; }

  /// Runs `f` on the thread that all continuations share; false if the session ends.
  bool run_later(std::function<void()> f);

  /// Where results are written.
  const std::shared_ptr<WorkThread>& journals() const { return journals_; }

  std::uint64_t next_pool() { return ++pools_; }
  std::uint64_t next_process() { return ++process_numbers_; }
  /// Those that have been started and have not ended.
  ProcessTable& processes() { return *processes_; }
  Progress& progress() { return *progress_; }

private:
  struct SystemConfig;

  static std::shared_ptr<Runtime> open_nested();

  /// For as long as it is held the system stays. Throws Closed.
  std::shared_lock<std::shared_mutex> enter();
  void supervise(std::string name, caf::actor actor);
  std::vector<std::shared_ptr<ActorHolder>> holders();
  void report_chaos() const;
  void open_trace();
  void open_metrics();
  void listen(const std::string& host);
  void set_anchor(backends::Backend& backend);

  Settings settings_;
  std::string jobs_dial_; ///< This host; empty: their links are inherited.
  std::shared_ptr<backends::StatusLines> terminal_ =
    std::make_shared<backends::StatusLines>();
  std::shared_ptr<Progress> progress_ = std::make_shared<Progress>(terminal_);
  std::shared_mutex gate_; ///< Held exclusively while the system goes away.
  std::atomic<bool> open_{true};
  std::atomic<std::uint64_t> pools_{0};
  std::atomic<std::uint64_t> process_numbers_{0};
  std::atomic<std::uint64_t> incarnations_{0};
  std::unique_ptr<SystemConfig> config_;
  std::unique_ptr<wire::Reactor> reactor_;
  std::shared_ptr<wire::Leadership> leadership_;
  std::unique_ptr<caf::actor_system> system_;
  std::shared_ptr<InlineHost> inline_host_;
  std::shared_ptr<actors::ShareStore> shares_ = std::make_shared<actors::ShareStore>();
  std::shared_ptr<actors::ObjectSpace> objects_;
  std::shared_ptr<NameTable> names_;
  std::shared_ptr<actors::ObjectHandle> names_held_; ///< While it lives jobs can ask.
  const std::uint64_t session_tag_;
  const std::shared_ptr<actors::ActorPort> actor_port_;
  std::shared_ptr<actors::NodeServices> services_;
  caf::actor root_;
  caf::actor backend_;
  std::mutex holders_mutex_;
  std::vector<std::weak_ptr<ActorHolder>> holders_;
  const std::unique_ptr<ProcessTable> processes_;
  std::unique_ptr<Metrics> metrics_; ///< Under the lock of the holders.
  WorkThread continuations_;
  std::shared_ptr<WorkThread> journals_ = std::make_shared<WorkThread>();
  actors::AnchorLinks anchors_;
  std::unique_ptr<wire::SessionCa> ca_;
  std::unique_ptr<wire::Listener> listener_;
};

} // namespace fiber::detail
