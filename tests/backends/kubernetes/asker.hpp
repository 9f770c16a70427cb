// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <future>

#include "backends/kubernetes/credentials.hpp"
#include "tests/backends/kubernetes/kubernetes_files.hpp"

namespace fiber::backends::kubernetes {

/// Credentials on a loop of their own, for use from the test's thread.
class Asker {
public:
  explicit Asker(Access access,
                 std::chrono::milliseconds limit = std::chrono::seconds(60))
    : credentials_(std::in_place, loop_, std::move(access), limit) {}
  ~Asker() { loop_.stop(); }
  Asker(const Asker&) = delete;
  Asker& operator=(const Asker&) = delete;

  /// Runs `f` with the credentials on the loop's thread and returns its result.
  template <class F>
  auto on_loop(F f) {
    std::packaged_task<decltype(f(*credentials_))()> task(
      [&] { return f(*credentials_); });
    auto result = task.get_future();
    loop_.post([&] { task(); });
    return result.get();
  }

  std::future<Pass> ask() {
    auto promise = std::make_shared<std::promise<Pass>>();
    on_loop([&](Credentials& credentials) {
      credentials.get([promise](const Pass& pass) { promise->set_value(pass); });
    });
    return promise->get_future();
  }
  Pass get() { return wait(ask()); }
  /// Returns the first header, or the error.
  std::string say() {
    auto pass = get();
    if (!pass.error.empty())
      return pass.error;
    return pass.headers.empty() ? "nothing" : pass.headers.front();
  }
  bool refused(std::uint64_t serial) {
    return on_loop([&](Credentials& credentials) { return credentials.refused(serial); });
  }
  void drop() {
    on_loop([this](Credentials&) { credentials_.reset(); });
  }

  static Pass wait(std::future<Pass> pass) {
    if (pass.wait_for(std::chrono::seconds(60)) != std::future_status::ready)
      return {{}, nullptr, 0, "no answer within a minute"};
    return pass.get();
  }

private:
  Loop loop_;
  std::optional<Credentials> credentials_;
};

} // namespace fiber::backends::kubernetes
