// SPDX-License-Identifier: Apache-2.0
// The promise: whatever happens to a tree of supervisors in whatever order, no child ever
// has two live incarnations or outlives its supervisor, and every request is answered
// once.

#include <random>

#include <gtest/gtest.h>

#include "tests/actors/supervision/supervised_world.hpp"

using namespace fiber;
using namespace fiber::actors;

namespace {

/// One history, drawn from a seed.
class SupervisorRun {
public:
  explicit SupervisorRun(unsigned seed) : random_(seed) {}

  void play() {
    root_ = world_.supervisor(config("root", 2));
    for (int step = 0; step < 40; ++step) {
      act();
      // Often only some messages are delivered before the next event.
      if (below(3) == 0)
        world_.run();
      else
        world_.scheduler().run(below(12));
      ASSERT_LE(world_.chronicle->max_alive, 1) << world_.events();
      ASSERT_NO_FATAL_FAILURE(check_the_dead());
    }
    finish();
  }
  /// Returns how many live children it has killed.
  std::size_t kills() const { return kills_; }

private:
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

  SupervisorConfig config(const std::string& name, int depth) {
    SupervisorConfig result{.name = name,
                            .strategy = static_cast<Strategy>(below(3)),
                            .intensity = below(6),
                            .period = milliseconds(500 + below(10000)),
                            .backoff = {.first = milliseconds(below(3) * 50)},
                            .reset_after = milliseconds(below(2000)),
                            .seed = random_(),
                            .count_blameless = below(4) == 0,
                            .stop_together = below(4) == 0};
    if (below(5) == 0)
      result.period.reset();
    for (int i = 0, n = below(4); i < n; ++i)
      result.children.push_back(spec(name + std::to_string(i), depth));
    return result;
  }

  ChildSpec spec(const std::string& name, int depth) {
    auto restart = static_cast<Restart>(below(3));
    if (depth > 0 && below(3) == 0) {
      supervisors_.push_back(name);
      return world_.subtree(config(name, depth - 1), restart);
    }
    children_.push_back(name);
    if (below(3) == 0)
      world_.chronicle->stubborn.insert(name);
    return world_.child(name, restart, milliseconds(below(4) * 100));
  }

  caf::actor any_supervisor() {
    if (!supervisors_.empty() && below(2) == 0) {
      auto i =
        world_.chronicle->newest.find(supervisors_[below(int(supervisors_.size()))]);
      if (i != world_.chronicle->newest.end())
        return i->second; // Perhaps a dead one.
    }
    return root_;
  }

  template <class Message>
  void ask(Message message) {
    answers_.push_back(world_.ask(any_supervisor(), std::move(message)));
  }

  void act() {
    auto any =
      children_.empty() ? std::string("nobody") : children_[below(int(children_.size()))];
    auto actor = world_.chronicle->newest.find(any);
    auto has = actor != world_.chronicle->newest.end();
    switch (below(14)) {
    case 0:
    case 1:
    case 2:
    case 3:
      if (has)
        world_.send_end(any, static_cast<ExitKind>(below(5)), std::to_string(below(9)));
      break;
    case 4:
      if (has) {
        kills_ += world_.chronicle->alive[any] > 0 ? 1 : 0;
        caf::anon_send_exit(actor->second, caf::exit_reason::kill);
      }
      break;
    case 5:
    case 6:
      // Each supervisor has names of its own, so that a name is alive at most once in the
      // tree.
      if (auto name = "n" + std::to_string(below(4));
          root_names_.insert(name).second || below(2))
        answers_.push_back(world_.ask(root_, StartChild{spec(name, 0)}));
      break;
    case 7:
      ask(StopChild{any});
      break;
    case 8:
      world_.chronicle->failing_starts[any] = below(3);
      break;
    case 9:
      ask(ForgiveFailures{});
      break;
    case 10:
      ask(ListChildren{});
      break;
    case 11:
      if (below(6) == 0)
        ask(StopSupervisor{});
      else if (below(6) == 0)
        caf::anon_send_exit(any_supervisor(), caf::exit_reason::user_shutdown);
      else if (below(6) == 0)
        caf::anon_send_exit(any_supervisor(), caf::exit_reason::kill);
      else if (has && world_.chronicle->alive[any] == 0) // A second or late message.
        caf::anon_send(root_, caf::down_msg{actor->second.address(), {}});
      break;
    default:
      world_.scheduler().advance_time(milliseconds(below(400)));
    }
  }

  /// A root that ended normally has no child, even if the scheduler has work left.
  void check_the_dead() {
    auto end = world_.end_of(root_);
    if (end && *end != caf::exit_reason::kill) {
      ASSERT_EQ(world_.living(), "");
    }
  }

  void finish() {
    world_.chronicle->failing_starts.clear();
    answers_.push_back(world_.ask(root_, StopSupervisor{}));
    // Each stop may take a whole stop limit, and waits may take a while; no more than
    // this.
    for (int i = 0; i < 200; ++i)
      world_.advance(milliseconds(100));
    EXPECT_TRUE(world_.end_of(root_));
    EXPECT_EQ(world_.living(), "");
    EXPECT_LE(world_.chronicle->max_alive, 1);
    for (const auto& answer : answers_)
      EXPECT_EQ(answer->count, 1);
  }

  std::mt19937 random_;
  SupervisedWorld world_;
  caf::actor root_;
  std::vector<std::string> children_, supervisors_;
  std::set<std::string> root_names_;
  std::vector<std::shared_ptr<Response>> answers_;
  std::size_t kills_ = 0;
};

TEST(SupervisorHistory, a_supervision_tree_keeps_its_promises_in_every_random_history) {
  unsigned first = 1, last = 4000;
  if (auto* seed = std::getenv("FIBER_TEST_SEED")) // Replays one.
    first = last = static_cast<unsigned>(std::stoul(seed));
  std::size_t kills = 0;
  for (auto seed = first; seed <= last; ++seed) {
    SCOPED_TRACE("FIBER_TEST_SEED=" + std::to_string(seed));
    SupervisorRun history(seed);
    history.play();
    kills += history.kills();
    if (HasFailure())
      return;
  }
  EXPECT_TRUE(kills > 0 || first == last) << "nobody is killed";
}

} // namespace
