//===- LaunchLibraryProducts.cpp - A library's matmuls, for the emulator --===//
//
// A thread computes an element of C as the library is documented to: one sum in f32, the epilogue
// on the unrounded sum, one rounding. So the emulator checks each access of a plan for a library.
// The order in which a library adds is not documented.
//
//===----------------------------------------------------------------------===//

#include "llmmem/Codegen/Emitter/Gelu.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Emulation/Lowering/Passes.h"

namespace llmmem {
#define GEN_PASS_DEF_LAUNCHLIBRARYPRODUCTS
#include "llmmem/Emulation/Lowering/Passes.h.inc"
} // namespace llmmem

using namespace mlir;
using namespace llmmem;
using llm::ProductEpilogue;

static constexpr int64_t kThreads = 128;

namespace {

class ProductLaunch {
public:
  explicit ProductLaunch(llm::LibraryProductOp op)
      : op(op), loc(op.getLoc()), builder(op),
        count(op.getBatch() * op.getRows() * op.getColumns()) {}

  void write() {
    Value one = constant(1).value, threads = constant(kThreads).value,
          blocks = constant((count + kThreads - 1) / kThreads).value;
    auto launch = gpu::LaunchOp::create(builder, loc, blocks, one, one, threads, one, one);
    launch.setModuleAttr(FlatSymbolRefAttr::get(builder.getContext(), "kernels"));
    builder.setInsertionPointToStart(&launch.getBody().front());
    Index element = index(launch.getBlockIds().x) * kThreads + index(launch.getThreadIds().x);
    auto isThere = scf::IfOp::create(builder, loc, less(element, constant(count)), false);
    gpu::TerminatorOp::create(builder, loc);
    builder.setInsertionPointToStart(&isThere.getThenRegion().front());
    if (op.getWorkspace())
      useWorkspace(element);
    writeElement(element);
    op.erase();
  }

private:
  Index index(Value value) { return {&builder, value}; }
  Index constant(int64_t value) {
    return index(arith::ConstantIndexOp::create(builder, loc, value).getResult());
  }
  Num number(double value) {
    auto constant = builder.getF32FloatAttr(static_cast<float>(value));
    return {&builder, arith::ConstantOp::create(builder, loc, constant)};
  }

  Num load(Value buffer, Index place) {
    Value element = memref::LoadOp::create(builder, loc, buffer, place.value);
    return convert({&builder, element}, builder.getF32Type());
  }
  void store(Value buffer, Index place, Num x) {
    Type element = cast<MemRefType>(buffer.getType()).getElementType();
    memref::StoreOp::create(builder, loc, convert(x, element).value, buffer, place.value);
  }

  /// Returns the index of an element of a matrix that begins at the first element of its buffer.
  static Index placeIn(llm::MatrixAttr form, Index batch, Index row, Index column) {
    if (form.getTransposed())
      std::swap(row, column);
    return batch * form.getStride() + row * form.getPitch() + column;
  }

  /// An algorithm may write all of the workspace.
  void useWorkspace(Index first) {
    int64_t bytes = cast<MemRefType>(op.getWorkspace().getType()).getNumElements();
    auto loop =
        scf::ForOp::create(builder, loc, first.value, constant(bytes).value, constant(count).value);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value byte = arith::ConstantOp::create(builder, loc, builder.getI8IntegerAttr(-1));
    memref::StoreOp::create(builder, loc, byte, op.getWorkspace(), loop.getInductionVar());
  }

  Num loadA(Index batch, Index row, Index k) {
    return load(op.getABuffer(), index(op.getABegin()) + placeIn(op.getA(), batch, row, k));
  }
  Num loadB(Index batch, Index k, Index column) {
    return load(op.getBBuffer(), index(op.getBBegin()) + placeIn(op.getB(), batch, k, column));
  }

  /// `add` returns the sum after the term `k`.
  Num sumOver(function_ref<Num(Index k, Num sum)> add) {
    auto loop = scf::ForOp::create(builder, loc, constant(0).value, constant(op.getInner()).value,
                                   constant(1).value, number(0.0).value);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Num sum = add(index(loop.getInductionVar()), {&builder, loop.getRegionIterArg(0)});
    scf::YieldOp::create(builder, loc, sum.value);
    return {&builder, loop.getResult(0)};
  }

  bool sumsA() { return op.getEpilogue() == ProductEpilogue::SumA; }
  bool sumsB() { return op.getEpilogue() == ProductEpilogue::SumB; }

  /// The thread of the first element of a row or column of C also sums the operand's elements.
  void writeSum(Index batch, Index row, Index column) {
    if (!sumsA() && !sumsB())
      return;
    Value isFirst = equal(sumsB() ? row : column, constant(0));
    auto first = scf::IfOp::create(builder, loc, isFirst, false);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&first.getThenRegion().front());
    Num sum = sumOver([&](Index k, Num soFar) {
      return soFar + (sumsB() ? loadB(batch, k, column) : loadA(batch, row, k));
    });
    store(op.getBias(), sumsB() ? column : row, sum);
  }

  void writeElement(Index element) {
    Index column = element % constant(op.getColumns()), row = element / constant(op.getColumns());
    Index batch = row / constant(op.getRows());
    row = row % constant(op.getRows());
    Num x = sumOver(
        [&](Index k, Num sum) { return fma(loadA(batch, row, k), loadB(batch, k, column), sum); });
    x = x * op.getScale().convertToDouble();
    if (op.getInitialBuffer())
      x = x + load(op.getInitialBuffer(),
                   index(op.getInitialBegin()) + placeIn(*op.getInitial(), batch, row, column));
    if (op.getBias() && !sumsA() && !sumsB())
      x = x + load(op.getBias(), column);
    Index place = placeIn(op.getC(), batch, row, column);
    if (op.getEpilogue() == ProductEpilogue::GeluAuxBias)
      store(op.getAux(), place, x);
    store(op.getCBuffer(), index(op.getCBegin()) + place, finish(x, place));
    writeSum(batch, row, column);
  }

  Num finish(Num x, Index place) {
    switch (op.getEpilogue()) {
    case ProductEpilogue::GeluBias:
    case ProductEpilogue::GeluAuxBias:
      return gelu(x);
    case ProductEpilogue::GeluGrad:
      return geluGrad(load(op.getAux(), place), x);
    default:
      return x;
    }
  }

  llm::LibraryProductOp op;
  Location loc;
  OpBuilder builder;
  int64_t count;
};

/// No lowered step needs a sum of C's rows.
LogicalResult checkEpilogue(llm::LibraryProductOp op) {
  if (op.getEpilogue() != ProductEpilogue::GeluGradSum)
    return success();
  return op.emitOpError("has the epilogue '")
         << stringifyProductEpilogue(op.getEpilogue()) << "', which the emulator does not support";
}

struct LaunchLibraryProducts
    : public llmmem::impl::LaunchLibraryProductsBase<LaunchLibraryProducts> {
  void runOnOperation() override {
    SmallVector<llm::LibraryProductOp> products;
    getOperation().walk([&](llm::LibraryProductOp product) { products.push_back(product); });
    for (llm::LibraryProductOp product : products) {
      if (failed(checkEpilogue(product)))
        return signalPassFailure();
      ProductLaunch(product).write();
    }
    numProducts = products.size();
  }
};
} // namespace
