//===- CpuLoops.cpp - Loops of kernels on the threads of a CPU ------------===//

#include "llmmem/Codegen/Emitter/KernelLoops.h"
#include "llmmem/Interfaces/CostOpInterface.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace llmmem;

namespace {
class CpuLoops : public KernelLoops {
public:
  explicit CpuLoops(Block *entry) : entry(entry), frame(entry) {}

  unsigned lanes(FloatType computeType) const override { return computeType.isF64() ? 8 : 16; }

  Buffer scratch(KernelEmitter &e, int64_t size, Type element) override {
    OpBuilder start = OpBuilder::atBlockBegin(frame);
    // A vector that crosses a cache line costs two loads.
    Value memref = memref::AllocaOp::create(start, e.location(), MemRefType::get({size}, element),
                                            start.getI64IntegerAttr(64));
    return {memref, size, element};
  }

  void forLanes(KernelEmitter &e, int64_t count, LanesBody body) override {
    int64_t whole = count - count % e.lanes();
    if (whole > 0)
      forVectors(e, e.index(0), e.index(whole), body);
    if (whole < count)
      forEach(e, e.index(whole), e.index(count), [&](Index i) { body(i, 1); });
  }

  void forRows(KernelEmitter &e, int64_t rows, RowShape, Body body) override {
    if (rows < 2 || !isWorthThreads(e))
      return forEach(e, rows, body);
    OpBuilder &builder = e.builder();
    auto loop = scf::ForallOp::create(builder, e.location(), {builder.getIndexAttr(rows)},
                                      /*outputs=*/ValueRange(), /*mapping=*/std::nullopt);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    llvm::SaveAndRestore inside(frame, loop.getBody());
    body({&builder, loop.getInductionVar(0)});
  }

  void forLanesParallel(KernelEmitter &e, int64_t count, Common common, CommonBody body) override {
    Row numbers = common();
    forPieces(e, count, [&](Index i, unsigned lanes) { body(i, lanes, numbers); });
  }

  Num reduce(KernelEmitter &e, int64_t count, Term term, Reduction reduction) override {
    int64_t lanes = e.lanes(), whole = count / lanes;
    Num total = e.number(reduction.neutral);
    if (whole > 0) {
      Num start = e.splat(reduction.neutral, lanes);
      Row sums =
          fold(e, e.index(0), e.index(whole), start, [&](Index i, ArrayRef<Num> carried) -> Row {
            return {reduction.combine(carried[0], term(i * lanes, lanes))};
          });
      total = reduction.acrossLanes(sums[0]);
    }
    if (whole * lanes == count)
      return total;
    return fold(e, e.index(whole * lanes), e.index(count), total,
                [&](Index i, ArrayRef<Num> carried) -> Row {
                  return {reduction.combine(carried[0], term(i, 1))};
                })[0];
  }

  void storeOnce(KernelEmitter &, function_ref<void()> store) override { store(); }

private:
  static void forVectors(KernelEmitter &e, Index lower, Index upper, LanesBody body) {
    forSteps(e, lower, upper, e.lanes(), [&](Index i) { body(i, e.lanes()); });
  }

  void forPieces(KernelEmitter &e, int64_t count, LanesBody body) {
    constexpr int64_t kPiece = 4096; // A multiple of the lanes; 16 KiB of f32.
    int64_t whole = count - count % e.lanes();
    if (whole <= kPiece || !isWorthThreads(e))
      return forLanes(e, count, body);
    forRows(e, llvm::divideCeil(whole, kPiece), {kPiece}, [&](Index piece) {
      Index lower = piece * kPiece;
      forVectors(e, lower, minimum(lower + kPiece, e.index(whole)), body);
    });
    if (whole < count)
      forEach(e, e.index(whole), e.index(count), [&](Index i) { body(i, 1); });
  }

  /// For less than about 20 us of work, waking threads costs more than it saves.
  bool isWorthThreads(KernelEmitter &e) const {
    constexpr int64_t kLeastWork = 1 << 18; // Counts FLOPs and bytes.
    if (frame != entry)
      return false;
    auto cost = dyn_cast<CostOpInterface>(e.operation());
    return !cost || cost.getFlops() + cost.getBytesMoved() >= kLeastWork;
  }

  /// Point to the kernel's block, and the one that runs on one thread: a parallel loop's, or the
  /// kernel's.
  Block *entry, *frame;
};
} // namespace

std::shared_ptr<KernelLoops> llmmem::makeCpuLoops(Block *entry) {
  return std::make_shared<CpuLoops>(entry);
}
