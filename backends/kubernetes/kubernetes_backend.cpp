// SPDX-License-Identifier: Apache-2.0
#include "backends/kubernetes/kubernetes_backend.hpp"

#include <algorithm>
#include <deque>
#include <set>
#include <utility>

#include "backends/engine/program.hpp"
#include "backends/engine/retry_pause.hpp"
#include "backends/kubernetes/anchor.hpp"
#include "backends/kubernetes/api.hpp"
#include "backends/kubernetes/kubernetes_job.hpp"
#include "backends/kubernetes/manifests.hpp"
#include "backends/kubernetes/own_pod.hpp"
#include "backends/kubernetes/pod_watch.hpp"
#include "backends/kubernetes/reply_json.hpp"
#include "backends/output/backend_with_output.hpp"
#include "base/log.hpp"
#include "base/random_id.hpp"

namespace fiber::backends {

namespace kubernetes {

namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr milliseconds end_patience(60000); // Then the server removes the rest.
constexpr std::size_t max_creating = 16;
constexpr auto in_turn = "other pods are created first";
constexpr double creates_a_second = 50, creates_at_once = 50;

class KubernetesBackend final : public BackendWithOutput {
public:
  explicit KubernetesBackend(const KubernetesOptions& options);
  ~KubernetesBackend() override;

  std::string name() const override { return "kubernetes"; }
  std::string driver_address() const override { return address_; }
  void anchor(const JobSpec& spec) override { anchor_.create(spec); }
  Job create(JobSpec spec) override;
  void terminate(const JobId& job, milliseconds grace) override;

private:
  using JobPtr = std::shared_ptr<KubernetesJob>;

  static Plan first_plan(const KubernetesOptions& options);
  JobServices job_services();
  void connect();
  // On the loop's thread.
  PodWatch::Handler handler();
  JobPtr find(const json& pod) const;
  void compare(const json& list);
  void pump();
  bool may_create();
  void created(std::uint64_t serial);
  void no_room(std::uint64_t serial, const std::string& words);
  void end_all();
  void end_each(const std::string& problem);

