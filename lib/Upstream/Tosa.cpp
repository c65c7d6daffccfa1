//===- Tosa.cpp - tosa: products, windows, reductions and views ------------===//

#include "Models.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::upstream;

static ArrayRef<int64_t> shapeOf(Value value) {
  auto tensor = dyn_cast<RankedTensorType>(value.getType());
  return tensor ? tensor.getShape() : ArrayRef<int64_t>();
}

/// Returns the multiplications and additions of a kernel of `taps` weights at each of `points`.
static int64_t flopsOfTaps(Value points, ArrayRef<int64_t> taps) {
  SmallVector<int64_t> factors{2, elementsOf(points.getType())};
  llvm::append_range(factors, taps);
  return product(factors);
}

namespace {
/// Counts the FLOPs of ops with a kernel. An op that is not listed computes one number for each
/// that it writes, or reduces each that it reads.
struct TosaCost : CostOpInterface::ExternalModel<TosaCost, AnyOp> {
  int64_t getFlops(Operation *op) const {
    if (isa<tosa::MatMulOp>(op))
      return flopsOfTaps(op->getResult(0), shapeOf(op->getOperand(0)).take_back(1));
    // The layouts are OHWI and ODHWI: all dimensions except the output channels.
    if (isa<tosa::Conv2DOp, tosa::Conv3DOp>(op))
      return flopsOfTaps(op->getResult(0), shapeOf(op->getOperand(1)).drop_front());
    if (isa<tosa::TransposeConv2DOp>(op))
      return flopsOfTaps(op->getOperand(0), shapeOf(op->getOperand(1)).drop_back());
    // The layout is HWCM.
    if (isa<tosa::DepthwiseConv2DOp>(op))
      return flopsOfTaps(op->getResult(0), shapeOf(op->getOperand(1)).take_front(2));
    if (auto window = op->getAttrOfType<DenseI64ArrayAttr>("kernel")) {
      SmallVector<int64_t> factors{elementsOf(op->getResult(0).getType())};
      llvm::append_range(factors, window.asArrayRef());
      return product(factors);
    }
    if (!countsAsFlop(op) || isa<tosa::CastOp, tosa::TransposeOp, tosa::ConcatOp, tosa::PadOp,
                                 tosa::SliceOp, tosa::TileOp, tosa::ReverseOp, tosa::GatherOp,
                                 tosa::ScatterOp, tosa::ReshapeOp, tosa::IdentityOp>(op))
      return 0;
    return std::max(elementsOf(op->getOperand(0).getType()),
                    elementsOf(op->getResult(0).getType()));
  }

  int64_t getBytesMoved(Operation *op) const {
    return isViewOp(op) ? 0 : sumOfOperandAndResultBytes(op);
  }
};

struct TosaBuffers : BufferOpInterface::ExternalModel<TosaBuffers, AnyOp> {
  std::optional<unsigned> getViewedOperand(Operation *op, unsigned) const {
    const bool keepsRows =
        isa<tosa::IdentityOp>(op) || (isa<tosa::ReshapeOp>(op) && !isPart(op->getOperand(0)));
    return keepsRows && op->getNumResults() == 1 ? std::optional(0u) : std::nullopt;
  }
  SmallVector<unsigned> getInPlaceOperands(Operation *op, unsigned result) const {
    bool isElementwise = op->hasTrait<OpTrait::tosa::TosaElementwiseOperator>() ||
                         isa<tosa::MulOp, tosa::NegateOp, tosa::CastOp>(op);
    return isElementwise ? elementwiseOperands(op->getResult(result)) : SmallVector<unsigned>();
  }
};
} // namespace

/// Ops with regions, symbols and unknown meaning have no model.
static bool isPriced(RegisteredOperationName name) {
  return !llvm::is_contained(
             {tosa::IfOp::getOperationName(), tosa::WhileOp::getOperationName(),
              tosa::CustomOp::getOperationName(), tosa::VariableOp::getOperationName(),
              tosa::VariableReadOp::getOperationName(), tosa::VariableWriteOp::getOperationName(),
              tosa::FFT2dOp::getOperationName(), tosa::RFFT2dOp::getOperationName()},
             name.getStringRef()) &&
         !name.hasTrait<OpTrait::ConstantLike>() && !name.hasTrait<OpTrait::IsTerminator>();
}

void upstream::registerTosa(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, tosa::TosaDialect *dialect) {
    attachWhere<TosaCost, TosaBuffers>(context, dialect->getNamespace(), isPriced);
  });
}
