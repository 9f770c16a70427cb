// SPDX-License-Identifier: Apache-2.0
// Two actors on the thread pool count, in rounds that a third one starts: "own", each in
// a counter of its own, which it sends along; "shared", both in one plain int.
#include <cstdio>
#include <memory>
#include <string_view>

#include <caf/all.hpp>

#include "fiber/detail/caf/scheduler.hpp"

namespace {

constexpr int rounds = 1000;

struct Counter {
  int value = 0;
};

/// Counts the rounds in what it shares with others, if so, and answers with its own
/// count.
caf::behavior counts(caf::event_based_actor*, const std::shared_ptr<Counter>& counter) {
  return {[counter](int) { return ++counter->value; }};
}

} // namespace

int main(int argc, char** argv) {
  const bool shared = argc > 1 && std::string_view(argv[1]) == "shared";
  caf::actor_system_config config;
  fiber::detail::set_scheduler_threads(config, 2);
  caf::actor_system system(config);
  const auto counter = std::make_shared<Counter>();
  const auto one = system.spawn(counts, counter);
  const auto other = system.spawn(counts, shared ? counter : std::make_shared<Counter>());
  caf::scoped_actor self(system);
  for (int i = 0; i < rounds; ++i) {
    for (const auto& actor : {one, other})
      self->send(actor, i);
    for (int answers = 0; answers < 2; ++answers)
      self->receive([](int) {});
  }
  for (const auto& actor : {one, other})
    self->send_exit(actor, caf::exit_reason::user_shutdown);
  self->wait_for(one, other);
  // What an actor wrote may be read when it is gone.
  std::printf("%d\n", shared ? 0 : counter->value);
}
