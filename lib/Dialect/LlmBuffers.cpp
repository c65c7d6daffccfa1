//===- LlmBuffers.cpp - Whose bytes the results of the ops may have --------===//
//
// The one home of views and of the permission to work in place for all ops of the dialect. Each
// line says which operands a result may take over. The kernels of these ops read an element (or all
// that a row's result depends on) before they write it, so both forms give equal bits.
//
//===----------------------------------------------------------------------===//

#include "llmmem/Dialect/LlmAnnotations.h"
#include "llmmem/Dialect/LlmOps.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

using Operands = SmallVector<unsigned>;

/// Returns the accumulator, if it exists: by its place, because its value may be another operand,
/// too.
template <typename Summing>
static Operands accumulatorOf(Summing op) {
  if (!op.getInto())
    return {};
  return {op.getIntoMutable().begin()->getOperandNumber()};
}

//===----------------------------------------------------------------------===//
// Elements and rows
//===----------------------------------------------------------------------===//

// Elementwise, or row by row with the row read first.
Operands AddPositionsOp::getInPlaceOperands(unsigned) { return {0}; }
Operands AddBiasOp::getInPlaceOperands(unsigned) { return {0}; }
Operands RopeOp::getInPlaceOperands(unsigned) { return {0}; }
Operands CausalMaskOp::getInPlaceOperands(unsigned) { return {0}; }
Operands SoftmaxOp::getInPlaceOperands(unsigned) { return {0}; }
Operands GeluOp::getInPlaceOperands(unsigned) { return {0}; }
Operands SiluOp::getInPlaceOperands(unsigned) { return {0}; }
Operands ClampOp::getInPlaceOperands(unsigned) { return {0}; }
Operands ScaleOp::getInPlaceOperands(unsigned) { return {0}; }
Operands SoftcapOp::getInPlaceOperands(unsigned) { return {0}; }
Operands AddOp::getInPlaceOperands(unsigned) { return {0, 1}; }
Operands MulOp::getInPlaceOperands(unsigned) { return {0, 1}; }
Operands DropoutOp::getInPlaceOperands(unsigned) { return {0}; }
Operands StoredDropoutOp::getInPlaceOperands(unsigned result) {
  return result == 0 ? Operands{0} : Operands{};
}
Operands ApplyMaskOp::getInPlaceOperands(unsigned) { return {0}; }
Operands SoftmaxGradOp::getInPlaceOperands(unsigned) { return {1, 0}; }
Operands GeluGradOp::getInPlaceOperands(unsigned) { return {1, 0}; }
Operands SiluGradOp::getInPlaceOperands(unsigned) { return {1, 0}; }
Operands ClampGradOp::getInPlaceOperands(unsigned) { return {1, 0}; }
Operands SoftcapGradOp::getInPlaceOperands(unsigned) { return {1, 0}; }
Operands LayerNormGradOp::getInPlaceOperands(unsigned) { return {4, 0}; }
Operands RmsNormGradOp::getInPlaceOperands(unsigned) { return {3, 0}; }
Operands CrossEntropyGradOp::getInPlaceOperands(unsigned) { return {0}; }

// A cast that changes the size of elements would overwrite what it has yet to read.
Operands CastOp::getInPlaceOperands(unsigned) {
  return getX().getType() == getY().getType() ? Operands{0} : Operands{};
}

Operands AddGroupBiasOp::getInPlaceOperands(unsigned) { return {0}; }
Operands GateRowsOp::getInPlaceOperands(unsigned) { return {0}; }
Operands AddRelativeBiasOp::getInPlaceOperands(unsigned) { return {0}; }

//===----------------------------------------------------------------------===//
// Sums, which go on where their accumulator lies
//===----------------------------------------------------------------------===//

Operands LinearWeightGradOp::getInPlaceOperands(unsigned) { return accumulatorOf(*this); }
Operands SumRowsOp::getInPlaceOperands(unsigned) { return accumulatorOf(*this); }
Operands EmbeddingGradOp::getInPlaceOperands(unsigned) { return accumulatorOf(*this); }
Operands PositionsGradOp::getInPlaceOperands(unsigned) { return accumulatorOf(*this); }
Operands AttentionSinkGradOp::getInPlaceOperands(unsigned) { return accumulatorOf(*this); }
Operands NormWeightGradOp::getInPlaceOperands(unsigned) { return accumulatorOf(*this); }
Operands GroupedWeightGradOp::getInPlaceOperands(unsigned) { return accumulatorOf(*this); }
Operands SumGroupRowsOp::getInPlaceOperands(unsigned) { return accumulatorOf(*this); }
Operands RelativeBiasGradOp::getInPlaceOperands(unsigned) { return accumulatorOf(*this); }

Operands LossHeadOp::getInPlaceOperands(unsigned result) {
  // A chunk's rows of x are read for the last time before those of dx are written.
  Value written = getResult(result);
  if (written == getDx())
    return {0};
  return written == getDw() ? accumulatorOf(*this) : Operands();
}

//===----------------------------------------------------------------------===//
// Caches and copies
//===----------------------------------------------------------------------===//

// New rows go into their cache, which attention has read before.
Operands AppendCacheOp::getInPlaceOperands(unsigned result) { return {result}; }
Operands AppendRowsOp::getInPlaceOperands(unsigned) { return {0}; }
bool CachedAttentionOp::isRecomputable() { return false; }

static Operands destinationOperand(Value destination) {
  return destination ? Operands{1} : Operands{};
}

