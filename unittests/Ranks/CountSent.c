/*===- CountSent.c - The bytes that a rank sends, counted at MPI's profiling interface ===*\
|*
|*   mpirun -n 2 -x LD_PRELOAD=libcount-sent.so llmmem-run step.mlir
|*
|* Each rank prints "rank 0 sent 123 bytes" to stderr when it leaves MPI: what its calls hand over
for
|* other ranks, whatever MPI then makes of it.
|*
\*===----------------------------------------------------------------------===*/

#include <mpi.h>
#include <stdio.h>

static long long sent;

static int bytes_of(MPI_Datatype type) {
  int bytes = 0;
  PMPI_Type_size(type, &bytes);
  return bytes;
}

int MPI_Alltoallv(const void *out, const int *counts, const int *offsets, MPI_Datatype type,
                  void *in, const int *in_counts, const int *in_offsets, MPI_Datatype in_type,
                  MPI_Comm group) {
  int rank, size;
  PMPI_Comm_rank(group, &rank);
  PMPI_Comm_size(group, &size);
  for (int to = 0; to < size; ++to)
    if (to != rank)
      sent += (long long)counts[to] * bytes_of(type);
  return PMPI_Alltoallv(out, counts, offsets, type, in, in_counts, in_offsets, in_type, group);
}

int MPI_Allgatherv(const void *out, int count, MPI_Datatype type, void *in, const int *counts,
                   const int *offsets, MPI_Datatype in_type, MPI_Comm group) {
  int rank, size;
  PMPI_Comm_rank(group, &rank);
  PMPI_Comm_size(group, &size);
  sent += (size - 1) * (long long)counts[rank] * bytes_of(in_type);
  return PMPI_Allgatherv(out, count, type, in, counts, offsets, in_type, group);
}

int MPI_Sendrecv(const void *out, int count, MPI_Datatype type, int to, int tag, void *in,
                 int in_count, MPI_Datatype in_type, int from, int in_tag, MPI_Comm group,
                 MPI_Status *status) {
  if (to != MPI_PROC_NULL)
    sent += (long long)count * bytes_of(type);
  return PMPI_Sendrecv(out, count, type, to, tag, in, in_count, in_type, from, in_tag, group,
                       status);
}

int MPI_Isend(const void *out, int count, MPI_Datatype type, int to, int tag, MPI_Comm group,
              MPI_Request *request) {
  if (to != MPI_PROC_NULL)
    sent += (long long)count * bytes_of(type);
  return PMPI_Isend(out, count, type, to, tag, group, request);
}

int MPI_Finalize(void) {
  int rank;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  fprintf(stderr, "rank %d sent %lld bytes\n", rank, sent);
  return PMPI_Finalize();
}
