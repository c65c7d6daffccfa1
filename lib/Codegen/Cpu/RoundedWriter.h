//===- RoundedWriter.h - Rounds activations for integer products ---------===//
//
// Functions for both layouts of B share this code: activations are rounded by groups, and integers
// are stored with their scales in panels of the function's stack.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_CODEGEN_CPU_ROUNDEDWRITER_H
#define LLMMEM_LIB_CODEGEN_CPU_ROUNDEDWRITER_H

#include "FactorB.h"
#include "Integers.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace llmmem::gemm {

/// A word of 16 bits holds the sum of this number of products of i4.
constexpr int64_t kExactTerms = 16;
/// This number of columns of an [out, in] weight is added up together.
constexpr int64_t kRows = 8;

/// Says what a function is emitted for.
struct RowForm {
  int64_t inner, strip, group; // Terms, columns at most, and activations that share a scale.
  bool transposed, initial;
  bool evenGroups; // Rows of B are an even number of groups.
};

/// Emits gemm_TYPE_by_FORMAT_rounded_...(a, b, pitch, initial, c, columns). It has many fields
/// because each is an argument of the function that is emitted.
class RoundedWriter {
public:
  RoundedWriter(Writer &w, const RowForm &form) : w(w), form(form) {}

protected:
  int64_t groups() const { return form.inner / form.group; }
  int64_t vectorsOfGroup() const { return form.group / w.sizes.lanes; }
  bool isNibbles() const { return w.held.hasZeros(); }

  using Factors = llvm::function_ref<Num(int64_t vector)>;
  /// Returns the factors of a group as integers, one vector after another, and stores their scale.
  llvm::SmallVector<Integers> round(Factors factors, Pointer scaleTo);
  Integers nearest(Num x);
  Integers wordsOf(Num x);
  void storeIntegers(Pointer to, Integers x);
  Integers loadIntegers(Pointer from, mlir::Type type);
  mlir::Type i32() { return w.builder.getI32Type(); }
  mlir::Type i16() { return w.builder.getIntegerType(16); }
  mlir::Type i8() { return w.builder.getI8Type(); }

  using Body = llvm::function_ref<llvm::SmallVector<mlir::Value>(Index, mlir::ValueRange carried)>;
  /// Returns the results of a loop from 0 that carries values.
  mlir::ValueRange carry(Index upper, mlir::ValueRange initial, Body body);
  llvm::SmallVector<Integers> integers(mlir::ValueRange values) {
    return llvm::map_to_vector(values, [&](mlir::Value x) { return Integers{&w, x}; });
  }
  llvm::SmallVector<mlir::Value> valuesOf(llvm::ArrayRef<Integers> all) {
    return llvm::map_to_vector(all, [](Integers x) { return x.value; });
  }

  Writer &w;
  RowForm form;
  Pointer a = w.pointer(0, w.element), initial = w.pointer(3, w.element),
          c = w.pointer(4, w.element);
  FactorB b{w, 1};
  Index bPitch = w.index(2), columns = w.index(5);
  /// Counts the groups of columns that have rounded activations of their own.
  int64_t ofColumns = form.transposed ? 1 : form.strip / w.held.group;
  Pointer factors = w.panel(form.transposed ? 1 : form.inner),
          zeroPoints = w.panel(form.transposed || !isNibbles() ? 1 : form.inner);
  Pointer rounded = w.panel(ofColumns * form.inner), scales = w.panel(ofColumns * groups());
  /// For i4, holds what zero points subtract from `kExactTerms` terms each, or sums of rounded
  /// activations.
  Pointer offsets = w.panel(ofColumns * form.inner / kExactTerms);
  Pointer sums = w.panel(form.transposed ? kRows : form.strip),
          exact = w.panel(form.transposed ? groups() * kRows * kRows : form.strip);
};

void writeRoundedRows(Writer &w, const RowForm &form);
void writeRoundedColumns(Writer &w, const RowForm &form);

} // namespace llmmem::gemm

#endif // LLMMEM_LIB_CODEGEN_CPU_ROUNDEDWRITER_H
