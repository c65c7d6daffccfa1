//===- LlmBuffers.cpp - Whose bytes the results of the ops may have --------===//
//
// Each line says which operands a result may overwrite. The kernels of these ops read an element
// (or all that a row's result depends on) before they write it, so both variants give equal bits.
//
//===----------------------------------------------------------------------===//

#include "llmmem/Dialect/LlmOps.h"

using namespace mlir;
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

// These are elementwise, or work row by row and read the row first.
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

// Sums continue in the bytes of their accumulator.
Operands LinearWeightGradOp::getInPlaceOperands(unsigned) { return accumulatorOf(*this); }
Operands SumRowsOp::getInPlaceOperands(unsigned) { return accumulatorOf(*this); }
Operands EmbeddingGradOp::getInPlaceOperands(unsigned) { return accumulatorOf(*this); }
Operands PositionsGradOp::getInPlaceOperands(unsigned) { return accumulatorOf(*this); }
Operands AttentionSinkGradOp::getInPlaceOperands(unsigned) { return accumulatorOf(*this); }
Operands NormWeightGradOp::getInPlaceOperands(unsigned) { return accumulatorOf(*this); }

// New rows go into their cache, which attention has read before.
Operands AppendCacheOp::getInPlaceOperands(unsigned result) { return {result}; }
bool CachedAttentionOp::isRecomputable() { return false; }

std::optional<unsigned> ReshapeOp::getViewedOperand(unsigned) { return 0; }
