// SPDX-License-Identifier: Apache-2.0
// What the Kubernetes backend costs; kubernetes.py runs it.
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <set>
#include <string>

#include <unistd.h>

#include <fiber/fiber.hpp>

#include "backends/kubernetes/kubernetes_backend.hpp"

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

void print(const std::string& name, double value, const char* unit) {
  std::cout << R"({"name": ")" << name << R"(", "value": )" << value << R"(, "unit": ")"
            << unit << "\"}" << std::endl;
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// From nothing to all workers dialled in.
int start_workers(Clock::time_point start, std::size_t n) {
  fiber::Pool pool(fiber::PoolOptions{.workers = n, .resources = {.cpu = 0.01}});
  if (!pool.wait_until_workers_up(300s))
    return 1;
  print("start_workers_" + std::to_string(n), seconds_since(start), "s");
  return 0;
}

/// Pods of any image, through the seam alone: created, seen to run, ended.
int run_pods(std::size_t n, const std::string& image, const std::string& name_space) {
  using fiber::backends::JobEvent;
  fiber::backends::KubernetesOptions options;
  options.access =
    fiber::backends::kubernetes::from_kubeconfig({.name_space = name_space});
  options.image = image;
  options.forward_output = false;
  std::mutex mutex;
  std::condition_variable changed;
  std::set<std::string> up, over;
  auto backend = fiber::backends::make_kubernetes(std::move(options));
  backend->watch([&](const JobEvent& event) {
    std::lock_guard lock(mutex);
    if (event.kind != JobEvent::Kind::waits)
      (event.is_last() ? over : up).insert(event.job);
    if (event.kind == JobEvent::Kind::failed)
      std::cerr << event.job << ": " << event.detail << "\n";
    changed.notify_one();
  });
  auto start = Clock::now();
  backend->anchor({.name = "anchor", .resources = {.cpu = 0.001}});
  for (std::size_t i = 0; i < n; ++i)
    backend->create({.name = "pod-" + std::to_string(i), .resources = {.cpu = 0.001}});
  {
    std::unique_lock lock(mutex);
    if (!changed.wait_for(lock, 900s, [&] { return up.size() == n || !over.empty(); }) ||
        !over.empty()) {
      std::cerr << up.size() << " have started, " << over.size() << " have ended\n";
      return 1;
    }
  }
  print("pods_started", seconds_since(start), "s");
  start = Clock::now();
  backend.reset();
  print("pods_ended", seconds_since(start), "s");
  print("ended_in_time", static_cast<double>(over.size()), "pods");
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  auto start = Clock::now();
  std::string what = argc > 2 ? argv[1] : "";
  if (what == "pods" && argc > 4)
    return run_pods(std::stoul(argv[2]), argv[3], argv[4]);
  if (what == "wait") // A pod of the plain client.
    return ::pause();
  auto session = fiber::init(argc, argv);
  if (what == "workers")
    return start_workers(start, std::stoul(argv[2]));
  std::cerr << "usage: kubernetes_bench workers N | pods N IMAGE NAMESPACE\n";
  return 2;
}
