// SPDX-License-Identifier: Apache-2.0
// Clients of a pool, of queues, locks, a barrier and values, while they are killed.
// Writes what each of them asked and was told. Who runs this may disturb them further.
//
// usage: history_program FILE SECONDS SEED [KILLS]
//
// KILLS: how many clients are killed in a second. FIBER_CHAOS kills workers as often.

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fiber/fiber.hpp>

#include "tests/history/clients.hpp"
#include "tests/history/crew.hpp"

namespace fiber::history {
namespace {

using namespace std::chrono_literals;

/// What each job asks for: on Kubernetes so little that many fit.
Resources little() {
  const auto* backend = std::getenv("FIBER_BACKEND");
  const auto is_cluster = backend != nullptr && std::string(backend) == "kubernetes";
  return {.cpu = is_cluster ? 0.05 : 1};
}

/// Maps over the pool until `stop` is set. FIBER_CHAOS kills and stalls its workers.
void map_on(Pool& pool, const std::string& file, Event stop) {
  constexpr std::size_t many = 200;
  Recorder recorder({file, "driver-tasks"});
  std::size_t next = 0;
  while (!stop.is_set()) {
    std::vector<std::size_t> tasks;
    std::vector<std::uint64_t> calls;
    const auto first = next;
    for (; next < first + many; ++next) {
      tasks.push_back(next);
      calls.push_back(recorder.call("task " + std::to_string(next), "run", next));
    }
    for (const auto& result : pool.imap_unordered(fiber::bind(run_task, file), tasks))
      recorder.returned(calls.at(result.task - first),
                        {{"value", result.value}, {"run", result.run}});
  }
}

/// The processes that use one thing of each kind, and the things.
class World {
public:
  explicit World(std::string file)
    : file_(std::move(file)), manager_({.resources = little()}), stop_(manager_.event()) {
    add("open-put", 2, [this](auto c) { return process(produce, c, open_); });
    add("open-get", 2, [this](auto c) { return process(consume, c, open_); });
    add("bounded-put", 2,
        [this](auto c) { return process(produce_bounded, c, bounded_); });
    add("bounded-get", 2,
        [this](auto c) { return process(consume_bounded, c, bounded_); });
    add("redelivering-put", 2,
        [this](auto c) { return process(produce_bounded, c, redelivering_); });
    add("redelivering-get", 3,
        [this](auto c) { return process(consume_bounded, c, redelivering_); });
    add("lock", 3, [this](auto c) { return process(hold_lock, c, lock_); });
    add("semaphore", 3,
        [this](auto c) { return process(hold_semaphore, c, semaphore_); });
    begin_values();
    begin_barrier();
  }

  void disturb(std::mt19937& random) {
    const auto at = random() % (crews_.size() + 2);
    auto& crew = at < crews_.size()    ? *crews_[at]
                 : at == crews_.size() ? *parties_
                                       : *changers_;
    crew.disturb(recorder_, random);
  }

  void look() {
    for (auto& crew : crews_)
      crew->look(recorder_);
    look_at_barrier();
    changers_->look(recorder_);
    if (home_is_lost())
      changers_->disband();
    if (changers_->all_ended())
      renew_values();
  }

  /// Ends the clients, and takes what they have left in the queues.
  void end() {
    recorder_.event("stop", "clients");
    stop_.set();
    barrier_->object.abort();
    for (auto& crew : crews_)
      crew->join();
    parties_->join();
    changers_->join();
    drain(recorder_, open_);
    drain(recorder_, bounded_);
    drain(recorder_, redelivering_);
  }

  const Event& stop() const { return stop_; }

private:
  template <class F, class T>
  Process process(F f, const Client& client, const T& thing) {
    return Process({.resources = little()}, f, client, thing, stop_);
  }

  template <class Make>
  std::unique_ptr<Crew> crew(const std::string& kind, std::size_t size, bool replace,
                             Make make) {
    return std::make_unique<Crew>(kind, size, replace,
                                  [this, make](const std::string& name) {
                                    return make(Client{file_, name});
                                  });
  }
  template <class Make>
  void add(const std::string& kind, std::size_t size, Make make) {
    crews_.push_back(crew(kind, size, true, make));
  }

  void begin_barrier() {
    constexpr std::size_t parties = 3;
    incomplete_ = 0;
    const auto number = std::to_string(barriers_++);
    barrier_ = {"barrier " + number + " of " + std::to_string(parties),
                manager_.barrier(parties)};
    parties_ = crew("party-" + number, parties, false, [this](const Client& client) {
      return Process({.resources = little()}, meet, client, *barrier_);
    });
  }

