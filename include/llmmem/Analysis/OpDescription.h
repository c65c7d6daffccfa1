//===- OpDescription.h - What an op table says about one op ----------------===//
//
// An op table speaks of names; this file says what it means for an op of given types and
// attributes: its FLOPs, bytes and scratch bytes, and what its results are views of and may
// overwrite.
//
// Example: "stablehlo.dot_general" of 128x768 with 768x3072, contracting 768, has
// 2 * 128 * 3072 * 768 = 603,979,776 FLOPs and, in f32, 11,403,264 bytes.
//
// A loop is one op. Its body runs in the order of its text as often as its condition counts. The
// cost is that of all rounds, and the scratch bytes are the most that one round holds in addition
// to the values that it carries. A loop whose rounds cannot be counted is refused.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_ANALYSIS_OPDESCRIPTION_H
#define LLMMEM_ANALYSIS_OPDESCRIPTION_H

#include "llmmem/Analysis/OpTable.h"
#include "mlir/IR/OpDefinition.h"

namespace llmmem {

struct OpDescription {
  int64_t flops = 0;
  int64_t bytesMoved = 0;
  int64_t workspace = 0;
  int64_t messages = 0, bytesSent = 0; // to other devices, one after another
  bool isPure = true;
  bool isConstant = false;
  llvm::SmallVector<int64_t> views;                      // by result; -1: bytes of its own
  llvm::SmallVector<llvm::SmallVector<int64_t>> inPlace; // by result: operands
};

/// Names the attribute that says what a run of an op sends to other devices: messages, and bytes.
/// Its time depends on the device's links, so it is not in `llm.cost`.
inline constexpr llvm::StringLiteral kTransferAttribute = "llmmem.transfer";

/// Returns what `entry` says about `op`, whose types have bytes. `table` describes the ops of its
/// regions. Fails after a located diagnostic that says what to do.
llvm::FailureOr<OpDescription> describeOp(mlir::Operation *op, const OpTableEntry &entry,
                                          const OpTable &table);

/// Returns how often a loop of StableHLO's form runs: its condition compares a carried number with
/// a constant, its body adds a constant to it, and it starts from a constant. Returns none for
/// other loops.
std::optional<int64_t> countRounds(mlir::Operation *loop);

} // namespace llmmem

#endif // LLMMEM_ANALYSIS_OPDESCRIPTION_H
