//===- RankJob.h - This process among the ranks of its job -----------------===//
//
// A step with a mesh (`llm.mesh`) runs as one process for each rank, which a launcher starts:
//
//   mpirun -n 4 llmmem-run step.mlir
//
// A process that runs a step of one rank joins no job. All functions then describe rank 0 of 1.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_EXECUTION_RANKJOB_H
#define LLMMEM_EXECUTION_RANKJOB_H

#include "llmmem/Execution/Shard.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>
#include <vector>

namespace llmmem {

class RankJob {
public:
  /// Joins the job of the launcher that started this process. Fails on all ranks alike if they are
  /// not those of the mesh. `starts` says whether the step starts collectives, which run on a
  /// thread of their own. `onDevices` says whether its collectives are those of GPUs, for which the
  /// variables of torchrun and SLURM suffice.
  static llvm::Error join(llvm::ArrayRef<int64_t> mesh, bool starts, bool onDevices = false);
  /// Hands the collectives of an emulated step to a NCCL that works on the host's memory.
  static llvm::Error useNccl(const std::string &library);
  /// Ends the process. With code 0 all ranks leave together. With another code all of them end,
  /// although the others need not know the failure. Returns the code.
  static int leave(int code);

  static int64_t rank();
  static int64_t size();
  /// Returns "4 ranks over Open MPI 4.1.4", "4 ranks over sockets, collectives by NCCL 2.28.9", or
  /// "" for one rank.
  static std::string describe();

  /// Returns "Open MPI 4.1.4", "sockets", or "" for one rank.
  static std::string transport();

  /// Returns whether this rank is the first of those that hold the same part: it writes the part.
  /// Stages that share a parameter all write it, with the same bytes.
  static bool isFirstWith(const Shard &shard);

  /// Returns the texts of all ranks in order, of any lengths. All ranks call it.
  static std::vector<std::string> gatherTexts(llvm::StringRef text);
  /// Returns `values` of all ranks in order. All ranks call it with the same number of values.
  static std::vector<int64_t> gather(llvm::ArrayRef<int64_t> values);
};

} // namespace llmmem

#endif // LLMMEM_EXECUTION_RANKJOB_H