  Loop loop_;
  Api api_;
  Plan plan_;
  std::string address_;
  Anchor anchor_;
  Images images_;
  JobServices services_;
  PodWatch watch_;
  // On the loop's thread.
  std::map<std::uint64_t, JobPtr> jobs_;
  std::map<std::string, std::uint64_t> pods_; // Serials by name of pod.
  std::set<std::uint64_t> before_list_; // Pods that existed before the list request.
  std::deque<JobPtr> queue_;
  std::set<std::uint64_t> creating_;
  double may_create_ = creates_at_once;
  Loop::Clock::time_point counted_ = Loop::Clock::now();
  bool pumping_later_ = false;
  // While a quota is used up, pods are tried one at a time; after that more and more.
  std::size_t at_once_ = max_creating;
  int room_tries_ = 0;
  bool room_pause_ = false;
  int end_tries_ = 0;
};

Plan KubernetesBackend::first_plan(const KubernetesOptions& options) {
  Plan plan;
  plan.session = options.session.empty() ? random_id() : options.session;
  plan.image = options.image;
  plan.template_pod = options.pod_template.empty()
                        ? json::object()
                        : read_pod_template(options.pod_template);
  plan.restricted = options.restricted;
  plan.gpu_key = options.gpu_key;
  plan.environment = options.environment;
  plan.resource_variables = ResourceVariables(options.hide_gpus);
  plan.executable = program_path();
  plan.directory = program_directory();
  plan.arguments = program_arguments();
  return plan;
}

KubernetesBackend::KubernetesBackend(const KubernetesOptions& options)
  : BackendWithOutput(descriptors_per_job, options.forward_output, options.terminal),
    api_(loop_, options.access), plan_(first_plan(options)),
    anchor_(loop_, api_, plan_, options.anchor_deadline), services_(job_services()),
    watch_(loop_, api_,
           std::string(instance_label) + "=" + plan_.session + "," + component_label +
             "=" + worker,
           handler()) {
  try {
    connect();
  } catch (...) {
    api_.close();
    loop_.stop();
    throw;
  }
  loop_.post([this] { watch_.start(); });
}

void KubernetesBackend::connect() {
  auto reply = api_.call({.path = api_.path("pods") + "?limit=1"});
  if (!reply.ok())
    throw EngineError("reach the Kubernetes API server at " + api_.description(),
                      reply.status, problem(reply));
  address_ = read_own_pod(api_, plan_);
  if (address_.empty())
    address_ = reply.local_address;
  if (plan_.image.empty())
    plan_.image = template_image(plan_);
  if (plan_.image.empty())
    throw EngineError(
      "choose an image", 0,
      "this process is in no pod; set image to one that has this program");
  log().info("backend kubernetes: {}, namespace {}, image {}", api_.description(),
             api_.name_space(), plan_.image);
}

KubernetesBackend::~KubernetesBackend() {
  loop_.post([this] { end_all(); });
  if (auto left = table_.wait_for_none(end_patience))
    log().warn("kubernetes: {} pods have not ended; they are labelled {}={} and will be "
               "removed with Job {}",
               left, instance_label, plan_.session, base_name(plan_));
  anchor_.remove();
  api_.close();
  loop_.stop();
}

JobServices KubernetesBackend::job_services() {
  return {.loop = loop_,
          .output = output_,
          .api = api_,
          .plan = plan_,
          .owner = anchor_.owner(),
          .images = images_,
          .event = [this](const JobEvent& event) { report(event); },
          .created = [this](std::uint64_t serial) { created(serial); },
          .no_room = [this](std::uint64_t serial,
                            const std::string& words) { no_room(serial, words); },
          .closed =
            [this](std::uint64_t serial) {
              if (auto job = jobs_.extract(serial))
                pods_.erase(job.mapped()->pod());
              table_.close(serial);
            }};
}

// -- events of the watch --

PodWatch::Handler KubernetesBackend::handler() {
  return {.changed =
            [this](const json& pod) {
              if (auto job = find(pod))
                job->changed(pod);
            },
          .deleted =
            [this](const json& pod) {
              if (auto job = find(pod))
                job->deleted(pod);
            },
          .listed = [this](const json& list) { compare(list); },
          .listing =
            [this] {
              before_list_.clear();
              for (auto& [serial, job] : jobs_)
                if (job->exists())
                  before_list_.insert(serial);
            }};
}

KubernetesBackend::JobPtr KubernetesBackend::find(const json& pod) const {
  auto name = pods_.find(text(pod, "metadata", "name"));
  auto job = name == pods_.end() ? jobs_.end() : jobs_.find(name->second);
  return job == jobs_.end() ? nullptr : job->second;
}

void KubernetesBackend::compare(const json& list) {
  for (auto& pod : part(list, "items"))
    if (auto job = find(pod)) {
      before_list_.erase(job->serial());
      job->changed(pod);
    }
  for (auto serial : std::exchange(before_list_, {}))
    if (auto job = jobs_.find(serial); job != jobs_.end()) {
      auto keep = job->second;
      keep->missing();
    }
}

// -- requests --

bool KubernetesBackend::may_create() {
  auto now = Loop::Clock::now();
  std::chrono::duration<double> passed = now - counted_;
  counted_ = now;
  may_create_ =
    std::min(may_create_ + passed.count() * creates_a_second, creates_at_once);
  if (may_create_ < 1)
    return false;
  may_create_ -= 1;
  return true;
}

/// Notes that a job is created, or has failed before.
void KubernetesBackend::created(std::uint64_t serial) {
  if (creating_.erase(serial) == 0)
    return;
  if (auto job = jobs_.find(serial); job != jobs_.end() && job->second->exists()) {
    at_once_ = std::min(2 * at_once_, max_creating);
    room_tries_ = 0;
  }
  loop_.post([this] { pump(); });
}

/// Lets the job wait behind the others, which may be smaller. All of them are told why.
void KubernetesBackend::no_room(std::uint64_t serial, const std::string& words) {
  creating_.erase(serial);
  for (auto& job : queue_)
    job->waits(words, JobEvent::Wait::room);
  queue_.push_back(jobs_.at(serial));
  at_once_ = 1;
  if (std::exchange(room_pause_, true))
    return;
  loop_.after(retry_pause(room_tries_++), [this] {
    room_pause_ = false;
    pump();
  });
}

void KubernetesBackend::pump() {
  while (!room_pause_ && !queue_.empty() && creating_.size() < at_once_) {
    if (queue_.front()->over()) {
      queue_.pop_front();
      continue;
    }
    if (!may_create()) {
      if (!std::exchange(pumping_later_, true))
        loop_.after(milliseconds(20), [this] {
          pumping_later_ = false;
          pump();
        });
      return;
    }
    auto job = std::move(queue_.front());
    queue_.pop_front();
    creating_.insert(job->serial());
    job->begin();
  }
}

Job KubernetesBackend::create(JobSpec spec) {
  auto id = spec.name;
  if (spec.boot.size() > 64 * 1024)
    throw EngineError("create job", 0,
                      "its boot bytes are too many for a pod's variable");
  auto serial = table_.admit(id);
  output_.add(serial, id);
  loop_.post([this, serial, spec = std::move(spec)] {
    auto job = std::make_shared<KubernetesJob>(services_, serial, spec);
    jobs_[serial] = job;
    pods_[job->pod()] = serial;
    queue_.push_back(job);
    pump();
    if (!job->begun())
      job->waits(in_turn, JobEvent::Wait::turn);
  });
  return {.id = id, .link = {}, .page = nullptr};
}

void KubernetesBackend::terminate(const JobId& id, milliseconds grace) {
  if (auto serial = table_.find(id))
    loop_.post([this, serial, grace] {
      if (auto job = jobs_.find(serial); job != jobs_.end()) {
        auto keep = job->second;
        keep->terminate(grace);
      }
    });
}

/// Ends all existing pods by one request, and the other jobs one by one.
void KubernetesBackend::end_all() {
  auto jobs = jobs_; // Ends change it.
  bool any = false;
  for (auto& [serial, job] : jobs) {
    if (!job->exists()) {
      job->terminate(milliseconds(0));
      continue;
    }
    job->on_deleting_all();
    any = true;
  }
  if (!any)
    return;
  auto selector = http::escape(std::string(instance_label) + "=" + plan_.session + "," +
                               component_label + "=" + worker);
  api_.send(json_request("DELETE", api_.path("pods") + "?labelSelector=" + selector,
                         {{"apiVersion", "v1"},
                          {"kind", "DeleteOptions"},
                          {"gracePeriodSeconds", 1},
                          {"propagationPolicy", "Background"}}),
            [this](const http::Reply& reply) {
              if (is_transient(reply))
                return static_cast<void>(
                  loop_.after(pause_before(end_tries_++, reply), [this] { end_all(); }));
              if (!reply.ok())
                return end_each(problem(reply));
              auto left = jobs_;
              for (auto& [serial, job] : left)
                job->on_all_deleted();
            });
}

void KubernetesBackend::end_each(const std::string& problem) {
  log().warn("kubernetes: delete all pods: {}; deleting each", problem);
  auto jobs = jobs_; // Ends change it.
  for (auto& [serial, job] : jobs)
    job->terminate(milliseconds(0));
}

} // namespace

} // namespace kubernetes

std::unique_ptr<Backend> make_kubernetes(const KubernetesOptions& options) {
  return std::make_unique<kubernetes::KubernetesBackend>(options);
}

} // namespace fiber::backends
