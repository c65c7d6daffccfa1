//===- DeviceLoops.h - Loops of kernels on the threads of a GPU ------------===//
//
// A parallel loop is one launch. A turn of a loop over rows is shared by a team: a warp where the
// row is short, else a block. Elements are dealt out in vectors of 128 bits (of the narrowest
// floating-point type that the kernel touches), thread after thread, so that neighbours touch
// neighbouring bytes. What the team computes together meets in a fixed tree of shuffles, and
// between warps in workgroup memory, so bits depend on no schedule. Code outside of forLanes is run
// by all threads of the team alike, but for stores, which one of them makes.
//
// Example, llm.softmax of rows of 512 bf16: eight rows in a block of 256 threads, each thread of a
// warp with two vectors of eight elements.
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
  /// One launch. `body` is written once, for every thread of every block; its stores are each
  /// thread's own.
  void launch(KernelEmitter &e, int64_t blocks, int64_t threads, LaunchBody body);
  /// `body` for a single team, a block.
  void once(KernelEmitter &e, llvm::function_ref<void()> body);
  /// Inside a launch: memory of the block.
  Buffer workgroup(KernelEmitter &e, int64_t size, mlir::Type element);
  /// Inside a launch, and never where threads of the block part.
  void barrier(KernelEmitter &e);
  /// A barrier of a kernel whose threads need so many registers, where the assembler would spill
  /// some for the sake of more blocks.
  void barrierNeeding(KernelEmitter &e, int32_t registers);
  /// Inside a launch, for the threads of a warp: `x` of the thread whose number differs in
  /// `distance`, a power of two.
  Num exchange(KernelEmitter &e, Num x, int32_t distance);
  /// Inside a launch: `x` of each `lanes` neighbouring threads, a power of two up to a warp, in a
  /// fixed tree, known to each of them.
  Num acrossLanes(KernelEmitter &e, Num x, int64_t lanes,
                  llvm::function_ref<Num(Num, Num)> combine);
  /// `x` of all threads of the team, in a fixed tree, known to each of them.
  Num acrossTeam(KernelEmitter &e, Num x, llvm::function_ref<Num(Num, Num)> combine);
  using Start = llvm::function_ref<Row(unsigned lanes)>;
  using Step = llvm::function_ref<Row(Index, unsigned lanes, llvm::ArrayRef<Num>)>;
  using MeetLanes = llvm::function_ref<Row(llvm::ArrayRef<Num>)>;
  /// Numbers carried through this thread's elements of a row: whole vectors from `start` on, whose
  /// lanes then meet, and then what is left one by one.
  Row foldOwn(KernelEmitter &e, int64_t count, Start start, Step step, MeetLanes acrossLanes);
  /// Each element is one thread's, whose stores are its own.
  void forElements(KernelEmitter &e, int64_t count, Body body);
  /// The sum of what is not read in vectors.
  Num sumOfElements(KernelEmitter &e, int64_t count, llvm::function_ref<Num(Index)> term);
  /// Inside a launch: what one thread of the block computes, known to all.
  Row commonNumbers(KernelEmitter &e, Index thread, Common common);
  /// A store of this thread's own.
  void storeOwn(KernelEmitter &e, Buffer buffer, Index index, Num x);
  void storeRawOwn(KernelEmitter &e, Buffer buffer, Index index, mlir::Value value);
  /// This thread's number in its team, and the team's threads.
  Index thread() const { return *teamThread; }
  int64_t teamSize() const { return teamThreads; }

private:
  /// How the elements [0, count) of a turn are dealt out: `head` single ones, `vectors` vectors of
  /// `lanes` from there, and at most `mostRest` single ones from `rest` to `count`.
  struct Deal {
    std::optional<Index> head;
    Index vectors;
    unsigned lanes;
    Index rest;
    bool hasRest;
  };
  Deal deal(KernelEmitter &e, int64_t count);
  /// A vector of a row that this thread takes. Beyond the row's last, `inside` says that it is none
  /// of its own, and `first` that of the last.
  struct OwnVector {
    Index first;
    mlir::Value inside; // null: always
  };
  struct Share {
    int64_t count;
    mlir::Block *block; // where the places are computed
    unsigned lanes;
    llvm::SmallVector<OwnVector> vectors;
  };
  /// Null where the vectors are too many to be kept in registers, or some elements are in none.
  const Share *shareOf(KernelEmitter &e, int64_t count);
  Index firstOfVector(const Deal &deal, Index number);
  bool isInTeam() const { return teamThread.has_value(); }

  unsigned vectorLanes;
  mlir::gpu::LaunchOp current;
  std::optional<Index> teamThread;
  int64_t teamThreads = 0;
  bool inLanes = false;
  RowShape row{0};
  std::optional<Index> rowNumber;
  std::vector<Share> shares;
};

/// The loops of a kernel whose target is a GPU.
DeviceLoops &deviceLoops(KernelEmitter &e);

} // namespace llmmem

#endif // LLMMEM_CODEGEN_GPU_DEVICELOOPS_H
