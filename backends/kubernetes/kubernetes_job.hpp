// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "backends/backend.hpp"
#include "backends/engine/job_exit.hpp"
#include "backends/engine/loop.hpp"
#include "backends/kubernetes/api.hpp"
#include "backends/kubernetes/images.hpp"
#include "backends/kubernetes/manifests.hpp"
#include "backends/output/output.hpp"

namespace fiber::backends::kubernetes {

/// The services that the jobs of one session share.
struct JobServices {
  Loop& loop;
  Output& output;
  Api& api;
  const Plan& plan;
  const nlohmann::json& owner; ///< OwnerReference to the anchor Job.
  Images& images;
  std::function<void(const JobEvent&)> event;
  std::function<void(std::uint64_t serial)> created; ///< Called once created or failed.
  /// The server has no room for it: begin() is to be called again.
  std::function<void(std::uint64_t serial, const std::string& words)> no_room;
  std::function<void(std::uint64_t serial)> closed; ///< Called before the last event.
};

/// A job's pod, from the request to the last event. Used on the loop's thread only.
///
/// Only the watch decides what has become of the pod: a failed request, or a 404, says
/// nothing about its process.
class KubernetesJob : public std::enable_shared_from_this<KubernetesJob> {
public:
  KubernetesJob(JobServices& services, std::uint64_t serial, JobSpec spec);

  void begin();
  /// Reports why the job waits; without words it no longer does.
  void waits(const std::string& words, JobEvent::Wait wait);
  void terminate(std::chrono::milliseconds grace);
  /// All pods are being asked to end.
  void on_deleting_all() { asked_ = session_ends_ = true; }
  /// The server has accepted that: pods that have not started never will.
  void on_all_deleted();
  /// Events of the pod.
  void changed(const nlohmann::json& pod);
  void deleted(const nlohmann::json& pod);
  /// A list that was requested after the pod existed does not contain it.
  void missing();

  const std::string& pod() const { return name_; }
  std::uint64_t serial() const { return serial_; }
  /// Returns whether begin() was called, and the server had room.
  bool begun() const { return begun_; }
  /// Returns whether the server has confirmed that the pod exists.
  bool exists() const { return exists_; }
  /// Returns whether the last event was reported.
  bool over() const { return over_; }

private:
  void create_secret();
  void remove_secret();
  void create();
  void on_created(const http::Reply& reply);
  void on_found(const http::Reply& reply);
  void on_exists();
  void on_no_room(const std::string& words);
  bool is_ours(const nlohmann::json& pod);
  void remove(std::chrono::milliseconds grace);
  void on_removed(const http::Reply& reply, std::chrono::milliseconds grace);
  void removed(const nlohmann::json& pod);
  void follow();
  void on_log_end(const http::Reply& reply);
  void await_log();
  void fetch_rest();
  bool take_rest(std::string_view tail);
  void take_log(std::string_view text);
  void exited(Exit exit, bool confirmed);
  void finish();
  void conclude();
  void fail(const std::string& detail, int status);
  void close(const JobEvent& event);
  template <class F>
  void after(std::chrono::milliseconds pause, F f);

  JobServices& services_;
  const std::uint64_t serial_;
  const JobSpec spec_;
  const std::string name_;
  int tries_ = 0, log_tries_ = 0;
  bool exists_ = false, started_ = false, following_ = false, log_over_ = false;
  bool asked_ = false, disrupted_ = false, confirmed_ = true, over_ = false;
  bool begun_ = false, log_new_ = false; // log_new_: the stream has sent something.
  bool fetching_rest_ = false, session_ends_ = false, has_secret_ = false;
  std::optional<Loop::Clock::time_point> log_broke_; // Time of its last bytes.
  Loop::Clock::time_point log_heard_{};
  std::string log_end_;               // The last bytes received.
  std::string uid_;                   // Empty until known.
  std::string waits_for_, told_wait_; // The last reason; what the last event said.
  JobEvent::Wait told_kind_ = JobEvent::Wait::blocked;
  std::optional<Exit> exit_;
  std::optional<std::chrono::milliseconds> terminate_; // Requested before it existed.
};

} // namespace fiber::backends::kubernetes
