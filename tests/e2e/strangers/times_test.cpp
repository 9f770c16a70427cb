// SPDX-License-Identifier: Apache-2.0
// The promise: each function that waits for a time takes any time. tests/tree has a check
// that this list names all of them.
#include <chrono>
#include <cmath>
#include <functional>
#include <future>
#include <limits>
#include <mutex>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include <fiber/fiber.hpp>

#include "tests/e2e/support/fixture.hpp"

namespace fiber::e2e {
namespace {

using Seconds = std::chrono::duration<double>;

/// A function that waits. `in_time(d, ready)` calls it for what is there already, or for
/// what never comes, and returns whether it came in time.
struct Wait {
  std::string function; ///< As "header: name".
  std::function<bool(Seconds d, bool ready)> in_time;
};
std::ostream& operator<<(std::ostream& out, const Wait& wait) {
  return out << wait.function;
}

void stay() {
  Event().wait();
}
void stay_a_second() { // The end of a session waits for its processes.
  Event().wait(std::chrono::seconds(1));
}
/// A future of a task that has ended, or does not end before its pool.
Future<void> future_of(Pool& pool, bool ready) {
  auto future = ready ? pool.apply_async([] {}) : pool.apply_async(stay);
  if (ready)
    future.get();
  return future;
}
Queue<int> queue_with(int items, std::size_t capacity) {
  Queue<int> queue(capacity);
  for (int i = 0; i < items; ++i)
    queue.put(i);
  return queue;
}

/// Those for tasks and processes.
std::vector<Wait> waits_for_tasks() {
  return {
    {"as_completed.hpp: wait",
     [](Seconds d, bool ready) {
       Pool pool(1);
       return wait(std::vector{future_of(pool, ready)}, 1, d).size() == 1;
     }},
    {"future.hpp: wait_for",
     [](Seconds d, bool ready) {
       Pool pool(1);
       const std::vector<int> items{1, 2};
       auto all = ready ? pool.map_async([](int) {}, items)
                        : pool.map_async([](int) { stay(); }, items);
       const auto one = future_of(pool, ready).wait_for(d);
       return all.wait_for(d) && one;
     }},
    {"pool.hpp: wait_until_workers_up",
     [](Seconds d, bool ready) {
       Pool pool(1);
       if (ready)
         pool.apply([] {});
       return pool.wait_until_workers_up(d);
     }},
    {"process.hpp: join",
     [](Seconds d, bool ready) {
       auto process = ready ? fiber::Process([] {}) : fiber::Process(stay_a_second);
       process.start();
       const auto ended = process.join(d);
       process.kill();
       return ended;
     }},
  };
}
/// Those for locks and other threads.
std::vector<Wait> waits_for_locks() {
  return {
    {"barrier.hpp: wait",
     [](Seconds d, bool ready) { return Barrier(ready ? 1 : 2).wait(d).has_value(); }},
    {"condition.hpp: wait",
     [](Seconds d, bool ready) {
       Condition condition;
       std::lock_guard lock(condition);
       if (!ready && condition.wait(d))
         return true;
       return condition.wait(d, [ready] { return ready; });
     }},
    {"event.hpp: wait",
     [](Seconds d, bool ready) {
       Event event;
       if (ready)
         event.set();
       return event.wait(d);
     }},
    {"lockable.hpp: try_lock_for",
     [](Seconds d, bool ready) {
       Lock lock, taken;
       std::thread([&] { taken.lock(); }).join();
       return ready ? lock.try_lock_for(d) : taken.try_lock_for(d);
     }},
    {"semaphore.hpp: acquire",
     [](Seconds d, bool ready) { return Semaphore(ready ? 1 : 0).acquire(d); }},
    {"semaphore.hpp: try_acquire_for",
     [](Seconds d, bool ready) { return Semaphore(ready ? 1 : 0).try_acquire_for(d); }},
  };
}
/// Those for items of queues and pipes.
std::vector<Wait> waits_for_items() {
  return {
    {"pipe.hpp: recv",
     [](Seconds d, bool ready) {
       auto [receiver, sender] = pipe(false);
       if (ready)
         sender.send(1);
       return receiver.recv<int>(d).has_value();
     }},
    {"pipe.hpp: poll",
     [](Seconds d, bool ready) {
       auto [receiver, sender] = pipe(false);
       if (ready)
         sender.send(1);
       return receiver.poll(d);
     }},
    {"queue.hpp: get",
     [](Seconds d, bool ready) {
       SimpleQueue<int> simple;
       if (ready)
         simple.put(1);
       const auto one = simple.get(d).has_value();
       return queue_with(ready ? 1 : 0, 1).get(d).has_value() && one;
     }},
    {"queue.hpp: put",
     [](Seconds d, bool ready) { return queue_with(ready ? 0 : 1, 1).put(7, d); }},
    {"queue.hpp: join",
     [](Seconds d, bool ready) { return queue_with(ready ? 0 : 1, 1).join(d); }},
  };
}

class Times : public SessionTest, public testing::WithParamInterface<Wait> {
protected:
  static bool in_time(double d, bool ready) {
    return GetParam().in_time(Seconds(d), ready);
  }
};

constexpr auto infinite = std::numeric_limits<double>::infinity();
const double most = Seconds(std::chrono::milliseconds::max()).count();

TEST_P(Times, that_are_short_end_at_once) {
  open();
  for (double d : {-most, -infinite, -1e300, -1.0, std::nan("")})
    EXPECT_FALSE(in_time(d, false)) << d;
}

TEST_P(Times, that_are_long_do_not_end) {
  using namespace std::chrono_literals;
  for (double d : {most, infinite, 1e300}) {
    open();
    EXPECT_TRUE(in_time(d, true)) << d;
    auto waiting = std::async(std::launch::async, [d] { return in_time(d, false); });
    if (waiting.wait_for(50ms) == std::future_status::ready) {
      EXPECT_TRUE(waiting.get()) << d; // Workers may be up by then.
    }
    close(); // Ends the wait.
  }
}

std::string name_of(const testing::TestParamInfo<Wait>& info) {
  auto name = info.param.function;
  for (char& c : name)
    c = c == '.' || c == ':' || c == ' ' ? '_' : c;
  return name;
}
INSTANTIATE_TEST_SUITE_P(tasks, Times, testing::ValuesIn(waits_for_tasks()), name_of);
INSTANTIATE_TEST_SUITE_P(locks, Times, testing::ValuesIn(waits_for_locks()), name_of);
INSTANTIATE_TEST_SUITE_P(items, Times, testing::ValuesIn(waits_for_items()), name_of);

} // namespace
} // namespace fiber::e2e
