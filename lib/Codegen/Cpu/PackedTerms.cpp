//===- PackedTerms.cpp - Terms of a product by a packed B -----------------===//

#include "PackedTerms.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <numeric>

using namespace mlir;
using namespace llmmem;
using namespace llmmem::gemm;

static Value shiftedDown(Writer &w, Value words, int64_t bits) {
  if (bits == 0)
    return words;
  Value count = arith::ConstantOp::create(
      w.builder, w.loc(),
      DenseElementsAttr::get(cast<VectorType>(words.getType()), static_cast<int32_t>(bits)));
  return arith::ShRUIOp::create(w.builder, w.loc(), words, count);
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

int64_t gemm::vectorsTogether(const PackedFormat &format) { return format ? format.perByte() : 1; }

SmallVector<Num> gemm::unpackRow(Writer &w, const FactorB &row, int64_t count) {
  int64_t lanes = w.sizes.lanes, together = vectorsTogether(w.held);
  // All columns of a part are of one group.
  int64_t part = std::gcd(w.held.group, count * lanes);
  SmallVector<Num> vectors;
  for (int64_t first = 0; first < count * lanes; first += part) {
    Num scale = row.scaleAt(w.constant(first));
    std::optional<Num> zero = row.zeroAt(w.constant(first));
    for (int64_t column = first; column < first + part; column += together * lanes) {
      Value words = row.loadWidened(w.constant(column), lanes);
      for (int64_t number = 0; number < together; ++number)
        vectors.push_back(numbersOf(w.builder, w.loc(),
                                    shiftedDown(w, words, number * w.held.bits()), w.held.element,
                                    zero) *
                          scale);
    }
  }
  return vectors;
}

SmallVector<Num> gemm::inOrder(Writer &w, ArrayRef<Num> row) {
  if (vectorsTogether(w.held) == 1)
    return SmallVector<Num>(row);
  int64_t lanes = w.sizes.lanes;
  SmallVector<Num> ordered;
  for (size_t pair = 0; pair < row.size(); pair += 2)
    for (int64_t half : {0, 1}) {
      SmallVector<int64_t> order;
      for (int64_t lane = half * lanes; lane < (half + 1) * lanes; ++lane)
        order.push_back(lane % 2 * lanes + lane / 2);
      ordered.push_back({&w.builder, vector::ShuffleOp::create(w.builder, w.loc(), row[pair].value,
                                                               row[pair + 1].value, order)});
    }
  return ordered;
}

//===----------------------------------------------------------------------===//
// Columns
//===----------------------------------------------------------------------===//

/// A power of two that divides the words of a group, up to the lanes.
static int64_t wordsOfStep(const Writer &w) {
  int64_t ofGroup = w.held.group * w.held.bits() / 32;
  return std::min(w.sizes.lanes, ofGroup & -ofGroup);
}

PackedColumns::PackedColumns(Writer &w, int64_t vectors)
    : w(w), words(w.held ? wordsOfStep(w) : 0),
      panel(w.panel(std::max<int64_t>(1, vectors * words * w.sizes.lanes))) {}

Pointer PackedColumns::wordAt(int64_t number, Index word) {
  return panel + (word + number * words) * w.sizes.lanes;
}

/// One vector behind the other.
static Num joined(Writer &w, ArrayRef<Num> parts) {
  if (parts.size() == 1)
    return parts.front();
  size_t half = parts.size() / 2;
  Num lower = joined(w, parts.take_front(half)), upper = joined(w, parts.drop_front(half));
  int64_t lanes = cast<VectorType>(lower.type()).getNumElements();
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, 2 * lanes));
  return {&w.builder,
          vector::ShuffleOp::create(w.builder, w.loc(), lower.value, upper.value, order)};
}

void PackedColumns::read(int64_t number, ArrayRef<Index> columns, const FactorB &b) {
  SmallVector<SmallVector<Num>> squares;
  for (size_t first = 0; first < columns.size(); first += words) {
    SmallVector<Num> square;
    for (Index place : columns.slice(first, words))
      square.push_back({&w.builder, b.loadWords(place, words)});
    transpose(w, square);
    squares.push_back(std::move(square));
  }
  for (int64_t word = 0; word < words; ++word) {
    auto parts = llvm::map_to_vector(squares, [&](const SmallVector<Num> &x) { return x[word]; });
    LLVM::StoreOp::create(w.builder, w.loc(), joined(w, parts).value,
                          wordAt(number, w.constant(word)).address, /*alignment=*/64);
  }
}

PackedColumns::Groups PackedColumns::groupsOf(ArrayRef<Index> columns, const FactorB &b) {
  auto each = [&](function_ref<Num(Index)> numberAt) -> Num {
    auto numbers = llvm::map_to_vector(columns, [&](Index x) { return numberAt(x).value; });
    auto type = VectorType::get(columns.size(), w.accumulatorType);
    return {&w.builder, vector::FromElementsOp::create(w.builder, w.loc(), type, numbers)};
  };
  Groups groups{each([&](Index place) { return b.scaleAt(place); }), std::nullopt};
  if (w.held.hasZeros())
    groups.zero = each([&](Index place) { return *b.zeroAt(place); });
  return groups;
}

Num PackedColumns::termOf(int64_t number, Index word, int64_t term, const Groups &groups) {
  auto type = VectorType::get(w.sizes.lanes, w.builder.getI32Type());
  Value bits = LLVM::LoadOp::create(w.builder, w.loc(), type, wordAt(number, word).address,
                                    /*alignment=*/64);
  return numbersOf(w.builder, w.loc(), shiftedDown(w, bits, term * w.held.bits()), w.held.element,
                   groups.zero) *
         groups.scale;
}
