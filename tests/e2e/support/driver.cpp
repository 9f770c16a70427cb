// SPDX-License-Identifier: Apache-2.0
// A driver that tests stop or kill; its argument says what it does.
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <map>
#include <span>
#include <sstream>
#include <string>
#include <thread>

#include <unistd.h>

#include <fiber/fiber.hpp>

#include "tests/e2e/support/notes.hpp"

namespace fiber::e2e {
namespace {

std::size_t work_a_while(std::size_t i) {
  note("runs", std::to_string(i));
  note("clock", std::to_string(std::time(nullptr)));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  return f(i);
}

int work() {
  Pool pool(2);
  auto good = pool.map(work_a_while, indices(200)) == undisturbed(200);
  auto stats = pool.stats();
  std::ostringstream text;
  text << (good ? "good" : "bad") << " lost " << stats.workers_lost << " retries "
       << stats.retries;
  note("driver", text.str());
  return 0;
}

/// The same with a journal; notes each result that it has seen.
int resume() {
  Pool pool(2);
  auto expected = undisturbed(200);
  std::size_t next = 0;
  auto path = std::string(std::getenv("E2E_FOLDER")) + "/journal";
  for (auto value : pool.imap(work_a_while, indices(200), {.journal = path})) {
    if (value != expected.at(next))
      return 1;
    note("seen", std::to_string(next++));
  }
  note("driver", std::to_string(next));
  return 0;
}

std::size_t hold_on(const SharedArray<double>& numbers, std::size_t i) {
  if (numbers.size() != 100000)
    return 0;
  if (fork() == 0) {
    execlp("sleep", "sleep", "1000", nullptr);
    _exit(1);
  }
  note_and_wait("holding");
  return i;
}

/// Never ends. Holds what a session can hold: shared memory, jobs, children of theirs.
int hold() {
  std::vector<double> numbers(100000, 1.5);
  auto shared = share(std::span<const double>(numbers));
  Pool pool(4);
  pool.map(bind(hold_on, shared), indices(4));
  return 0;
}

} // namespace
} // namespace fiber::e2e

int main(int argc, char** argv) {
  auto session = fiber::init(argc, argv);
  const std::map<std::string, int (*)()> programs{{"work", fiber::e2e::work},
                                                  {"resume", fiber::e2e::resume},
                                                  {"hold", fiber::e2e::hold}};
  auto program = programs.find(argc > 1 ? argv[1] : "");
  return program == programs.end() ? 2 : program->second();
}
