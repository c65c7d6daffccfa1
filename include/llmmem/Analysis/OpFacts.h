//===- OpFacts.h - What the attributes of an op or value say ---------------===//
//
// This file declares the one place that reads the names, phases, blocks and costs which
// `annotate-memory` and the importer write.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_ANALYSIS_OPFACTS_H
#define LLMMEM_ANALYSIS_OPFACTS_H

#include "llmmem/Device/DeviceModel.h"
#include "llmmem/Dialect/LlmDialect.h"
#include "llmmem/Planning/Model/Problem.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace llmmem {

planning::Phase getPhase(mlir::Operation *op);
std::optional<int64_t> getBlock(mlir::Operation *op);
/// Returns which of the micro-batches that one function runs `op` belongs to.
std::optional<int64_t> getMicroBatch(mlir::Operation *op);

/// Returns `llm.name` of the value's op, followed by the result's name where the op has several
/// ("h.0.ln_1.mean"); the argument's `llm.name`; else the printed SSA-like "op#result".
std::string getName(mlir::Value value);

/// Returns the argument's `llm.role`, `Input` where there is none.
llm::Role getRole(mlir::BlockArgument argument);

struct OpCost {
  int64_t flops = 0;
  int64_t bytesMoved = 0;
  int64_t ns = 0;
  int64_t workspace = 0;
  int64_t sendingNs = 0; // of `ns`: what is sent to other devices takes
  bool measured = false; // whether `ns` is a measurement of this very kernel
};

/// Returns the cost of one run, by the op's interface, else by its `llm.cost`. Emits a diagnostic
/// that names the fix where it has neither.
llvm::FailureOr<OpCost> getCost(mlir::Operation *op, const DeviceModel &device);

/// Returns `cost` as `llm.cost`.
mlir::Attribute toAttribute(const OpCost &cost, mlir::MLIRContext *context);

/// Returns whether a second run of `op` gives the same bits and has no effect: by its interface,
/// else by its effects, or as it states itself (`llm.pure`).
bool isRecomputable(mlir::Operation *op);

/// Returns whether ranks of other stages of a pipeline, which run other programs, take part in the
/// op. Such ops happen once, in the order of the text.
bool meetsOtherStages(mlir::Operation *op);

} // namespace llmmem

#endif // LLMMEM_ANALYSIS_OPFACTS_H
