// SPDX-License-Identifier: Apache-2.0
#include "libfiber/session/runtime.hpp"

#include <atomic>
#include <future>
#include <random>
#include <thread>
#include <utility>

#include "actors/driver/backend_actor.hpp"
#include "actors/job/anchor.hpp"
#include "actors/objects/this_job.hpp"
#include "actors/trace/trace.hpp"
#include "backends/inline/inline_backend.hpp"
#include "backends/output/log_above.hpp"
#include "base/code_place.hpp"
#include "base/forked_child.hpp"
#include "base/freed_memory.hpp"
#include "base/log.hpp"
#include "base/random_id.hpp"
#include "base/trusted_file.hpp"
#include "fiber/detail/caf/scheduler.hpp"
#include "libfiber/dashboard/dashboard.hpp"
#include "libfiber/dashboard/report_file.hpp"
#include "libfiber/monitor/metrics.hpp"
#include "libfiber/session/backend_choice.hpp"
#include "libfiber/session/name_table.hpp"
#include "libfiber/session/process_table.hpp"
#include "libfiber/session/thread_check.hpp"
#include "wire/error.hpp"
#include "wire/own_address.hpp"

namespace fiber::detail {
namespace {

/// The current session, the process's one global.
std::mutex current_mutex;
std::weak_ptr<Runtime> current_runtime; // NOLINT(bugprone-throwing-static-initialization)

/// The nested session of a job. Never destroyed, because tasks may still run while the
/// job exits.
struct Nested {
  using OpenNested = Runtime::OpenNested;
  OpenNested open;
  std::mutex mutex;
  std::shared_ptr<Runtime> runtime;
};
std::atomic<Nested*> nested = nullptr;

constexpr std::chrono::seconds stop_limit{20}; ///< For each pool and process.
/// A map's results often come to more than the 64 MiB that a job keeps.
constexpr std::size_t max_freed_memory = 256 << 20;

/// Blocks until the actor has terminated.
void await_down(const caf::actor& actor) {
  if (!actor)
    return;
  std::promise<void> down;
  actor->attach_functor([&](const caf::error&) { down.set_value(); });
  down.get_future().wait();
}

/// Whether the destructors of this thread's variables have run, as in exit handlers.
thread_local bool variables_gone = false;
struct AtThreadEnd {
  ~AtThreadEnd() { variables_gone = true; }
};
void watch_thread_end() {
  [[maybe_unused]] static thread_local const AtThreadEnd at_end;
}

std::uint64_t random_tag() {
  std::random_device random;
  return (std::uint64_t{random()} << 32) + random();
}

/// Returns the job's registry of program actors, or a new one in the driver.
std::shared_ptr<actors::ProgramActors> program_actors() {
  if (auto* job = actors::ThisJob::get())
    return job->actors->actors();
  return std::make_shared<actors::ProgramActors>();
}

/// How many jobs may be starting at once.
std::size_t start_window(const Settings& settings, const backends::Backend& backend) {
  const auto window = settings.workers_start_window;
  return settings.places.contains("workers_start_window")
           ? window
           : std::max(window, backend.min_start_window());
}

std::string random_name() {
  std::random_device random;
  std::string name;
  for (int i = 0; i < 16; ++i)
    name += "0123456789abcdef"[random() % 16];
  return name;
}

} // namespace

struct Runtime::SystemConfig : caf::actor_system_config {
  SystemConfig() {
    set_scheduler(*this, "sharing");
    // Threads that bring messages are lent to the actors. One CAF thread is enough for
    // the work that exceeds such a loan.
    set_scheduler_threads(*this, 1);
  }
};

std::shared_ptr<Runtime> Runtime::current() {
  std::lock_guard lock(current_mutex);
  auto runtime = current_runtime.lock();
  return runtime && runtime->open_ ? runtime : nullptr;
}

std::shared_ptr<Runtime> Runtime::require() {
  check_not_forked();
  if (auto runtime = current())
    return runtime;
  if (nested.load() != nullptr)
    return open_nested();
  throw Closed(
    "there is no session; call fiber::init first in main and keep what it returns");
}

void Runtime::nest(OpenNested open) {
  auto* of = new Nested; // NOLINT(cppcoreguidelines-owning-memory)
  of->open = std::move(open);
  nested = of;
}

std::shared_ptr<Runtime> Runtime::open_nested() {
  auto& of = *nested.load();
  std::lock_guard lock(of.mutex);
  if (!of.runtime)
    of.runtime = of.open([](Settings& settings) {
      // A job starts its own jobs on its own machine. Trace file, metrics port, name,
      // page, report and advertised address belong to the driver.
      settings.backend = "local";
      settings.trace.clear();
      settings.metrics_host.clear();
      settings.observe = false;
      settings.dashboard_host.clear();
      settings.report.clear();
      settings.advertise_host.clear();
      settings.advertise_port = 0;
    });
  of.runtime->check_open();
  return of.runtime;
}

void Runtime::close_nested() {
  std::shared_ptr<Runtime> last;
  {
    auto& of = *nested.load();
    std::lock_guard lock(of.mutex);
    last = of.runtime; // It stays set, so that require() reports Closed.
  }
  if (last)
    last->close();
}

std::shared_ptr<Runtime> Runtime::open(Settings settings) {
  if (current())
    throw Error("fiber::init was called while a Session lives; end that one first");
  watch_thread_end();
  if (nested.load() == nullptr) // A job has noted it already.
    note_forks();
  keep_freed_memory(max_freed_memory);
  check_threads();
  auto runtime = std::make_shared<Runtime>(std::move(settings));
  std::lock_guard lock(current_mutex);
  current_runtime = runtime;
  return runtime;
}

Runtime::Runtime(Settings settings)
  : settings_(std::move(settings)), config_(std::make_unique<SystemConfig>()),
    reactor_(std::make_unique<wire::Reactor>()), leadership_(reactor_->leadership()),
    system_(std::make_unique<caf::actor_system>(*config_)),
    objects_(std::make_shared<actors::ObjectSpace>(
      system_.get(), 0, [shares = shares_](std::uint64_t id) { return shares->find(id); },
      // Every job may reach the first object, the table of names.
      [first = true]() mutable {
        return std::exchange(first, false) ? NameTable::id.number : secret_number();
      })),
    session_tag_(random_tag()),
    actor_port_(actors::ActorPort::open(objects_, session_tag_, program_actors())),
    processes_(std::make_unique<ProcessTable>()) {
  names_ = std::make_shared<NameTable>(objects_);
  names_handle_ = objects_->add(names_); // Must be the first object: jobs know its id.
  log().set_level(spdlog::level::from_str(settings_.log_level));
  services_ = std::make_shared<actors::NodeServices>();
  open_trace();
  if (!settings_.dashboard_host.empty() || !settings_.report.empty())
    services_->roster->keep_stream();
  services_->shares = shares_;
  services_->objects = objects_;
  services_->session_tag = session_tag_;
  auto [backend, session_id] = make_session_backend();
  auto address = settings_.advertise_host;
  if (address.empty())
    address = backend->driver_address();
  if (address.empty() && settings_.link == "tls")
    address = wire::loopback_address();
  services_->reactor = reactor_.get();
  services_->heartbeat_timeout = settings_.heartbeat_timeout;
  services_->lease = settings_.lease;
  services_->start_deadline = settings_.start_deadline;
  services_->queue_deadline = settings_.queue_deadline;
  services_->log_level = settings_.log_level;
  services_->chaos = settings_.chaos;
  services_->build = build_id();
  services_->next_incarnation = [this] { return ++incarnations_; };
  if (!address.empty() && !is_inline()) {
    dialled_address_ = address;
    listen(address, settings_.advertise_host.empty() && backend->address_comes_later());
    set_anchor(*backend);
  }
  if (backend->has_tunnels()) {
    objects_->allow_tunnels();
    shares_->allow_tunnels();
  }
  auto backend_name = backend->name();
  const auto window = start_window(settings_, *backend);
  backend_ =
    actors::spawn_job_backend(*system_, std::move(backend), window, services_->roster);
  services_->backend = backend_;
  root_ = actors::spawn_supervisor(*system_, {.name = "session", .children = {}});
  open_view(backend_name, session_id);
  try {
    open_metrics();
    open_dashboard();
  } catch (...) {
    close(); // Actors and threads run already.
    throw;
  }
  if (terminal_->live())
    redirect_log(backends::log_above(terminal_));
}

Runtime::~Runtime() {
  close();
}

MadeBackend Runtime::make_session_backend() {
  if (settings_.backend != "inline")
    return make_backend(settings_, terminal_);
  inline_host_ =
    std::make_shared<InlineHost>(*system_, *reactor_, services_->arrivals, objects_);
  return {.backend = std::make_shared<backends::InlineBackend>(
            [host = inline_host_](const backends::JobSpec& spec,
                                  std::function<void(int, std::string)> ended) {
              return host->start(spec, std::move(ended));
            }),
          .session_id = {}};
}

void Runtime::open_trace() {
  if (settings_.trace.empty())
    return;
  try {
    services_->trace = std::make_shared<actors::Trace>(settings_.trace);
  } catch (const actors::TraceTaken& taken) {
    // Probably a task started this program, and the program above it writes the trace.
    log().warn("{}: this one has no trace", taken.what());
  } catch (const UntrustedFile& error) {
    throw ConfigError("trace", settings_.places["trace"],
                      "the path of a file of this user, or of none", error.what());
  } catch (const std::system_error& error) {
    throw ConfigError("trace", settings_.places["trace"],
                      "the path of a file that can be written",
                      "'" + settings_.trace + "': " + error.code().message());
  }
}

void Runtime::open_metrics() {
  auto& host = settings_.metrics_host;
  if (host.empty())
    return;
  try {
    metrics_ = std::make_unique<Metrics>(host, settings_.metrics_port, *view_);
  } catch (const std::runtime_error& error) {
    throw ConfigError("metrics", settings_.places["metrics"],
                      "HOST:PORT or [IPV6]:PORT, an address of this machine that is free",
                      "'" + host + ":" + std::to_string(settings_.metrics_port) +
                        "': " + error.what());
  }
}

void Runtime::measure(const std::shared_ptr<StatsSource>& pool) {
  std::lock_guard lock(holders_mutex_);
  if (metrics_)
    metrics_->add(pool);
}

/// Listens at `host`, which may become local `later`, or on all addresses if `host` is
/// not local (a forwarder's address).
void Runtime::listen(const std::string& host, bool later) {
  ca_ = std::make_unique<wire::SessionCa>();
  auto session = random_name();
  wire::ListenerOptions options{
    .host = host,
    .port = settings_.advertise_port,
    .later = later,
    .link = {.heartbeat_interval = settings_.heartbeat_timeout / 4,
             .silence_limit = settings_.heartbeat_timeout}};
  auto open = [&] {
    return std::make_unique<wire::Listener>(
      *reactor_, ca_->issue(0), wire::Hello{session, services_->build, 0}, options,
      [this](const wire::Hello& hello, std::shared_ptr<wire::Link> link) {
        if (hello.incarnation == actors::anchor_incarnation)
          anchors_.add(std::move(link));
        else
          services_->arrivals->arrived(*system_, hello.incarnation, std::move(link));
      });
  };
  try {
    listener_ = open();
  } catch (const wire::WireError& error) {
    if (settings_.advertise_host.empty())
      throw;
    options.host = host.find(':') == host.npos ? "0.0.0.0" : "::";
    listener_ = open();
    log().warn("advertise_address {} is not of this machine: listening on all of its "
               "addresses ({})",
               host, error.what());
  }
  services_->address = [this, session, host](actors::NodeBoot& boot) {
    boot.host = host;
    boot.port =
      settings_.advertise_port > 0 ? settings_.advertise_port : listener_->port();
    boot.session = session;
    return ca_->issue(boot.incarnation).pack();
  };
}

void Runtime::set_anchor(backends::Backend& backend) {
  actors::NodeBoot boot;
  boot.incarnation = actors::anchor_incarnation;
  boot.name = "anchor";
  boot.slots = 0;
  boot.heartbeat_interval = settings_.heartbeat_timeout / 4;
  boot.lease = settings_.lease;
  boot.log_level = settings_.log_level;
  backends::JobSpec spec;
  spec.name = boot.name;
  spec.keys = services_->address(boot);
  spec.boot = boot.pack();
  spec.resources = {.cpu = 0.01}; // The anchor only waits.
  backend.anchor(spec);
}

void Runtime::check_open() const {
  check_not_forked();
  if (!open_)
    throw Closed("the session has ended");
}

std::shared_lock<std::shared_mutex> Runtime::enter() {
  check_open();
  // Only close() takes the gate exclusively. It then waits for locks that callers may
  // hold here, so they must not wait for it.
  std::shared_lock lock(gate_, std::defer_lock);
  while (!lock.try_lock()) {
    check_open();
    std::this_thread::yield();
  }
  check_open();
  return lock;
}

void Runtime::add_object_host(std::weak_ptr<actors::ObjectHost> host) {
  auto lock = enter();
  inline_host_->add(std::move(host));
}

/// Never restarts the actor: its users must handle the loss of its state.
void Runtime::supervise(std::string name, caf::actor actor) {
  caf::anon_send(
    root_, actors::StartChild{{.name = std::move(name),
                               .restart = Restart::temporary,
                               .start = [actor = std::move(actor)](
                                          caf::event_based_actor*) { return actor; },
                               .stop_limit = stop_limit}});
}

std::shared_ptr<const actors::NodeServices> Runtime::services() {
  auto lock = enter();
  return services_;
}

void Runtime::enlist(std::weak_ptr<ActorHolder> holder) {
  std::lock_guard lock(holders_mutex_);
  std::erase_if(holders_, [](auto& known) { return known.expired(); });
  holders_.push_back(std::move(holder));
}

std::vector<std::shared_ptr<ActorHolder>> Runtime::holders() {
  std::vector<std::shared_ptr<ActorHolder>> living;
  std::lock_guard lock(holders_mutex_);
  for (auto& each : holders_)
    if (auto holder = each.lock())
      living.push_back(std::move(holder));
  return living;
}

bool Runtime::run_one() {
  std::shared_ptr<InlineHost> host;
  {
    std::shared_lock lock(gate_);
    host = inline_host_;
  }
  return host && host->run_one();
}

void Runtime::report_chaos() const {
  auto chaos = actors::Chaos::parse(settings_.chaos).value_or(actors::Chaos{});
  auto& counts = *services_->chaos_counts;
  if (chaos.on())
    log().warn("chaos: {} kills, {} stalls, {} retries; seed {}", counts.kills.load(),
               counts.stalls.load(), counts.retries.load(), chaos.seed);
}

bool Runtime::run_later(std::function<void()> f) {
  return continuations_.add(std::move(f));
}

void Runtime::close() {
  if (open_)
    processes_->close(); // Keeps the session open while they run.
  if (open_)
    for (auto& holder : holders())
      holder->closing();
  if (open_)
    close_dashboard(); // While all that it shows is there.
  if (!open_.exchange(false))
    return;
  // Waits for running calls; later ones see that the session is closed.
  static_cast<void>(std::unique_lock(gate_));
  std::unique_ptr<Metrics> metrics;
  {
    std::lock_guard lock(holders_mutex_);
    metrics = std::move(metrics_);
  }
  metrics.reset(); // Outside the lock: a scrape may be in progress.
  observers_.reset();
  objects_->close(); // Wakes threads that wait for an item.
  processes_->end(); // All at once, because the root ends its children one by one.
  caf::anon_send(root_, actors::StopSupervisor{});
  await_down(root_);
  caf::anon_send_exit(backend_, caf::exit_reason::user_shutdown);
  await_down(backend_); // The backend ends the remaining jobs.
  if (actors::ThisJob::get() == nullptr)
    actor_port_->actors()->await_end();
  journals_->end();
  progress_->close();
  continuations_.end(); // All tasks that they continue have ended.
  if (inline_host_)
    inline_host_->close(); // Outside the gate: a running task may need it.
  std::unique_lock lock(gate_);
  for (auto& holder : holders())
    holder->release();
  report_chaos();
  if (services_->trace)
    services_->trace->close();
  services_->address = nullptr;
  services_->backend = nullptr;
  root_ = nullptr;
  backend_ = nullptr;
  listener_.reset();
  anchors_.close();
  ca_.reset(); // No job can come any more.
  objects_->drop_links();
  reactor_.reset(); // Before the system: its handlers may still send to actors.
  inline_host_.reset();
  // CAF's system uses its logger in a variable of this thread. When an exit handler ends
  // a static Session, that variable is gone.
  if (variables_gone)
    std::thread([this] { system_.reset(); }).join();
  else
    system_.reset();
  services_->next_incarnation = nullptr;
  if (terminal_->live())
    redirect_log(nullptr);
}

} // namespace fiber::detail
