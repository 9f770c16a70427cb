// SPDX-License-Identifier: Apache-2.0
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

/// What a job may use.
struct JobResources {
  double cpu = 1;
  std::size_t memory_mb = 0; ///< 0: no limit.
  int gpu = 0;
};

/// Memory that driver and job both see, zeroed at the start.
class SharedPage {
public:
  /// Maps `size` bytes of `fd`. Throws std::system_error.
  SharedPage(UniqueFd fd, std::size_t size);
  /// Makes one. Throws std::system_error.
  static std::shared_ptr<SharedPage> create(std::size_t size);
  ~SharedPage();
  SharedPage(const SharedPage&) = delete;
  SharedPage& operator=(const SharedPage&) = delete;

  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }
  int fd() const { return fd_.get(); }
  /// Spares a descriptor once it has been handed over; the mapping stays. fd() is -1
  /// then.
  void close_fd() { fd_.reset(); }

private:
  UniqueFd fd_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// A job to be made: the same executable, in the same image, with the driver's original
/// arguments.
struct JobSpec {
  std::string name =
    {};            ///< For people: prefixes forwarded output; unique within the session.
  Bytes boot = {}; ///< What the job is to know; no secrets, not much more than 1 KiB.
  Bytes keys = {}; ///< Handed over by a private channel; the same for all that dial back.
  bool link = true; ///< Wanted: an inherited socket pair (ignored where there is none).
  std::size_t page_bytes =
    0; ///< Wanted: shared memory of this size (ignored where there is none).
  JobResources resources = {};
  std::string image = {}; ///< Where the backend has images.
  std::map<std::string, std::string> labels = {};
  std::map<std::string, std::string> environment = {}; ///< Added to the driver's.
};

/// A job that create() accepted.
struct Job {
  JobId id;
  UniqueFd link; ///< Our end of the socket pair; empty where the job dials back.
  std::shared_ptr<SharedPage> page; ///< Null where memory can't be shared.
};

/// News of a job. For each: started at most once, then ended or failed exactly once.
struct JobEvent {
  enum class Kind {
    started, ///< A process exists.
    ended,   ///< It was there and is gone.
    failed   ///< It never came to be; `detail` has the engine's own words.
  };
  Kind kind = Kind::started;
  JobId job;
  int pid = 0; ///< started: as seen by the engine; 0 if it has none.
  std::optional<int> exit_code =
    {}; ///< ended: 0..255, -N for signal N, nothing if unknown.
  std::string detail =
    {}; ///< ended, failed: e.g. "killed by SIGKILL", "exit unknown (zygote lost)".
  int status = 0;         ///< failed: errno or HTTP status; 0 if there is none.
  bool disrupted = false; ///< ended: somebody else wanted it gone (eviction, drain).
  bool confirmed = true;  ///< ended: it is known that no process of it is left.
};

/// An engine said no. what() is "OPERATION: DETAIL".
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

/// What is configured can't be used. what() is "PLACE: KEY: PROBLEM; valid: VALID"; no
/// token, password or key is ever part of it.
struct SettingError : std::runtime_error {
  SettingError(std::string key, std::string place, std::string valid,
               std::string problem);

  std::string key;     ///< "users[0].user.client-certificate-data"
  std::string place;   ///< "/home/me/.kube/config:12", "environment"
  std::string valid;   ///< What would be right.
  std::string problem; ///< "is no base64"
};

/// Turns job specifications into jobs and reports on them. The seam between Fiber and the
/// machine or cluster: small and total. Every backend passes tests/backends/contract.
///
/// Thread safety: any thread may call any member function.
class Backend {
public:
  using Watcher = std::function<void(const JobEvent&)>;

  /// Ends what is left, without grace.
  virtual ~Backend() = default;
  /// "local", "docker", ...
  virtual std::string name() const = 0;
  /// By which address jobs reach this process; empty: they inherit their links.
  virtual std::string driver_address() const { return {}; }
  /// A job without work of its own that dials back and stays as long as this process. A
  /// backend whose engine then removes what a dead driver has left creates it, at once;
  /// others ignore it. Throws EngineError.
  virtual void anchor(const JobSpec&) {}
  /// Delivers every event from now on, from a thread of the backend's own, one at a time.
  /// Call once, before the first create(). The watcher must not block.
  virtual void watch(Watcher watcher) = 0;
  /// Asks for one job. Returns when the engine has accepted it, which may be before it
  /// runs; throws EngineError if it refuses. A spec.name is for one job; the same twice
  /// is refused, as long as the first is not forgotten.
  virtual Job create(JobSpec spec) = 0;
  /// Ends a job: asks it to (SIGTERM or the like), forces it after `grace` (0: at once),
  /// along with every process it started. Returns at once; ended follows. Unknown or
  /// ended: no effect.
  virtual void terminate(const JobId& job, std::chrono::milliseconds grace) = 0;
  /// The last stdout and stderr of a job, in order, at most 1 MiB; kept after its end
  /// until forget().
  virtual std::string logs(const JobId& job) = 0;
  /// Drops what is kept of an ended job, its name as well.
  virtual void forget(const JobId& job) = 0;
  /// Jobs of this session that exist, running or not yet.
  virtual std::vector<JobId> list() = 0;
};

} // namespace fiber::backends
