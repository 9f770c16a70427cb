// SPDX-License-Identifier: Apache-2.0
#include "actors/core/chaos.hpp"

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <sstream>

#include <sys/wait.h>
#include <unistd.h>

#include "fiber/detail/classic_locale.hpp"

namespace fiber::actors {
namespace {

/// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// Maps `x` to a number of at least 0 and less than 1.
double unit(std::uint64_t x) {
  return static_cast<double>(x >> 11) * 0x1p-53;
}

template <class T>
bool read(const std::string& text, T& value) {
  auto end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && rest == end;
}

} // namespace

std::optional<Chaos> Chaos::parse(const std::string& text) {
  Chaos chaos;
  fiber::detail::Classic<std::istringstream> parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    auto equals = part.find('=');
    if (equals == part.npos)
      return std::nullopt;
    auto key = part.substr(0, equals), value = part.substr(equals + 1);
    auto good = key == "kill"    ? read(value, chaos.kill)
                : key == "stall" ? read(value, chaos.stall)
                                 : key == "seed" && read(value, chaos.seed);
    if (!good)
      return std::nullopt;
  }
  // The negation also refuses NaN.
  if (!(chaos.kill >= 0 && chaos.stall >= 0 && chaos.kill + chaos.stall <= 1))
    return std::nullopt;
  return chaos;
}

Chaos::Draw Chaos::draw(std::uint64_t call, std::uint64_t index, int attempt) const {
  auto bits =
    mix(mix(mix(mix(seed) ^ call) ^ index) ^ static_cast<std::uint64_t>(attempt));
  auto drawn = unit(bits);
  if (drawn < kill)
    return {Fate::kill, 0};
  if (drawn < kill + stall)
    return {Fate::stall, 0.5 + unit(mix(bits))};
  return {};
}

void kill_this_process() {
  kill(getpid(), SIGKILL);
}

void stall_this_process(std::chrono::nanoseconds length) {
  auto stalled = getpid();
  timespec left{static_cast<time_t>(length.count() / 1'000'000'000),
                static_cast<long>(length.count() % 1'000'000'000)};
  auto waker = fork(); // A stopped process can't wake itself.
  if (waker == 0) {
    while (nanosleep(&left, &left) != 0)
      ;
    kill(stalled, SIGCONT);
    _exit(EXIT_SUCCESS);
  }
  if (waker < 0)
    return;
  kill(stalled, SIGSTOP);
  while (waitpid(waker, nullptr, 0) < 0 && errno == EINTR)
    ;
}

} // namespace fiber::actors
