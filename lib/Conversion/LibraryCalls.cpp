//===- LibraryCalls.cpp - Calls of cuBLASLt, but for addresses -------------===//

#include "llmmem/Conversion/LibraryCalls.h"

using namespace mlir;
using namespace llmmem;

static_assert(static_cast<int64_t>(llm::ProductEpilogue::SumA) == LLMMEM_EPILOGUE_BGRAD_A &&
              static_cast<int64_t>(llm::ProductEpilogue::GeluGrad) == LLMMEM_EPILOGUE_DGELU);

static llmmem_matrix_form formOf(llm::MatrixAttr matrix, Value buffer) {
  bool isHalf = cast<MemRefType>(buffer.getType()).getElementType().isBF16();
  return {isHalf ? LLMMEM_PRODUCT_BF16 : LLMMEM_PRODUCT_F32, matrix.getPitch(),
          matrix.getTransposed(), matrix.getStride(), matrix.getAlignment()};
}

llmmem_product llmmem::constantsOf(llm::LibraryProductOp op) {
  llmmem_product product = {};
  product.form.rows = op.getRows(), product.form.columns = op.getColumns();
  product.form.inner = op.getInner(), product.form.batch = op.getBatch();
  product.form.a = formOf(op.getA(), op.getABuffer());
  product.form.b = formOf(op.getB(), op.getBBuffer());
  product.form.c = formOf(op.getC(), op.getCBuffer());
  if (op.getInitialBuffer())
    product.form.initial = formOf(*op.getInitial(), op.getInitialBuffer());
  product.form.epilogue = static_cast<int64_t>(op.getEpilogue());
  product.form.aux_pitch = op.getAux() ? op.getC().getPitch() : 0;
  if (op.getWorkspace())
    product.form.workspace_bytes = cast<MemRefType>(op.getWorkspace().getType()).getNumElements();
  product.alpha = op.getScale().convertToDouble();
  return product;
}
