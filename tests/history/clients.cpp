// SPDX-License-Identifier: Apache-2.0
#include "tests/history/clients.hpp"

#include <chrono>
#include <functional>
#include <random>
#include <thread>
#include <utility>

#include <unistd.h>

namespace fiber::history {
namespace {

using namespace std::chrono_literals;

/// Between two calls, so that histories stay short enough to be checked.
constexpr auto pace = 4ms;
constexpr auto patience = 100ms;

std::mt19937 random_of(const Client& client) {
  return std::mt19937(static_cast<unsigned>(std::hash<std::string>{}(client.name)));
}

/// Goes on until `stop` is set, or a call fails, which the history says.
template <class F>
void repeat(Event stop, F f) {
  try {
    while (!stop.is_set()) {
      f();
      std::this_thread::sleep_for(pace);
    }
  } catch (const Error&) {
  }
}

void put(const Open& queue, const std::string& item) {
  queue.put(item);
}
/// Gives up after a while, as there may be nobody any more who takes what is in the way.
bool put(const Bounded& queue, const std::string& item) {
  return queue.put(item, patience);
}

template <class Q>
void produce_into(const Client& client, const Named<Q>& queue, const Event& stop) {
  Recorder recorder(client);
  recorder.born();
  std::size_t n = 0;
  repeat(stop, [&] {
    const auto item = client.name + ":" + std::to_string(n++);
    recorder.ask(queue.name, "put", item, [&] { return put(queue.object, item); });
  });
}

template <class Q>
std::optional<std::string> get(Recorder& recorder, const Named<Q>& queue,
                               std::chrono::milliseconds limit) {
  return recorder.ask(queue.name, "get", nullptr,
                      [&] { return queue.object.get(limit); });
}

void finish(Recorder& recorder, const Named<Bounded>& queue, const std::string& item) {
  recorder.ask(queue.name, "done", item, [&] { queue.object.task_done(); });
}

constexpr auto quiet = 500ms; // Nobody puts any more: what is there comes at once.

template <class Acquire, class Release>
void hold(const Client& client, const std::string& name, const Event& stop,
          Acquire acquire, Release release) {
  Recorder recorder(client);
  recorder.born();
  auto random = random_of(client);
  repeat(stop, [&] {
    if (!recorder.ask(name, "acquire", nullptr, acquire))
      return;
    if (random() % 4 == 0)
      std::this_thread::sleep_for(pace); // Others come and wait.
    recorder.ask(name, "release", nullptr, release);
  });
}

std::int64_t add_to(std::int64_t& value, std::int64_t more) {
  return std::exchange(value, value + more);
}
bool compare_and_set(std::int64_t& value, std::int64_t old, std::int64_t other) {
  if (value != old)
    return false;
  value = other;
  return true;
}

/// No other process of this machine has its number and its time of birth.
std::string name_of_worker(const std::string& file) {
  const auto birth = std::chrono::steady_clock::now().time_since_epoch().count();
  auto name = "worker-" + std::to_string(getpid()) + "-" + std::to_string(birth);
  Recorder({file, name}).born();
  return name;
}

} // namespace

void produce(Client client, Named<Open> queue, Event stop) {
  produce_into(client, queue, stop);
}
void produce_bounded(Client client, Named<Bounded> queue, Event stop) {
  produce_into(client, queue, stop);
}
void consume(Client client, Named<Open> queue, Event stop) {
  Recorder recorder(client);
  recorder.born();
  repeat(stop, [&] { get(recorder, queue, patience); });
}
void consume_bounded(Client client, Named<Bounded> queue, Event stop) {
  Recorder recorder(client);
  recorder.born();
  auto random = random_of(client);
  repeat(stop, [&] {
    const auto item = get(recorder, queue, patience);
    if (!item)
      return;
    std::this_thread::sleep_for(random() % 20 * pace); // It may die with the item.
    finish(recorder, queue, *item);
  });
}
void drain(Recorder& recorder, const Named<Open>& queue) {
  while (get(recorder, queue, quiet)) {
  }
}
void drain(Recorder& recorder, const Named<Bounded>& queue) {
  while (const auto item = get(recorder, queue, quiet))
    finish(recorder, queue, *item);
  for (int i = 0; i < 2; ++i) // The first is told what is lost.
    recorder.ask(queue.name, "join", nullptr, [&] {
      try {
        return nlohmann::json{{"done", queue.object.join(quiet)}, {"lost", 0}};
      } catch (const ItemsLost& lost) {
        return nlohmann::json{{"done", false}, {"lost", lost.items()}};
      }
    });
}

void hold_lock(Client client, Named<Lock> lock, Event stop) {
  auto& it = lock.object;
  hold(
    client, lock.name, stop, [&] { return it.try_lock_for(patience); },
    [&] { it.unlock(); });
}

void hold_semaphore(Client client, Named<Semaphore> semaphore, Event stop) {
  auto& it = semaphore.object;
  hold(
    client, semaphore.name, stop, [&] { return it.acquire(patience); },
    [&] { it.release(); });
}

void meet(Client client, Named<Barrier> barrier) {
  Recorder recorder(client);
  recorder.born();
  try {
    for (std::size_t round = 0;; ++round) {
      recorder.ask(barrier.name, "wait", round, [&] { return barrier.object.wait(); });
      std::this_thread::sleep_for(pace);
    }
  } catch (const Error&) { // It is broken.
  }
}

void change(Client client, std::vector<Named<Number>> values, Event stop) {
  Recorder recorder(client);
  recorder.born();
  auto random = random_of(client);
  std::int64_t last = 0;
  repeat(stop, [&] {
    const auto& [name, value] = values[random() % values.size()];
    const auto number = static_cast<std::int64_t>(random() % 1'000'000);
    switch (random() % 4) {
    case 0:
      last = recorder.ask(name, "get", nullptr, [&] { return value.get(); });
      break;
    case 1:
      recorder.ask(name, "set", number, [&] { value.set(number); });
      break;
    case 2:
      last = recorder.ask(name, "add", 1, [&] { return value.apply(add_to, 1); });
      break;
    default:
      recorder.ask(name, "compare_and_set", {last, number},
                   [&] { return value.apply(compare_and_set, last, number); });
    }
  });
}

Home::Home(const Client& client) {
  Recorder(client).born();
}

Result run_task(const std::string& file, std::size_t task) {
  static std::uint64_t runs = 0; // Of this process, which has one thread for tasks.
  static const auto worker = name_of_worker(file);
  const auto word = worker + "-" + std::to_string(runs++);
  Recorder({file, worker}).event("run", "task " + std::to_string(task), word);
  if (task % 16 == 3)
    std::this_thread::sleep_for(3 * pace);
  const auto n = static_cast<std::int64_t>(task);
  return {n * n + 7, word, task};
}

} // namespace fiber::history
