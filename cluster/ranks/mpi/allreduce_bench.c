/*
 * What `deno task bench:ranks` compares with: MPI_Allreduce of floats in place, called from C.
 * Arguments: the number of rounds, then numbers of values. The first rank prints JSON: for each
 * number of values the seconds of the rounds.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  int rank, rounds = atoi(argv[1]), sizes = argc - 2;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  double *seconds = malloc(sizeof(double) * rounds * sizes);
  float **values = malloc(sizeof(float *) * sizes);
  for (int s = 0; s < sizes; s++) {
    int count = atoi(argv[2 + s]);
    values[s] = malloc(sizeof(float) * count);
    for (int i = 0; i < count; i++) values[s][i] = 1;
  }
  /* The first round is not counted. */
  for (int round = -1; round < rounds; round++) {
    for (int s = 0; s < sizes; s++) {
      MPI_Barrier(MPI_COMM_WORLD);
      double begin = MPI_Wtime();
      MPI_Allreduce(MPI_IN_PLACE, values[s], atoi(argv[2 + s]), MPI_FLOAT, MPI_SUM,
                    MPI_COMM_WORLD);
      if (round >= 0) seconds[s * rounds + round] = MPI_Wtime() - begin;
    }
  }
  if (rank == 0) {
    printf("{");
    for (int s = 0; s < sizes; s++) {
      printf("%s\"%s\":[", s ? "," : "", argv[2 + s]);
      for (int r = 0; r < rounds; r++) printf("%s%.9f", r ? "," : "", seconds[s * rounds + r]);
      printf("]");
    }
    printf("}\n");
  }
  MPI_Finalize();
  return 0;
}
