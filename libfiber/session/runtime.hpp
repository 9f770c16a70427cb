// SPDX-License-Identifier: Apache-2.0
// session/ opens and closes a session and owns its machinery: settings, actor system,
// reactor, listener, backend.
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
#include "libfiber/observer/observer_socket.hpp"
#include "libfiber/observer/session_view.hpp"
#include "libfiber/session/inline_host.hpp"
#include "libfiber/session/settings.hpp"
#include "libfiber/session/work_thread.hpp"
#include "wire/certificates.hpp"
#include "wire/listener.hpp"
#include "wire/reactor.hpp"

namespace fiber::dashboard {
class Dashboard;
class ReportFile;
} // namespace fiber::dashboard

namespace fiber::detail {

class Metrics;
class StatsSource;
class NameTable;
class ProcessTable;
struct MadeBackend;

/// Base of objects that hold actor references, which must be released before the actor
/// system ends.
class ActorHolder {
public:
  virtual ~ActorHolder() = default;
  /// Releases the actors. Called when no tell() is running; later ones throw Closed.
  virtual void release() = 0;
  /// Called before the session closes, for an orderly end that takes time.
  virtual void closing() {}
};

/// The machinery of a session: the actor system with the root supervisor and the actor of
/// the job backend, the reactor, and the backend. Facade objects share it and may outlive
/// the session: after close() its calls throw Closed.
class Runtime : public std::enable_shared_from_this<Runtime> {
public:
  /// Returns the runtime of the open session, or null.
  static std::shared_ptr<Runtime> current();
  /// Returns the runtime of the open session. In a job the first call opens a nested
  /// session; elsewhere it throws Closed if there is none.
  static std::shared_ptr<Runtime> require();
  /// Sets how a job opens its nested session.
  using OpenNested =
    std::function<std::shared_ptr<Runtime>(const std::function<void(Settings&)>& edit)>;
  static void nest(OpenNested open);
  /// Closes the nested session, if there is one.
  static void close_nested();
  /// Opens a session and makes it the current one. Throws Error if one is open.
  static std::shared_ptr<Runtime> open(Settings settings);

  explicit Runtime(Settings settings);
  ~Runtime();

  /// Ends all jobs, actors and threads of the session. A second call has no effect.
  void close();

  /// Sends a message to an actor and lends it the calling thread, on which it may run at
  /// once. Reads `actor` only after it has checked that the session is open. Throws
  /// Closed after close().
  template <class Message>
  void tell(const caf::actor& actor, Message message) {
    auto lock = enter();
    actors::send_on_this_thread(*system_, actor, std::move(message));
  }
  /// Sends a message without lending the thread, for callers that must not be delayed.
  template <class Message>
  void post(const caf::actor& actor, Message message) {
    auto lock = enter();
    caf::anon_send(actor, std::move(message));
  }
  /// Throws Closed after close().
  void check_open() const;
  /// Calls `use` with the actor system, which is kept alive during the call. Throws
  /// Closed.
  template <class Use>
  decltype(auto) with_system(Use use) {
    auto lock = enter();
    return use(*system_);
  }
  /// Stores in `actor` what `make` spawns and makes it a child of the root supervisor,
  /// named by `kind` and the actor's number and never restarted. The owner must release
  /// `actor` when the session ends. Throws Closed.
  template <class Make>
  void spawn(const char* kind, caf::actor& actor, Make make) {
    auto lock = enter();
    actor = make(*system_);
    supervise(kind + std::to_string(actor.id()), actor);
  }
  /// Inline sessions only: threads that wait also run the calls of this host.
  void add_object_host(std::weak_ptr<actors::ObjectHost> host);
  /// Registers a holder, whose release() is called when the session ends.
  void enlist(std::weak_ptr<ActorHolder> holder);
  /// Exports the pool's metrics, if the session has a metrics endpoint.
  void measure(const std::shared_ptr<StatsSource>& pool);
  /// Returns what observers of the session see.
  observer::SessionView& view() { return *view_; }
  /// Returns what new nodes need from the session. Throws Closed.
  std::shared_ptr<const actors::NodeServices> services();
  actors::ShareStore& shares() { return *shares_; }
  const std::shared_ptr<actors::ObjectSpace>& objects() const { return objects_; }
  NameTable& names() { return *names_; }
  /// Returns a random number that distinguishes handles of this session from others.
  std::uint64_t session_tag() const { return session_tag_; }
  /// Returns the port through which the program's own CAF actors are reached.
  const std::shared_ptr<actors::ActorPort>& actor_port() const { return actor_port_; }
  /// Returns the leadership of the reactor: threads that wait for workers take turns in
  /// doing the reactor's work.
  const std::shared_ptr<wire::Leadership>& leadership() const { return leadership_; }

