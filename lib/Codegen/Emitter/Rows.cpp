//===- Rows.cpp - Rows of buffers in registers -----------------------------===//

#include "Rows.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace llmmem;

/// Calls `chunk` with the beginning and the width of each vector of a row.
static void forChunks(int64_t width, unsigned lanes, function_ref<void(int64_t, unsigned)> chunk) {
  for (int64_t begin = 0; begin < width; begin += lanes)
    chunk(begin, std::min<int64_t>(lanes, width - begin));
}

Row llmmem::loadRow(KernelEmitter &e, Buffer buffer, Index index, int64_t width) {
  Row row;
  forChunks(width, e.lanes(), [&](int64_t begin, unsigned lanes) {
    auto type = VectorType::get({lanes}, buffer.element);
    Value raw = vector::LoadOp::create(e.builder(), e.location(), type, buffer.memref,
                                       (index + begin).value);
    row.push_back(convert({&e.builder(), raw}, e.computeType()));
  });
  return row;
}

void llmmem::storeRow(KernelEmitter &e, Buffer buffer, Index index, ArrayRef<Num> row) {
  int64_t begin = 0;
  for (Num chunk : row) {
    e.store(buffer, index + begin, chunk);
    begin += cast<VectorType>(chunk.type()).getNumElements();
  }
}

Row llmmem::zeroRow(KernelEmitter &e, int64_t width) {
  Row row;
  forChunks(width, e.lanes(), [&](int64_t, unsigned lanes) {
    auto zero = DenseElementsAttr::get(VectorType::get({lanes}, e.computeType()),
                                       e.builder().getZeroAttr(e.computeType()));
    row.push_back({&e.builder(), arith::ConstantOp::create(e.builder(), e.location(),
                                                           cast<TypedAttr>(Attribute(zero)))});
  });
  return row;
}
