// SPDX-License-Identifier: Apache-2.0
// Requests to an actor of another process by CAF's own means: caf::io's remote_actor over
// caf::openssl. Without certificates, so that less is checked than Fiber checks.

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <caf/all.hpp>
#include <caf/io/all.hpp>
#include <caf/openssl/all.hpp>

#include "peers/measurement.hpp"

namespace {

using Sixteen = std::vector<char>;

struct Config : caf::actor_system_config {
  Config() {
    load<caf::io::middleman>();
    load<caf::openssl::manager>();
    // The faster ones of what CAF offers, as measured.
    set("scheduler.policy", caf::atom("sharing"));
    set("middleman.workers", std::size_t{0});
  }
};

caf::behavior echo(caf::event_based_actor*, int) {
  return {[](Sixteen& bytes) { return std::move(bytes); }};
}

[[noreturn]] void serve(int to_client) {
  Config config;
  caf::actor_system system(config);
  auto actor = system.spawn(echo, 0);
  auto port = caf::openssl::publish(actor, 0, "127.0.0.1");
  const std::uint16_t number = port ? *port : 0;
  if (::write(to_client, &number, sizeof number) != sizeof number)
    ::_exit(1);
  for (;;)
    ::pause();
}

void measure(std::uint16_t port) {
  Config config;
  caf::actor_system system(config);
  auto actor = caf::openssl::remote_actor(system, "127.0.0.1", port);
  if (!actor)
    throw std::runtime_error(system.render(actor.error()));
  caf::scoped_actor self(system);
  auto ask = [&](int requests) {
    for (; requests > 0; --requests)
      self->request(*actor, std::chrono::minutes(1), Sixteen(16))
        .receive([](const Sixteen&) {},
                 [&](const caf::error& error) {
                   throw std::runtime_error(system.render(error));
                 });
  };
  constexpr int count = 5000;
  ask(count / 10); // Warm.
  const peers::Stopwatch watch;
  ask(count);
  peers::report("actor_tls", count / watch.seconds(), "round trips/s");
}

} // namespace

int main() {
  int ends[2] = {};
  if (::pipe(ends) != 0)
    throw std::system_error(errno, std::generic_category(), "pipe");
  const auto server = ::fork(); // While there is no thread yet.
  if (server < 0)
    throw std::system_error(errno, std::generic_category(), "fork");
  if (server == 0)
    serve(ends[1]);
  std::uint16_t port = 0;
  auto failed = ::read(ends[0], &port, sizeof port) != sizeof port || port == 0;
  try {
    if (failed)
      throw std::runtime_error("the server could not publish its actor");
    measure(port);
  } catch (const std::exception& error) {
    std::cerr << "caf_remote: " << error.what() << '\n';
    failed = true;
  }
  ::kill(server, SIGKILL);
  ::waitpid(server, nullptr, 0);
  return failed ? 1 : 0;
}
