//===- CapturedCheck.h - Collectives of a captured step --------*- C++ -*-===//

#ifndef LLMMEM_UNITTESTS_RANKS_CAPTUREDCHECK_H
#define LLMMEM_UNITTESTS_RANKS_CAPTUREDCHECK_H

#include "llmmem/Runtime/DeviceRanks.h"
#include <string>

/// Called on every rank of a job whose collectives are the device's: captures a step with sums in
/// turn, started ones and an exchange around the ring of all ranks, replays it with two batches,
/// and compares what the device then holds with the definition. Returns the first difference, or
/// "".
std::string checkCaptured(llmmem_cuda *run, int64_t axes);

#endif // LLMMEM_UNITTESTS_RANKS_CAPTUREDCHECK_H
