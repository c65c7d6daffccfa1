//===- LlmVerifyUpdate.cpp - Verifiers of the optimizer updates ------------===//

#include "LlmVerify.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

/// A clip needs the norm of all gradients, and a norm is read for nothing else.
static LogicalResult verifyClip(Operation *op, double clipNorm, Value norm) {
  if (clipNorm < 0.0)
    return op->emitOpError() << "has clip_norm " << clipNorm << ", expected 0 (no clip) or more";
  if ((clipNorm > 0.0) != static_cast<bool>(norm))
    return op->emitOpError("needs norm(...) exactly where clip_norm is positive");
  return success();
}

LogicalResult AdamWOp::verify() {
  ArrayRef<int64_t> shape = tensorType(getParam()).getShape();
  if (failed(verifyClip(*this, getClipNorm().convertToDouble(), getNorm())) ||
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
  return verifyClip(*this, getClipNorm().convertToDouble(), getNorm());
}
