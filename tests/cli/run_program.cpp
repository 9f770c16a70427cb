// SPDX-License-Identifier: Apache-2.0
// Not a test: a program that `fiber run` starts in the tests. `sum N` adds on a pool,
// `env NAME` prints a variable, `read FILE` or `read -` prints what it reads, `exit
// CODE`, `err TEXT` writes to stderr, `umask NAME` prints with NAME which permissions new
// files of the driver and of a worker lack, `wait` waits for a signal while a worker
// lives; `leave` does so after a task of its worker has started a program that outlives
// it; `stubborn` does not end at SIGINT, and its worker need not start; `deaf` says at
// SIGINT that it was asked, and ends at SIGKILL only.
#include <fiber/fiber.hpp>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

namespace {

long twice(long x) {
  return 2 * x;
}

int mask_of_files(int) {
  auto mask = ::umask(0);
  ::umask(mask);
  return static_cast<int>(mask);
}

/// Starts a program in a session of its own, to which no signal of the worker's gets.
int leave(long) {
  auto child = ::fork();
  if (child == 0) {
    ::setsid();
    ::execlp("sleep", "sleep", "600", nullptr);
    ::_exit(127);
  }
  return child > 0 ? 0 : 1;
}

int play(const std::string& what, const std::string& word) {
  if (what == "sum") {
    fiber::Pool pool(2);
    long sum = 0;
    for (long y : pool.map(twice, std::vector<long>(std::stoul(word), 21)))
      sum += y;
    std::cout << "sum " << sum << std::endl;
  } else if (what == "env") {
    const char* value = std::getenv(word.c_str());
    std::cout << word << "=" << (value == nullptr ? "(none)" : value) << std::endl;
  } else if (what == "read") {
    if (word == "-")
      std::cout << std::cin.rdbuf() << std::flush;
    else
      std::cout << std::ifstream(word).rdbuf() << std::flush;
  } else if (what == "err") {
    std::cerr << word << std::endl;
  } else if (what == "exit") {
    return std::stoi(word);
  } else if (what == "umask") {
    fiber::Pool pool(1);
    std::cout << word << " " << std::oct << mask_of_files(0) << " "
              << pool.apply(mask_of_files, 0) << std::endl;
  } else if (what == "wait") {
    fiber::Pool pool(1);
    std::cout << "waiting " << pool.apply(twice, 1) << std::endl;
    for (;;)
      ::pause();
  } else if (what == "leave") {
    fiber::Pool pool(1);
    std::cout << (pool.apply(leave, 1L) == 0 ? "has left" : "can't fork") << std::endl;
    for (;;)
      ::pause();
  } else if (what == "stubborn") {
    ::signal(SIGINT, SIG_IGN);
    auto worker = fiber::async(twice, 1L);
    std::cout << "waiting" << std::endl;
    worker.get();
  } else if (what == "deaf") {
    ::signal(SIGINT,
             [](int) { static_cast<void>(::write(STDOUT_FILENO, "asked\n", 6)); });
    ::signal(SIGTERM, SIG_IGN);
    fiber::Pool pool(1);
    std::cout << "waiting " << pool.apply(twice, 1L) << std::endl;
    for (;;)
      ::pause();
  }
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  return fiber::main_guard([&] {
    auto session = fiber::init(argc, argv);
    int code = 0;
    for (int i = 1; i + 1 < argc && code == 0; i += 2)
      code = play(argv[i], argv[i + 1]);
    return code;
  });
}
