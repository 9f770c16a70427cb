// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "backends/kubernetes/kubernetes_backend.hpp"
#include "tests/backends/contract.hpp"
#include "tests/backends/heard_log.hpp"
#include "tests/backends/kubernetes/kubernetes_files.hpp"
#include "tests/backends/kubernetes/scripted_api.hpp"

namespace fiber::backends::kubernetes {

/// A backend with a scripted API server.
class ScriptedKubernetes : public KubernetesFiles {
protected:
  ScriptedKubernetes() {
    set("no_proxy", "*");
    options_.access = api_.access();
    options_.image = "lab/program:1";
    options_.forward_output = false;
  }

  void start() { test_ = std::make_unique<BackendTest>(make_kubernetes(options_)); }
  /// Destroys the backend, and test_ with it.
  void stop() { test_->backend.reset(); }
  void create(const std::string& job) { test_->create(job, "wait"); }
  /// Creates a job and waits until it runs. Returns the name of its pod.
  std::string create_running(const std::string& job) {
    create(job);
    EXPECT_EQ(test_->events.started(job), 0);
    return api_.pod_of(job);
  }
  JobEvent last(const std::string& job) { return test_->events.last(job); }
  /// Checks that the job has started once and nothing else has happened.
  bool only_started(const std::string& job) {
    auto events = test_->events.of(job);
    return events.size() == 1 && events[0].kind == JobEvent::Kind::started;
  }

  static bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != text.npos;
  }
  /// Returns what a server says to a user who lacks a right.
  static std::string forbidden(const std::string& verb, const std::string& resource) {
    return nlohmann::json{{"kind", "Status"},
                          {"message", resource + " is forbidden: User \"jane\" cannot " +
                                        verb + " resource \"" + resource +
                                        "\" in API group \"\""}}
      .dump();
  }

  ScriptedApi api_;
  KubernetesOptions options_;
  HeardLog heard_;
  std::unique_ptr<BackendTest> test_;
};

} // namespace fiber::backends::kubernetes
