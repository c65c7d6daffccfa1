//===- Tensor.cpp - tensor: views, parts and empty values ------------------===//

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "Models.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Interfaces/EmptyOpInterface.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::upstream;

/// The other operands of a view must exist at any time: constants and, in the body of a loop, whose
/// order is that of the text, any number.
static bool hasConstantShape(Operation *op) {
  return isa_and_present<LoopLikeOpInterface>(op->getParentOp()) ||
         llvm::all_of(llvm::drop_begin(op->getOperands()), [](Value operand) {
           return operand.getDefiningOp() && isResidentOp(operand.getDefiningOp());
         });
}

namespace {
struct NoCost : CostOpInterface::ExternalModel<NoCost, AnyOp> {
  int64_t getFlops(Operation *) const { return 0; }
  int64_t getBytesMoved(Operation *) const { return 0; }
};

struct PartBuffers : BufferOpInterface::ExternalModel<PartBuffers, AnyOp> {
  std::optional<unsigned> getViewedOperand(Operation *op, unsigned) const {
    return hasConstantShape(op) ? std::optional(0u) : std::nullopt;
  }
};

/// Gives the same elements another shape. On a part it is a copy.
struct ShapeBuffers : BufferOpInterface::ExternalModel<ShapeBuffers, AnyOp> {
  std::optional<unsigned> getViewedOperand(Operation *op, unsigned) const {
    return hasConstantShape(op) && !isPart(op->getOperand(0)) ? std::optional(0u) : std::nullopt;
  }
};

/// A view costs nothing, and a copy what it reads and writes.
struct ViewCost : CostOpInterface::ExternalModel<ViewCost, AnyOp> {
  int64_t getFlops(Operation *) const { return 0; }
  int64_t getBytesMoved(Operation *op) const {
    return isViewOp(op) ? 0 : product({2, bytesOfType(op->getResult(0).getType())});
  }
};

struct Empty : EmptyOpInterface::ExternalModel<Empty, tensor::EmptyOp> {};

/// Prices an op that puts something into a tensor: `tensor.insert_slice`, `tensor.insert`.
struct InsertCost : CostOpInterface::ExternalModel<InsertCost, DestinationStyleOpInterface> {
  int64_t getFlops(Operation *) const { return 0; }
  int64_t getBytesMoved(Operation *op) const {
    Type source = op->getOperand(0).getType();
    int64_t bytes = bytesOfType(source);
    return product({2, bytes > 0 ? bytes : bytesOfElementType(source).value_or(0)});
  }
};

struct InsertBuffers
    : BufferOpInterface::ExternalModel<InsertBuffers, DestinationStyleOpInterface> {
  SmallVector<unsigned> getInPlaceOperands(Operation *op, unsigned result) const {
    OpOperand &init = *cast<DestinationStyleOpInterface>(op).getDpsInitOperand(result);
    if (isReadTwice(init) || !coversItsBytes(init.get()))
      return {};
    return {init.getOperandNumber()};
  }
};

/// Prices an op that reads its operands and writes its results once: `tensor.pad`, `tensor.concat`.
struct CopyCost : CostOpInterface::ExternalModel<CopyCost, AnyOp> {
  int64_t getFlops(Operation *op) const {
    int64_t ofOnePoint = 0;
    for (Region &region : op->getRegions())
      region.walk([&](Operation *inner) { ofOnePoint += countsAsFlop(inner); });
    return product({ofOnePoint, elementsOf(op->getResult(0).getType())});
  }
};

struct OwnBuffers : BufferOpInterface::ExternalModel<OwnBuffers, AnyOp> {};
} // namespace

/// Gives each of `Ops` these models.
template <typename... Ops, typename Attach>
static void forEachOp(Attach attach) {
  (attach(Ops::getOperationName()), ...);
}

void upstream::registerTensor(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, tensor::TensorDialect *) {
    auto name = [&](StringRef op) { return *RegisteredOperationName::lookup(op, context); };
    forEachOp<tensor::CastOp, tensor::BitcastOp, tensor::ExpandShapeOp, tensor::CollapseShapeOp,
              tensor::ReshapeOp>(
        [&](StringRef op) { name(op).attachInterface<ViewCost, ShapeBuffers>(); });
    forEachOp<tensor::ExtractSliceOp>(
        [&](StringRef op) { name(op).attachInterface<ViewCost, PartBuffers>(); });
    forEachOp<tensor::EmptyOp>(
        [&](StringRef op) { name(op).attachInterface<NoCost, OwnBuffers, Empty>(); });
    forEachOp<tensor::InsertSliceOp, tensor::InsertOp>(
        [&](StringRef op) { name(op).attachInterface<InsertCost, InsertBuffers>(); });
    forEachOp<tensor::PadOp, tensor::ConcatOp, tensor::GenerateOp, tensor::FromElementsOp,
              tensor::SplatOp, tensor::GatherOp, tensor::ScatterOp>(
        [&](StringRef op) { name(op).attachInterface<CopyCost, OwnBuffers>(); });
    forEachOp<tensor::ExtractOp, tensor::DimOp, tensor::RankOp>(
        [&](StringRef op) { name(op).attachInterface<NoCost, OwnBuffers>(); });
  });
}
