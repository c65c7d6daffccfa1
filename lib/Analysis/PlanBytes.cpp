//===- PlanBytes.cpp - The verifier's own sizes -----------------------------===//

#include "PlanBytes.h"
#include "PlanRules.h"
#include "llmmem/Alignment.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Interfaces/CostOpInterface.h"
#include "llmmem/Support/Count.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace llmmem;

/// Returns none for a type that is no number.
static std::optional<int64_t> bitsOfElement(Type type) {
  if (type.isIndex())
    return 64;
  if (type.isIntOrFloat())
    return type.getIntOrFloatBitWidth();
  auto complex = dyn_cast<ComplexType>(type);
  std::optional<int64_t> part = complex ? bitsOfElement(complex.getElementType()) : std::nullopt;
  // Each part takes whole bytes.
  return part ? std::optional<int64_t>(2 * llvm::alignTo(*part, 8)) : std::nullopt;
}

/// Counts two elements of four bits in a byte, and all others in whole ones. Returns none where the
/// size of the type is not known.
static std::optional<Count> countBytes(RankedTensorType tensor) {
  std::optional<int64_t> bits = bitsOfElement(tensor.getElementType());
  if (!bits || !tensor.hasStaticShape())
    return std::nullopt;
  bool isPacked = tensor.getElementType().isInteger(4);
  Count all = isPacked ? 4 : llvm::alignTo(*bits, 8);
  for (int64_t dimension : tensor.getShape())
    all *= dimension;
  return divideCeil(all, 8);
}

/// Returns whether the value lies in a register or is part of the code.
static bool liesInNoMemory(Value value) {
  Type type = value.getType();
  Operation *op = value.getDefiningOp();
  auto opaque = dyn_cast<OpaqueType>(type);
  return bitsOfElement(type) || isa<NoneType>(type) ||
         (opaque && opaque.getTypeData() == "token") ||
         (op && op->hasTrait<OpTrait::ConstantLike>() && !isa<ShapedType>(type));
}

int64_t llmmem::planBytesOf(Value value) {
  auto tensor = dyn_cast<RankedTensorType>(value.getType());
  return tensor ? countBytes(tensor).value_or(0) : Count(0);
}

int64_t llmmem::planWorkspaceOf(Operation *op) {
  auto cost = dyn_cast<CostOpInterface>(op);
  if (cost && !op->hasAttr(llm::LlmDialect::kCostFrom))
    return cost.getWorkspaceBytes();
  auto written = op->getAttrOfType<llm::CostAttr>(llm::LlmDialect::kCost);
  return written ? written.getWorkspace() : 0;
}

namespace {
class SizeChecker {
public:
  explicit SizeChecker(func::FuncOp step) : step(step), body(step.getBody().front()) {}

  LogicalResult run() {
    for (BlockArgument argument : body.getArguments())
      add(argument, argument.getLoc());
    for (Operation &op : body.without_terminator()) {
      for (Value result : op.getResults())
        add(result, op.getLoc());
      addWorkspace(op);
      checkCaptures(op);
    }
    if (!broken && total.isTooMany())
      fail(step.getLoc(), "size")
          << "has values and workspaces of more than 2^63 bytes together, rounded up to 256 each; "
             "make the batch, the sequence or the model smaller";
    return failure(broken);
  }

private:
  InFlightDiagnostic fail(Location location, StringRef rule) {
    broken = true;
    return mlir::emitError(location) << "[" << rule << "] ";
  }

  void add(Value value, Location location) {
    if (liesInNoMemory(value))
      return;
    auto tensor = dyn_cast<RankedTensorType>(value.getType());
    std::optional<Count> bytes = tensor ? countBytes(tensor) : std::nullopt;
    if (!bytes)
      fail(location, "size")
          << "has a value of type " << value.getType()
          << ", whose bytes are not known; expected a tensor of numbers of static shape";
    else if (bytes->isTooMany())
      fail(location, "size")
          << "has a value of type " << value.getType()
          << " with more than 2^63 bits; make the batch, the sequence or the vocabulary "
             "smaller";
    else
      total += alignTo(*bytes, kArenaAlignment);
  }

  void addWorkspace(Operation &op) {
    int64_t bytes = planWorkspaceOf(&op);
    if (bytes < 0)
      fail(op.getLoc(), "size")
          << "needs a workspace of 2^63 bytes or more, or of a negative number "
             "of them; make the batch, the sequence or the model smaller";
    else
      total += alignTo(Count(bytes), kArenaAlignment);
  }

  void checkCaptures(Operation &op) {
    llvm::SetVector<Value> captured;
    getUsedValuesDefinedAbove(op.getRegions(), captured);
    for (Value value : captured)
      if (Operation *writer = planRootOf(value).getDefiningOp();
          !writer || !isPlanConstant(writer)) {
        fail(op.getLoc(), "capture")
                .append("has a region that reads a value from outside, which "
                        "no plan holds for it; make it an operand")
                .attachNote(value.getLoc())
            << "which is made here";
        return;
      }
  }

  func::FuncOp step;
  Block &body;
  Count total;
  bool broken = false;
};
} // namespace

LogicalResult llmmem::checkPlanBytes(func::FuncOp step) { return SizeChecker(step).run(); }
