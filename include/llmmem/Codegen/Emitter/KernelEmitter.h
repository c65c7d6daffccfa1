//===- KernelEmitter.h - Writing kernels as one would write C -------------===//
//
// A kernel works on flat buffers, computes in one type (f32, or f64 where the op has f64 tensors)
// and rounds where it stores. Vectors have a fixed number of lanes, and reductions a fixed tree, so
// equal operands give equal bits on any machine. As an example, this is all of llm.silu:
//
//   forLanes(e, e.result(0).size, [&](Index i, unsigned lanes) {
//     Num x = e.load(e.operand(0), i, lanes);
//     e.store(e.result(0), i, x / (exp(-x) + 1.0));
//   });
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_CODEGEN_EMITTER_KERNELEMITTER_H
#define LLMMEM_CODEGEN_EMITTER_KERNELEMITTER_H

#include "llmmem/Codegen/Emitter/KernelNumbers.h"
#include "llmmem/Codegen/Emitter/KernelOptions.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include <functional>
#include <memory>

namespace llmmem {

/// Replaces the memory of a value that lives only inside a kernel. Both functions emit code at the
/// insertion point of `builder`, on elements (one, or a vector of lanes) in the value's own element
/// type.
struct BufferAccess {
  std::function<mlir::Value(mlir::OpBuilder &builder, Index first, unsigned lanes)> load;
  std::function<void(mlir::OpBuilder &builder, Index first, mlir::Value elements)> store;
};

/// Holds the elements of one tensor in row-major order: a memref of one dimension, or a
/// `BufferAccess`.
struct Buffer {
  mlir::Value memref;
  int64_t size = 0;
  mlir::Type element;
  const BufferAccess *access = nullptr;
  /// For columns of another tensor, whose memref this is: `pitch` elements lie from one row to the
  /// next, and `begin` before the first row. Only attention reads and writes such columns;
  /// everywhere else both are 0.
  int64_t pitch = 0, begin = 0;

  /// Returns a buffer of `tensor`'s size without memory; `access` must outlive it.
  static Buffer of(mlir::Type tensor, const BufferAccess &access);
  explicit operator bool() const { return memref || access; }
};

class KernelLoops;

/// Returns the type that a kernel computes in: f64 if `op` has f64 tensors, else f32.
mlir::FloatType computeTypeOf(mlir::Operation *op);

/// Has the buffers of a kernel, and emits numbers, loads and stores at an insertion point. Loops.h
/// has the loops.
class KernelEmitter {
public:
  /// Emits at the end of `block`, whose arguments are the buffers of the operands, of the results,
  /// and of the workspace if the op has one.
  KernelEmitter(mlir::Operation *op, mlir::Block *block, KernelOptions options = {});
  /// Emits the loops of an op inside the kernel of others at the insertion point of `outer`, on the
  /// given operands and results.
  KernelEmitter(mlir::Operation *op, KernelEmitter &outer, llvm::ArrayRef<Buffer> operands,
                llvm::ArrayRef<Buffer> results);
  /// Emits single elements of such an op at the insertion point of `builder`.
  KernelEmitter(mlir::Operation *op, const mlir::OpBuilder &builder,
                llvm::ArrayRef<Buffer> operands = {}, llvm::ArrayRef<Buffer> results = {},
                KernelOptions options = {});

  const KernelOptions &options() const { return chosen; }
  KernelLoops &loops() { return *kernelLoops; }

  mlir::OpBuilder &builder() { return nested; }
  mlir::Location location() const { return op->getLoc(); }
  mlir::Operation *operation() const { return op; }
  /// Returns the type that the kernel computes in.
  mlir::FloatType computeType() const { return numberType; }
  /// Returns the lanes of a whole vector.
  unsigned lanes() const { return vectorLanes; }

  //===--------------------------------------------------------------------===//
  // Buffers
  //===--------------------------------------------------------------------===//

  Buffer operand(unsigned number) const { return operands[number]; }
  Buffer result(unsigned number) const { return results[number]; }
  /// Returns all of the workspace, as elements of `computeType`.
  Buffer workspace();
  /// Returns `size` elements of the workspace from byte `begin` on.
  Buffer workspace(int64_t begin, int64_t size, mlir::Type element);
  bool hasWorkspace() const { return entry->getNumArguments() > workspaceNumber; }
  /// Returns an operand by its number, never by its value: equal ops share a kernel even if some of
  /// their operands are the same value. Returns null where an optional operand is left out.
  Buffer operand(mlir::MutableOperandRange range) const;
  /// Allocates scratch on the stack, of `computeType` unless given, once at the kernel's entry;
  /// inside a parallel loop, once for each thread.
  Buffer scratch(int64_t size, mlir::Type element = {});

  //===--------------------------------------------------------------------===//
  // Numbers
  //===--------------------------------------------------------------------===//

  Num number(double constant);
  /// Returns a constant in each of `lanes` lanes, or one number.
  Num splat(double constant, unsigned lanes);
  Num load(Buffer buffer, Index index, unsigned lanes = 1);
  void store(Buffer buffer, Index index, Num x);
  /// Access elements without conversion, for copies and integers.
  mlir::Value loadRaw(Buffer buffer, Index index, unsigned lanes = 1);
  void storeRaw(Buffer buffer, Index index, mlir::Value value);

  Index index(int64_t constant);
  /// Loads an i32 element as an index; the index is below 0 where the element is negative.
  Index loadIndex(Buffer buffer, Index index);

private:
  mlir::Operation *op;
  /// Points to the kernel's block.
  mlir::Block *entry;
  /// Says which argument of the entry is the workspace, if there is one.
  unsigned workspaceNumber;
  KernelOptions chosen;
  mlir::OpBuilder nested;
  llvm::SmallVector<Buffer> operands, results;
  mlir::FloatType numberType;
  std::shared_ptr<KernelLoops> kernelLoops;
  unsigned vectorLanes;
};

/// Returns whether two buffers that coincide or are disjoint are disjoint.
mlir::Value lieApart(KernelEmitter &e, Buffer a, Buffer b);

} // namespace llmmem

#endif // LLMMEM_CODEGEN_EMITTER_KERNELEMITTER_H
