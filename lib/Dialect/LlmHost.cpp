//===- LlmHost.cpp - Calls of a GPU's libraries by the host ----------------===//

#include "llmmem/Alignment.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Support/Count.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

namespace {
/// Describes a matrix of the matmul and the buffer that contains it.
struct PlacedMatrix {
  StringRef name;
  MatrixAttr form;
  Value buffer;
  int64_t rows, columns;
};
} // namespace

/// The matmul's matrices must fit these, wherever in their buffers they begin.
static LogicalResult verifyMatrix(LibraryProductOp op, const PlacedMatrix &matrix) {
  int64_t rows = matrix.rows, columns = matrix.columns;
  if (matrix.form.getTransposed())
    std::swap(rows, columns);
  int64_t pitch = matrix.form.getPitch(), stride = matrix.form.getStride();
  if (pitch < columns || stride < 0)
    return op.emitOpError() << "has rows of " << columns << " in '" << matrix.name
                            << "', but a pitch of " << pitch << " and a stride of " << stride;
  int64_t alignment = matrix.form.getAlignment();
  if (alignment < 2 || alignment > kArenaAlignment || (alignment & (alignment - 1)) != 0)
    return op.emitOpError() << "says that '" << matrix.name << "' begins at multiples of "
                            << alignment << " bytes; expected a power of two, " << kArenaAlignment
                            << " at most";
  int64_t batch = op.getBatch();
  Count end = Count(batch - 1) * stride + Count(rows - 1) * pitch + columns;
  int64_t size = cast<MemRefType>(matrix.buffer.getType()).getNumElements();
  if (end.isTooMany())
    return op.emitOpError() << "has more than 2^63 elements of '" << matrix.name
                            << "' in a buffer of " << size
                            << "; make the batch, its stride or the pitch smaller";
  if (end > size)
    return op.emitOpError() << "has " << int64_t(end) << " elements of '" << matrix.name
                            << "' in a buffer of " << size;
  return success();
}

static Type elementOf(Value buffer) { return cast<MemRefType>(buffer.getType()).getElementType(); }

/// The types are bf16 to bf16 or f32, or f32 to f32, and everything that accompanies C has C's
/// type.
static LogicalResult verifyTypes(LibraryProductOp op) {
  Type a = elementOf(op.getABuffer()), b = elementOf(op.getBBuffer()),
       c = elementOf(op.getCBuffer());
  if (a != b || (a.isF32() && !c.isF32()))
    return op.emitOpError() << "multiplies " << a << " by " << b << " to " << c
                            << "; expected bf16 by bf16, or f32 by f32 to f32";
  for (Value extra : {op.getInitialBuffer(), op.getBias(), op.getAux()})
    if (extra && elementOf(extra) != c)
      return op.emitOpError() << "has " << elementOf(extra) << " with a result of " << c;
  return success();
}

static LogicalResult verifyEpilogue(LibraryProductOp op) {
  ProductEpilogue epilogue = op.getEpilogue();
  bool hasAux = epilogue == ProductEpilogue::GeluAuxBias || epilogue == ProductEpilogue::GeluGrad ||
                epilogue == ProductEpilogue::GeluGradSum;
  bool hasBias = epilogue != ProductEpilogue::None && epilogue != ProductEpilogue::GeluGrad;
  if (static_cast<bool>(op.getBias()) != hasBias || static_cast<bool>(op.getAux()) != hasAux)
    return op.emitOpError() << "with the epilogue '" << stringifyProductEpilogue(epilogue)
                            << "' needs " << (hasBias ? "a" : "no") << " 'bias' and "
                            << (hasAux ? "an" : "no") << " 'aux'";
  if (hasBias) {
    bool ofRows = epilogue == ProductEpilogue::SumA;
    int64_t expected = ofRows ? op.getRows() : op.getColumns();
    int64_t size = cast<MemRefType>(op.getBias().getType()).getNumElements();
    if (size != expected)
      return op.emitOpError() << "has a 'bias' of " << size << " elements; expected " << expected;
  }
  if (hasAux && op.getBatch() > 1)
    return op.emitOpError("has an 'aux' for a batch; expected a batch of 1");
  if (hasAux && op.getC().getPitch() % 8 != 0)
    return op.emitOpError() << "has an 'aux' whose rows begin " << op.getC().getPitch()
                            << " elements apart; expected a multiple of 8";
  if (!hasAux)
    return success();
  int64_t rows = op.getRows(), columns = op.getColumns();
  return verifyMatrix(op, {"aux", op.getC(), op.getAux(), rows, columns});
}

LogicalResult LibraryProductOp::verify() {
  int64_t rows = getRows(), columns = getColumns(), inner = getInner(), batch = getBatch();
  if (std::min({rows, columns, inner, batch}) < 1)
    return emitOpError("has an empty dimension");
  if (static_cast<bool>(getInitialBuffer()) != static_cast<bool>(getInitialAttr()) ||
      static_cast<bool>(getInitialBuffer()) != static_cast<bool>(getInitialBegin()))
    return emitOpError("needs 'initial', where it begins and how it lies, or none of them");
  SmallVector<PlacedMatrix> matrices = {{"a", getA(), getABuffer(), rows, inner},
                                        {"b", getB(), getBBuffer(), inner, columns},
                                        {"c", getC(), getCBuffer(), rows, columns}};
  if (getInitialBuffer())
    matrices.push_back({"initial", *getInitial(), getInitialBuffer(), rows, columns});
  for (const PlacedMatrix &matrix : matrices)
    if (failed(verifyMatrix(*this, matrix)))
      return failure();
  if (getC().getTransposed() || (getInitial() && getInitial()->getTransposed()))
    return emitOpError("has a transposed result; expected C and 'initial' row after row");
  if (failed(verifyTypes(*this)))
    return failure();
  return verifyEpilogue(*this);
}
