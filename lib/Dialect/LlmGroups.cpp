//===- LlmGroups.cpp - How the ops traverse their elements -----------------===//
//
// An op that is not named here is elementwise and cheap to recompute, if it can share a kernel at
// all.
//
//===----------------------------------------------------------------------===//

#include "llmmem/Dialect/LlmOps.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

Traversal LayerNormOp::getTraversal() { return Traversal::RowReduction; }
Traversal LayerNormGradOp::getTraversal() { return Traversal::RowReduction; }
Traversal RmsNormOp::getTraversal() { return Traversal::RowReduction; }
Traversal RmsNormGradOp::getTraversal() { return Traversal::RowReduction; }
Traversal SoftmaxOp::getTraversal() { return Traversal::RowReduction; }
Traversal SoftmaxGradOp::getTraversal() { return Traversal::RowReduction; }

Traversal LinearOp::getTraversal() { return Traversal::Matmul; }
Traversal LinearWeightGradOp::getTraversal() { return Traversal::Matmul; }

Traversal SumRowsOp::getTraversal() { return Traversal::ColumnReduction; }

Traversal AttentionOp::getTraversal() { return Traversal::Attention; }
Traversal AttentionGradOp::getTraversal() { return Traversal::Attention; }
// Statistics, sinks, positions and a seed are not rows of heads.
SmallVector<unsigned> AttentionOp::getHeadOperands() { return {0, 1, 2}; }
SmallVector<unsigned> AttentionOp::getHeadResults() { return {0}; }
SmallVector<unsigned> AttentionGradOp::getHeadOperands() { return {0, 1, 2, 3, 5}; }
SmallVector<unsigned> AttentionGradOp::getHeadResults() { return {0, 1, 2}; }

Traversal SplitOp::getTraversal() { return Traversal::Columns; }
Traversal ConcatOp::getTraversal() { return Traversal::Columns; }

// Matmul libraries compute only the tanh approximation as an epilogue (cuBLASLt's GELU and DGELU).
std::optional<unsigned> GeluOp::getEpilogueOperand() {
  return getExact() ? std::nullopt : std::optional(0u);
}
std::optional<unsigned> GeluGradOp::getEpilogueOperand() {
  return getExact() ? std::nullopt : std::optional(1u);
}

// It takes ten rounds of Philox for four numbers.
bool DropoutOp::isCheapToRepeat() { return false; }
bool StoredDropoutOp::isCheapToRepeat() { return false; }

llvm::StringRef AttentionOp::getStreamAttrName() { return getKeyAttrName(); }
llvm::StringRef AttentionGradOp::getStreamAttrName() { return getKeyAttrName(); }
llvm::StringRef DropoutOp::getStreamAttrName() { return getKeyAttrName(); }
llvm::StringRef StoredDropoutOp::getStreamAttrName() { return getKeyAttrName(); }

// There is one sample an element; attention has one for each pair of a query and a key of each
// head.
static SmallVector<int64_t> shapeOf(Value value) {
  return llvm::to_vector(cast<RankedTensorType>(value.getType()).getShape());
}
static SmallVector<int64_t> shapeOfPairs(Value lse) {
  SmallVector<int64_t> shape = shapeOf(lse);
  shape.push_back(shape.back());
  return shape;
}
SmallVector<int64_t> AttentionOp::getSampleShape() { return shapeOfPairs(getLse()); }
SmallVector<int64_t> AttentionGradOp::getSampleShape() { return shapeOfPairs(getLse()); }
SmallVector<int64_t> DropoutOp::getSampleShape() { return shapeOf(getX()); }
SmallVector<int64_t> StoredDropoutOp::getSampleShape() { return shapeOf(getX()); }
Attribute AttentionOp::getSampleSharding() { return getShardingAttr(); }
Attribute AttentionGradOp::getSampleSharding() { return getShardingAttr(); }
Attribute DropoutOp::getSampleSharding() { return getShardingAttr(); }
Attribute StoredDropoutOp::getSampleSharding() { return getShardingAttr(); }
