//===- DeviceLoops.h - Loops of kernels on the threads of a GPU -----------===//
//
// A parallel loop is one launch. A thread group runs an iteration of a loop over rows: a warp if
// the row is short, else a block. Elements are distributed in vectors of 128 bits (of the narrowest
// floating-point type that the kernel accesses), thread after thread, so that neighbouring threads
// access neighbouring bytes. Reductions over the group combine the values of its threads in a fixed
// tree of shuffles, and those of warps in workgroup memory, so bits do not depend on the schedule.
// Code outside of forLanes runs on all threads of the group, except for stores, which one of them
// makes.
//
// Example: llm.softmax of rows of 512 bf16 has eight rows in a block of 256 threads, and each
// thread of a warp has two vectors of eight elements.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_CODEGEN_GPU_DEVICELOOPS_H
#define LLMMEM_CODEGEN_GPU_DEVICELOOPS_H

#include "llmmem/Codegen/Emitter/KernelLoops.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace llmmem {

constexpr int64_t kWarp = 32;
constexpr int64_t kBlockThreads = 256;

class DeviceLoops : public KernelLoops {
public:
  explicit DeviceLoops(mlir::Operation *op);

  unsigned lanes(mlir::FloatType) const override { return vectorLanes; }
  Buffer scratch(KernelEmitter &e, int64_t size, mlir::Type element) override;
  void forLanes(KernelEmitter &e, int64_t count, LanesBody body) override;
  void forRows(KernelEmitter &e, int64_t rows, RowShape shape, Body body) override;
  void forLanesParallel(KernelEmitter &e, int64_t count, Common common, CommonBody body) override;
  Num reduce(KernelEmitter &e, int64_t count, Term term, Reduction reduction) override;
  void storeOnce(KernelEmitter &e, llvm::function_ref<void()> store) override;

  //===--------------------------------------------------------------------===//
  // For kernels that are written for a GPU
  //===--------------------------------------------------------------------===//

  using LaunchBody = llvm::function_ref<void(Index block, Index thread)>;
  /// Emits one launch. `body` is emitted once and runs on every thread of every block. Every thread
  /// makes its own stores. A block has `dynamicBytes` of `dynamicWorkgroup`.
  void launch(KernelEmitter &e, int64_t blocks, int64_t threads, LaunchBody body,
              int64_t dynamicBytes = 0);
  /// Emits a launch of one block, all of whose threads run `body`.
  void once(KernelEmitter &e, llvm::function_ref<void()> body);
  /// Returns workgroup memory of the block, inside a launch.
  Buffer workgroup(KernelEmitter &e, int64_t size, mlir::Type element);
  /// Combines `x` of all threads of the group in a fixed tree. All of them get the result.
  Num acrossThreadGroup(KernelEmitter &e, Num x, llvm::function_ref<Num(Num, Num)> combine);
  using Start = llvm::function_ref<Row(unsigned lanes)>;
  using Step = llvm::function_ref<Row(Index, unsigned lanes, llvm::ArrayRef<Num>)>;
  using ReduceLanes = llvm::function_ref<Row(llvm::ArrayRef<Num>)>;
  /// Carries values through this thread's elements of a row: whole vectors from `start` on, whose
  /// lanes are then reduced, and then the remaining elements one by one.
  Row foldOwn(KernelEmitter &e, int64_t count, Start start, Step step, ReduceLanes acrossLanes);
  /// Distributes the elements over the threads of the group. Each makes its own stores.
  void forElements(KernelEmitter &e, int64_t count, Body body);
  /// Sums terms that are not read in vectors.
  Num sumOfElements(KernelEmitter &e, int64_t count, llvm::function_ref<Num(Index)> term);
  /// Computes values, inside a launch, by one thread of the block. All threads get them.
  Row commonNumbers(KernelEmitter &e, Index thread, Common common);
  /// Emits a store that this thread makes.
  void storeRawOwn(KernelEmitter &e, Buffer buffer, Index index, mlir::Value value);
  /// Return this thread's number in its group, and the number of threads of the group.
  Index thread() const { return *threadInGroup; }
  int64_t threadGroupSize() const { return groupThreads; }

private:
  /// Says how the elements [0, count) of an iteration are distributed: `head` single ones,
  /// `vectors` vectors of `lanes` from there, and single ones from `rest` to `count` if `hasRest`.
  struct Distribution {
    std::optional<Index> head;
    Index vectors;
    unsigned lanes;
    Index rest;
    bool hasRest;
  };
  Distribution distribute(KernelEmitter &e, int64_t count);
  /// Describes a vector of a row that this thread takes. Beyond the end of the row `inside` is
  /// false, and `first` is that of the row's last vector.
  struct OwnVector {
    Index first;
    mlir::Value inside; // Null means always.
  };
  struct Portion {
    int64_t count;
    mlir::Block *block; // The block where the indices are computed.
    unsigned lanes;
    llvm::SmallVector<OwnVector> vectors;
  };
  /// Returns null if the vectors are too many to be kept in registers, or some elements are in no
  /// vector.
  const Portion *portionOf(KernelEmitter &e, int64_t count);
  Index firstOfVector(const Distribution &distribute, Index number);
  bool isInThreadGroup() const { return threadInGroup.has_value(); }

  unsigned vectorLanes;
  mlir::gpu::LaunchOp current;
  std::optional<Index> threadInGroup;
  int64_t groupThreads = 0;
  bool inLanes = false;
  RowShape row{0};
  std::optional<Index> rowNumber;
  std::vector<Portion> portions;
};

/// Returns the loops of a kernel whose target is a GPU.
DeviceLoops &deviceLoops(KernelEmitter &e);

//===----------------------------------------------------------------------===//
// Threads of a block, inside a launch
//===----------------------------------------------------------------------===//

/// Returns all of the block's `bytes` (i8) that its launch requests, which may be more than the
/// 48 KiB of `workgroup`.
Buffer dynamicWorkgroup(KernelEmitter &e, int64_t bytes);
/// Returns `size` elements of workgroup memory of bytes (i8), from byte `begin` on.
Buffer partOf(KernelEmitter &e, Buffer bytes, int64_t begin, int64_t size, mlir::Type element);
/// Emits a barrier inside a launch, where control flow is uniform over the block.
void barrier(KernelEmitter &e);
/// Emits a barrier of a kernel whose threads need this number of registers. Without it the
/// assembler would spill some to fit more blocks.
void barrierNeeding(KernelEmitter &e, int32_t registers);
/// Returns, inside a launch, for the threads of a warp, `x` of the thread whose number differs in
/// `distance`, a power of two.
Num exchange(KernelEmitter &e, Num x, int32_t distance);
/// Combines, inside a launch, `x` of each `lanes` neighbouring threads (a power of two up to a
/// warp) in a fixed tree. All of them get the result.
Num acrossLanes(KernelEmitter &e, Num x, int64_t lanes, llvm::function_ref<Num(Num, Num)> combine);
/// Returns the op before the insertion point of `builder`, if there is one.
mlir::Operation *lastOpBefore(mlir::OpBuilder &builder);

} // namespace llmmem

#endif // LLMMEM_CODEGEN_GPU_DEVICELOOPS_H
