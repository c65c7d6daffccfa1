//===- LlmUpdates.cpp - What the optimizers' updates share and cost --------===//

#include "llmmem/Dialect/ElementTypes.h"
#include "llmmem/Dialect/LlmAnnotations.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Dialect/MuonWorkspace.h"
#include "llmmem/Support/Count.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

static Count elements(Value value) {
  return cast<RankedTensorType>(value.getType()).getNumElements();
}

//===----------------------------------------------------------------------===//
// How a step is trained
//===----------------------------------------------------------------------===//

TrainingAttr TrainingAttr::withResidentGradients() const {
  return get(getContext(), getOptimizer(), GradientLifetime::Resident, getBeta1(), getBeta2(),
             getEps(), getWeightDecay(), getClipNorm(), getMomentum(), getNesterov(),
             getBeta2Decay(), getMaster(), getMoments(), getLossScaling());
}

double TrainingAttr::momentumOrNone() const {
  return getMomentum() ? getMomentum().getValueAsDouble() : 0.0;
}

bool TrainingAttr::usesNesterov() const { return getNesterov() && getNesterov().getValue(); }

double TrainingAttr::beta2DecayOrUsual() const {
  return getBeta2Decay() ? getBeta2Decay().getValueAsDouble() : -0.8;
}

bool TrainingAttr::hasMaster(Type element) const {
  if (!isHalf(element))
    return false;
  return getMaster() ? getMaster().getValue() : getOptimizer() != OptimizerKind::SGD;
}

RankedTensorType TrainingAttr::momentOf(RankedTensorType param) const {
  Type element = param.getElementType(), held = wideTypeFor(element);
  if (getMoments() && !element.isF64())
    held = getMoments().getValue();
  if (held.isInteger(8) && param.getNumElements() < AdamWOp::kFewestInBlocks)
    held = wideTypeFor(element);
  return param.clone(held);
}

//===----------------------------------------------------------------------===//
// Whose update it is
//===----------------------------------------------------------------------===//

/// Returns the last state, where there is one in addition to the optimizer's own.
template <typename UpdateOp>
static Value masterCopy(UpdateOp op) {
  return op.getState().size() > op.getNumStates() ? op.getState().back() : Value();
}

Value AdamWOp::getUpdatedParam() { return getParam(); }
Value AdamWOp::getUpdatingGradient() { return getGradient(); }
Value AdamWOp::getMasterCopy() { return getMaster(); }
Value SGDOp::getUpdatedParam() { return getParam(); }
Value SGDOp::getUpdatingGradient() { return getGradient(); }
Value SGDOp::getMasterCopy() { return masterCopy(*this); }
Value LionOp::getUpdatedParam() { return getParam(); }
Value LionOp::getUpdatingGradient() { return getGradient(); }
Value LionOp::getMasterCopy() { return masterCopy(*this); }
Value AdafactorOp::getUpdatedParam() { return getParam(); }
Value AdafactorOp::getUpdatingGradient() { return getGradient(); }
Value AdafactorOp::getMasterCopy() { return masterCopy(*this); }
Value MuonOp::getUpdatedParam() { return getParam(); }
Value MuonOp::getUpdatingGradient() { return getGradient(); }
Value MuonOp::getMasterCopy() { return masterCopy(*this); }

//===----------------------------------------------------------------------===//
// Price
//===----------------------------------------------------------------------===//

int64_t AdjustLossScaleOp::getFlops() { return 8; }
// Stochastic rounding takes one block of Philox for each element. Moments in blocks are read twice,
// the first time to find the largest magnitude of the block, and each new number is searched in the
// map.
int64_t AdamWOp::getFlops() {
  constexpr int64_t kUpdate = 14, kChance = 90, kReadOfMap = 25, kSearchOfMap = 35;
  int64_t each = kUpdate;
  if (getFirstMoment().getType().getElementType().isBF16())
    each += kChance;
  if (hasBlocks())
    each += 2 * (2 * kReadOfMap + kSearchOfMap + 4);
  return each * elements(getParam());
}
/// All blocks share four factors, which on a GPU one thread computes. On the host they are in
/// registers.
int64_t AdamWOp::getWorkspaceBytes() {
  return hasBlocks() && !runsOnHost(*this) ? 4 * sizeof(float) : 0;
}
int64_t SGDOp::getFlops() { return (getMomentum().isZero() ? 3 : 7) * elements(getParam()); }
int64_t LionOp::getFlops() { return 10 * elements(getParam()); }
// It counts the squares of g and of p, those of u, and the update; v counts twice.
int64_t AdafactorOp::getFlops() { return 20 * elements(getParam()); }

static int64_t wideBytes(TypedValue<RankedTensorType> param) {
  return wideTypeFor(param.getType().getElementType()).getWidth() / 8;
}

/// It holds for each row the sums of squares of p and of u, and what is common to all rows.
int64_t AdafactorOp::getWorkspaceBytes() {
  return (2 * Count(getRows()) + 3) * wideBytes(getParam());
}

int64_t MuonOp::getShorter() {
  ArrayRef<int64_t> shape = getParam().getType().getShape();
  return std::min(shape[0], shape[1]);
}
int64_t MuonOp::getLonger() {
  ArrayRef<int64_t> shape = getParam().getType().getShape();
  return std::max(shape[0], shape[1]);
}

/// Each iteration multiplies x x^T, a a, and their sum with x.
int64_t MuonOp::getFlops() {
  Count a = getShorter(), b = getLonger();
  return kIterations * 2 * a * a * (2 * b + a) + 12 * elements(getParam());
}

/// It holds x before and after an iteration, a and the polynomial of it that multiplies x, and the
/// squares of each row.
int64_t MuonOp::getWorkspaceBytes() {
  int64_t rows = getParam().getType().getShape()[0];
  Count shorter = getShorter();
  Count before = 2 * muonPart(elements(getParam())) + 2 * muonPart(shorter * shorter);
  return (before + muonPart(rows) + 1) * wideBytes(getParam());
}
