//===- Linalg.cpp - linalg: iteration spaces, bodies and destinations ------===//

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "Models.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Interfaces/FillableOpInterface.h"
#include "llmmem/Support/Count.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::upstream;

//===----------------------------------------------------------------------===//
// Structured ops, named and generic
//===----------------------------------------------------------------------===//

static int64_t flopsOfOnePoint(linalg::LinalgOp op) {
  int64_t count = 0;
  for (Operation &inner : op.getBlock()->without_terminator())
    count += countsAsFlop(&inner);
  return count;
}

/// Returns the bytes of `operand` that are read: none of a destination that is only written, and of
/// an operand no more than the loops reach through its map.
static Count bytesRead(linalg::LinalgOp op, OpOperand &operand, ArrayRef<int64_t> ranges) {
  auto type = dyn_cast<RankedTensorType>(operand.get().getType());
  if (!type || !op.payloadUsesValueFromOperand(&operand))
    return 0;
  Count points = 1, elements = elementsOf(type);
  AffineMap map = op.getMatchingIndexingMap(&operand);
  for (auto [loop, range] : llvm::enumerate(ranges))
    if (map.isFunctionOfDim(loop) && points < elements)
      points *= range;
  // If there are too many points to count, there are more points than elements.
  Count read = points.isTooMany() ? elements : smaller(points, elements);
  return read * bytesOfElementType(type.getElementType()).value_or(0);
}

namespace {
struct LinalgCost : CostOpInterface::ExternalModel<LinalgCost, linalg::LinalgOp> {
  int64_t getFlops(Operation *op) const {
    auto structured = cast<linalg::LinalgOp>(op);
    if (structured.hasDynamicShape())
      return 0; // Its types are refused.
    SmallVector<int64_t> factors{flopsOfOnePoint(structured)};
    llvm::append_range(factors, structured.getStaticLoopRanges());
    return product(factors);
  }

  int64_t getBytesMoved(Operation *op) const {
    auto structured = cast<linalg::LinalgOp>(op);
    SmallVector<int64_t> ranges(structured.getStaticLoopRanges());
    Count bytes;
    for (Type type : op->getResultTypes())
      bytes += bytesOfType(type);
    for (OpOperand &operand : op->getOpOperands())
      bytes += bytesRead(structured, operand, ranges);
    return bytes;
  }
};
} // namespace

/// Returns whether `operand` and the result of `init` are reached by one map, and no other operand
/// reads its bytes through another one. Then element i is read before element i is written, and
/// never after.
static bool isReadInStep(linalg::LinalgOp op, OpOperand &operand, OpOperand &init) {
  AffineMap map = op.getMatchingIndexingMap(&init);
  if (op.getNumParallelLoops() != op.getNumLoops() || !map.isPermutation())
    return false;
  Value root = viewedValue(operand.get());
  return llvm::all_of(op->getOpOperands(), [&](OpOperand &other) {
    return viewedValue(other.get()) != root ||
           (other.get() == operand.get() && op.getMatchingIndexingMap(&other) == map);
  });
}

namespace {
struct LinalgBuffers : BufferOpInterface::ExternalModel<LinalgBuffers, linalg::LinalgOp> {
  /// Returns the destination and, where it is only written, what is read in step with it.
  SmallVector<unsigned> getInPlaceOperands(Operation *op, unsigned result) const {
    auto structured = cast<linalg::LinalgOp>(op);
    OpOperand &init = *structured.getDpsInitOperand(result);
    SmallVector<unsigned> operands;
    if (coversItsBytes(init.get()) && (!isReadTwice(init) || isReadInStep(structured, init, init)))
      operands.push_back(init.getOperandNumber());
    // An accumulator may share the bytes of no other value, but it may be read as an input, too.
    bool isAddedTo = structured.payloadUsesValueFromOperand(&init);
    auto mayStandOn = [&](OpOperand &input) {
      if (isAddedTo && (operands.empty() || viewedValue(input.get()) != viewedValue(init.get())))
        return false;
      return isa<RankedTensorType>(input.get().getType()) && coversItsBytes(input.get()) &&
             haveEqualPlaces(getElementTypeOrSelf(input.get()), getElementTypeOrSelf(init.get())) &&
             isReadInStep(structured, input, init);
    };
    for (OpOperand *input : structured.getDpsInputOperands())
      if (mayStandOn(*input))
        operands.push_back(input->getOperandNumber());
    return operands;
  }
};

//===----------------------------------------------------------------------===//
// Others with destinations: softmax, pack, unpack
//===----------------------------------------------------------------------===//

struct DestinationCost
    : CostOpInterface::ExternalModel<DestinationCost, DestinationStyleOpInterface> {
  /// Softmax computes the largest, a difference, an exponential, a sum and a quotient; packing only
  /// moves.
  int64_t getFlops(Operation *op) const {
    return isa<linalg::SoftmaxOp>(op) ? product({5, elementsOf(op->getResult(0).getType())}) : 0;
  }
};

struct DestinationBuffers
    : BufferOpInterface::ExternalModel<DestinationBuffers, DestinationStyleOpInterface> {
  SmallVector<unsigned> getInPlaceOperands(Operation *op, unsigned result) const {
    OpOperand &init = *cast<DestinationStyleOpInterface>(op).getDpsInitOperand(result);
    if (isReadTwice(init) || !coversItsBytes(init.get()))
      return {};
    return {init.getOperandNumber()};
  }
};

//===----------------------------------------------------------------------===//
// Constants of one number
//===----------------------------------------------------------------------===//

bool canBeFilled(Type element) {
  if (auto integer = dyn_cast<IntegerType>(element))
    return integer.isSignless() && (integer.getWidth() == 1 || integer.getWidth() % 8 == 0);
  return isa<IndexType>(element) ||
         (isa<FloatType>(element) && element.getIntOrFloatBitWidth() % 8 == 0);
}

struct ConstantFill : FillableOpInterface::ExternalModel<ConstantFill, arith::ConstantOp> {
  Value makeFill(Operation *op, OpBuilder &builder) const {
    auto elements = dyn_cast<SplatElementsAttr>(cast<arith::ConstantOp>(op).getValue());
    auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
    // Builtin constants of signed types, and buffers whose elements share bytes, have no fill.
    if (!elements || !type || type.getEncoding() || !canBeFilled(type.getElementType()))
      return {};
    auto number = dyn_cast<TypedAttr>(elements.getSplatValue<Attribute>());
    if (!number)
      return {};
    Value scalar = arith::ConstantOp::create(builder, op->getLoc(), number);
    Value empty =
        tensor::EmptyOp::create(builder, op->getLoc(), type.getShape(), type.getElementType());
    return linalg::FillOp::create(builder, op->getLoc(), scalar, empty).getResult(0);
  }
};
} // namespace

void upstream::registerLinalg(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, linalg::LinalgDialect *dialect) {
    auto isStructured = [](RegisteredOperationName name) {
      return name.hasInterface<linalg::LinalgOp>();
    };
    attachWhere<LinalgCost, LinalgBuffers>(context, dialect->getNamespace(), isStructured);
    attachWhere<DestinationCost, DestinationBuffers>(
        context, dialect->getNamespace(), [&](RegisteredOperationName name) {
          return !isStructured(name) && name.hasInterface<DestinationStyleOpInterface>();
        });
  });
  registry.addExtension(+[](MLIRContext *context, linalg::LinalgDialect *, arith::ArithDialect *) {
    arith::ConstantOp::attachInterface<ConstantFill>(*context);
  });
}
