//===- LibraryProducts.cpp - Matrix products of a GPU by cuBLASLt ----------===//

#include "Gpu/MmaTile.h"
#include "Products.h"
#include "llmmem/Dialect/LlmOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include <numeric>

using namespace mlir;
using namespace llmmem;

/// A row that is repeated is a bias.
static bool hasBias(const Product &product) {
  return product.initial.buffer && product.initial.pitch == 0;
}

/// bf16 to bf16 or f32, f32 to f32; one term, which is rounded once; what is added, as it is
/// stored.
bool llmmem::isLibraryProduct(KernelEmitter &e, const Product &p) {
  if (e.options().target != KernelTarget::Gpu || e.options().products != ProductSource::Library)
    return false;
  Type a = p.a.buffer.element, b = p.b.buffer.element, c = p.c.buffer.element;
  bool areTypes = a == b && ((a.isBF16() && (c.isBF16() || c.isF32())) || (a.isF32() && c.isF32()));
  bool areInMemory = p.a.buffer.memref && p.b.buffer.memref && p.c.buffer.memref;
  bool isSum = !p.initial.buffer ||
               (p.initial.buffer.memref && p.initial.buffer.element == c && !p.initial.begin);
  return areTypes && areInMemory && isSum && p.terms == 1;
}

/// Every buffer begins at a multiple of 256 bytes, and a view of one at the shift behind that.
static int64_t alignmentOf(const Matrix &matrix, int64_t batch) {
  int64_t alignment = 256, width = matrix.buffer.element.getIntOrFloatBitWidth() / 8;
  if (auto view = matrix.buffer.memref.getDefiningOp<memref::ViewOp>())
    alignment = std::gcd(alignment, knownDivisor(view.getByteShift()));
  if (matrix.begin)
    alignment = std::gcd(alignment, knownDivisor(matrix.begin->value) * width);
  return batch > 1 ? std::gcd(alignment, matrix.stride * width) : alignment;
}

static llm::MatrixAttr formOf(const Matrix &matrix, int64_t batch) {
  int64_t stride = batch > 1 ? matrix.stride : 0;
  return llm::MatrixAttr::get(matrix.buffer.memref.getContext(), matrix.pitch, matrix.transposed,
                              stride, alignmentOf(matrix, batch));
}

void llmmem::emitLibraryProduct(KernelEmitter &e, const Product &p) {
  auto beginOf = [&](const Matrix &matrix) {
    return matrix.begin ? matrix.begin->value : e.index(0).value;
  };
  bool addsBias = hasBias(p), addsMatrix = p.initial.buffer && !addsBias;
  Value initial = addsMatrix ? p.initial.buffer.memref : Value(),
        bias = addsBias ? p.initial.buffer.memref : Value();
  llm::MatrixAttr initialForm = addsMatrix ? formOf(p.initial, p.batch) : llm::MatrixAttr();
  auto epilogue = addsBias ? llm::ProductEpilogue::Bias : llm::ProductEpilogue::None;
  llm::LibraryProductOp::create(
      e.builder(), e.location(), p.a.buffer.memref, beginOf(p.a), p.b.buffer.memref, beginOf(p.b),
      p.c.buffer.memref, beginOf(p.c), initial, bias, /*aux=*/Value(), e.libraryWorkspace(), p.rows,
      p.columns, p.inner, p.batch, formOf(p.a, p.batch), formOf(p.b, p.batch), formOf(p.c, p.batch),
      initialForm, llvm::APFloat(p.scale), epilogue);
}
