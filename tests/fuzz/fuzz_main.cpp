// SPDX-License-Identifier: Apache-2.0
// The promise: a decoder survives any input. The argument says how many inputs are made
// from the target's own valid ones. A failure prints the number of its input and keeps
// the input in a file.
//
// usage: PROGRAM INPUTS [FILE]    with FILE only this input

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "tests/fuzz/inputs.hpp"
#include "tests/fuzz/target.hpp"

/// There with sanitizers only.
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*)());

namespace fiber::fuzz {
namespace {

std::string current;
std::size_t number = 0;
std::string kept = "fuzz-failure"; ///< The file.

/// Uses what a signal handler may use only.
void keep_current() {
  const int file = ::open(kept.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  static_cast<void>(!::write(file, current.data(), current.size()));
  char text[128];
  const auto n =
    std::snprintf(text, sizeof text, "input %zu broke a promise; it is in the file %s\n",
                  number, kept.c_str());
  static_cast<void>(!::write(STDERR_FILENO, text, static_cast<std::size_t>(n)));
}

void on_signal(int signal) {
  keep_current();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

/// What an input announces must not be allocated: with sanitizers, which reserve much
/// address space, they check that.
void watch() {
  if (__sanitizer_set_death_callback != nullptr)
    return __sanitizer_set_death_callback(keep_current);
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL})
    std::signal(signal, on_signal);
  constexpr rlim_t most = 2ULL << 30;
  const rlimit limit{most, most};
  ::setrlimit(RLIMIT_AS, &limit);
}

void run(const std::string& input) {
  current = input;
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()),
                         input.size());
  ++number;
}

int run_many(std::size_t inputs) {
  Inputs made(seeds(), 1);
  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < inputs; ++i) {
    const auto before = taken;
    run(made.next());
    if (i < made.seeds() && taken == before) {
      std::cerr << "seed " << i << " is not taken: the others do not lead far\n";
      return 1;
    }
  }
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  std::cout << inputs << " inputs from " << made.seeds() << " seeds, " << taken
            << " taken, " << time.count() << " s\n";
  return 0;
}

} // namespace
} // namespace fiber::fuzz

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::cerr << "usage: PROGRAM INPUTS [FILE]\n";
    return 2;
  }
  fiber::fuzz::kept = std::string(program_invocation_short_name) + ".failure";
  fiber::fuzz::watch();
  if (argc == 2)
    return fiber::fuzz::run_many(std::strtoul(argv[1], nullptr, 10));
  std::ifstream file(argv[2], std::ios::binary);
  if (!file) {
    std::cerr << "can't read " << argv[2] << "\n";
    return 2;
  }
  fiber::fuzz::run(std::string(std::istreambuf_iterator<char>(file), {}));
  return 0;
}
