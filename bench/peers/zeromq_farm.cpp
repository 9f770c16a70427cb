// SPDX-License-Identifier: Apache-2.0
// A task farm on ZeroMQ: PUSH to four worker processes over TCP, PULL their answers.
// No-op tasks of 16 bytes, a given number of them in flight for each worker.

#include <array>
#include <cerrno>
#include <cstring>
#include <iostream>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <zmq.hpp>

#include "peers/measurement.hpp"

namespace {

constexpr std::size_t workers = 4;
using Task = std::array<char, 16>;
using Address = std::array<char, 64>;
struct Addresses {
  Address tasks = {};
  Address results = {};
};

void no_limits(zmq::socket_t& socket) {
  socket.set(zmq::sockopt::rcvhwm, 0);
  socket.set(zmq::sockopt::sndhwm, 0);
  socket.set(zmq::sockopt::linger, 0);
}

[[noreturn]] void work(int from_driver) {
  Addresses addresses;
  if (::read(from_driver, &addresses, sizeof addresses) != sizeof addresses)
    ::_exit(1);
  zmq::context_t context;
  zmq::socket_t in(context, zmq::socket_type::pull);
  zmq::socket_t out(context, zmq::socket_type::push);
  no_limits(in);
  no_limits(out);
  in.connect(addresses.tasks.data());
  out.connect(addresses.results.data());
  const auto pid = ::getpid();
  for (Task task;;) {
    if (!in.recv(zmq::buffer(task)))
      continue;
    std::memcpy(task.data(), &pid, sizeof pid); // The answer says who worked.
    out.send(zmq::buffer(task));
  }
}

/// Forks the workers while there is no thread yet, and kills them in the end.
class Workers {
public:
  Workers() {
    int ends[2] = {};
    if (::pipe(ends) != 0)
      throw std::system_error(errno, std::generic_category(), "pipe");
    for (std::size_t i = 0; i < workers; ++i) {
      const auto pid = ::fork();
      if (pid < 0)
        throw std::system_error(errno, std::generic_category(), "fork");
      if (pid == 0)
        work(ends[0]);
      pids_.push_back(pid);
    }
    to_workers_ = ends[1];
  }
  ~Workers() {
    for (pid_t pid : pids_)
      ::kill(pid, SIGKILL);
    for (pid_t pid : pids_)
      ::waitpid(pid, nullptr, 0);
  }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  void tell(const Addresses& addresses) {
    for (std::size_t i = 0; i < workers;
         ++i) // Each reads one; writes this small are whole.
      if (::write(to_workers_, &addresses, sizeof addresses) != sizeof addresses)
        throw std::system_error(errno, std::generic_category(), "write");
  }

private:
  std::vector<pid_t> pids_;
  int to_workers_ = -1;
};

class Farm {
public:
  Farm() {
    no_limits(tasks_);
    no_limits(results_);
    Addresses addresses;
    auto listen = [](zmq::socket_t& socket, Address& address) {
      socket.bind("tcp://127.0.0.1:*");
      socket.get(zmq::sockopt::last_endpoint)
        .copy(address.data(), address.size() - 1); // Not empty, and zero-terminated.
    };
    listen(tasks_, addresses.tasks);
    listen(results_, addresses.results);
    workers_.tell(addresses);
    for (std::set<pid_t> seen; seen.size() < workers;) {
      send();
      seen.insert(receive());
    }
  }

  // With one thread that keeps `in_flight` tasks on their way.
  void run(std::size_t count, std::size_t in_flight) {
    std::size_t sent = 0;
    for (; sent < std::min(count, in_flight); ++sent)
      send();
    for (std::size_t received = 0; received < count; ++received) {
      receive();
      if (sent < count) {
        send();
        ++sent;
      }
    }
  }

  // With one thread that sends all there is while another receives.
  void run_unlimited(std::size_t count) {
    const std::jthread sender([this, count] {
      for (std::size_t i = 0; i < count; ++i)
        send();
    });
    for (std::size_t received = 0; received < count; ++received)
      receive();
  }

private:
  void send() {
    const Task task = {};
    tasks_.send(zmq::buffer(task));
  }
  pid_t receive() {
    Task answer;
    while (!results_.recv(zmq::buffer(answer)))
      continue;
    pid_t pid = 0;
    std::memcpy(&pid, answer.data(), sizeof pid);
    return pid;
  }

  Workers workers_; // First: it forks.
  zmq::context_t context_;
  zmq::socket_t tasks_{context_, zmq::socket_type::push};
  zmq::socket_t results_{context_, zmq::socket_type::pull};
};

} // namespace

int main(int argc, char** argv) {
  const std::string mode = argc == 2 ? argv[1] : "";
  if (mode.empty() ||
      (mode != "unlimited" && std::strtoul(mode.c_str(), nullptr, 10) == 0)) {
    std::cerr
      << "usage: zeromq_farm IN_FLIGHT|unlimited, tasks in flight for each worker\n";
    return 2;
  }
  const auto [major, minor, patch] = zmq::version();
  peers::report_version("ZeroMQ " + std::to_string(major) + "." + std::to_string(minor) +
                        "." + std::to_string(patch));
  Farm farm;
  std::size_t count = 2'000'000;
  const peers::Stopwatch watch;
  if (mode == "unlimited") {
    farm.run_unlimited(count);
  } else {
    const auto in_flight = std::stoul(mode) * workers;
    count = in_flight <= workers ? 50'000 : in_flight < 64 ? 200'000 : 1'000'000;
    farm.run(count, in_flight);
  }
  peers::report("noop_local", static_cast<double>(count) / watch.seconds(), "tasks/s");
}
