//===- TiledKernels.cpp - Ops over a chunk of rows after another ----------===//
//
// Each chunk runs the units of the body in turn (Dialect/TiledLayout.h). Products are computed
// granule by granule, as those of a loss head are and for the same reason (LossHeadKernels.cpp),
// and so are sums over rows. Elementwise ops are emitted by the formulas that they have by
// themselves, on buffers without bytes, so every rounding point stays.
//
//===----------------------------------------------------------------------===//

#include "TiledKernels.h"
#include "ColumnSums.h"
#include "KernelModels.h"
#include "WeightSum.h"
#include "llmmem/Dialect/LlmAnnotations.h"
#include "llmmem/Dialect/TiledLayout.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

namespace {

int64_t widthOf(Value tensor) { return cast<RankedTensorType>(tensor.getType()).getShape().back(); }

/// Knows where the values of the body are.
class TiledBuffers {
public:
  TiledBuffers(TiledOp op, KernelEmitter &e) : op(op), e(e), layout(layoutOf(op)) {}

  int64_t rows() { return op.getNumRows(); }
  int64_t chunk() { return std::min(op.getChunkRows(), rows()); }
  int64_t granule() { return op.getGranule(); }

  /// Returns the rows of a value: all of them, or those of a chunk.
  RowFactor rowsOf(Value value) {
    const int64_t width = widthOf(value);
    if (auto slot = layout.slots.find(value); slot != layout.slots.end()) {
      Type element = cast<RankedTensorType>(value.getType()).getElementType();
      return {e.workspace(slot->second, chunk() * width, element), width, width,
              /*isOfChunk=*/true};
    }
    return {wholeOf(value), width, width};
  }

  /// Returns the buffer of an operand or of a result of the op; null for no value.
  Buffer wholeOf(Value value) {
    if (!value)
      return {};
    if (auto argument = dyn_cast<BlockArgument>(value))
      return e.operand(argument.getArgNumber());
    return e.result(std::distance(op.getYielded().begin(), llvm::find(op.getYielded(), value)));
  }

  TiledOp op;
  KernelEmitter &e;
  const TiledLayout layout;
};

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Emits y = x W + b for rows of a chunk, which begins with row `first` of all.
void emitProduct(LinearOp linear, TiledBuffers &buffers, Index first, Rows part) {
  RowFactor x = buffers.rowsOf(linear.getX()), y = buffers.rowsOf(linear.getY());
  const bool isOutIn = linear.getLayout() == WeightLayout::OutIn;
  const int64_t alike = std::min(buffers.granule(), buffers.rows());
  emitMatmul(buffers.op, buffers.e,
             {.a = {x.buffer, x.pitch, false, x.placeOf(first, part.begin)},
              .b = {buffers.wholeOf(linear.getWeight()), isOutIn ? x.width : y.width, isOutIn},
              .c = {y.buffer, y.pitch, false, y.placeOf(first, part.begin)},
              .rows = part.count,
              .columns = y.width,
              .inner = x.width,
              .chosen = {.ofInstructions = alike},
              .kind = PlainSum{.initial = {buffers.wholeOf(linear.getBias()), 0}}});
}

//===----------------------------------------------------------------------===//
// Elementwise ops
//===----------------------------------------------------------------------===//

/// Emits the formulas of a unit for some elements of a chunk.
class ElementFormulas {
public:
  /// The elements begin with `local` of the chunk, and with `global` of all.
  ElementFormulas(TiledBuffers &buffers, OpBuilder &builder, Index global, Index local,
                  unsigned lanes)
      : buffers(buffers), builder(builder), global(global), local(local), lanes(lanes) {}

  /// All results are computed before the first is stored, because a slot may hold an operand.
  LogicalResult emit(const TiledUnit &unit) {
    computed.insert_range(unit.ops);
    SmallVector<Value> elements;
    for (Value value : unit.stored)
      elements.push_back(elementsOf(value));
    if (failed(status))
      return status;
    KernelEmitter writer(buffers.op, builder);
    for (auto [value, stored] : llvm::zip_equal(unit.stored, elements)) {
      RowFactor rows = buffers.rowsOf(value);
      writer.storeRaw(rows.buffer, rows.isOfChunk ? local : global, stored);
    }
    return success();
  }

private:
  Value elementsOf(Value value) {
    if (Value found = known.lookup(value))
      return found;
    Operation *op = value.getDefiningOp();
    if (computed.contains(op) || !isInMemory(value))
      compute(op);
    else
      known[value] = load(value);
    return known.lookup(value);
  }

