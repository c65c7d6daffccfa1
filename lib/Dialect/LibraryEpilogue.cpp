//===- LibraryEpilogue.cpp - What a library computes beside a product ------===//

#include "llmmem/Dialect/LibraryEpilogue.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

/// cuBLASLt: the leading dimension of aux "must be divisible by 8" (cublasLt.h, EPILOGUE_AUX_LD).
static constexpr int64_t kAuxPitch = 8;

static Type elementOf(Value tensor) {
  return cast<RankedTensorType>(tensor.getType()).getElementType();
}

/// All that is multiplied and added, and the product, are of one type that a library has.
static bool hasOneLibraryType(Operation *product) {
  Type element = elementOf(product->getResult(0));
  return (element.isBF16() || element.isF32()) &&
         llvm::all_of(product->getOperands(),
                      [&](Value operand) { return elementOf(operand) == element; });
}

static bool canLieBeside(Value aux) {
  return cast<RankedTensorType>(aux.getType()).getShape().back() % kAuxPitch == 0;
}

static std::optional<LibraryEpilogue> ofGelu(LinearOp product, GeluOp gelu, bool keepsProduct) {
  if (gelu.getX() != product.getY() || !product.getBias())
    return std::nullopt;
  if (!keepsProduct)
    return LibraryEpilogue{ProductEpilogue::GeluBias, product, gelu.getY(), Value(), Value()};
  if (!canLieBeside(product.getY()))
    return std::nullopt;
  return LibraryEpilogue{ProductEpilogue::GeluAuxBias, product, gelu.getY(), product.getY(),
                         Value()};
}

static std::optional<LibraryEpilogue> ofGeluGrad(LinearOp product, GeluGradOp grad,
                                                 bool keepsProduct) {
  if (grad.getDy() != product.getY() || grad.getX() == product.getY() || product.getBias() ||
      keepsProduct || !canLieBeside(grad.getX()))
    return std::nullopt;
  return LibraryEpilogue{ProductEpilogue::GeluGrad, product, grad.getDx(), grad.getX(), Value()};
}

static std::optional<LibraryEpilogue> ofAdd(LinearOp product, AddOp add, bool keepsProduct) {
  bool isFirst = add.getA() == product.getY(), isSecond = add.getB() == product.getY();
  if (isFirst == isSecond || keepsProduct)
    return std::nullopt;
  auto kind = product.getBias() ? ProductEpilogue::Bias : ProductEpilogue::None;
  return LibraryEpilogue{kind, product, add.getResult(), Value(),
                         isFirst ? add.getB() : add.getA()};
}

std::optional<LibraryEpilogue> llm::libraryEpilogueOf(Operation *product, Operation *reader,
                                                      bool keepsProduct) {
  auto linear = dyn_cast<LinearOp>(product);
  if (!linear || !hasOneLibraryType(linear))
    return std::nullopt;
  if (auto gelu = dyn_cast<GeluOp>(reader))
    return ofGelu(linear, gelu, keepsProduct);
  if (auto grad = dyn_cast<GeluGradOp>(reader))
    return ofGeluGrad(linear, grad, keepsProduct);
  if (auto add = dyn_cast<AddOp>(reader))
    return ofAdd(linear, add, keepsProduct);
  return std::nullopt;
}

std::optional<LibraryEpilogue> llm::libraryEpilogueOf(KernelOp kernel) {
  auto ops =
      llvm::to_vector(llvm::make_pointer_range(kernel.getBody().front().without_terminator()));
  if (ops.size() != 2)
    return std::nullopt;
  bool keepsProduct = llvm::is_contained(kernel.getYielded(), ops[0]->getResult(0));
  auto epilogue = libraryEpilogueOf(ops[0], ops[1], keepsProduct);
  size_t handedOut = epilogue ? 1 + keepsProduct : 0;
  bool isWhole = epilogue && llvm::is_contained(kernel.getYielded(), epilogue->c) &&
                 kernel.getNumResults() == handedOut;
  return isWhole ? epilogue : std::nullopt;
}

std::optional<LibrarySum> llm::librarySumOf(Operation *product, Operation *sum) {
  auto gradient = dyn_cast<LinearWeightGradOp>(product);
  auto sumRows = dyn_cast<SumRowsOp>(sum);
  if (!gradient || !sumRows || sumRows.getDy() != gradient.getDy() || !hasOneLibraryType(gradient))
    return std::nullopt;
  // dw = x^T dy, or dy^T x: what is summed is B as it is, or A.
  bool isInOut = gradient.getLayout() == WeightLayout::InOut;
  return LibrarySum{isInOut ? ProductEpilogue::SumB : ProductEpilogue::SumA, gradient, sumRows};
}

std::optional<LibrarySum> llm::librarySumOf(KernelOp kernel) {
  Operation *product = kernel.getLeadingOp(), *sum = kernel.getSumOp();
  return product && sum ? librarySumOf(product, sum) : std::nullopt;
}

bool llmmem::isForLibrary(Operation *op) { return op->hasAttr(kLibraryWorkspaceAttr); }
