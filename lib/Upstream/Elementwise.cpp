//===- Elementwise.cpp - arith and math, on tensors and on single numbers --===//

#include "Models.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::upstream;

namespace {
/// A single number is computed outside of the kernels, and costs nothing.
struct ElementwiseCost : CostOpInterface::ExternalModel<ElementwiseCost, AnyOp> {
  int64_t getFlops(Operation *op) const {
    return countsAsFlop(op) ? elementsOf(op->getResult(0).getType()) : 0;
  }
};

struct ElementwiseBuffers : BufferOpInterface::ExternalModel<ElementwiseBuffers, AnyOp> {
  SmallVector<unsigned> getInPlaceOperands(Operation *op, unsigned result) const {
    return elementwiseOperands(op->getResult(result));
  }
};
} // namespace

static void attachElementwise(MLIRContext *context, StringRef dialect) {
  attachWhere<ElementwiseCost, ElementwiseBuffers>(
      context, dialect,
      [](RegisteredOperationName name) { return name.hasTrait<OpTrait::Elementwise>(); });
}

void upstream::registerElementwise(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, arith::ArithDialect *dialect) {
    attachElementwise(context, dialect->getNamespace());
  });
  registry.addExtension(+[](MLIRContext *context, math::MathDialect *dialect) {
    attachElementwise(context, dialect->getNamespace());
  });
}