  /// Begins a new one when all parties have left. The barrier itself breaks when a party
  /// dies that waits, but not when one dies before, or could not be started.
  void look_at_barrier() {
    constexpr int patience = 40; // Looks.
    parties_->look(recorder_);
    if (parties_->all_ended())
      begin_barrier();
    else if (!parties_->is_complete() && ++incomplete_ == patience)
      barrier_->object.abort();
  }

  void begin_values() {
    const auto number = std::to_string(managers_++);
    const auto manager = "manager-" + number;
    home_ = manager_.create<Home>(Client{file_, manager});
    ping_ = home_.async<&Home::ping>();
    std::vector<Named<Number>> values;
    for (auto i = 0; i < 3; ++i)
      values.push_back({"value " + std::to_string(i) + " of " + manager,
                        manager_.value(std::int64_t{0})});
    changers_ = crew("value-" + number, 3, true, [this, values](const Client& client) {
      return process(change, client, values);
    });
  }

  /// In a new job, since the values are lost with theirs.
  void renew_values() {
    try {
      manager_ = Manager({.resources = little()});
      begin_values();
    } catch (const Error&) { // The engine is away: later.
    }
  }

  bool home_is_lost() {
    if (!ping_.ready())
      return false;
    try {
      ping_.get();
      ping_ = home_.async<&Home::ping>();
      return false;
    } catch (const Error&) {
      return true;
    }
  }

  const std::string file_;
  Recorder recorder_{{file_, "driver"}};
  Manager manager_;
  Event stop_;
  Named<Open> open_{"queue open", {}};
  Named<Bounded> bounded_{"queue bounded", Bounded(8)};
  Named<Bounded> redelivering_{
    "queue redelivering",
    Bounded({.capacity = 8, .redeliver = true, .max_redeliveries = -1})};
  Named<Lock> lock_{"lock one", manager_.lock()};
  Named<Semaphore> semaphore_{"lock some of 2", manager_.semaphore(2)};
  std::vector<std::unique_ptr<Crew>> crews_;
  std::optional<Named<Barrier>> barrier_;
  std::unique_ptr<Crew> parties_, changers_;
  Ref<Home> home_;
  Future<void> ping_;
  std::size_t barriers_ = 0, managers_ = 0;
  int incomplete_ = 0; ///< Looks since a party has ended.
};

struct Plan {
  std::string file;
  std::chrono::seconds length;
  unsigned seed = 1;
  double kills = 3; ///< Per second.
};

void run(const Plan& plan) {
  World world(plan.file);
  Pool pool(PoolOptions{.workers = 3, .resources = little(), .max_retries = 20});
  std::thread mapper([&] { map_on(pool, plan.file, world.stop()); });
  std::mt19937 random(plan.seed);
  constexpr std::chrono::duration<double> pace = 50ms; // Of the faults.
  std::bernoulli_distribution now(std::min(1.0, plan.kills * pace.count()));
  const auto until = std::chrono::steady_clock::now() + plan.length;
  while (std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(pace);
    world.look();
    if (now(random))
      world.disturb(random);
  }
  world.end();
  mapper.join();
}

std::string chaos(const Plan& plan) {
  constexpr double kill = 0.0013, stall = 0.00017; // Of a task, at one kill per second.
  return "kill=" + std::to_string(kill * plan.kills) +
         ",stall=" + std::to_string(stall * plan.kills) +
         ",seed=" + std::to_string(plan.seed);
}

} // namespace
} // namespace fiber::history

int main(int argc, char** argv) {
  fiber::history::Plan plan;
  if (argc == 4 || argc == 5)
    plan = {argv[1], std::chrono::seconds(std::atoi(argv[2])),
            static_cast<unsigned>(std::atoi(argv[3])),
            argc == 5 ? std::atof(argv[4]) : 3};
  fiber::Config config;
  if (std::getenv("FIBER_HEARTBEAT_TIMEOUT") == nullptr)
    config.heartbeat_timeout = std::chrono::seconds(2);
  if (std::getenv("FIBER_LOG_LEVEL") == nullptr)
    config.log_level = "error";
  config.chaos = fiber::history::chaos(plan);
  auto session = fiber::init(argc, argv, config);
  if (plan.file.empty()) {
    std::cerr << "usage: history_program FILE SECONDS SEED [KILLS]\n";
    return 2;
  }
  fiber::history::run(plan);
  return 0;
}
