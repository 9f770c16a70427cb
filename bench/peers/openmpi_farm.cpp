// SPDX-License-Identifier: Apache-2.0
// A task farm on OpenMPI: rank 0 deals tasks to the other ranks and receives their
// answers. Started plainly, it starts itself with mpirun, over shared memory or over TCP.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>

#include <mpi.h>

#include "peers/measurement.hpp"
#include "peers/mpirun.hpp"

namespace {

struct Task {
  double sleep = 0; ///< In seconds; less than zero ends the worker.
  std::uint64_t id = 0;
};
static_assert(sizeof(Task) == 16);

constexpr int tag = 1;

void send(const Task& task, int to) {
  MPI_Send(&task, sizeof task, MPI_BYTE, to, tag, MPI_COMM_WORLD);
}

/// Returns who sent it.
int receive(Task& task, int from) {
  MPI_Status status;
  MPI_Recv(&task, sizeof task, MPI_BYTE, from, tag, MPI_COMM_WORLD, &status);
  return status.MPI_SOURCE;
}

void work() {
  for (Task task;;) {
    receive(task, 0);
    if (task.sleep < 0)
      return;
    if (task.sleep > 0)
      std::this_thread::sleep_for(std::chrono::duration<double>(task.sleep));
    send(task, 0);
  }
}

/// Rank 0 of `workers` + 1.
class Farm {
public:
  explicit Farm(int workers) : workers_(workers) {}
  ~Farm() {
    for (int worker = 1; worker <= workers_; ++worker)
      send({.sleep = -1}, worker);
  }
  Farm(const Farm&) = delete;
  Farm& operator=(const Farm&) = delete;

  /// Deals one after the other to each worker, up to `in_flight` for each; then one more
  /// to whoever has answered.
  void run(double sleep, std::size_t count, std::size_t in_flight) {
    const auto first = std::min(count, in_flight * static_cast<std::size_t>(workers_));
    std::size_t sent = 0;
    for (; sent < first; ++sent)
      send({sleep, sent}, static_cast<int>(sent) % workers_ + 1);
    Task answer;
    for (std::size_t received = 0; received < count; ++received) {
      const int worker = receive(answer, MPI_ANY_SOURCE);
      if (sent < count)
        send({sleep, sent++}, worker);
    }
  }

private:
  int workers_;
};

void measure(const std::string& row, int workers, std::size_t in_flight) {
  Farm farm(workers);
  farm.run(0, 1000, in_flight); // All are connected.
  if (row == "noop_local") {
    const std::size_t count = in_flight == 1 ? 100'000 : 1'000'000;
    const peers::Stopwatch watch;
    farm.run(0, count, in_flight);
    peers::report(row, static_cast<double>(count) / watch.seconds(), "tasks/s");
    return;
  }
  const double sleep = peers::duration_of(row);
  const auto rounds = static_cast<std::size_t>(1.0 / sleep + 0.5);
  const auto each_round = static_cast<std::size_t>(workers);
  const peers::Stopwatch watch;
  if (row.starts_with("overhead_batch_")) {
    farm.run(sleep, rounds * each_round, in_flight);
    peers::report(row, watch.seconds(), "s");
    return;
  }
  for (std::size_t round = 0; round < rounds; ++round)
    farm.run(sleep, each_round, 1);
  peers::report(row, watch.seconds() / static_cast<double>(rounds) * 1e6, "us");
}

int usage() {
  std::cerr << "usage: openmpi_farm shm|tcp IN_FLIGHT ROW\n"
               "  IN_FLIGHT: tasks in flight for each worker\n"
               "  ROW: noop_local, overhead_{batch,lockstep}_{1s,100ms,10ms,1ms,100us}\n";
  return 2;
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 4)
    return usage();
  const std::string transport = argv[1];
  const auto in_flight = std::strtoul(argv[2], nullptr, 10);
  const std::string row = argv[3];
  const bool sleeps =
    row.starts_with("overhead_batch_") || row.starts_with("overhead_lockstep_");
  if ((transport != "shm" && transport != "tcp") || in_flight == 0 ||
      (!sleeps && row != "noop_local"))
    return usage();
  if (!peers::is_rank())
    peers::mpirun(transport, 1 + (sleeps ? 5 : 4), argv);

  MPI_Init(&argc, &argv);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank == 0) {
    peers::report_mpi_version();
    measure(row, size - 1, in_flight);
  } else {
    work();
  }
  MPI_Finalize();
}
