//===- KernelEmitter.h - Writing kernels as one would write C -------------===//
//
// A kernel works on flat buffers, computes in one type (f32, or f64 where the op has f64 tensors)
// and rounds where it stores. Vectors have a fixed number of lanes, and reductions a fixed tree, so
// equal operands give equal bits on any machine. As an example, this is all of llm.silu:
//
//   e.forLanes(e.result(0).size, [&](Index i, unsigned lanes) {
//     Num x = e.load(e.operand(0), i, lanes);
//     e.store(e.result(0), i, x / (exp(-x) + 1.0));
//   });
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_CODEGEN_EMITTER_KERNELEMITTER_H
#define LLMMEM_CODEGEN_EMITTER_KERNELEMITTER_H

#include "llmmem/Codegen/Emitter/KernelOptions.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <functional>
#include <memory>

namespace llmmem {

/// Represents a floating-point value of a kernel: one number, or a vector of lanes. An operation on
/// a vector and a number splats the number.
struct Num {
  mlir::OpBuilder *builder = nullptr;
  mlir::Value value;

  mlir::Type type() const { return value.getType(); }
  /// Returns the same constant in this value's type.
  Num like(double constant) const;
};

Num operator+(Num a, Num b);
Num operator-(Num a, Num b);
Num operator*(Num a, Num b);
Num operator/(Num a, Num b);
Num operator-(Num a);
inline Num operator+(Num a, double b) { return a + a.like(b); }
inline Num operator-(Num a, double b) { return a - a.like(b); }
inline Num operator-(double a, Num b) { return b.like(a) - b; }
inline Num operator*(Num a, double b) { return a * a.like(b); }
inline Num operator/(Num a, double b) { return a / a.like(b); }
inline Num operator/(double a, Num b) { return b.like(a) / b; }
/// Returns a b + c, rounded once.
Num fma(Num a, Num b, Num c);
Num exp(Num x);
Num tanh(Num x);
Num erf(Num x);
Num log(Num x);
Num sqrt(Num x);
Num sin(Num x);
Num cos(Num x);
Num power(Num base, Num exponent);
/// Returns the larger one, or NaN if either is NaN, because NaNs of the fill pattern must
/// propagate.
Num maximum(Num a, Num b);
/// Returns the smaller one, or NaN if either is NaN.
Num minimum(Num a, Num b);
/// Converts `x` to another element type, rounded to nearest even where that is narrower.
Num convert(Num x, mlir::Type element);
/// Returns a where `condition` (one bit, or one for each lane) is set, else b.
Num select(mlir::Value condition, Num a, Num b);
/// Return the sum and the maximum of all lanes, in a fixed tree.
Num sumOfLanes(Num x);
Num maximumOfLanes(Num x);

/// Represents a position or a count, as an MLIR index, or as an integer of fewer bits.
struct Index {
  mlir::OpBuilder *builder = nullptr;
  mlir::Value value;

  Index like(int64_t constant) const;
};

Index operator+(Index a, Index b);
Index operator-(Index a, Index b);
Index operator*(Index a, Index b);
/// Divides numbers that are not negative, rounding down.
Index operator/(Index a, Index b);
Index operator%(Index a, Index b);
inline Index operator+(Index a, int64_t b) { return a + a.like(b); }
inline Index operator-(Index a, int64_t b) { return a - a.like(b); }
inline Index operator*(Index a, int64_t b) { return a * a.like(b); }
inline Index operator/(Index a, int64_t b) { return a / a.like(b); }
inline Index operator%(Index a, int64_t b) { return a % a.like(b); }
inline Index ceilDiv(Index a, Index b) { return (a + (b - 1)) / b; }
inline Index roundUp(Index a, int64_t granule) { return (a + (granule - 1)) / granule * granule; }
Index minimum(Index a, Index b);
Index maximum(Index a, Index b);
mlir::Value equal(Index a, Index b);
mlir::Value less(Index a, Index b);

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

/// Represents a row held in registers: whole vectors, then one vector of the remaining elements.
using Row = llvm::SmallVector<Num>;

/// Says what the iterations of a loop over rows access. A GPU chooses the thread group of an
/// iteration by it.
struct RowShape {
  /// Counts the elements of a row.
  int64_t width;
  /// The places of its vectors are multiples of this and of the lanes before the first vector of a
  /// row, in every buffer. Example: to copy 8 of 12 columns into rows of 8, it is gcd(12, 8) = 4.
  int64_t pitch = width;
  /// An iteration accesses only its own row, which begins `pitch` times its number after the start
  /// of each buffer. Then whole vectors can begin inside the row where its start is not aligned.
  bool isAlone = false;
  /// The thread group is a whole block, whatever the width.
  bool synchronizes = false;
};

class KernelLoops;
struct Reduction;

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
  /// Returns f64 if `op` has f64 tensors, else f32.
  static mlir::FloatType computeTypeOf(mlir::Operation *op);

  //===--------------------------------------------------------------------===//
  // Buffers
  //===--------------------------------------------------------------------===//

