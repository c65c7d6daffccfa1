//===- VocabularyPart.cpp - The tokens that a rank has rows or columns of --===//

#include "VocabularyPart.h"
#include "Ranks.h"
#include "llmmem/Dialect/LlmOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace llmmem;

VocabularyPart::VocabularyPart(KernelEmitter &e, std::optional<llm::VocabularyAttr> part,
                               int64_t count)
    : size(part ? part->getSize() : count), e(e), count(count) {
  if (!part)
    return;
  begin = positionInGroup(e, part->getAxes()) * count;
  padded = llm::groupSizeOf(e.operation(), part->getAxes()) * count > size;
}

Index VocabularyPart::place(Index id) {
  Index clamped = minimum(maximum(id, e.index(0)), e.index(size - 1));
  return isPart() ? clamped - begin : clamped;
}

Value VocabularyPart::has(Index place) {
  return arith::AndIOp::create(e.builder(), e.location(), less(e.index(-1), place),
                               less(place, e.index(count)));
}

Index VocabularyPart::nearest(Index place) {
  return isPart() ? minimum(maximum(place, e.index(0)), e.index(count - 1)) : place;
}

Index VocabularyPart::tokens() {
  if (!padded)
    return e.index(count);
  return minimum(maximum(e.index(size) - begin, e.index(0)), e.index(count));
}

Num VocabularyPart::ifTokens(Index first, unsigned lanes, Num x, Num other) {
  if (!padded)
    return x;
  OpBuilder &b = e.builder();
  Location loc = e.location();
  Value numbers = elementNumbers(first, lanes);
  Value end = arith::IndexCastOp::create(b, loc, b.getI64Type(), tokens().value);
  if (lanes > 1)
    end = vector::BroadcastOp::create(b, loc, numbers.getType(), end);
  return select(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, numbers, end), x, other);
}
