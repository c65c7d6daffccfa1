//===- LlmFewerBits.cpp - What is held in fewer bits, and is it valid ------===//

#include "LlmVerify.h"
#include "llmmem/Dialect/FewerBits.h"
#include "llmmem/Support/Count.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

bool llm::isPacked(Type element) {
  return element.isInteger(4) || element.isInteger(8) ||
         isa<Float8E4M3FNType, Float8E5M2Type>(element);
}

static StringRef nameOf(BlockArgument argument) {
  auto function = dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
  auto name =
      function ? function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), LlmDialect::kName)
               : StringAttr();
  return name ? name.getValue() : StringRef();
}

bool llm::hasHeldParameter(BlockArgument argument) {
  StringRef name = nameOf(argument);
  if (!name.consume_back(kScalesSuffix) && !name.consume_back(kZerosSuffix))
    return false;
  return llvm::any_of(argument.getOwner()->getArguments(), [&](BlockArgument other) {
    auto tensor = dyn_cast<RankedTensorType>(other.getType());
    return tensor && isPacked(tensor.getElementType()) && nameOf(other) == name;
  });
}

double llm::largestPacked(Type element) {
  if (auto number = dyn_cast<FloatType>(element))
    return llvm::APFloat::getLargest(number.getFloatSemantics()).convertToDouble();
  return element.isInteger(4) ? 15 : 127;
}

int64_t llm::groupSizeOf(Value held, Value scales) { return lastDim(held) / lastDim(scales); }

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

/// Checks the shapes and groups of what has scales.
static LogicalResult expectGroups(Operation *op, StringRef name, Value held, Value scales,
                                  int64_t step) {
  int64_t width = lastDim(held), groups = lastDim(scales);
  if (tensorType(scales).getRank() != tensorType(held).getRank() ||
      leadingDims(scales) != leadingDims(held))
    return op->emitOpError() << "'scales' of '" << name << "' have the shape ["
                             << tensorType(scales).getShape() << "], expected ["
                             << leadingDims(held) << ", groups of a row]";
  if (width % groups == 0 && width / groups % step == 0)
    return success();
  auto diagnostic = op->emitOpError() << "'" << name << "' has rows of " << width << " elements in "
                                      << groups << " groups, expected groups of equal size";
  if (step > 1)
    diagnostic << ", a multiple of " << step;
  return diagnostic;
}

LogicalResult llm::expectHeld(Operation *op, StringRef name, Value held, Value scales, Value zeros,
                              Type computed, int64_t step) {
  Type element = tensorType(held).getElementType();
  if (!isPacked(element)) {
    if (scales || zeros)
      return op->emitOpError() << "'" << name << "' holds " << element
                               << ", which has neither scales nor zero points; leave them out";
    if (element == computed)
      return success();
    return op->emitOpError() << "mixes element types " << computed << " and " << element
                             << "; insert llm.cast";
  }
  if (!scales)
    return op->emitOpError() << "'" << name << "' holds " << element
                             << ", whose groups have scales; add scales(%scales)";
  if (computed.isF64())
    return op->emitOpError() << "computes in f64, but " << element
                             << " is unpacked to f32; use bf16 or f32 with it";
  if (tensorType(scales).getElementType() != computed)
    return op->emitOpError() << "'scales' of '" << name << "' are "
                             << tensorType(scales).getElementType() << ", expected " << computed;
  if (static_cast<bool>(zeros) != element.isInteger(4))
    return op->emitOpError() << "'" << name << "' holds " << element << ", "
                             << (zeros ? "whose numbers count from 0; leave its zero points out"
                                       : "whose groups have zero points; add zeros(%zeros)");
  if (failed(expectGroups(op, name, held, scales, step)))
    return failure();
  return zeros ? expectShape(op, "zeros", zeros, tensorType(scales).getShape()) : success();
}

/// Verifies ops that pack rows, and ops that unpack them.
template <typename RowsOp>
static LogicalResult verifyRows(RowsOp op) {
  if (tensorType(op.getPacked()).getElementType().isInteger(4))
    return op.emitOpError("has i4, which has zero points; expected i8, f8E4M3FN or f8E5M2");
  if (failed(expectShape(op, "packed", op.getPacked(), tensorType(op.getX()).getShape())))
    return failure();
  return expectHeld(op, "packed", op.getPacked(), op.getScales(), /*zeros=*/Value(),
                    tensorType(op.getX()).getElementType(), 1);
}

LogicalResult PackOp::verify() { return verifyRows(*this); }
LogicalResult UnpackOp::verify() { return verifyRows(*this); }

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

// It computes the largest of each group, a division and a rounding.
int64_t PackOp::getFlops() { return 3 * Count(tensorType(getX()).getNumElements()); }
int64_t UnpackOp::getFlops() { return 2 * Count(tensorType(getX()).getNumElements()); }
