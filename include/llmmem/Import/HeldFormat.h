//===- HeldFormat.h - What is held in fewer bits, as flags say it -*- C++ -*-===//
//
//   --weights int4:128    i4 with scales and zero points, in groups of 128 adjacent elements of a
//   row
//   --weights int8        i8 with scales, in groups of 128
//   --kv-cache f8         f8E4M3FN with a scale for each head of a row
//   --activations int8    operands of products by i4 or i8 weights, rounded to i8 in groups of 64
//
// docs/Design/FewerBits.md describes each format.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_IMPORT_HELDFORMAT_H
#define LLMMEM_IMPORT_HELDFORMAT_H

#include "mlir/IR/Builders.h"
#include "llvm/Support/Error.h"

namespace llmmem::importer {

enum class HeldKind { Int4, Int8, F8E4M3, F8E5M2 };

/// Returns int4, int8, f8e4m3 (also read as f8) or f8e5m2.
llvm::StringRef nameOf(HeldKind kind);
mlir::Type elementOf(mlir::Builder &builder, HeldKind kind);

/// Describes how weights are stored: the type of the numbers, and how many adjacent ones share a
/// scale.
struct HeldFormat {
  static constexpr int64_t kDefaultGroup = 128;
  HeldKind kind = HeldKind::Int8;
  int64_t group = kDefaultGroup;

  bool hasZeros() const { return kind == HeldKind::Int4; }
  std::string text() const;
};

/// Reads the value of --weights: a type, or a type and a group. The error names the flag.
llvm::Expected<HeldFormat> readWeightFormat(llvm::StringRef text);
/// Reads the value of --kv-cache: a type of 8 bits.
llvm::Expected<HeldKind> readCacheFormat(llvm::StringRef text);
/// Reads the value of --activations: int8, or int8:G, where G elements share a scale.
llvm::Expected<int64_t> readActivationGroup(llvm::StringRef text);

} // namespace llmmem::importer

#endif // LLMMEM_IMPORT_HELDFORMAT_H
