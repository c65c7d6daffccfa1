//===- KernelLoops.h - The loops of a kernel on each target ---------------===//
//
// On a CPU one thread runs an iteration and goes through its rows in vectors. On a GPU a thread
// group runs an iteration, and each of its threads takes vectors of 128 bits.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_CODEGEN_EMITTER_KERNELLOOPS_H
#define LLMMEM_CODEGEN_EMITTER_KERNELLOOPS_H

#include "llmmem/Codegen/Emitter/Loops.h"

namespace llmmem {

/// Says how a sum or a maximum combines its elements.
struct Reduction {
  double neutral;
  llvm::function_ref<Num(Num, Num)> combine;
  /// Combines all lanes of a vector, in a fixed tree.
  llvm::function_ref<Num(Num)> acrossLanes;
};

/// Emits the loops of Loops.h, whose contracts these functions have.
class KernelLoops {
public:
  using Body = llvm::function_ref<void(Index)>;
  using LanesBody = llvm::function_ref<void(Index, unsigned lanes)>;
  using Term = llvm::function_ref<Num(Index, unsigned lanes)>;
  using Common = llvm::function_ref<Row()>;
  using CommonBody = llvm::function_ref<void(Index, unsigned lanes, llvm::ArrayRef<Num>)>;

  virtual ~KernelLoops() = default;

  /// Returns the lanes of a whole vector where a kernel computes in `computeType`.
  virtual unsigned lanes(mlir::FloatType computeType) const = 0;
  virtual Buffer scratch(KernelEmitter &e, int64_t size, mlir::Type element) = 0;
  virtual void forLanes(KernelEmitter &e, int64_t count, LanesBody body) = 0;
  virtual void forRows(KernelEmitter &e, int64_t rows, RowShape shape, Body body) = 0;
  virtual void forLanesParallel(KernelEmitter &e, int64_t count, Common common,
                                CommonBody body) = 0;
  virtual Num reduce(KernelEmitter &e, int64_t count, Term term, Reduction reduction) = 0;
  /// Emits `store`, of one element, so that one thread of the iteration's thread group runs it.
  virtual void storeOnce(KernelEmitter &e, llvm::function_ref<void()> store) = 0;
};

std::shared_ptr<KernelLoops> makeCpuLoops(mlir::Block *entry);
std::shared_ptr<KernelLoops> makeDeviceLoops(mlir::Operation *op);

} // namespace llmmem

#endif // LLMMEM_CODEGEN_EMITTER_KERNELLOOPS_H
