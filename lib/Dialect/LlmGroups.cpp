//===- LlmGroups.cpp - How the ops go over their elements ------------------===//
//
// What is not named here goes by elements that are cheap to compute again, if it can share a
// kernel at all.
//
//===----------------------------------------------------------------------===//

#include "llmmem/Dialect/LlmOps.h"

using namespace llmmem;
using namespace llmmem::llm;

Traversal LayerNormOp::getTraversal() { return Traversal::Rows; }
Traversal LayerNormGradOp::getTraversal() { return Traversal::Rows; }
Traversal RmsNormOp::getTraversal() { return Traversal::Rows; }
Traversal RmsNormGradOp::getTraversal() { return Traversal::Rows; }
Traversal SoftmaxOp::getTraversal() { return Traversal::Rows; }
Traversal SoftmaxGradOp::getTraversal() { return Traversal::Rows; }

Traversal LinearOp::getTraversal() { return Traversal::Product; }
Traversal LinearWeightGradOp::getTraversal() { return Traversal::Product; }

Traversal SumRowsOp::getTraversal() { return Traversal::Columns; }

// What matrix libraries compute at the end of a product (cuBLASLt's GELU and DGELU).
std::optional<unsigned> GeluOp::getEpilogueOperand() { return 0; }
std::optional<unsigned> GeluGradOp::getEpilogueOperand() { return 1; }

// Ten rounds of Philox for four numbers.
bool DropoutOp::isCheapToRepeat() { return false; }
bool StoredDropoutOp::isCheapToRepeat() { return false; }
