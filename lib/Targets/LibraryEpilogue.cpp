//===- LibraryEpilogue.cpp - What a library computes with a matmul ---------===//

#include "llmmem/Targets/LibraryEpilogue.h"
#include "llmmem/Dialect/ElementTypes.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

/// cuBLASLt: the leading dimension of aux "must be divisible by 8" (cublasLt.h, EPILOGUE_AUX_LD).
static constexpr int64_t kAuxPitch = 8;

static Type elementOf(Value tensor) {
  return cast<RankedTensorType>(tensor.getType()).getElementType();
}

/// Returns whether the result and everything that is multiplied and added have one type that a
/// library supports.
static bool hasOneLibraryType(Operation *matmul) {
  Type element = elementOf(matmul->getResult(0));
  return llm::isOfLibraries(element) && llvm::all_of(matmul->getOperands(), [&](Value operand) {
           return elementOf(operand) == element;
         });
}

static bool canBeAuxiliary(Value aux) {
  return cast<RankedTensorType>(aux.getType()).getShape().back() % kAuxPitch == 0;
}

static std::optional<LibraryEpilogue> ofGelu(LinearOp matmul, GeluOp gelu, bool keepsMatmul) {
  if (gelu.getX() != matmul.getY() || !matmul.getBias())
    return std::nullopt;
  if (!keepsMatmul)
    return LibraryEpilogue{ProductEpilogue::GeluBias, matmul, gelu.getY(), Value(), Value()};
  if (!canBeAuxiliary(matmul.getY()))
    return std::nullopt;
  return LibraryEpilogue{ProductEpilogue::GeluAuxBias, matmul, gelu.getY(), matmul.getY(), Value()};
}

static std::optional<LibraryEpilogue> ofGeluGrad(LinearOp matmul, GeluGradOp grad,
                                                 bool keepsMatmul) {
  if (grad.getDy() != matmul.getY() || grad.getX() == matmul.getY() || matmul.getBias() ||
      keepsMatmul || !canBeAuxiliary(grad.getX()))
    return std::nullopt;
  return LibraryEpilogue{ProductEpilogue::GeluGrad, matmul, grad.getDx(), grad.getX(), Value()};
}

static std::optional<LibraryEpilogue> ofAdd(LinearOp matmul, AddOp add, bool keepsMatmul) {
  bool isFirst = add.getA() == matmul.getY(), isSecond = add.getB() == matmul.getY();
  if (isFirst == isSecond || keepsMatmul)
    return std::nullopt;
  auto kind = matmul.getBias() ? ProductEpilogue::Bias : ProductEpilogue::None;
  return LibraryEpilogue{kind, matmul, add.getResult(), Value(), isFirst ? add.getB() : add.getA()};
}

std::optional<LibraryEpilogue> llm::libraryEpilogueOf(Operation *matmul, Operation *reader,
                                                      bool keepsMatmul) {
  auto linear = dyn_cast<LinearOp>(matmul);
  if (!linear || !hasOneLibraryType(linear))
    return std::nullopt;
  if (auto gelu = dyn_cast<GeluOp>(reader))
    return ofGelu(linear, gelu, keepsMatmul);
  if (auto grad = dyn_cast<GeluGradOp>(reader))
    return ofGeluGrad(linear, grad, keepsMatmul);
  if (auto add = dyn_cast<AddOp>(reader))
    return ofAdd(linear, add, keepsMatmul);
  return std::nullopt;
}

std::optional<LibraryEpilogue> llm::libraryEpilogueOf(KernelOp kernel) {
  auto ops =
      llvm::to_vector(llvm::make_pointer_range(kernel.getBody().front().without_terminator()));
  if (ops.size() != 2)
    return std::nullopt;
  bool keepsMatmul = llvm::is_contained(kernel.getYielded(), ops[0]->getResult(0));
  auto epilogue = libraryEpilogueOf(ops[0], ops[1], keepsMatmul);
  size_t handedOut = epilogue ? 1 + keepsMatmul : 0;
  bool isWhole = epilogue && llvm::is_contained(kernel.getYielded(), epilogue->c) &&
                 kernel.getNumResults() == handedOut;
  return isWhole ? epilogue : std::nullopt;
}

std::optional<LibrarySum> llm::librarySumOf(Operation *matmul, Operation *sum) {
  auto gradient = dyn_cast<LinearWeightGradOp>(matmul);
  auto sumRows = dyn_cast<SumRowsOp>(sum);
  if (!gradient || !sumRows || sumRows.getDy() != gradient.getDy() || !hasOneLibraryType(gradient))
    return std::nullopt;
  // dw = x^T dy, or dy^T x: the sum is over B itself, or over A.
  bool isInOut = gradient.getLayout() == WeightLayout::InOut;
  return LibrarySum{isInOut ? ProductEpilogue::SumB : ProductEpilogue::SumA, gradient, sumRows};
}

std::optional<LibrarySum> llm::librarySumOf(KernelOp kernel) {
  Operation *matmul = kernel.getLeadingOp(), *sum = kernel.getSumOp();
  return matmul && sum ? librarySumOf(matmul, sum) : std::nullopt;
}
