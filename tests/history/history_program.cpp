// SPDX-License-Identifier: Apache-2.0
// Clients of a pool, of queues, locks, a barrier and values, while they are killed and
// stalled. Writes what each of them asked and was told.
//
// usage: history_program FILE SECONDS SEED

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
  explicit World(std::string file) : file_(std::move(file)), stop_(manager_.event()) {
    for (auto i = 0; i < 3; ++i)
      values_.push_back({"value " + std::to_string(i), manager_.value(std::int64_t{0})});
    add("open-put", 2, [this](auto c) { return Process(produce, c, open_, stop_); });
    add("open-get", 2, [this](auto c) { return Process(consume, c, open_, stop_); });
    add("bounded-put", 2,
        [this](auto c) { return Process(produce_bounded, c, bounded_, stop_); });
    add("bounded-get", 2,
        [this](auto c) { return Process(consume_bounded, c, bounded_, stop_); });
    add("lock", 3, [this](auto c) { return Process(hold_lock, c, lock_, stop_); });
    add("semaphore", 3,
        [this](auto c) { return Process(hold_semaphore, c, semaphore_, stop_); });
    add("value", 3, [this](auto c) { return Process(change, c, values_, stop_); });
    begin_barrier();
  }

  void disturb(std::mt19937& random) {
    const auto at = random() % (crews_.size() + 1);
    (at < crews_.size() ? *crews_[at] : *parties_).disturb(recorder_, random);
  }

  void look() {
    for (auto& crew : crews_)
      crew->look();
    parties_->look();
    if (parties_->all_ended()) // It was broken by the death of one.
      begin_barrier();
  }

  /// Ends the clients, and takes what they have left in the queues.
  void end() {
    stop_.set();
    barrier_->object.abort();
    for (auto& crew : crews_)
      crew->join();
    parties_->join();
    drain(recorder_, open_);
    drain(recorder_, bounded_);
  }

  const Event& stop() const { return stop_; }

private:
  template <class Make>
  void add(const std::string& kind, std::size_t size, Make make) {
    crews_.push_back(
      std::make_unique<Crew>(kind, size, true, [this, make](const std::string& name) {
        return make(Client{file_, name});
      }));
  }

  void begin_barrier() {
    constexpr std::size_t parties = 3;
    const auto number = std::to_string(barriers_++);
    barrier_ = {"barrier " + number + " of " + std::to_string(parties),
                manager_.barrier(parties)};
    parties_ = std::make_unique<Crew>(
      "party-" + number, parties, false, [this](const std::string& name) {
        return Process(meet, Client{file_, name}, *barrier_);
      });
  }

  const std::string file_;
  Recorder recorder_{{file_, "driver"}};
  Manager manager_;
  Event stop_;
  Named<Open> open_{"queue open", {}};
  Named<Bounded> bounded_{"queue bounded", Bounded(8)};
  Named<Lock> lock_{"lock one", manager_.lock()};
  Named<Semaphore> semaphore_{"lock some of 2", manager_.semaphore(2)};
  std::vector<Named<Number>> values_;
  std::vector<std::unique_ptr<Crew>> crews_;
  std::optional<Named<Barrier>> barrier_;
  std::unique_ptr<Crew> parties_;
  std::size_t barriers_ = 0;
};

void run(const std::string& file, std::chrono::seconds length, unsigned seed) {
  World world(file);
  Pool pool(PoolOptions{.workers = 3, .max_retries = 20});
  std::thread mapper([&] { map_on(pool, file, world.stop()); });
  std::mt19937 random(seed);
  const auto until = std::chrono::steady_clock::now() + length;
  while (std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(50ms); // The pace of the faults.
    world.look();
    if (random() % 3 == 0)
      world.disturb(random);
  }
  world.end();
  mapper.join();
}

} // namespace
} // namespace fiber::history

int main(int argc, char** argv) {
  const std::string seed = argc == 4 ? argv[3] : "1";
  fiber::Config config;
  config.heartbeat_timeout = std::chrono::seconds(2);
  config.chaos = "kill=0.004,stall=0.0005,seed=" + seed;
  config.log_level = "error";
  auto session = fiber::init(argc, argv, config);
  if (argc != 4) {
    std::cerr << "usage: history_program FILE SECONDS SEED\n";
    return 2;
  }
  fiber::history::run(argv[1], std::chrono::seconds(std::atoi(argv[2])),
                      static_cast<unsigned>(std::atoi(argv[3])));
  return 0;
}