Operands CopyToHostOp::getInPlaceOperands(unsigned) { return destinationOperand(getDestination()); }
Operands CopyToDeviceOp::getInPlaceOperands(unsigned) {
  return destinationOperand(getDestination());
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

Operands AllGatherOp::getInPlaceOperands(unsigned) { return destinationOperand(getDestination()); }
// The call has sent all of x before it writes its first sum.
Operands AllReduceOp::getInPlaceOperands(unsigned) { return {0}; }
Operands ReduceOp::getInPlaceOperands(unsigned) { return {0}; }
Operands BroadcastOp::getInPlaceOperands(unsigned) { return {0}; }
// All operands are in the workspace before the first result is written.
Operands AllReduceBucketOp::getInPlaceOperands(unsigned result) { return {result}; }
Operands AllGatherBucketOp::getInPlaceOperands(unsigned result) {
  if (getDestinations().empty())
    return {};
  return {static_cast<unsigned>(getParts().size()) + result};
}

//===----------------------------------------------------------------------===//
// Updates stand where the old values stood
//===----------------------------------------------------------------------===//

/// Of an update that reads an element of the gradient before it writes one of the parameter. Where
/// a master copy is read instead of the parameter, the gradient may be given in its place.
template <typename UpdateOp>
static Operands operandsOfParam(UpdateOp op) {
  if (op.getParam() == op.getGradient())
    return {op.getParamMutable().getOperandNumber(), op.getGradientMutable().getOperandNumber()};
  return {op.getParamMutable().getOperandNumber()};
}

template <typename UpdateOp>
static Operands operandsOfUpdate(UpdateOp op, unsigned result) {
  if (result == 0)
    return {0};
  return {op.getStateMutable()[result - 1].getOperandNumber()};
}

Operands AdamWOp::getInPlaceOperands(unsigned result) {
  constexpr unsigned updated[] = {0, 2, 3}; // parameter, first moment, second moment
  if (result == 0)
    return operandsOfParam(*this);
  if (result < 3)
    return {updated[result]};
  if (unsigned number = result - 3; number < getScales().size())
    return {getScalesMutable()[number].getOperandNumber()};
  return {getMasterMutable()[0].getOperandNumber()};
}
Operands SGDOp::getInPlaceOperands(unsigned result) {
  return result == 0 ? operandsOfParam(*this) : operandsOfUpdate(*this, result);
}
Operands LionOp::getInPlaceOperands(unsigned result) {
  return result == 0 ? operandsOfParam(*this) : operandsOfUpdate(*this, result);
}
Operands AdafactorOp::getInPlaceOperands(unsigned result) {
  return operandsOfUpdate(*this, result);
}
Operands MuonOp::getInPlaceOperands(unsigned result) { return operandsOfUpdate(*this, result); }

/// The scale and its counts go on where they were; the factor and the step are new.
Operands AdjustLossScaleOp::getInPlaceOperands(unsigned result) {
  return result >= 1 && result <= 3 ? Operands{result} : Operands();
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

std::optional<unsigned> ReshapeOp::getViewedOperand(unsigned) { return 0; }
std::optional<unsigned> ReplicaOp::getViewedOperand(unsigned) { return 0; }
std::optional<unsigned> WaitOp::getViewedOperand(unsigned result) { return result; }

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Returns whether every op from `use` to the results may write where it reads.
static bool worksInPlace(OpOperand &use) {
  if (isa<YieldOp>(use.getOwner()))
    return true;
  auto buffers = dyn_cast<BufferOpInterface>(use.getOwner());
  if (!buffers || !llvm::is_contained(buffers.getInPlaceOperands(0), use.getOperandNumber()))
    return false;
  return llvm::all_of(use.getOwner()->getUses(), worksInPlace);
}

/// A matmul and a sum are written one after the other: each may take over an accumulator of its own
/// that the other does not read.
static Operands ownInPlaceOperands(KernelOp kernel, unsigned result) {
  Operation *op = kernel.getYielded()[result].getDefiningOp();
  Operands operands;
  if (auto buffers = dyn_cast<BufferOpInterface>(op))
    for (unsigned number : buffers.getInPlaceOperands(0))
      if (auto argument = cast<BlockArgument>(op->getOperand(number)); argument.hasOneUse())
        operands.push_back(argument.getArgNumber());
  return operands;
}

/// Returns whether the matmul before an epilogue is the only one that reads `argument`.
static bool isReadByProductAlone(KernelOp kernel, BlockArgument argument) {
  return llvm::all_of(argument.getUsers(),
                      [&](Operation *user) { return user == kernel.getProductBeforeEpilogue(); });
}

Operands KernelOp::getInPlaceOperands(unsigned result) {
  if (getSumOp())
    return ownInPlaceOperands(*this, result);
  bool holdsProduct = getResultOfProduct() == result;
  // A library may read aux after it has written C. And on an H200 a plan whose residual sums lay on
  // what they add had other bits than plans where they lay apart (cuBLASLt 13.1): such a sum dies
  // in the next one only where it is recomputed, so bits would depend on the budget.
  if (isForLibrary(*this) && multipliesMatrices())
    return {};
  auto type = cast<RankedTensorType>(getOutputs()[result].getType());
  Operands operands;
  for (BlockArgument argument : getBody().getArguments()) {
    auto input = dyn_cast<RankedTensorType>(argument.getType());
    bool fits = input && input.getNumElements() == type.getNumElements() &&
                input.getElementTypeBitWidth() == type.getElementTypeBitWidth();
    // The epilogue still reads it when the matmul is there.
    bool isOverwritten = holdsProduct && !isReadByProductAlone(*this, argument);
    if (fits && !isOverwritten && llvm::all_of(argument.getUses(), worksInPlace))
      operands.push_back(argument.getArgNumber());
  }
  return operands;
}
