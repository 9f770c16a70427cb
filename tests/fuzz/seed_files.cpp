// SPDX-License-Identifier: Apache-2.0
// Gives libFuzzer the target's own valid inputs: with FUZZ_SEEDS=FOLDER the program
// writes them there, each to a file, and ends.

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

#include "tests/fuzz/target.hpp"

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  const auto* folder = std::getenv("FUZZ_SEEDS");
  if (folder == nullptr)
    return 0;
  std::size_t number = 0;
  for (const auto& seed : fiber::fuzz::seeds()) {
    std::ofstream file(std::string(folder) + "/seed-" + std::to_string(number++),
                       std::ios::binary);
    if (!(file << seed)) {
      std::cerr << "can't write into " << folder << "\n";
      std::exit(1);
    }
  }
  std::exit(0);
}
