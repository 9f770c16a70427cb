// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fiber/actor.hpp>
#include <fiber/fiber.hpp>
#include <fiber/rl/cartpole.hpp>
#include <fiber/rl/random.hpp>

#include "bench/object_rows.hpp"
#include "bench/peers/measurement.hpp"
#include "bench/trial.hpp"

// One row of what jobs tell each other, in docs/reference/performance.md: object_bench
// ROW. See bench/README.md. How much a row does follows from a trial, so that it takes
// about half a second however fast it is.

namespace {

using Sixteen = std::array<char, 16>;

// -- round trips
// ----------------------------------------------------------------------------------

void echo(fiber::Connection driver) {
  try {
    for (;;)
      driver.send(driver.recv<Sixteen>());
  } catch (const fiber::Closed&) { // The driver has what it wants to know.
  }
}

void pipe(const std::string& row) {
  auto ends = fiber::pipe();
  fiber::Process(echo, ends.second).start();
  auto trips = [&](std::size_t n) {
    for (; n > 0; --n) {
      ends.first.send(Sixteen{});
      ends.first.recv<Sixteen>();
    }
  };
  peers::report(row, 1 / bench::seconds_of(trips, 1000), "round trips/s");
  ends.first.close();
}

class Echo {
public:
  Sixteen echo(Sixteen bytes) { return bytes; }
};

void call(const std::string& row) {
  fiber::Manager manager;
  auto object = manager.create<Echo>();
  auto calls = [&](std::size_t n) {
    for (; n > 0; --n)
      object.call<&Echo::echo>(Sixteen{});
  };
  peers::report(row, 1 / bench::seconds_of(calls, 1000), "round trips/s");
}

/// A hundred are always under way: each that is answered makes room for one.
void call_async(const std::string& row) {
  fiber::Manager manager;
  auto object = manager.create<Echo>();
  auto calls = [&](std::size_t n) {
    std::array<std::optional<fiber::Future<Sixteen>>, 100> flying;
    for (std::size_t i = 0; i < n; ++i) {
      auto& oldest = flying[i % flying.size()];
      if (oldest)
        oldest->get();
      oldest = object.async<&Echo::echo>(Sixteen{});
    }
    for (auto& rest : flying)
      if (rest)
        rest->get();
  };
  peers::report(row, 1 / bench::seconds_of(calls, 5000), "round trips/s");
}

caf::behavior echo_bytes(caf::event_based_actor*) {
  return {[](std::vector<char>& bytes) { return std::move(bytes); }};
}

/// A CAF actor in a job, asked by one of this process.
void actor(const std::string& row) {
  auto echo = fiber::spawn<echo_bytes>();
  caf::scoped_actor self{fiber::actor_system()};
  auto requests = [&](std::size_t n) {
    for (; n > 0; --n)
      self->request(echo, std::chrono::minutes(1), std::vector<char>(16))
        .receive([](const std::vector<char>&) {},
                 [](const caf::error&) { throw std::runtime_error("no answer"); });
  };
  peers::report(row, 1 / bench::seconds_of(requests, 1000), "round trips/s");
}

class Number {
public:
  explicit Number(int value) : value_(value) {}
  int get() const { return value_; }

private:
  int value_;
};

void many_refs(const std::string& row) {
  constexpr int count = 10000;
  fiber::Manager manager;
  manager.create<Number>(0).call<&Number::get>(); // Its job is up.
  const peers::Stopwatch watch;
  std::vector<fiber::Ref<Number>> refs;
  refs.reserve(count);
  for (int i = 0; i < count; ++i)
    refs.push_back(manager.create<Number>(i));
  std::vector<fiber::Future<int>> answers;
  answers.reserve(count);
  for (auto& ref : refs)
    answers.push_back(ref.async<&Number::get>());
  for (int i = 0; i < count; ++i)
    if (answers[static_cast<std::size_t>(i)].get() != i)
      throw std::runtime_error("another object answered");
  peers::report(row, watch.seconds(), "s");
}

// -- remote environments
// --------------------------------------------------------------------------

/// What a step gave, and what the agent sees now.
struct Seen {
  std::array<float, 4> observation = {};
  double reward = 0;
  bool done = false;
};

/// As examples/rl/remote_env_manager.cpp has it.
class RemoteEnv {
public:
  explicit RemoteEnv(std::uint64_t seed) : random_(seed) { env_.reset(random_.next()); }
  Seen step(float action) {
    auto step = env_.step(action > 0 ? 1 : 0);
    Seen seen{{}, step.reward, step.terminated || step.truncated};
    if (seen.done)
      env_.reset(random_.next());
    env_.observe(seen.observation);
    return seen;
  }

private:
  fiber::rl::Random random_;
  fiber::rl::CartPole env_;
};

class RemoteEnvs {
public:
  explicit RemoteEnvs(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      envs_.emplace_back(i);
  }
  std::vector<Seen> step(const std::vector<float>& actions) {
    std::vector<Seen> seen;
    for (std::size_t i = 0; i < envs_.size(); ++i)
      seen.push_back(envs_[i].step(actions.at(i)));
    return seen;
  }

private:
  std::vector<RemoteEnv> envs_;
};

float policy(const Seen& seen) {
  auto [position, speed, angle, turn] = seen.observation;
  return 0.1F * position + 0.3F * speed + 3.0F * angle + 1.0F * turn;
}

/// Ten managers share the environments, a call for each environment.
template <std::size_t count>
void env(const std::string& row) {
  std::vector<fiber::Manager> managers(10);
  std::vector<fiber::Ref<RemoteEnv>> envs;
  for (std::size_t i = 0; i < count; ++i)
    envs.push_back(managers[i % managers.size()].create<RemoteEnv>(i));
  std::vector<Seen> seen(count);
  auto steps = [&](std::size_t n) {
    std::vector<fiber::Future<Seen>> next(count);
    for (; n > 0; --n) {
      for (std::size_t i = 0; i < count; ++i)
        next[i] = envs[i].async<&RemoteEnv::step>(policy(seen[i]));
      for (std::size_t i = 0; i < count; ++i)
        seen[i] = next[i].get();
    }
  };
  peers::report(row, count / bench::seconds_of(steps, 500 / count), "steps/s");
}

/// A manager for ten of the environments, a call for all it has.
template <std::size_t count>
void env_batch(const std::string& row) {
  constexpr std::size_t batch = 10;
  std::vector<fiber::Manager> managers(count / batch);
  std::vector<fiber::Ref<RemoteEnvs>> envs;
  for (auto& manager : managers)
    envs.push_back(manager.create<RemoteEnvs>(batch));
  std::vector<std::vector<Seen>> seen(envs.size(), std::vector<Seen>(batch));
  auto steps = [&](std::size_t n) {
    std::vector<fiber::Future<std::vector<Seen>>> next(envs.size());
    for (; n > 0; --n) {
      for (std::size_t i = 0; i < envs.size(); ++i) {
        std::vector<float> actions(batch);
        std::ranges::transform(seen[i], actions.begin(), policy);
        next[i] = envs[i].async<&RemoteEnvs::step>(std::move(actions));
      }
      for (std::size_t i = 0; i < envs.size(); ++i)
        seen[i] = next[i].get();
    }
  };
  peers::report(row, count / bench::seconds_of(steps, 2000 / count), "steps/s");
}

} // namespace

int main(int argc, char** argv) {
  std::map<std::string, bench::Row> rows{{"pipe", pipe},
                                         {"call", call},
                                         {"call_async", call_async},
                                         {"actor", actor},
                                         {"refs_10k", many_refs},
                                         {"env_10", env<10>},
                                         {"env_100", env<100>},
                                         {"env_batch_10", env_batch<10>},
                                         {"env_batch_100", env_batch<100>}};
  rows.merge(bench::queue_rows());
  rows.merge(bench::future_rows());
  const std::string row = argc == 2 ? argv[1] : "";
  auto known = rows.find(row.substr(0, row.rfind('_')));
  auto tls = row.ends_with("_tls");
  if (known == rows.end() || (!tls && !row.ends_with("_local"))) {
    std::cerr << "usage: object_bench ROW; the rows are in bench/README.md\n";
    return 2;
  }
  fiber::Config config;
  if (tls)
    config.link = "tls";
  auto session = fiber::init(argc, argv, config);
  try {
    known->second(row);
  } catch (const std::exception& error) {
    std::cerr << row << ": " << error.what() << '\n';
    return 1;
  }
}