  Value load(Value value) {
    RowFactor rows = buffers.rowsOf(value);
    KernelEmitter reader(buffers.op, builder);
    return reader.loadRaw(rows.buffer, rows.isOfChunk ? local : global, lanes);
  }

  void compute(Operation *op) {
    SmallVector<BufferAccess> accesses(op->getNumOperands() + 1);
    SmallVector<Buffer> operands;
    for (OpOperand &operand : op->getOpOperands()) {
      if (!readsRows(operand)) {
        operands.push_back(buffers.wholeOf(operand.get()));
        continue;
      }
      BufferAccess &access = accesses[operand.getOperandNumber()];
      access.load = [this, value = operand.get()](OpBuilder &, Index, unsigned) {
        return elementsOf(value);
      };
      operands.push_back(Buffer::of(operand.get().getType(), access));
    }
    Value result = op->getResult(0);
    accesses.back().store = [this, result](OpBuilder &, Index, Value elements) {
      known[result] = elements;
    };
    KernelEmitter inner(op, builder, operands, Buffer::of(result.getType(), accesses.back()),
                        buffers.e.options());
    auto emission = dyn_cast<KernelOpInterface>(op);
    if (!emission || failed(emission.emitElements(inner, global, lanes)))
      status = failure();
  }

  TiledBuffers &buffers;
  OpBuilder &builder;
  Index global, local;
  unsigned lanes;
  llvm::SmallPtrSet<Operation *, 8> computed;
  llvm::DenseMap<Value, Value> known;
  LogicalResult status = success();
};

//===----------------------------------------------------------------------===//
// Sums over rows
//===----------------------------------------------------------------------===//

/// Adds up the rows of one value, column by column: the gradient of a bias.
class BiasSum {
public:
  BiasSum(SumRowsOp op, TiledBuffers &buffers, std::optional<int64_t> accumulator)
      : op(op), buffers(buffers), e(buffers.e), into(buffers.wholeOf(op.getInto())),
        db(buffers.wholeOf(op.getDb())),
        sum(accumulator ? e.workspace(*accumulator, db.size, e.computeType()) : db) {}

  void begin() {
    if (buffers.rows() > buffers.granule())
      copy(into, sum);
  }
  void add(Rows rows) {
    forPieces(e, rows.count, buffers.granule(), [&](Rows part) {
      RowFactor dy = buffers.rowsOf(op.getDy());
      Buffer from = buffers.rows() > buffers.granule() ? sum : into;
      KernelEmitter inner(op, e, {}, sum);
      Index place = dy.placeOf(rows.begin, part.begin);
      emitColumnSumsOf(inner, from, part.count, dy.width, [&](Index row, Index j, unsigned lanes) {
        // Sums are emitted where their first index was made.
        return inner.load(dy.buffer, row * dy.pitch + j + place, lanes);
      });
    });
  }
  void finish() {
    if (sum.memref != db.memref)
      copy(sum, db);
  }

private:
  /// Without a source it writes zeros.
  void copy(Buffer from, Buffer to) {
    if (from.memref == to.memref)
      return;
    forLanesParallel(e, to.size, [&](Index i, unsigned lanes) {
      e.store(to, i, from ? e.load(from, i, lanes) : e.splat(0.0, lanes));
    });
  }

  SumRowsOp op;
  TiledBuffers &buffers;
  KernelEmitter &e;
  Buffer into, db, sum;
};

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

class TiledEmitter {
public:
  TiledEmitter(TiledOp op, KernelEmitter &e) : op(op), e(e), buffers(op, e), units(unitsOf(op)) {
    for (auto [number, sum] : llvm::enumerate(op.getSums()))
      addSum(number, sum);
  }

