//===- Epilogues.h - Matmuls and what follows them as one kernel ----------===//
//
// A matmul can hand each element to an elementwise op before it leaves the registers: nothing is
// written to be read again at once. What that costs is a choice: `gelu(x W + b)` is then computed
// again as a whole, where apart the kept matmul would do. So unlike other groups (GroupKernels.h)
// these are made by the planning pass, which compares the plans with and without.
//
//   unshared   matmuls that nothing but their epilogue reads: the gradient of an activation's
//              input. Nothing is given up.
//   fused      also those that are read again: an activation whose input the backward reads.
//   generated  not only what matrix libraries have (gelu and its gradient), but all elementwise
//              ops: gates, residual sums.
//
// A matmul that a library is to multiply (`llm.library_workspace`) takes what that library
// computes in the same call instead (Targets/LibraryEpilogue.h: residual sums too, gelu with a bias
// alone), and the kernel has its workspace; what `generated` adds to that is a launch. What a
// sum adds is then held while the matmul runs. The gradient of a weight also takes that of the
// bias, the sum over the rows of the same dy, unless all is to be separate.
//
// Example:
//
//   %h = llm.linear %x, %w bias(%b)        %h, %a = llm.kernel(%x, %w, %b) { linear, gelu }
//   %a = llm.gelu %h                  =>
//   %da = llm.linear %dy, %v               %dh = llm.kernel(%dy, %v, %h) { linear, gelu_grad }
//   %dh = llm.gelu_grad %h, %da
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_TRANSFORMS_EPILOGUES_H
#define LLMMEM_TRANSFORMS_EPILOGUES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/CommandLine.h"

namespace llmmem {

/// `Auto` leaves the choice to the planning pass: the cheapest plan decides or, where a GPU's
/// library computes epilogues, the cheapest step before a budget is looked at.
enum class Epilogues { Auto, Separate, Unshared, Fused, Generated };

llvm::StringRef nameOf(Epilogues epilogues);

/// Is a choice as users write it.
struct EpiloguesName {
  Epilogues epilogues;
  llvm::StringLiteral name, meaning;
};

/// Returns every choice, `Auto` first.
llvm::ArrayRef<EpiloguesName> epiloguesNames();

/// Lists the values of an option that names a choice, in the place of `llvm::cl::values`. `Auto` is
/// one where the option belongs to the planning pass.
struct EpiloguesValues {
  bool withAuto;

  template <typename Option>
  void apply(Option &option) const {
    for (const EpiloguesName &choice : epiloguesNames().drop_front(withAuto ? 0 : 1))
      option.getParser().addLiteralOption(choice.name, choice.epilogues, choice.meaning);
  }
};

/// Fuses the epilogues of the matmuls of a straight-line step; returns how many: none where the
/// choice is `Auto` or `Separate`. A matmul is rounded to its own type before the epilogue, so no
/// bit changes, whatever multiplies; but a GPU's library that computes the epilogue too
/// (`llm.library_workspace`) rounds once, after it. Phases and blocks are not mixed, and no value
/// lives longer than before.
int64_t fuseEpilogues(mlir::func::FuncOp step, Epilogues epilogues);

} // namespace llmmem

#endif // LLMMEM_TRANSFORMS_EPILOGUES_H
