//===- RankJob.h - This process among the ranks of its job -----------------===//
//
// Steps with a mesh (`llm.mesh`) run as one process for each rank, which a launcher starts:
//
//   mpirun -n 4 llmmem-run step.mlir
//
// A process that runs a step of one rank joins no job; all functions then speak of rank 0 of 1.
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
  /// Joins the job of the launcher that started this process. Fails if its ranks are not those of
  /// the mesh, on all of them alike. `starts`: whether the step starts collectives, which run on a
  /// thread of their own. `onDevices`: whether its collectives are those of GPUs, for which
  /// torchrun's and SLURM's variables suffice.
  static llvm::Error join(llvm::ArrayRef<int64_t> mesh, bool starts, bool onDevices = false);
  /// Hands the collectives of an emulated step to a NCCL on the host's memory.
  static llvm::Error useNccl(const std::string &library);
  /// The end of the process: with 0 all ranks leave together, with another code, which the others
  /// need not know of, all of them end. Returns the code.
  static int leave(int code);

  static int64_t rank();
  static int64_t size();
  /// "4 ranks over Open MPI 4.1.4", "4 ranks over sockets, collectives by NCCL 2.28.9", or "" for
  /// one rank.
  static std::string describe();

  /// "Open MPI 4.1.4", "sockets", or "" for one rank.
  static std::string transport();

  /// Whether of the ranks that hold the same part this one is the first: it writes it. Stages that
  /// share a parameter all write it, and the same bytes.
  static bool isFirstWith(const Shard &shard);

  /// The texts of all ranks in order, of any lengths. All ranks call it.
  static std::vector<std::string> gatherTexts(llvm::StringRef text);
  /// `values` of all ranks in order. All ranks call it with as many.
  static std::vector<int64_t> gather(llvm::ArrayRef<int64_t> values);
};

} // namespace llmmem

#endif // LLMMEM_EXECUTION_RANKJOB_H
