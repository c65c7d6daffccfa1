//===- Models.cpp - What the models of all dialects share ------------------===//

#include "Models.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Support/Count.h"
#include "llmmem/Upstream/Models.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/Interfaces/CastInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace llmmem;

void llmmem::registerUpstreamModels(DialectRegistry &registry) {
  upstream::registerLinalg(registry);
  upstream::registerTensor(registry);
  upstream::registerElementwise(registry);
  upstream::registerTosa(registry);
  upstream::registerLoops(registry);
}

int64_t upstream::product(ArrayRef<int64_t> factors) {
  Count result = 1;
  for (int64_t factor : factors)
    result *= factor;
  return result;
}

int64_t upstream::elementsOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() ? tensor.getNumElements() : 0;
}

bool upstream::countsAsFlop(Operation *op) {
  if (op->getNumResults() == 0 || isa<CastOpInterface>(op) || isResidentOp(op))
    return false;
  return llvm::any_of(llvm::concat<const Type>(op->getOperandTypes(), op->getResultTypes()),
                      [](Type type) { return isa<FloatType>(getElementTypeOrSelf(type)); });
}

bool upstream::coversItsBytes(Value operand) {
  return bytesOfType(viewedValue(operand).getType()) == bytesOfType(operand.getType());
}

bool upstream::isReadTwice(OpOperand &operand) {
  Value root = viewedValue(operand.get());
  return llvm::any_of(operand.getOwner()->getOpOperands(), [&](OpOperand &other) {
    return &other != &operand && viewedValue(other.get()) == root;
  });
}

bool upstream::isPart(Value value) {
  while (true) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      // What a loop carries unchanged does not move.
      auto loop = dyn_cast_if_present<LoopLikeOpInterface>(argument.getOwner()->getParentOp());
      OpOperand *init = loop ? loop.getTiedLoopInit(argument) : nullptr;
      if (!init || loop.getTiedLoopYieldedValue(argument)->get() != argument)
        return false;
      value = init->get();
      continue;
    }
    Operation *op = value.getDefiningOp();
    std::optional<unsigned> viewed = viewedOperand(cast<OpResult>(value));
    if (!viewed)
      return false;
    if (isa<tensor::ExtractSliceOp>(op))
      return true;
    value = op->getOperand(*viewed);
  }
}

bool upstream::haveEqualPlaces(Type a, Type b) {
  return bytesOfElementType(a) == bytesOfElementType(b) && a.isInteger(4) == b.isInteger(4);
}

static bool haveSameElements(Type a, Type b) {
  auto mine = dyn_cast<RankedTensorType>(a), its = dyn_cast<RankedTensorType>(b);
  return mine && its && mine.getShape() == its.getShape() &&
         upstream::haveEqualPlaces(mine.getElementType(), its.getElementType());
}

SmallVector<unsigned> upstream::elementwiseOperands(OpResult result) {
  SmallVector<unsigned> operands;
  for (OpOperand &operand : result.getOwner()->getOpOperands()) {
    // The same bytes in another shape would be read at other places.
    bool isReadElsewhere = llvm::any_of(result.getOwner()->getOperands(), [&](Value other) {
      return other != operand.get() && viewedValue(other) == viewedValue(operand.get());
    });
    if (haveSameElements(operand.get().getType(), result.getType()) &&
        coversItsBytes(operand.get()) && !isReadElsewhere)
      operands.push_back(operand.getOperandNumber());
  }
  return operands;
}
