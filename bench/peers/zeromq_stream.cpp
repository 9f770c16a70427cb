// SPDX-License-Identifier: Apache-2.0
// Raw PUSH to PULL on ZeroMQ: one process sends items of 64 bytes, another receives them.

#include <array>
#include <cerrno>
#include <iostream>
#include <string>
#include <system_error>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <zmq.hpp>

#include "peers/measurement.hpp"

namespace {

using Item = std::array<char, 64>;
using Address = std::array<char, 128>;

// So many may wait at either end: 1 MiB, as much as Fiber lets be on its way.
constexpr int high_water = (1 << 20) / sizeof(Item);

[[noreturn]] void produce(int from_consumer) {
  Address address = {};
  if (::read(from_consumer, &address, sizeof address) != sizeof address)
    ::_exit(1);
  zmq::context_t context;
  zmq::socket_t out(context, zmq::socket_type::push);
  out.set(zmq::sockopt::sndhwm, high_water);
  out.connect(address.data());
  for (const Item item = {};;)
    out.send(zmq::buffer(item));
}

/// A process that sends items without end, to whom it is told. Forked while there is no
/// thread yet, killed in the end.
class Producer {
public:
  Producer() {
    int ends[2] = {};
    if (::pipe(ends) != 0)
      throw std::system_error(errno, std::generic_category(), "pipe");
    pid_ = ::fork();
    if (pid_ < 0)
      throw std::system_error(errno, std::generic_category(), "fork");
    if (pid_ == 0)
      produce(ends[0]);
    to_producer_ = ends[1];
  }
  ~Producer() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Producer(const Producer&) = delete;
  Producer& operator=(const Producer&) = delete;

  void tell(const Address& address) {
    if (::write(to_producer_, &address, sizeof address) != sizeof address)
      throw std::system_error(errno, std::generic_category(), "write");
  }

private:
  pid_t pid_ = -1;
  int to_producer_ = -1;
};

void receive(zmq::socket_t& in, std::size_t count) {
  for (Item item; count > 0; --count)
    while (!in.recv(zmq::buffer(item)))
      continue;
}

} // namespace

int main(int argc, char** argv) {
  const std::string transport = argc == 2 ? argv[1] : "";
  if (transport != "ipc" && transport != "tcp") {
    std::cerr << "usage: zeromq_stream ipc|tcp\n";
    return 2;
  }
  const auto [major, minor, patch] = zmq::version();
  peers::report_version("ZeroMQ " + std::to_string(major) + "." + std::to_string(minor) +
                        "." + std::to_string(patch));
  Producer producer;
  zmq::context_t context;
  zmq::socket_t in(context, zmq::socket_type::pull);
  in.set(zmq::sockopt::rcvhwm, high_water);
  in.bind(transport == "tcp" ? "tcp://127.0.0.1:*" // The other one is no file.
                             : "ipc://@fiber_bench." + std::to_string(::getpid()));
  Address address = {};
  in.get(zmq::sockopt::last_endpoint).copy(address.data(), address.size() - 1);
  producer.tell(address);

  constexpr std::size_t count = 2'000'000;
  receive(in, count / 10); // Warm.
  const peers::Stopwatch watch;
  receive(in, count);
  peers::report("simple_queue", static_cast<double>(count) / watch.seconds(), "items/s");
}