  Buffer operand(unsigned number) const { return operands[number]; }
  Buffer result(unsigned number) const { return results[number]; }
  /// Returns all of the workspace, as elements of `computeType`.
  Buffer workspace();
  /// Returns `size` elements of the workspace from byte `begin` on.
  Buffer workspace(int64_t begin, int64_t size, mlir::Type element);
  /// Returns the last bytes of the workspace, which the plan reserved for the op's library matmul;
  /// null if it reserved none.
  mlir::Value libraryWorkspace();
  /// Returns the number of the random stream that the op samples from, as i64.
  mlir::Value stream() const;
  /// Returns an operand by its number, never by its value: equal ops share a kernel even if some of
  /// their operands are the same value.
  Buffer operand(mlir::OpOperand &use) const { return operand(use.getOperandNumber()); }
  /// Returns null where the optional operand is left out.
  Buffer operand(mlir::MutableOperandRange range) const;
  /// Allocates scratch of `computeType` on the stack, once at the kernel's entry; inside a parallel
  /// loop, once for each thread.
  Buffer scratch(int64_t size);
  Buffer scratch(int64_t size, mlir::Type element);
  /// Returns a table of constants.
  Buffer table(llvm::ArrayRef<double> numbers);

  //===--------------------------------------------------------------------===//
  // Numbers
  //===--------------------------------------------------------------------===//

  Num number(double constant);
  /// Returns a constant in each of `lanes` lanes, or one number.
  Num splat(double constant, unsigned lanes);
  Num load(Buffer buffer, Index index, unsigned lanes = 1);
  void store(Buffer buffer, Index index, Num x);
  /// Loads element `index` modulo `period`, for tables that repeat; from element `first` on, if
  /// given.
  Num loadPeriodic(Buffer buffer, Index index, unsigned lanes, int64_t period, Index first = {});
  /// Returns first, first + step, ...: the numbers of `lanes` elements, as i64.
  mlir::Value elementNumbers(Index first, unsigned lanes, int64_t step = 1);
  Row loadRow(Buffer buffer, Index index, int64_t width);
  void storeRow(Buffer buffer, Index index, llvm::ArrayRef<Num> row);
  Row zeroRow(int64_t width);
  /// Returns whether two buffers that coincide or are disjoint are disjoint.
  mlir::Value lieApart(Buffer a, Buffer b);
  /// Access elements without conversion, for copies and integers.
  mlir::Value loadRaw(Buffer buffer, Index index, unsigned lanes = 1);
  void storeRaw(Buffer buffer, Index index, mlir::Value value);

  Index index(int64_t constant);
  /// Loads an i32 element as an index; the index is below 0 where the element is negative.
  Index loadIndex(Buffer buffer, Index index);
  Num toNumber(Index index);

  //===--------------------------------------------------------------------===//
  // Loops
  //===--------------------------------------------------------------------===//

  void forEach(Index lower, Index upper, llvm::function_ref<void(Index)> body);
  void forEach(int64_t count, llvm::function_ref<void(Index)> body);
  /// Runs `body` for lower, lower + step, lower + 2 step, ... below upper.
  void forSteps(Index lower, Index upper, int64_t step, llvm::function_ref<void(Index)> body);
  /// Runs `body` for 0 to count in steps of whole vectors, then one by one.
  void forLanes(int64_t count, llvm::function_ref<void(Index, unsigned lanes)> body);
  /// Distributes the iterations of forEach over threads. No iteration may access a byte that
  /// another writes, so any number of threads gives the same bits. The loop is sequential where the
  /// op is too small to profit, and inside another parallel loop.
  void forEachParallel(int64_t count, llvm::function_ref<void(Index)> body);
  /// Acts as forEachParallel over rows. On a GPU a thread group runs an iteration: forLanes, sum
  /// and maximumOver distribute their vectors over its threads, and one thread makes the stores
  /// outside of forLanes.
  void forRows(int64_t rows, RowShape shape, llvm::function_ref<void(Index)> body);
  /// Acts as forLanes with pieces of a fixed length distributed over threads.
  void forLanesParallel(int64_t count, llvm::function_ref<void(Index, unsigned lanes)> body);
  /// Does the same with values common to all iterations, computed once (on a GPU once a block).
  void forLanesParallel(
      int64_t count, llvm::function_ref<Row()> common,
      llvm::function_ref<void(Index, unsigned lanes, llvm::ArrayRef<Num> common)> body);
  /// Emits a loop with carried values and returns the last ones.
  Row fold(Index lower, Index upper, llvm::ArrayRef<Num> initial,
           llvm::function_ref<Row(Index, llvm::ArrayRef<Num>)> body);
  Row foldSteps(Index lower, Index upper, int64_t step, llvm::ArrayRef<Num> initial,
                llvm::function_ref<Row(Index, llvm::ArrayRef<Num>)> body);
  /// Return the sum and the maximum of `count` terms. The order in which they are combined depends
  /// on the shapes and types of the op, the row, and the target alone, which an op and its clones
  /// share (`reduce` of Cpu/CpuLoops.cpp and Gpu/DeviceLoops.cpp).
  Num sum(int64_t count, llvm::function_ref<Num(Index, unsigned lanes)> term);
  Num maximumOver(int64_t count, llvm::function_ref<Num(Index, unsigned lanes)> term);
  void ifThen(mlir::Value condition, llvm::function_ref<void()> then);
  /// Returns the values of `then` where the condition holds, else `otherwise`.
  Row chooseIf(mlir::Value condition, llvm::ArrayRef<Num> otherwise,
               llvm::function_ref<Row()> then);

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

} // namespace llmmem

#endif // LLMMEM_CODEGEN_EMITTER_KERNELEMITTER_H
