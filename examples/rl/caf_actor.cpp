// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <csignal>
#include <iostream>
#include <optional>
#include <string>

#include <unistd.h>

#include <fiber/actor.hpp>
#include <fiber/session.hpp>

// An actor of CAF, here and in a job, which is then killed: one line differs.

using namespace std::chrono_literals;

CAF_BEGIN_TYPE_ID_BLOCK(bank, caf::first_custom_type_id)
CAF_ADD_ATOM(bank, bank, pid_atom, "pid")
CAF_END_TYPE_ID_BLOCK(bank)
FIBER_MESSAGE(bank::pid_atom) // Needed with CAF 0.18, where atoms are types like others.

using bank::pid_atom, bank::pid_atom_v;
using caf::add_atom, caf::add_atom_v;

struct Account {
  int sum = 0;
};

caf::behavior account(caf::stateful_actor<Account>* self, int sum) {
  self->state.sum = sum;
  return {[=](add_atom, int x) { return self->state.sum += x; },
          [](pid_atom) { return static_cast<int>(getpid()); }};
}

/// What `actor` answers, and nothing if that is an error.
template <class... Args>
std::optional<int> ask(const caf::actor& actor, Args... args) {
  std::optional<int> answer;
  caf::scoped_actor self{fiber::actor_system()};
  self->request(actor, 1min, args...)
    .receive([&](int x) { answer = x; }, [](const caf::error&) {});
  return answer;
}

void show(const std::string& what, const caf::actor& actor) {
  auto same = ask(actor, pid_atom_v) == static_cast<int>(getpid());
  std::cout << what << " has " << ask(actor, add_atom_v, 2).value_or(-1) << ", in "
            << (same ? "this" : "another") << " process\n";
}

int main(int argc, char** argv) {
  auto session = fiber::init(argc, argv);
  auto local = fiber::actor_system().spawn(account, 40);
  auto remote = fiber::spawn<account>({}, 40); // The line.
  show("the local one", local);
  show("the remote one", remote);

  auto pid = ask(remote, pid_atom_v);
  kill(*pid, SIGKILL);
  while (ask(remote, pid_atom_v).value_or(*pid) == *pid)
    continue; // A request that was under way is answered with an error.
  show("the remote one, started again,", remote);
}