  LogicalResult emit() {
    forSums([](auto &sum) { sum.begin(); });
    forPieces(e, buffers.rows(), buffers.chunk(), [&](Rows rows) {
      for (const TiledUnit &unit : units)
        emitUnit(unit, rows);
    });
    forSums([](auto &sum) { sum.finish(); });
    return status;
  }

private:
  void addSum(size_t number, AccumulatingOpInterface sum) {
    std::optional<int64_t> accumulator;
    if (op.splitsSums())
      accumulator = buffers.layout.accumulators[number];
    if (auto bias = dyn_cast<SumRowsOp>(*sum))
      biases.try_emplace(sum, std::make_unique<BiasSum>(bias, buffers, accumulator));
    else
      weights.try_emplace(sum, std::make_unique<WeightGradientSum>(
                                   weightSum(cast<LinearWeightGradOp>(*sum), number), e));
  }

  WeightSum weightSum(LinearWeightGradOp gradient, size_t number) {
    WeightSum sum{.op = op,
                  .x = buffers.rowsOf(gradient.getX()),
                  .gradient = buffers.rowsOf(gradient.getDy()),
                  .isOutIn = gradient.getLayout() == WeightLayout::OutIn,
                  .rows = buffers.rows(),
                  .chunk = buffers.chunk(),
                  .granule = buffers.granule(),
                  .into = buffers.wholeOf(gradient.getInto()),
                  .dw = buffers.wholeOf(gradient.getDw())};
    if (!op.splitsSums())
      return sum;
    const TiledLayout::Contribution &part = buffers.layout.contributions[number];
    sum.contribution = {part.inputs, part.gradient, part.product, part.columns};
    bool isInHalves = sum.dw.element.isBF16() && !isForLibrary(op);
    Type element = isInHalves ? IntegerType::get(op.getContext(), 16) : Type(e.computeType());
    sum.accumulator = e.workspace(buffers.layout.accumulators[number], sum.dw.size, element);
    return sum;
  }

  template <typename Work>
  void forSums(Work work) {
    for (AccumulatingOpInterface sum : op.getSums())
      if (auto bias = biases.find(sum); bias != biases.end())
        work(*bias->second);
      else
        work(*weights.find(sum)->second);
  }

  void emitUnit(const TiledUnit &unit, Rows rows) {
    Operation *first = unit.ops.front();
    if (unit.isElementwise())
      return emitElements(unit, rows);
    if (auto bias = biases.find(first); bias != biases.end())
      return bias->second->add(rows);
    if (auto weight = weights.find(first); weight != weights.end())
      return weight->second->add(rows);
    auto linear = cast<LinearOp>(first);
    if (multipliesChunks(e, buffers.rowsOf(linear.getX()).buffer.element))
      return emitProduct(linear, buffers, rows.begin, {e.index(0), rows.count});
    forPieces(e, rows.count, buffers.granule(),
              [&](Rows part) { emitProduct(linear, buffers, rows.begin, part); });
  }

  void emitElements(const TiledUnit &unit, Rows rows) {
    const int64_t width = widthOf(unit.stored.front());
    forLanesParallel(e, rows.count * width, [&](Index i, unsigned lanes) {
      ElementFormulas formulas(buffers, e.builder(), rows.begin * width + i, i, lanes);
      if (failed(formulas.emit(unit)))
        status = failure();
    });
  }

  TiledOp op;
  KernelEmitter &e;
  TiledBuffers buffers;
  SmallVector<TiledUnit> units;
  llvm::DenseMap<Operation *, std::unique_ptr<BiasSum>> biases;
  llvm::DenseMap<Operation *, std::unique_ptr<WeightGradientSum>> weights;
  LogicalResult status = success();
};

struct TiledKernel : BaseModel<TiledKernel, TiledOp> {
  LogicalResult emitKernel(Operation *op, KernelEmitter &e) const {
    return TiledEmitter(cast<TiledOp>(op), e).emit();
  }
};
} // namespace

void llmmem::attachTiledKernel(MLIRContext *context) { attachKernels<TiledKernel>(context); }
