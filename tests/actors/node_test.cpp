// SPDX-License-Identifier: Apache-2.0
// The promise: what a node and its slots do besides running tasks.

#include "actors/node_actor.hpp"

#include <atomic>
#include <thread>

#include <caf/all.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <gtest/gtest.h>

#include "tests/actors/fake_link.hpp"
#include "tests/wire/wire_fixture.hpp"
#include "wire/log.hpp"

using namespace fiber;
using namespace fiber::actors;

namespace {

using wire::eventually;

TEST(Node, that_is_asked_to_end_before_it_is_ready_says_so_and_never_that_it_is_ready) {
  log().set_level(spdlog::level::off);
  caf::actor_system_config config;
  config.set("scheduler.policy", caf::atom("testing"));
  caf::actor_system system(config);
  auto& scheduler = static_cast<caf::scheduler::test_coordinator&>(system.scheduler());
  auto link = std::make_shared<FakeLink>();
  auto slot =
    std::make_shared<SlotWorker>(SlotWorker::Settings{0, 0, link, nullptr, [] {}});
  auto node = spawn_node(system, {1, link, {slot}, [](const CallCode&) {}, [](int) {}});
  caf::anon_send(node, DrainNode{});
  caf::anon_send(node, SlotReady{});
  scheduler.run();
  EXPECT_EQ(link->count(Op::draining), 1u);
  EXPECT_EQ(link->count(Op::ready), 0u);
  EXPECT_TRUE(slot->finished());
  caf::anon_send_exit(node, caf::exit_reason::kill);
  node = nullptr;
  scheduler.run();
}

/// Counts itself.
struct Counted {
  static inline std::atomic<int> alive{0};
  Counted() { ++alive; }
  Counted(const Counted&) { ++alive; }
  Counted& operator=(const Counted&) = default;
  ~Counted() { --alive; }
  int operator()(int x) const { return x; }
  template <class Archive>
  void serialize(Archive&, unsigned) {}
};

TEST(Slot, forgets_a_call_that_is_over_without_another_task) {
  auto link = std::make_shared<FakeLink>();
  SlotWorker slot({0, 0, link, nullptr, [] {}});
  std::thread thread([&] { slot.run(); });
  auto callable = AnyCallable::of<int, false>(Counted());
  RunTasks tasks;
  tasks.call = tasks.first_seq = 1;
  tasks.lengths = {sizeof(int)};
  tasks.arguments = Payload(Bytes(sizeof(int)));
  slot.push(std::move(tasks), std::make_shared<const CallCode>(CallCode{
                                1, false, callable.open(), {}, callable.state()}));
  EXPECT_TRUE(eventually([&] { return link->count(Op::results) == 1; }));
  EXPECT_EQ(Counted::alive, 1);
  slot.close(1);
  EXPECT_TRUE(eventually([] { return Counted::alive == 0; }));
  slot.finish();
  thread.join();
}

} // namespace
