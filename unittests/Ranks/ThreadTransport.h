//===- ThreadTransport.h - Ranks that are threads of one process -*- C++ -*-===//
//
// Runs a function as every rank of a job, over a transport that copies memory between threads, so
// that what ranks compute together is tested without MPI.
//
//   runAsRanks({2, 2}, [&](int rank) { llmmem_all_reduce(...); });
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_UNITTESTS_RANKS_THREADTRANSPORT_H
#define LLMMEM_UNITTESTS_RANKS_THREADTRANSPORT_H

#include <cstdint>
#include <functional>
#include <vector>

/// Joins each of the threads to a job whose mesh has `sizes`, and calls `work` there. Each rank
/// computes with one thread.
void runAsRanks(const std::vector<int64_t> &sizes, const std::function<void(int rank)> &work);

#endif // LLMMEM_UNITTESTS_RANKS_THREADTRANSPORT_H
