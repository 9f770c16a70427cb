// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "backends/backend.hpp"
#include "backends/docker/container.hpp"
#include "backends/docker/engine.hpp"
#include "backends/docker/images.hpp"
#include "backends/engine/job_exit.hpp"
#include "backends/engine/loop.hpp"
#include "backends/output/output.hpp"

namespace fiber::backends::docker {

/// The services that the jobs of one engine share.
struct JobServices {
  Loop& loop;
  Output& output;
  Engine& engine;
  Images& images;
  const Placement& place;
  std::function<void(const JobEvent&)> event;
  std::function<void(std::uint64_t serial)> start_done; ///< Called once started or ended.
  std::function<void(std::uint64_t serial)> closed;     ///< Called before the last event.
};

/// A job's container, from the request to the last event. Used on the loop's thread only.
///
/// Attaches to the output and begins to wait for the removal before the start, so that
/// nothing is missed of a container that ends, and is removed, at once. Retries requests
/// without a reply; the container's name or state tells whether the first one succeeded.
class DockerJob : public std::enable_shared_from_this<DockerJob> {
public:
  DockerJob(JobServices& services, std::uint64_t serial, JobSpec spec);

  void begin();
  /// Reports that it waits, unless begin() was called.
  void wait_for_turn();
  void terminate(std::chrono::milliseconds grace);
  /// Handles the event that this container ran out of memory.
  void out_of_memory();
  /// Handles the event that this container has ended.
  void died(int status);
  const std::string& container() const { return id_; }
  /// Returns the key of the output, which outlives the job.
  std::uint64_t serial() const { return serial_; }

private:
  enum class State { queued, creating, preparing, starting, running, removing, over };
  using Next = void (DockerJob::*)(const http::Reply&);

  // Each sends a request, whose reply goes to its on_ counterpart.
  const std::string& image_name() const;
  void waits(const std::string& words);
  void create();
  void on_created(const http::Reply& reply);
  void on_found(const http::Reply& reply);
  void prepare();
  void attach();
  void wait();
  void prepared();
  void start();
  void on_started(const http::Reply& reply);
  void started();
  void inspect(const std::string& id);
  void on_inspected(const http::Reply& reply);
  void send_term(std::chrono::milliseconds grace);
  void kill(const char* signal);
  void remove();

  void send(http::Request request, Next next);
  void retry(void (DockerJob::*order)());
  void on_waited(const std::string& id, const http::Reply& reply,
                 const std::string& body);
  bool is_past(const std::string& id) const;
  void recreate();
  void vanished(const std::string& otherwise);
  void output_over();
  void exited(const Exit& exit);
  void conclude();
  std::string killed_detail() const;
  std::string own_end_detail() const;
  void fail(const std::string& detail, int status);
  void close(const JobEvent& event);

  JobServices& services_;
  const std::uint64_t serial_;
  const JobSpec spec_;
  State state_ = State::queued;
  bool told_turn_ = false; // It was reported to wait for its turn.
  std::string id_;         // The container's id, once it exists.
  std::shared_ptr<http::Client::Upgrade> stream_;
  StreamDecoder decoder_;
  bool attached_ = false, waiting_ = false, output_over_ = false, told_started_ = false;
  bool out_of_memory_ = false, concluding_ = false;
  Image image_;   // What is known of it.
  int tries_ = 0; // For the current request.
  int recreated_ = 0;
  std::optional<Exit> exit_, early_; // early_: came before the reply to the start.
  std::optional<std::chrono::milliseconds> terminate_; // Requested before it ran.
  bool terminating_ = false;                           // terminate() was called.
  std::string failure_;                                // For remove() to report.
  int failure_status_ = 0;
  Loop::Timer force_{}, patience_{};
};

} // namespace fiber::backends::docker
