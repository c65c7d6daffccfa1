//===- StepRoles.h - What the buffers of a training step are ---------------===//

#ifndef LLMMEM_EXECUTION_STEPROLES_H
#define LLMMEM_EXECUTION_STEPROLES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/Error.h"

namespace llmmem {

/// Argument numbers of a training step, found by `llm.role`, `llm.name` and the update ops.
struct StepRoles {
  struct Parameter {
    std::string name;
    unsigned argument = 0;
    std::optional<unsigned> master;   // its copy in f32
    std::optional<unsigned> gradient; // resident: an argument
    bool frozen = false;              // read and never updated
    /// Of one that is held in fewer bits (include/llmmem/Dialect/FewerBits.h).
    std::optional<unsigned> scales = std::nullopt, zeros = std::nullopt;
    /// All that hold it.
    llvm::SmallVector<unsigned, 3> arguments() const {
      llvm::SmallVector<unsigned, 3> all = {argument};
      for (std::optional<unsigned> beside : {scales, zeros})
        if (beside)
          all.push_back(*beside);
      return all;
    }
  };

  /// Targets are predicted from the ids before them, labels in their own place, or of a whole image
  /// of `pixels`; positions are those
  /// in sequences that are packed into rows.
  std::optional<unsigned> ids, pixels, targets, labels, positions, seed, learningRate, step,
      microBatch;
  /// Of a step with caches: tokens in them, new ones, and the table of pages.
  std::optional<unsigned> lengths, counts, pages;
  llvm::SmallVector<Parameter> parameters;
  llvm::SmallVector<unsigned> gradients;
  llvm::SmallVector<unsigned> states; // of the optimizer, masters among them
  llvm::SmallVector<unsigned> caches;
  /// Rows of the table that the ids are looked up in.
  int64_t vocabulary = 0;
  /// Of labels that a decoder behind an encoder predicts, in rows of their own: those of a row;
  /// else 0.
  int64_t labelSeq = 0;
  /// Of a step of images: what a label may be.
  int64_t classes = 0;

  /// Fails where a step that is to write text samples a dropout, which inference has none of.
  llvm::Error checkWritesText() const;

  /// Fails if a step cannot be fed: it has neither ids nor pixels, in no stage of a pipeline, or an
  /// unknown input.
  static llvm::Expected<StepRoles> find(mlir::func::FuncOp step);
};

} // namespace llmmem

#endif // LLMMEM_EXECUTION_STEPROLES_H