  /// Returns whether tasks run on the threads that wait for them.
  bool is_inline() const { return inline_host_ != nullptr; }
  /// Runs one task on this thread. Returns false if there is none or the session is not
  /// inline.
  bool run_one();

  const Settings& settings() const { return settings_; }
  /// Returns the address that jobs dial; empty if they inherit their links.
  const std::string& dialled_address() const { return dialled_address_; }

  /// Runs `f` on the thread that all continuations share. Returns false if the session is
  /// ending.
  bool run_later(std::function<void()> f);

  /// Returns the thread that writes journals and checkpoints.
  const std::shared_ptr<WorkThread>& journals() const { return journals_; }

  std::uint64_t next_pool() { return ++pools_; }
  std::uint64_t next_process() { return ++process_numbers_; }
  std::uint64_t next_channel() { return ++channel_numbers_; }
  /// Returns the processes that have started and not ended.
  ProcessTable& processes() { return *processes_; }
  Progress& progress() { return *progress_; }

private:
  struct SystemConfig;

  static std::shared_ptr<Runtime> open_nested();

  /// Returns a lock that keeps the actor system alive. Throws Closed.
  std::shared_lock<std::shared_mutex> enter();
  void supervise(std::string name, caf::actor actor);
  std::vector<std::shared_ptr<ActorHolder>> holders();
  void report_chaos() const;
  MadeBackend make_session_backend();
  void open_trace();
  void open_metrics();
  void open_view(const std::string& backend, const std::string& session_id);
  void open_dashboard();
  void close_dashboard();
  void listen(const std::string& host, bool later);
  void set_anchor(backends::Backend& backend);

  Settings settings_;
  std::string dialled_address_; ///< Host name; empty if links are inherited.
  std::shared_ptr<backends::StatusLines> terminal_ =
    std::make_shared<backends::StatusLines>();
  std::shared_ptr<Progress> progress_ = std::make_shared<Progress>(terminal_);
  std::shared_mutex gate_; ///< Held exclusively while the actor system is torn down.
  std::atomic<bool> open_{true};
  std::atomic<std::uint64_t> pools_{0};
  std::atomic<std::uint64_t> process_numbers_{0};
  std::atomic<std::uint64_t> channel_numbers_{0};
  std::atomic<std::uint64_t> incarnations_{0};
  std::unique_ptr<SystemConfig> config_;
  std::unique_ptr<wire::Reactor> reactor_;
  std::shared_ptr<wire::Leadership> leadership_;
  std::unique_ptr<caf::actor_system> system_;
  std::shared_ptr<InlineHost> inline_host_;
  std::shared_ptr<actors::ShareStore> shares_ = std::make_shared<actors::ShareStore>();
  std::shared_ptr<actors::ObjectSpace> objects_;
  std::shared_ptr<NameTable> names_;
  std::shared_ptr<actors::ObjectHandle> names_handle_; ///< Lets jobs reach the table.
  const std::uint64_t session_tag_;
  const std::shared_ptr<actors::ActorPort> actor_port_;
  std::shared_ptr<actors::NodeServices> services_;
  caf::actor root_;
  caf::actor backend_;
  std::mutex holders_mutex_;
  std::vector<std::weak_ptr<ActorHolder>> holders_;
  const std::unique_ptr<ProcessTable> processes_;
  std::unique_ptr<Metrics> metrics_; ///< Guarded by holders_mutex_.
  std::unique_ptr<observer::SessionView> view_;
  std::unique_ptr<observer::ObserverSocket> observers_; ///< Null: none are answered.
  std::unique_ptr<dashboard::Dashboard> dashboard_;     ///< Null: there is no page.
  std::unique_ptr<dashboard::ReportFile> report_;       ///< Null: no file is written.
  WorkThread continuations_;
  std::shared_ptr<WorkThread> journals_ = std::make_shared<WorkThread>();
  actors::AnchorLinks anchors_;
  std::unique_ptr<wire::SessionCa> ca_;
  std::unique_ptr<wire::Listener> listener_;
};

} // namespace fiber::detail
