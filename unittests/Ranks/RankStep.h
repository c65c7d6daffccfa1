//===- RankStep.h - A step on all ranks of a mesh, as threads ---------------===//
//
// One compiled function, run by every rank on arguments of its own over the transport between
// threads (ThreadTransport.h).
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_UNITTESTS_RANKS_RANKSTEP_H
#define LLMMEM_UNITTESTS_RANKS_RANKSTEP_H

#include "Execution/StepRunner.h"
#include <map>

namespace llmmem::test {

class RankStep {
public:
  /// Null, after a failure of the test, where it cannot be compiled. `module` holds the function,
  /// with its plan if `isPlanned`, and must outlive the step.
  static std::unique_ptr<RankStep> compile(mlir::ModuleOp module, llvm::StringRef function,
                                           bool isPlanned = false);

  /// The results of each rank, from the arguments of each.
  std::vector<std::vector<Numbers>> run(const std::vector<std::vector<Numbers>> &arguments);

  /// The arguments of each rank from those of the whole, by name: a rank has its part of what is
  /// split (`llm.shard`) over all ranks, and a copy of all else.
  std::vector<std::vector<Numbers>> split(const std::map<std::string, Numbers> &whole);

  /// What `run` has given, by name ("loss", and the donated arguments), put together again: parts
  /// side by side; of what is not split each rank must have the same. Names that end in `local` are
  /// left out.
  std::map<std::string, Numbers> join(const std::vector<std::vector<Numbers>> &results,
                                      llvm::StringRef local = "");

  const CompiledStep &step() const { return *compiled; }
  int64_t ranks() const;

private:
  bool isSplit(unsigned argument) { return function.getArgAttr(argument, "llm.shard") != nullptr; }

  mlir::func::FuncOp function;
  std::vector<int64_t> sizes; // of the mesh
  std::unique_ptr<CompiledStep> compiled;
};

} // namespace llmmem::test

#endif // LLMMEM_UNITTESTS_RANKS_RANKSTEP_H
