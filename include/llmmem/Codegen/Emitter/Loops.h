//===- Loops.h - Loops and branches of kernels -----------------------------===//
//
// The formulas of a kernel are the same on every target, but its loops differ (KernelLoops.h). A
// kernel that is written with these loops runs on all of them.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_CODEGEN_EMITTER_LOOPS_H
#define LLMMEM_CODEGEN_EMITTER_LOOPS_H

#include "llmmem/Codegen/Emitter/KernelEmitter.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace llmmem {

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

void forEach(KernelEmitter &e, Index lower, Index upper, llvm::function_ref<void(Index)> body);
void forEach(KernelEmitter &e, int64_t count, llvm::function_ref<void(Index)> body);
/// Runs `body` for lower, lower + step, lower + 2 step, ... below upper.
void forSteps(KernelEmitter &e, Index lower, Index upper, int64_t step,
              llvm::function_ref<void(Index)> body);
/// Runs `body` for 0 to count in steps of whole vectors, then one by one.
void forLanes(KernelEmitter &e, int64_t count,
              llvm::function_ref<void(Index, unsigned lanes)> body);
/// Distributes the iterations of forEach over threads. No iteration may access a byte that another
/// writes, so any number of threads gives the same bits. The loop is sequential where the op is too
/// small to profit, and inside another parallel loop.
void forEachParallel(KernelEmitter &e, int64_t count, llvm::function_ref<void(Index)> body);
/// Acts as forEachParallel over rows. On a GPU a thread group runs an iteration: forLanes, sumOver
/// and maximumOver distribute their vectors over its threads, and one thread makes the stores
/// outside of forLanes.
void forRows(KernelEmitter &e, int64_t rows, RowShape shape, llvm::function_ref<void(Index)> body);
/// Acts as forLanes with pieces of a fixed length distributed over threads.
void forLanesParallel(KernelEmitter &e, int64_t count,
                      llvm::function_ref<void(Index, unsigned lanes)> body);
/// Does the same with values common to all iterations, computed once (on a GPU once a block).
void forLanesParallel(
    KernelEmitter &e, int64_t count, llvm::function_ref<Row()> common,
    llvm::function_ref<void(Index, unsigned lanes, llvm::ArrayRef<Num> common)> body);
/// Emits a loop with carried values and returns the last ones.
Row fold(KernelEmitter &e, Index lower, Index upper, llvm::ArrayRef<Num> initial,
         llvm::function_ref<Row(Index, llvm::ArrayRef<Num>)> body);
Row foldSteps(KernelEmitter &e, Index lower, Index upper, int64_t step, llvm::ArrayRef<Num> initial,
              llvm::function_ref<Row(Index, llvm::ArrayRef<Num>)> body);
/// Return the sum and the maximum of `count` terms. The order in which they are combined depends on
/// the shapes and types of the op, the row, and the target alone, which an op and its clones share
/// (`reduce` of Cpu/CpuLoops.cpp and Gpu/DeviceLoops.cpp).
Num sumOver(KernelEmitter &e, int64_t count, llvm::function_ref<Num(Index, unsigned lanes)> term);
Num maximumOver(KernelEmitter &e, int64_t count,
                llvm::function_ref<Num(Index, unsigned lanes)> term);
void ifThen(KernelEmitter &e, mlir::Value condition, llvm::function_ref<void()> then);
/// Returns the values of `then` where the condition holds, else `otherwise`.
Row chooseIf(KernelEmitter &e, mlir::Value condition, llvm::ArrayRef<Num> otherwise,
             llvm::function_ref<Row()> then);

} // namespace llmmem

#endif // LLMMEM_CODEGEN_EMITTER_LOOPS_H
