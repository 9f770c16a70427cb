// SPDX-License-Identifier: Apache-2.0
// The row openmp_8: 160 tasks that use OpenMP, on 8 workers. `openmp_bench one` runs them
// with OMP_NUM_THREADS=1, which is what the row is compared with.
#include <chrono>
#include <cstdlib>
#include <numeric>
#include <stdexcept>
#include <string_view>
#include <vector>

#include <fiber/fiber.hpp>

#include "peers/measurement.hpp"
#include "peers/openmp_work.hpp"

namespace {

double work(int task) {
  return openmp_work(task);
}

} // namespace

int main(int argc, char** argv) {
  return fiber::main_guard([&] {
    if (argc == 2 && argv[1] == std::string_view("one"))
      ::setenv("OMP_NUM_THREADS", "1", 1);
    const auto session = fiber::init(argc, argv);
    fiber::Pool pool(8);
    if (!pool.wait_until_workers_up(std::chrono::minutes(1)))
      throw std::runtime_error("the workers are not up after a minute");
    std::vector<int> tasks(160);
    std::iota(tasks.begin(), tasks.end(), 0);
    pool.map(work, tasks, {.chunksize = 1}); // Warm, as the peers are.
    const peers::Stopwatch watch;
    pool.map(work, tasks, {.chunksize = 1});
    peers::report("openmp_8", watch.seconds(), "s");
  });
}
