//===- LlmVerifyUpdate.cpp - Verifiers of the optimizer updates ------------===//

#include "LlmVerify.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

/// A clip needs the norm of all gradients, and a norm is read for nothing else.
static LogicalResult verifyClip(Operation *op, const llvm::APFloat &clipNorm, Value norm) {
  if (failed(expectAtLeast(op, "clip_norm", clipNorm, 0.0)))
    return failure();
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

LogicalResult AdamWOp::verify() {
  ArrayRef<int64_t> shape = tensorType(getParam()).getShape();
  if (failed(verifyServer(*this, getServer())) ||
      failed(verifyClip(*this, getClipNorm(), getNorm())) ||
      failed(verifyBeta(*this, "beta1", getBeta1().convertToDouble())) ||
      failed(verifyBeta(*this, "beta2", getBeta2().convertToDouble())) ||
      failed(expectAtLeast(*this, "eps", getEps(), 0.0)) ||
      failed(expectStatistic(*this, "first_moment", getFirstMoment(), shape, getParam())))
    return failure();
  if (static_cast<bool>(getMaster()) != static_cast<bool>(getNewMaster()))
    return emitOpError("needs a result for its master copy, and none without one");
  if (!getMaster())
    return success();
  if (failed(expectStatistic(*this, "master", getMaster(), shape, getParam())))
    return failure();
  return expectStatistic(*this, "new_master", getNewMaster(), shape, getParam());
}

LogicalResult SGDOp::verify() {
  return failed(verifyServer(*this, getServer())) ? failure()
                                                  : verifyClip(*this, getClipNorm(), getNorm());
}
