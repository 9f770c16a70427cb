// SPDX-License-Identifier: Apache-2.0
// Ranks of OpenMPI that meet once. For ../ssh.py, which starts them with mpirun.
#include <iostream>

#include <mpi.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0)
    std::cout << "up" << std::endl;
  MPI_Finalize();
}
