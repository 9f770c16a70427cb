// SPDX-License-Identifier: Apache-2.0
// backends/ turns a JobSpec into a job of an engine (this machine, Docker, Kubernetes)
// and reports how it goes. It knows nothing of pools and tasks.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/unique_fd.hpp"
#include "fiber/bytes.hpp"

namespace fiber::backends {

/// The engine's name of a job, unique within the session.
using JobId = std::string;

/// Resources of a job.
struct JobResources {
  double cpu = 1;
  std::size_t memory_mb = 0; ///< 0: no limit.
  int gpu = 0;
  bool operator==(const JobResources&) const = default;
};

/// Memory shared by driver and job, initially zero.
class SharedPage {
public:
  /// Maps `size` bytes of `fd`. Throws std::system_error.
  SharedPage(UniqueFd fd, std::size_t size);
  /// Creates a page, whose size nobody can change. Throws std::system_error.
  static std::shared_ptr<SharedPage> create(std::size_t size);
  ~SharedPage();
  SharedPage(const SharedPage&) = delete;
  SharedPage& operator=(const SharedPage&) = delete;

  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }
  int fd() const { return fd_.get(); }
  /// Closes the descriptor once it has been passed on; the mapping stays. fd() is -1
  /// then.
  void close_fd() { fd_.reset(); }

private:
  UniqueFd fd_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// The specification of a job, which runs the same executable as the driver, in the same
/// image, with the driver's original arguments.
struct JobSpec {
  /// Prefixes forwarded output; unique within the session.
  std::string name = {};
  Bytes boot = {}; ///< Parameters for the job; no secrets, about 1 KiB.
  Bytes keys = {}; ///< Sent over a private channel; the same for all jobs that dial back.
  bool link = true;           ///< Requests an inherited socket pair, where supported.
  std::string driver = {};    ///< HOST:PORT that the job dials; empty with a link.
  std::size_t page_bytes = 0; ///< Size of the shared page, where supported; 0: none.
  JobResources resources = {};
  std::string image = {}; ///< For backends with images.
  std::map<std::string, std::string> labels = {};
  std::map<std::string, std::string> environment = {}; ///< Added to the driver's.
};

/// A job that create() accepted.
struct Job {
  JobId id;
  UniqueFd link; ///< Our end of the socket pair; empty where the job dials back.
  std::shared_ptr<SharedPage> page; ///< Null where unsupported.
};

/// A change in a job's state. Each job reports waits any number of times or never, then
/// started at most once, then ended or failed exactly once. After started there is no
/// waits.
struct JobEvent {
  enum class Kind {
    /// It has not started, and `detail` has the engine's own words for why. Empty: the
    /// engine no longer names a reason.
    waits,
    started, ///< Its process exists.
    ended,   ///< Its process has ended.
    failed   ///< It never started; `detail` has the engine's own words.
  };
  /// What a job waits for.
  enum class Wait {
    blocked, ///< It may never start unless somebody mends something.
    turn,    ///< The backend creates other jobs first, or its image is being pulled.
    room     ///< The engine starts it when there is room.
  };
  Kind kind = Kind::started;
  JobId job;
  int pid = 0; ///< started: as seen by the engine; 0 if it has none.
  /// ended: 0..255, -N for signal N, nothing if unknown.
  std::optional<int> exit_code = {};
  /// ended, failed: for example "killed by SIGKILL", "exit unknown (zygote lost)"; waits:
  /// "Unschedulable: 0/2 nodes are available".
  std::string detail = {};
  int status = 0;            ///< failed: errno or HTTP status; 0 if there is none.
  bool disrupted = false;    ///< ended: the cluster removed it (eviction, drain).
  bool confirmed = true;     ///< ended: certainly no process of it is left.
  Wait wait = Wait::blocked; ///< waits, with a detail: what for.

  /// Returns whether nothing is wrong with the job, which only waits.
  bool is_in_queue() const {
    return kind == Kind::waits && wait != Wait::blocked && !detail.empty();
  }
  /// Returns whether this is the job's last event.
  bool is_last() const { return kind == Kind::ended || kind == Kind::failed; }
};

/// An engine refused an operation. what() is "OPERATION: DETAIL".
class EngineError : public std::runtime_error {
public:
  EngineError(std::string operation, int status, std::string detail);
  const std::string& operation() const { return operation_; }
  int status() const { return status_; } ///< errno or HTTP status; 0 if there is none.
  const std::string& detail() const { return detail_; }

private:
  std::string operation_;
  int status_;
  std::string detail_;
};

/// A setting is invalid. what() is "PLACE: KEY: PROBLEM; valid: VALID" and never contains
/// a token, password or key.
struct SettingError : std::runtime_error {
  SettingError(std::string key, std::string place, std::string valid,
               std::string problem);

  std::string key;     ///< "users[0].user.client-certificate-data"
  std::string place;   ///< "/home/me/.kube/config:12", "environment"
  std::string valid;   ///< Valid values.
  std::string problem; ///< "is no base64"
};

/// Creates jobs from specifications and reports on them: the whole interface between
/// Fiber and a machine or cluster. Every backend passes tests/backends/contract.
///
/// Thread safety: any thread may call any member function.
class Backend {
public:
  using Watcher = std::function<void(const JobEvent&)>;

  /// Kills the remaining jobs without grace.
  virtual ~Backend() = default;
  /// "local", "docker", ...
  virtual std::string name() const = 0;
  /// Returns the address by which jobs reach this process; empty if they inherit links.
  virtual std::string driver_address() const { return {}; }
  /// Returns whether jobs may reach this process through tunnels that end on this
  /// machine.
  virtual bool has_tunnels() const { return false; }
  /// Returns whether this machine may have driver_address() only once a job runs.
  virtual bool address_comes_later() const { return false; }
  /// Returns how many jobs may always start at once, unless a setting says otherwise,
  /// because the engine has a queue for them.
  virtual std::size_t min_start_window() const { return 0; }
  /// Creates the anchor: a job without work that dials back and lives as long as this
  /// process. A backend whose engine removes the rest of a session once its anchor has
  /// ended creates it at once; others ignore the call. Throws EngineError.
  virtual void anchor(const JobSpec&) {}
  /// Calls `watcher` for every event, one at a time, on a thread of the backend. Call it
  /// once, before the first create(). The watcher must not block.
  virtual void watch(Watcher watcher) = 0;
  /// Requests a job. Returns when the engine has accepted it, maybe before it runs.
  /// Throws EngineError if the engine refuses, or if a job with this spec.name exists or
  /// has not been forgotten.
  virtual Job create(JobSpec spec) = 0;
  /// Ends a job and every process that it started: by SIGTERM or the like, and by force
  /// after `grace` (0: at once). Returns at once; the event `ended` follows. No effect on
  /// an unknown or ended job.
  virtual void terminate(const JobId& job, std::chrono::milliseconds grace) = 0;
  /// Returns the last output of a job, stdout and stderr in order, at most 1 MiB. Kept
  /// after its end until forget().
  virtual std::string logs(const JobId& job) = 0;
  /// Drops the output and the name of an ended job.
  virtual void forget(const JobId& job) = 0;
  /// Returns the jobs of this session that have not ended, started or not.
  virtual std::vector<JobId> list() = 0;
};

} // namespace fiber::backends
