//===- RankStep.h - A step on all ranks of a mesh, as threads ---------------===//
//
// One compiled function, or one for each stage of a pipeline, run by every rank on arguments of its
// own over the transport between threads (ThreadTransport.h).
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_UNITTESTS_RANKS_RANKSTEP_H
#define LLMMEM_UNITTESTS_RANKS_RANKSTEP_H

#include "Execution/StepRunner.h"
#include <map>

namespace llmmem::test {

class RankStep {
public:
  /// Returns the compiled step, and null, after a failure of the test, where it cannot be compiled.
  /// `module` holds the function, or the step where it has no name, with its plan if `isPlanned`,
  /// and must outlive this. `poison`: dead bytes are filled.
  static std::unique_ptr<RankStep> compile(mlir::ModuleOp module, llvm::StringRef name,
                                           bool isPlanned = false, bool poison = false);

  /// The results of each rank, from the arguments of each.
  std::vector<std::vector<Numbers>> run(const std::vector<std::vector<Numbers>> &arguments);

  /// The arguments of each rank from those of the whole, by name: a rank has its part of what is
  /// split (`llm.sharding`, `llm.shard`), with zeros as padding, and a copy of all else.
  std::vector<std::vector<Numbers>> split(const std::map<std::string, Numbers> &whole);

  /// What `run` has given, by name ("loss", "dropped_choices" where that is counted, and the
  /// donated arguments), put together again. Ranks that have the same part must have the same
  /// numbers, and zeros as padding; stages have what they have. Names that end in `local` are left
  /// out.
  std::map<std::string, Numbers> join(const std::vector<std::vector<Numbers>> &results,
                                      llvm::StringRef local = "");

  /// This is that of the first stage, where there are several.
  const CompiledStep &step() const { return *compiled.front(); }
  int64_t ranks() const;

private:
  /// The position of a rank in the group of these axes.
  int64_t positionOf(int64_t rank, int64_t axes) const;
  int64_t stageOf(int64_t rank) const;
  const CompiledStep &stepOf(int64_t rank) const { return *compiled[stageOf(rank)]; }

  llvm::SmallVector<mlir::func::FuncOp> functions;
  std::optional<unsigned> stages; // the mesh's axis pp, where each of its ranks has a function
  std::vector<int64_t> sizes;     // of the mesh
  std::vector<std::unique_ptr<CompiledStep>> compiled;
};

} // namespace llmmem::test

#endif // LLMMEM_UNITTESTS_RANKS_RANKSTEP_H
