//===- StepRoles.h - What the buffers of a training step are ---------------===//

#ifndef LLMMEM_EXECUTION_STEPROLES_H
#define LLMMEM_EXECUTION_STEPROLES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/Error.h"

namespace llmmem {

/// Holds the argument numbers of a training step, found by `llm.role`, `llm.name` and the update
/// ops. It has many fields because each is a role that an argument may have.
struct StepRoles {
  struct Parameter {
    std::string name;
    unsigned argument = 0;
    std::optional<unsigned> master;   // Its copy in f32.
    std::optional<unsigned> gradient; // Resident: an argument.
    bool frozen = false;              // Read and never updated.
    /// Belong to a parameter in fewer bits (include/llmmem/Dialect/FewerBits.h).
    std::optional<unsigned> scales = std::nullopt, zeros = std::nullopt;
    llvm::SmallVector<unsigned, 3> arguments() const {
      llvm::SmallVector<unsigned, 3> all = {argument};
      for (std::optional<unsigned> extra : {scales, zeros})
        if (extra)
          all.push_back(*extra);
      return all;
    }
  };

  /// Targets are predicted from the previous ids. Labels are predicted at their own places, or for
  /// a whole image of `pixels`. Positions are those within sequences that are packed into rows.
  std::optional<unsigned> ids, pixels, targets, labels, positions, seed, learningRate, step,
      microBatch;
  /// Belong to a step with caches: the numbers of tokens in them, of new ones, and the table of
  /// pages.
  std::optional<unsigned> lengths, counts, pages;
  llvm::SmallVector<Parameter> parameters;
  llvm::SmallVector<unsigned> gradients;
  llvm::SmallVector<unsigned> states; // The states of the optimizer, masters included.
  llvm::SmallVector<unsigned> caches;
  /// Counts the rows of the table that the ids index.
  int64_t vocabulary = 0;
  /// Counts the labels in a row that the decoder of an encoder-decoder predicts, in rows
  /// of their own; else 0.
  int64_t labelSeq = 0;
  /// Counts, for a step of images, the possible labels.
  int64_t classes = 0;

  /// Fails where a step that writes text samples a dropout, which inference does not have.
  llvm::Error checkWritesText() const;

  /// Fails if a step cannot be fed: it has neither ids nor pixels in any stage of a pipeline, or
  /// has an unknown input.
  static llvm::Expected<StepRoles> find(mlir::func::FuncOp step);
};

} // namespace llmmem

#endif // LLMMEM_EXECUTION_STEPROLES_H
