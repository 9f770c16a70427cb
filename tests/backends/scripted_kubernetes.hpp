// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include <spdlog/sinks/base_sink.h>

#include "backends/kubernetes/kubernetes_backend.hpp"
#include "tests/backends/contract.hpp"
#include "tests/backends/kubernetes_files.hpp"
#include "tests/backends/scripted_api.hpp"
#include "wire/log.hpp"

namespace fiber::backends::kubernetes {

/// Keeps what is logged while it is there.
class HeardLog {
public:
  HeardLog() { log().sinks().push_back(sink_); }
  ~HeardLog() { log().sinks().pop_back(); }
  HeardLog(const HeardLog&) = delete;
  HeardLog& operator=(const HeardLog&) = delete;

  bool has(const std::string& words) const {
    return sink_->text().find(words) != std::string::npos;
  }
  std::size_t count(const std::string& words) const {
    std::size_t count = 0;
    auto text = sink_->text();
    for (std::size_t at = 0; (at = text.find(words, at)) != text.npos; ++at)
      ++count;
    return count;
  }

private:
  class Sink : public spdlog::sinks::base_sink<std::mutex> {
  public:
    std::string text() {
      std::lock_guard lock(mutex_);
      return text_;
    }

  protected:
    void sink_it_(const spdlog::details::log_msg& message) override {
      text_.append(message.payload.data(), message.payload.size()).append(1, '\n');
    }
    void flush_() override {}

  private:
    std::string text_;
  };
  std::shared_ptr<Sink> sink_ = std::make_shared<Sink>();
};

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
  /// The backend's end; test_ is over then.
  void stop() { test_->backend.reset(); }
  void create(const std::string& job) { test_->create(job, "wait"); }
  /// Creates a job and waits until it runs; the name of its pod.
  std::string create_running(const std::string& job) {
    create(job);
    EXPECT_EQ(test_->events.started(job), 0);
    return api_.pod_of(job);
  }
  JobEvent last(const std::string& job) { return test_->events.last(job); }
  /// Started once and, so far, nothing else.
  bool only_started(const std::string& job) {
    auto events = test_->events.of(job);
    return events.size() == 1 && events[0].kind == JobEvent::Kind::started;
  }

  ScriptedApi api_;
  KubernetesOptions options_;
  HeardLog heard_;
  std::unique_ptr<BackendTest> test_;
};

} // namespace fiber::backends::kubernetes
