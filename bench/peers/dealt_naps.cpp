// SPDX-License-Identifier: Apache-2.0
// What a pool of processes does at least for a map of 100,000 sleeps of 1 ms over 1,024
// workers: each has a socket pair to the driver, which deals CHUNK sleeps in a message.
// Each worker has two messages in hand, so that it need not wait for the driver.
//
//   dealt_naps CHUNK                     messages of four bytes both ways, and nothing
//                                        else: no arguments, no results, no losses
//   dealt_naps CHUNK... promised [LINES] what a pool's promises need besides: see
//                                        promised_naps.hpp

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include "peers/measurement.hpp"
#include "peers/nap_workers.hpp"
#include "peers/promised_naps.hpp"

namespace {

using peers::check;
using peers::NapWorkers;

constexpr int in_hand = 2;

void work(int link) {
  for (std::int32_t naps = 0; ::read(link, &naps, sizeof naps) == sizeof naps;) {
    for (std::int32_t i = 0; i < naps; ++i)
      ::usleep(1000);
    if (::write(link, &naps, sizeof naps) != sizeof naps)
      break;
  }
}

class Driver {
public:
  explicit Driver(std::int32_t chunk) : chunk_(chunk) {}

  void map(std::int32_t naps) {
    to_deal_ = to_come_ = naps;
    for (int i = 0; i < in_hand; ++i)
      for (std::size_t worker = 0; worker < NapWorkers::count; ++worker)
        deal(worker);
    while (to_come_ > 0)
      for (const auto& event : workers_.ready())
        hear(event.data.u64);
  }

private:
  void deal(std::size_t worker) {
    const auto naps = std::min(chunk_, to_deal_);
    if (naps == 0)
      return;
    to_deal_ -= naps;
    check(::write(workers_.link(worker), &naps, sizeof naps) == sizeof naps, "write");
  }

  void hear(std::size_t worker) {
    std::array<std::int32_t, in_hand> replies;
    const auto got = ::read(workers_.link(worker), replies.data(), sizeof replies);
    check(got > 0 && got % static_cast<ssize_t>(sizeof(std::int32_t)) == 0, "read");
    for (std::size_t i = 0; i < static_cast<std::size_t>(got) / sizeof(std::int32_t);
         ++i) {
      to_come_ -= replies[i];
      deal(worker);
    }
  }

  std::int32_t chunk_, to_deal_ = 0, to_come_ = 0;
  NapWorkers workers_{[](int link, std::size_t) { work(link); }};
};

template <class AnyDriver>
void measure(AnyDriver driver) {
  driver.map(10000); // Warm, as Fiber is.
  const peers::Stopwatch watch;
  driver.map(100000);
  peers::report("naps_1024", watch.seconds(), "s");
}

/// Removes the positive numbers at the front of `words` and returns them.
std::vector<std::uint32_t> take_numbers(std::vector<std::string>& words) {
  std::vector<std::uint32_t> numbers;
  for (; !words.empty(); words.erase(words.begin())) {
    const int number = std::atoi(words.front().c_str());
    if (number < 1)
      break;
    numbers.push_back(static_cast<std::uint32_t>(number));
  }
  return numbers;
}

} // namespace

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  auto chunks = take_numbers(words);
  const bool promised = !words.empty() && words.front() == "promised";
  if (promised)
    words.erase(words.begin());
  const auto lines = promised ? take_numbers(words) : std::vector<std::uint32_t>{};
  if (chunks.empty() || (!promised && chunks.size() > 1) || lines.size() > 1 ||
      !words.empty()) {
    std::cerr << "usage: dealt_naps CHUNK | dealt_naps CHUNK... promised [LINES]\n";
    return 2;
  }
  try {
    if (promised)
      measure(peers::PromisedNaps(std::move(chunks), lines.empty() ? 0 : lines[0]));
    else
      measure(Driver(static_cast<std::int32_t>(chunks[0])));
  } catch (const std::exception& error) {
    std::cerr << "dealt_naps: " << error.what() << '\n';
    return 1;
  }
}
