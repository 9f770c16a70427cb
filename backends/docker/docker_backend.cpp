// SPDX-License-Identifier: Apache-2.0
#include "backends/docker/docker_backend.hpp"

#include <cstdlib>
#include <deque>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "backends/docker/docker_job.hpp"
#include "backends/docker/strangers.hpp"
#include "backends/output/backend_with_output.hpp"
#include "base/log.hpp"
#include "base/random_id.hpp"

namespace fiber::backends {

namespace docker {

namespace {

using nlohmann::json;
using std::chrono::milliseconds;

// Then the destructor gives up with a warning.
constexpr milliseconds end_patience(60000);
constexpr milliseconds listen_again(1000); // Pause before the next event stream.
constexpr std::size_t max_starting = 16;   // More gain nothing.

Placement place_for(Engine& engine, const DockerOptions& options) {
  auto place = find_place(engine, options);
  place.session = options.session.empty() ? random_id() : options.session;
  place.lease = std::chrono::ceil<std::chrono::seconds>(options.lease);
  if (!options.image.empty()) {
    place.own_image = place.own_image && place.image == options.image;
    place.image = options.image;
  }
  if (place.image.empty())
    throw EngineError("choose an image", 0,
                      "this process is in no container of the engine; set image to one "
                      "that has this program");
  if (!place.own_image)
    place.directory = place.user = "";
  if (!options.user.empty())
    place.user = options.user;
  for (auto& [name, value] : options.environment)
    place.environment[name] = value;
  place.resource_variables = ResourceVariables(options.hide_gpus);
  return place;
}

class DockerBackend final : public BackendWithOutput {
public:
  explicit DockerBackend(const DockerOptions& options);
  ~DockerBackend() override;

  std::string name() const override { return "docker"; }
  std::string driver_address() const override { return place_.address; }
  bool address_comes_later() const override { return place_.address_later; }
  Job create(JobSpec spec) override;
  void terminate(const JobId& job, milliseconds grace) override;

private:
  // On the loop's thread.
  void listen();
  void on_line(const std::string& line);
  void pump();
  void end_all();

  Loop loop_;
  Engine engine_;
  Images images_{engine_};
  const Placement place_;
  JobServices services_;
  // On the loop's thread.
  std::map<std::uint64_t, std::shared_ptr<DockerJob>> jobs_;
  std::deque<std::shared_ptr<DockerJob>> queue_;
  std::set<std::uint64_t> starting_;
  std::string line_;
  bool listening_ = false;
};

DockerBackend::DockerBackend(const DockerOptions& options)
  : BackendWithOutput(descriptors_per_job, options.forward_output, options.terminal),
    engine_(loop_, options.host, options.allowed.contains(plaintext)),
    place_(place_for(engine_, options)),
    services_{.loop = loop_,
              .output = output_,
              .engine = engine_,
              .images = images_,
              .place = place_,
              .event = [this](const JobEvent& event) { report(event); },
              .start_done =
                [this](std::uint64_t serial) {
                  starting_.erase(serial);
                  loop_.post([this] { pump(); });
                },
              .closed =
                [this](std::uint64_t serial) {
                  jobs_.erase(serial);
                  table_.close(serial);
                }} {
  log().info("backend docker: {}, image {}", engine_.description(), place_.image);
  remove_strangers(engine_, place_.session);
  loop_.post([this] { listen(); });
}

DockerBackend::~DockerBackend() {
  loop_.post([this] { end_all(); });
  if (auto left = table_.wait_for_none(end_patience))
    log().warn("docker: {} containers have not ended; they are labelled {}={}", left,
               session_label, place_.session);
  engine_.client().close();
  loop_.stop(); // Its thread uses no member after this.
}

/// Opens the stream of events. Containers are removed when they end, so only here does
/// Docker report which ran out of memory, and Podman how each ended. Jobs wait until the
/// stream is open. A new stream repeats earlier events.
void DockerBackend::listen() {
  auto filters = json{{"type", {"container"}},
                      {"event", {engine_.is_podman() ? "died" : "oom"}},
                      {"label", {session_label + std::string("=") + place_.session}}};
  auto request =
    engine_.request("GET", "/events?since=" + std::to_string(engine_.connected_at()) +
                             "&filters=" + http::escape(filters.dump()));
  request.limit = {};
  line_.clear(); // Drops a truncated line.
  engine_.client().stream(std::move(request),
                          {.head =
                             [this](int) {
                               listening_ = true;
                               loop_.post([this] { pump(); });
                             },
                           .data =
                             [this](std::string_view piece) {
                               for (char c : piece)
                                 if (c != '\n')
                                   line_ += c;
                                 else
                                   on_line(std::exchange(line_, {}));
                               return true;
                             }},
                          [this](const http::Reply&) {
                            loop_.after(listen_again, [this] { listen(); });
                            listening_ = true; // Rather without events than not at all.
                            pump();
                          });
}

void DockerBackend::on_line(const std::string& line) {
  auto event = json::parse(line, nullptr, false);
  auto action = text(event, {"Action"}), id = text(event, {"Actor", "ID"});
  auto status = text(event, {"Actor", "Attributes", "containerExitCode"});
  for (auto& [serial, job] : jobs_) {
    if (job->container() != id)
      continue;
    if (action == "oom")
      return loop_.post([job = job] { job->out_of_memory(); });
    if (action == "die" && !status.empty())
      return loop_.post([job = job, status] { job->died(std::atoi(status.c_str())); });
  }
}

void DockerBackend::pump() {
  while (listening_ && !queue_.empty() && starting_.size() < max_starting) {
    auto job = std::move(queue_.front());
    queue_.pop_front();
    starting_.insert(job->serial());
    job->begin();
  }
}

Job DockerBackend::create(JobSpec spec) {
  auto id = spec.name;
  auto serial = table_.admit(id);
  output_.add(serial, id);
  loop_.post([this, serial, spec = std::move(spec)] {
    auto job = std::make_shared<DockerJob>(services_, serial, spec);
    jobs_[serial] = job;
    queue_.push_back(job);
    pump();
    if (starting_.size() >= max_starting)
      job->wait_for_turn();
  });
  return {.id = id, .link = {}, .page = nullptr};
}

void DockerBackend::terminate(const JobId& id, milliseconds grace) {
  if (auto serial = table_.find(id))
    loop_.post([this, serial, grace] {
      if (auto job = jobs_.find(serial); job != jobs_.end()) {
        auto keep = job->second;
        keep->terminate(grace);
      }
    });
}

void DockerBackend::end_all() {
  auto jobs = jobs_; // A copy: ends of jobs change jobs_.
  for (auto& [serial, job] : jobs)
    job->terminate(milliseconds(0));
}

} // namespace

} // namespace docker

std::unique_ptr<Backend> make_docker(const DockerOptions& options) {
  return std::make_unique<docker::DockerBackend>(options);
}

} // namespace fiber::backends
