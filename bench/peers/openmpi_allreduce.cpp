// SPDX-License-Identifier: Apache-2.0
// OpenMPI's allreduce of floats by four ranks. Started plainly, it starts itself with
// mpirun, over shared memory or over TCP.
#include <iostream>
#include <string>
#include <vector>

#include <mpi.h>

#include "allreduce.hpp"
#include "peers/measurement.hpp"
#include "peers/mpirun.hpp"

int main(int argc, char** argv) {
  const std::string transport = argc == 3 ? argv[1] : "";
  const std::string row = argc == 3 ? argv[2] : "";
  if ((transport != "shm" && transport != "tcp") || !row.starts_with("ring_allreduce_")) {
    std::cerr << "usage: openmpi_allreduce shm|tcp ring_allreduce_{4k,1m,64m}\n";
    return 2;
  }
  if (!peers::is_rank())
    peers::mpirun(transport, static_cast<int>(bench::ring_members), argv);

  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::vector<float> values(bench::floats_of(row));
  auto once = [&] {
    MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_FLOAT,
                  MPI_SUM, MPI_COMM_WORLD);
  };
  auto agree = [](int calls) {
    MPI_Bcast(&calls, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return calls;
  };
  const auto rate = bench::calls_per_second(once, agree);
  if (rank == 0) {
    peers::report_mpi_version();
    peers::report(row, rate, "calls/s");
  }
  MPI_Finalize();
}
