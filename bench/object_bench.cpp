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

#include "bench/peers/measurement.hpp"
#include "examples/es/cartpole.hpp"

// One row of what jobs tell each other, in docs/performance.md: object_bench ROW. See
// bench/README.md. How much a row does follows from a trial, so that it takes about half
// a second however fast it is.

namespace {

using Clock = std::chrono::steady_clock; // The same in all processes of a machine.
using Sixteen = std::array<char, 16>;
using Megabyte = std::vector<char>;

constexpr double run_seconds = 0.5;

/// The seconds of a run of `play`, for each of the `n` that it is told to do, when it is
/// warm. `play` returns its seconds.
double seconds_each(const std::function<double(std::size_t n)>& play, std::size_t trial) {
  play(trial / 10 + 1); // Warm.
  auto each = play(trial) / static_cast<double>(trial);
  auto enough = std::max(static_cast<std::size_t>(run_seconds / each), trial);
  return play(enough) / static_cast<double>(enough);
}

/// The same of what this thread does.
double seconds_of(const std::function<void(std::size_t n)>& work, std::size_t trial) {
  return seconds_each(
    [&](std::size_t n) {
      const peers::Stopwatch watch;
      work(n);
      return watch.seconds();
    },
    trial);
}

// -- queues
// ---------------------------------------------------------------------------------------

/// When a producer began, or a consumer had all.
using Instant = Clock::rep;

Instant now() {
  return Clock::now().time_since_epoch().count();
}

template <class Queue, class Item>
void produce(Queue queue, fiber::Connection driver, Item item) {
  while (auto n = driver.recv<std::size_t>()) {
    auto begin = now();
    for (; n > 0; --n)
      queue.put(item);
    driver.send(begin);
  }
}

template <class Queue>
void consume(Queue queue, fiber::Connection driver) {
  while (auto n = driver.recv<std::size_t>()) {
    for (; n > 0; --n)
      queue.get();
    driver.send(now());
  }
}

/// As many producers as consumers of a queue, each a job.
class Stream {
public:
  template <class Queue, class Item>
  Stream(const Queue& queue, const Item& item, std::size_t pairs) {
    for (std::size_t i = 0; i < pairs; ++i) {
      start(producers_, produce<Queue, Item>, queue, item);
      start(consumers_, consume<Queue>, queue);
    }
  }

  /// The seconds from the first put to the last get of `n` items.
  double run(std::size_t n) {
    auto each = std::max<std::size_t>(n / producers_.size(), 1);
    for (auto* side : {&consumers_, &producers_})
      for (auto& job : *side)
        job.send(each);
    return seconds_between(std::ranges::min(answers(producers_)),
                           std::ranges::max(answers(consumers_)));
  }
  void stop() {
    for (auto* side : {&consumers_, &producers_})
      for (auto& job : *side)
        job.send(std::size_t{0});
  }

private:
  using Jobs = std::vector<fiber::Connection>;

  template <class F, class Queue, class... Args>
  static void start(Jobs& jobs, F f, const Queue& queue, const Args&... args) {
    auto [here, there] = fiber::pipe();
    fiber::Process(f, queue, there, args...).start();
    jobs.push_back(here);
  }
  static std::vector<Instant> answers(Jobs& jobs) {
    std::vector<Instant> instants;
    for (auto& job : jobs)
      instants.push_back(job.recv<Instant>());
    return instants;
  }
  static double seconds_between(Instant begin, Instant end) {
    return std::chrono::duration<double>(Clock::duration(end - begin)).count();
  }

  Jobs producers_, consumers_;
};

template <class Queue, class Item>
double seconds_an_item(const Queue& queue, const Item& item, std::size_t pairs,
                       std::size_t trial) {
  Stream stream(queue, item, pairs);
  auto seconds = seconds_each([&](std::size_t n) { return stream.run(n); }, trial);
  stream.stop();
  return seconds;
}

void simple_queue(const std::string& row) {
  using Item = std::array<char, 64>;
  peers::report(row, 1 / seconds_an_item(fiber::SimpleQueue<Item>(), Item{}, 1, 2000),
                "items/s");
}

/// Of a queue with room for so many, as the peer's has.
template <class Item>
void queue(const std::string& row, const Item& item, std::size_t capacity,
           std::size_t pairs, std::size_t trial) {
  auto seconds = seconds_an_item(fiber::Queue<Item>(capacity), item, pairs, trial);
  peers::report(row, static_cast<double>(std::size(item)) / 1e6 / seconds, "MB/s");
}

template <std::size_t pairs>
void kilobytes(const std::string& row) {
  queue(row, std::array<char, 1000>{}, 1000, pairs, 1000);
}
template <std::size_t pairs>
void megabytes(const std::string& row) {
  queue(row, Megabyte(1000000, 'x'), 16, pairs, 20);
}

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
  peers::report(row, 1 / seconds_of(trips, 1000), "round trips/s");
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
  peers::report(row, 1 / seconds_of(calls, 1000), "round trips/s");
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
  peers::report(row, 1 / seconds_of(calls, 5000), "round trips/s");
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
  peers::report(row, 1 / seconds_of(requests, 1000), "round trips/s");
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
  explicit RemoteEnv(std::uint64_t seed) : random_(seed, es::Use::training_episode) {
    env_.reset(random_);
  }
  Seen step(float action) {
    auto step = env_.step(std::span(&action, 1));
    Seen seen{{}, step.reward, step.terminated || step.truncated};
    if (seen.done)
      env_.reset(random_);
    std::ranges::copy(env_.observation(), seen.observation.begin());
    return seen;
  }

private:
  es::Random random_;
  es::CartPole env_;
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
  peers::report(row, count / seconds_of(steps, 500 / count), "steps/s");
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
  peers::report(row, count / seconds_of(steps, 2000 / count), "steps/s");
}

} // namespace

int main(int argc, char** argv) {
  const std::map<std::string, void (*)(const std::string&)> rows{
    {"simple_queue", simple_queue},
    {"queue_1kb_1", kilobytes<1>},
    {"queue_1kb_4", kilobytes<4>},
    {"queue_1mb_1", megabytes<1>},
    {"queue_1mb_4", megabytes<4>},
    {"pipe", pipe},
    {"call", call},
    {"call_async", call_async},
    {"actor", actor},
    {"refs_10k", many_refs},
    {"env_10", env<10>},
    {"env_100", env<100>},
    {"env_batch_10", env_batch<10>},
    {"env_batch_100", env_batch<100>}};
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
