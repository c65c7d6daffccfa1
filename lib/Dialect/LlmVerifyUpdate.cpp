//===- LlmVerifyUpdate.cpp - Verifiers of the optimizer updates ------------===//

#include "LlmVerify.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

/// A clip needs the norm of all gradients, and a norm is read for nothing else; a factor includes
/// the clip.
static LogicalResult verifyClip(Operation *op, const llvm::APFloat &clipNorm, Value norm,
                                Value factor) {
  if (failed(expectAtLeast(op, "clip_norm", clipNorm, 0.0)))
    return failure();
  if (norm && factor)
    return op->emitOpError("has norm(...) and factor(...); llm.adjust_loss_scale clips by its own "
                           "clip_norm, so leave the norm out");
  if (clipNorm.isZero() == static_cast<bool>(norm))
    return op->emitOpError("needs norm(...) exactly where clip_norm is positive");
  return success();
}

/// At 1 the correction of the bias divides by zero.
static LogicalResult verifyBeta(Operation *op, llvm::StringRef name, double beta) {
  if (beta >= 0.0 && beta < 1.0)
    return success();
  return op->emitOpError() << "has " << name << " " << beta << ", expected 0 <= " << name << " < 1";
}

static LogicalResult verifyServer(Operation *op, std::optional<ArrayAttr> server) {
  return server ? expectAxes(op, *server) : success();
}

/// It must be in f32, or f64 for f64 tensors; or in bf16 or i8, where nothing is f64.
static LogicalResult expectMoment(Operation *op, llvm::StringRef name, Value moment,
                                  ArrayRef<int64_t> shape, Value param) {
  Type element = tensorType(moment).getElementType();
  if ((element.isBF16() || element.isInteger(8)) && !tensorType(param).getElementType().isF64())
    return expectShape(op, name, moment, shape);
  return expectStatistic(op, name, moment, shape, param);
}

LogicalResult AdjustLossScaleOp::verify() {
  if (failed(expectAtLeast(*this, "growth", getGrowth(), 1.0)) ||
      failed(expectPositive(*this, "backoff", getBackoff())) ||
      failed(expectAtLeast(*this, "clip_norm", getClipNorm(), 0.0)))
    return failure();
  if (getBackoff().convertToDouble() > 1.0)
    return emitOpError() << "has a backoff of " << getBackoff().convertToDouble()
                         << ", expected at most 1: a scale that overflowed must not grow";
  if (static_cast<int64_t>(getInterval()) < 1)
    return emitOpError() << "has an interval of " << static_cast<int64_t>(getInterval())
                         << " steps, expected at least 1";
  return success();
}

/// Moments in i8, and they alone, have scales: two of f32, with a number for each block.
static LogicalResult verifyBlocks(AdamWOp op) {
  bool isInBlocks = tensorType(op.getFirstMoment()).getElementType().isInteger(8);
  if (op.getScales().size() != (isInBlocks ? 2 : 0))
    return op.emitOpError() << "has " << op.getScales().size() << " scales, expected "
                            << (isInBlocks ? "those of both moments, which are i8"
                                           : "none for moments that are not i8");
  int64_t blocks = AdamWOp::getNumBlocks(tensorType(op.getParam()).getNumElements());
  for (Value scales : op.getScales())
    if (failed(expectStatistic(op, "scales", scales, {blocks}, op.getParam())))
      return failure();
  return success();
}

/// The results of the scales follow those of the moments, and then that of the master copy.
static LogicalResult verifyOthers(AdamWOp op) {
  SmallVector<Type> expected(op.getScales().getTypes());
  if (op.getMaster())
    expected.push_back(op.getMaster().getType());
  if (llvm::equal(op.getNewOthers().getTypes(), expected))
    return success();
  return op.emitOpError("needs results for its scales and for its master copy, in this order and "
                        "of their types, and none without them");
}

