// SPDX-License-Identifier: Apache-2.0
// The promise: where order counts, a child starts when the one before it has started; and
// a child that must start and never did is forgotten, not restarted.

#include <gtest/gtest.h>

#include "tests/actors/supervision/supervised_world.hpp"

using namespace fiber;
using namespace fiber::actors;
using namespace std::chrono_literals;

namespace {

class AnnouncedStart : public ::testing::Test {
protected:
  caf::actor supervisor_of_three(Strategy strategy) {
    return world.supervisor({.strategy = strategy,
                             .children = {world.announcing("a"), world.announcing("b"),
                                          world.announcing("c")}});
  }
  /// Returns the events while these announce their start one after the other.
  std::string announced(const std::string& names) {
    auto events = world.events();
    for (auto name : names) {
      world.announce(std::string(1, name));
      if (auto more = world.events(); !more.empty())
        events += " | " + more;
    }
    return events;
  }

  SupervisedWorld world;
};

TEST_F(AnnouncedStart, an_announced_start_lets_the_next_child_start) {
  for (auto strategy : {Strategy::one_for_all, Strategy::rest_for_one}) {
    auto supervisor = supervisor_of_three(strategy);
    EXPECT_EQ(announced("abc"), "+a | +b | +c");
    world.end("a");
    EXPECT_EQ(announced("abc"), "~a -c ~c -b ~b +a | +b | +c");
    world.end("b");
    if (strategy == Strategy::one_for_all) {
      EXPECT_EQ(announced("abc"), "~b -c ~c -a ~a +a | +b | +c");
    } else {
      EXPECT_EQ(announced("bc"), "~b -c ~c +b | +c");
    }
    EXPECT_TRUE(world.asked(supervisor, StopSupervisor{}).ok());
    EXPECT_EQ(world.events(), "-c ~c -b ~b -a ~a");
  }
}

TEST_F(AnnouncedStart, an_open_start_holds_up_no_sibling_with_one_for_one) {
  auto supervisor = supervisor_of_three(Strategy::one_for_one);
  EXPECT_EQ(world.events(), "+a +b +c");
  world.end("b");
  EXPECT_EQ(world.events(), "~b +b");
}

TEST_F(AnnouncedStart, a_failed_start_begins_again_from_the_first_child) {
  auto supervisor = supervisor_of_three(Strategy::one_for_all);
  EXPECT_EQ(announced("a"), "+a | +b");
  world.end("b"); // It never said that it had started.
  EXPECT_EQ(announced("ab"), "~b -a ~a +a | +b | +c");
}

TEST_F(AnnouncedStart, a_child_that_must_start_is_forgotten_if_it_never_announced) {
  auto supervisor = world.supervisor({.children = {}});
  EXPECT_TRUE(world.asked(supervisor, StartChild{world.announcing("a"), true}).ok());
  world.end("a");
  EXPECT_EQ(world.events(), "+a ~a");
  EXPECT_EQ(world.chronicle->forgotten.at("a"), "broken");
  EXPECT_TRUE(world.asked(supervisor, StartChild{world.announcing("a"), true}).ok());
  world.announce("a");
  world.end("a"); // Once it has started it is an ordinary child.
  EXPECT_EQ(world.events(), "+a ~a +a");
  world.end("a");
  world.advance(60s);
  EXPECT_EQ(world.events(), "~a +a");
}

TEST_F(AnnouncedStart, the_forgotten_hook_is_called_for_children_that_end_for_good) {
  auto supervisor = world.supervisor({.children = {}});
  for (auto [name, restart] :
       {std::pair("t", Restart::temporary), std::pair("n", Restart::transient),
        std::pair("p", Restart::permanent)})
    world.asked(supervisor, StartChild{world.announcing(name, restart), true});
  for (auto* name : {"t", "n", "p"})
    world.announce(name);
  world.end("t");
  world.end("n", ExitKind::planned, "done");
  world.end("p");
  EXPECT_TRUE(world.asked(supervisor, StopChild{"p"}).ok());
  EXPECT_EQ(world.chronicle->forgotten,
            (std::map<std::string, std::string>{
              {"n", "done"}, {"p", "was asked to end"}, {"t", "broken"}}));
  world.asked(supervisor, StartChild{world.announcing("x")});
  EXPECT_TRUE(world.asked(supervisor, StopSupervisor{})
                .ok()); // The supervisor's own end covers this child.
  EXPECT_FALSE(world.chronicle->forgotten.contains("x"));
}

} // namespace
