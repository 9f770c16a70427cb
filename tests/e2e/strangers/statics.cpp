// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

#include <fiber/fiber.hpp>

#include "tests/e2e/strangers/strangers.hpp"

namespace fiber::strangers {
namespace {

bool work(Handles& handles) {
  handles.queue.put(1);
  handles.lock.lock();
  handles.checkpoint.save(7);
  handles.process.start();
  return works(handles.pool) && handles.future.get() == 42 && handles.queue.get() == 1 &&
         handles.object.call<&Counter::next>() == 1 &&
         handles.child.call<&Counter::next>() == 1 && handles.ring.run().size() == 1 &&
         handles.checkpoint.load<int>() == 7 && handles.process.pid() > 0;
}

// Destroyed in the opposite order of these lines.
std::optional<Handles> older_handles;
std::optional<Session> older_session;
std::optional<Handles> younger_handles;

Session& session_of_a_function(int argc, char** argv) {
  static Session session = init(argc, argv);
  return session;
}
[[noreturn]] void leave(int code) {
  const auto local = std::make_unique<Pool>(1); // Is not destroyed.
  local->apply(twice, 1);
  std::exit(code);
}

} // namespace

int keeps_all_in_statics(int argc, char** argv, const std::string& way) {
  if (way == "function")
    session_of_a_function(argc, argv);
  else
    older_session.emplace(init(argc, argv));
  older_handles.emplace();
  younger_handles.emplace();
  const auto code = say(work(*older_handles) && work(*younger_handles));
  if (way == "exit")
    leave(code);
  return code;
}

} // namespace fiber::strangers