LogicalResult AdamWOp::verify() {
  ArrayRef<int64_t> shape = tensorType(getParam()).getShape();
  if (failed(verifyServer(*this, getServer())) ||
      failed(verifyClip(*this, getClipNorm(), getNorm(), getFactor())) ||
      failed(verifyBeta(*this, "beta1", getBeta1().convertToDouble())) ||
      failed(verifyBeta(*this, "beta2", getBeta2().convertToDouble())) ||
      failed(expectAtLeast(*this, "eps", getEps(), 0.0)) ||
      failed(expectMoment(*this, "first_moment", getFirstMoment(), shape, getParam())) ||
      failed(verifyBlocks(*this)) || failed(verifyOthers(*this)))
    return failure();
  return getMaster() ? expectStatistic(*this, "master", getMaster(), shape, getParam()) : success();
}

/// There must be the states that the optimizer keeps and optionally a master copy, each with its
/// result, and a step exactly where the formula has it.
template <typename UpdateOp>
static LogicalResult verifyUpdate(UpdateOp op) {
  if (failed(verifyServer(op, op.getServer())) ||
      failed(verifyClip(op, op.getClipNorm(), op.getNorm(), op.getFactor())) ||
      failed(expectAtLeast(op, "weight_decay", op.getWeightDecay(), 0.0)))
    return failure();
  if (static_cast<bool>(op.getStep()) != UpdateOp::kNeedsStep)
    return op.emitOpError() << (UpdateOp::kNeedsStep ? "needs step(...), the number of the step"
                                                     : "reads no step(...); leave it out");
  unsigned own = op.getNumStates(), given = op.getState().size();
  if (given != own && given != own + 1)
    return op.emitOpError() << "has " << given << " states, expected " << own << ", or " << own + 1
                            << " with a master copy";
  if (op.getNewState().getTypes() != op.getState().getTypes())
    return op.emitOpError("needs a result of the same type for each of its states");
  if (Value master = op.getMasterCopy())
    return expectStatistic(op, "master copy", master, tensorType(op.getParam()).getShape(),
                           op.getParam());
  return success();
}

LogicalResult SGDOp::verify() {
  if (failed(verifyBeta(*this, "momentum", getMomentum().convertToDouble())) ||
      failed(verifyUpdate(*this)))
    return failure();
  if (getNesterov() && getMomentum().isZero())
    return emitOpError("has 'nesterov' without a momentum to look ahead by");
  if (getMomentum().isZero())
    return success();
  return expectStatistic(*this, "state", getState()[0], tensorType(getParam()).getShape(),
                         getParam());
}

LogicalResult LionOp::verify() {
  if (failed(verifyBeta(*this, "beta1", getBeta1().convertToDouble())) ||
      failed(verifyBeta(*this, "beta2", getBeta2().convertToDouble())) ||
      failed(verifyUpdate(*this)))
    return failure();
  return expectStatistic(*this, "state", getState()[0], tensorType(getParam()).getShape(),
                         getParam());
}

LogicalResult AdafactorOp::verify() {
  if (failed(expectPositive(*this, "eps", getEps())) || failed(verifyUpdate(*this)))
    return failure();
  if (double decay = getBeta2Decay().convertToDouble(); !(decay < 0.0))
    return emitOpError() << "has beta2_decay " << decay << ", expected a number below 0";
  ArrayRef<int64_t> shape = tensorType(getParam()).getShape();
  if (!isFactored())
    return expectStatistic(*this, "state", getState()[0], shape, getParam());
  if (failed(expectStatistic(*this, "state of rows", getState()[0], {shape[0]}, getParam())))
    return failure();
  return expectStatistic(*this, "state of columns", getState()[1], {shape[1]}, getParam());
}

LogicalResult MuonOp::verify() {
  if (tensorType(getParam()).getRank() != 2)
    return emitOpError() << "updates a parameter of type " << getParam().getType()
                         << ", expected a matrix";
  if (failed(verifyBeta(*this, "momentum", getMomentum().convertToDouble())) ||
      failed(verifyUpdate(*this)))
    return failure();
  return expectStatistic(*this, "state", getState()[0], tensorType(getParam()).getShape(),
                         getParam());
}
