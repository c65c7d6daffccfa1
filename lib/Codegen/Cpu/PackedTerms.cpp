//===- PackedTerms.cpp - Terms of a product by a packed B -----------------===//

#include "PackedTerms.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <numeric>

using namespace mlir;
using namespace llmmem;
using namespace llmmem::gemm;

template <typename Op>
static Value withConstant(Writer &w, Value words, uint32_t number) {
  auto type = cast<VectorType>(words.getType());
  Value same = arith::ConstantOp::create(
      w.builder, w.loc(), DenseElementsAttr::get(type, static_cast<int32_t>(number)));
  return Op::create(w.builder, w.loc(), words, same);
}

static Value shiftedDown(Writer &w, Value words, int64_t bits) {
  return bits == 0 ? words : withConstant<arith::ShRUIOp>(w, words, bits);
}

static Value shiftedUp(Writer &w, Value words, int64_t bits) {
  return bits == 0 ? words : withConstant<arith::ShLIOp>(w, words, bits);
}

static Num numbersOfIntegers(Writer &w, Value integers) {
  auto type = cast<VectorType>(integers.getType());
  return {&w.builder,
          arith::SIToFPOp::create(w.builder, w.loc(), type.clone(w.accumulatorType), integers)};
}

/// Concatenates the two vectors.
static Value joined(Writer &w, Value lower, Value upper) {
  int64_t lanes = cast<VectorType>(lower.getType()).getNumElements();
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, 2 * lanes));
  return vector::ShuffleOp::create(w.builder, w.loc(), lower, upper, order);
}

/// Applies to i8 and f8.
static Num numbersOfBytes(Writer &w, Value bytes) {
  auto words = cast<VectorType>(bytes.getType()).clone(w.builder.getI32Type());
  if (w.held.element.isInteger(8))
    return numbersOfIntegers(w, arith::ExtSIOp::create(w.builder, w.loc(), words, bytes));
  return numbersOf(w.builder, w.loc(), wordsOfBytes(w.builder, w.loc(), bytes), w.held.element,
                   std::nullopt);
}

//===----------------------------------------------------------------------===//
// Numbers of four bits
//===----------------------------------------------------------------------===//

/// Returns the bits of 2^(23 - 4 place), to which an integer that is moved up as far is added.
static uint32_t powerOf(int64_t place) { return static_cast<uint32_t>(127 + 23 - 4 * place) << 23; }

static uint32_t maskOf(int64_t place) { return powerOf(place) | (15u << (4 * place)); }

NibbleNumbers::NibbleNumbers(Writer &w)
    : w(w), table(w.panel(kOfHalf * 16)), masks(w.panel(kOfHalf / 2 * w.sizes.lanes)) {
  for (int64_t place = 0; place < kOfHalf; ++place) {
    SmallVector<float> numbers;
    for (int64_t zero = 0; zero < 16; ++zero)
      numbers.push_back(static_cast<float>((1 << (23 - 4 * place)) + zero));
    auto type = VectorType::get(16, w.accumulatorType);
    Value row = arith::ConstantOp::create(w.builder, w.loc(),
                                          DenseElementsAttr::get(type, ArrayRef<float>(numbers)));
    w.store(table + w.constant(16 * place), {&w.builder, row});
  }
  for (int64_t place = 0; place < kOfHalf; place += 2) {
    SmallVector<int32_t> mask(w.sizes.lanes / 2, static_cast<int32_t>(maskOf(place)));
    mask.append(w.sizes.lanes / 2, static_cast<int32_t>(maskOf(place + 1)));
    auto type = VectorType::get(w.sizes.lanes, w.builder.getI32Type());
    Value known = arith::ConstantOp::create(w.builder, w.loc(),
                                            DenseElementsAttr::get(type, ArrayRef<int32_t>(mask)));
    LLVM::StoreOp::create(w.builder, w.loc(), known, maskAt(place).address, /*alignment=*/64);
  }
  // LLVM must not know the exponents: it would extract them and the number by an `and` each, and
  // join these.
  auto words = VectorType::get(w.sizes.lanes, w.builder.getI32Type());
  Value known =
      arith::ConstantOp::create(w.builder, w.loc(), DenseElementsAttr::get(words, 0x4F000000));
  Pointer hidden = w.panel(w.sizes.lanes);
  LLVM::StoreOp::create(w.builder, w.loc(), known, hidden.address, /*alignment=*/64,
                        /*isVolatile=*/true);
  exponents = LLVM::LoadOp::create(w.builder, w.loc(), words, hidden.address, /*alignment=*/64,
                                   /*isVolatile=*/true);
}

Value NibbleNumbers::withExponents(Value words) {
  int64_t lanes = cast<VectorType>(words.getType()).getNumElements();
  Value own = exponents;
  if (lanes < w.sizes.lanes)
    own = vector::ShuffleOp::create(w.builder, w.loc(), own, own,
                                    llvm::to_vector(llvm::seq<int64_t>(0, lanes)));
  return arith::OrIOp::create(w.builder, w.loc(), words, own);
}

Num NibbleNumbers::asNumbers(Value words) {
  auto type = cast<VectorType>(words.getType());
  return {&w.builder,
          arith::BitcastOp::create(w.builder, w.loc(), type.clone(w.accumulatorType), words)};
}

Num NibbleNumbers::numberOf(Value words, int64_t place) {
  return asNumbers(withConstant<arith::AndIOp>(w, words, maskOf(place)));
}

Pointer NibbleNumbers::maskAt(int64_t place) {
  return masks + w.constant(place / 2 * w.sizes.lanes);
}

Value NibbleNumbers::maskOfPair(int64_t place) {
  return LLVM::LoadOp::create(w.builder, w.loc(),
                              VectorType::get(w.sizes.lanes, w.builder.getI32Type()),
                              maskAt(place).address, /*alignment=*/64, /*isVolatile=*/true);
}

Num NibbleNumbers::pairOf(Value words, Value mask) {
  return asNumbers(arith::AndIOp::create(w.builder, w.loc(), joined(w, words, words), mask));
}

Num NibbleNumbers::zeroOf(Value words, int64_t place) {
  Value number = withConstant<arith::AndIOp>(w, words, 15);
  return asNumbers(withConstant<arith::OrIOp>(w, shiftedUp(w, number, 4 * place), powerOf(place)));
}

Num NibbleNumbers::pairOfZero(Value word, int64_t place) {
  Value fifteen = arith::ConstantOp::create(w.builder, w.loc(), w.builder.getI32IntegerAttr(15));
  Index number{&w.builder, arith::IndexCastUIOp::create(
                               w.builder, w.loc(), w.builder.getIndexType(),
                               arith::AndIOp::create(w.builder, w.loc(), word, fifteen))};
  auto half = VectorType::get(w.sizes.lanes / 2, w.accumulatorType);
  auto spread = [&](int64_t of) -> Value {
    Num zero = w.load(table + (number + 16 * of), 1);
    return vector::BroadcastOp::create(w.builder, w.loc(), half, zero.value);
  };
  return {&w.builder, joined(w, spread(place), spread(place + 1))};
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

PackedRows::PackedRows(Writer &w) : w(w) {
  if (w.held.hasZeros())
    nibbles.emplace(w);
}

int64_t PackedRows::vectorsTogether(const PackedFormat &format) {
  return format ? format.perByte() : 1;
}

void PackedRows::unpack(const FactorB &row, int64_t count, Take take) {
  int64_t lanes = w.sizes.lanes;
  // All columns of a part belong to one group.
  int64_t part = std::gcd(w.held.group, count * lanes) / lanes;
  for (int64_t first = 0; first < count; first += part) {
    if (nibbles) {
      unpackNibbles(row, first, part, take);
      continue;
    }
    Num scale = row.scaleOf(row.groupOf(w.constant(first * lanes)));
    for (int64_t number = first; number < first + part; ++number) {
      Value bytes = row.loadStored(w.constant(number * lanes), lanes, w.builder.getI8Type());
      take(number, numbersOfBytes(w, bytes) * scale);
    }
  }
}

void PackedRows::unpackNibbles(const FactorB &row, int64_t first, int64_t count, Take take) {
  int64_t lanes = w.sizes.lanes;
  FactorB begin = row + w.constant(first * lanes);
  Index group = begin.groupOf(w.constant(0));
  Num scale = begin.scaleOf(group);
  Value zero = begin.zeroBitsOf(group);
  auto type = VectorType::get(lanes / 2, w.builder.getI32Type());
  SmallVector<Value> words;
  for (int64_t pair = 0; pair < count; pair += 2) {
    Value halves =
        begin.loadStored(w.constant(pair * lanes / 2), lanes / 2, w.builder.getIntegerType(16));
    words.push_back(
        nibbles->withExponents(arith::ExtUIOp::create(w.builder, w.loc(), type, halves)));
  }
  for (int64_t half : {0, 1}) {
    Value mask = nibbles->maskOfPair(2 * half);
    Num zeros = nibbles->pairOfZero(zero, 2 * half);
    for (auto [pair, word] : llvm::enumerate(words))
      take(first + 2 * static_cast<int64_t>(pair) + half,
           (nibbles->pairOf(word, mask) - zeros) * scale);
  }
}

SmallVector<Num> PackedRows::inOrder(ArrayRef<Num> row) {
  if (!nibbles)
    return SmallVector<Num>(row);
  int64_t lanes = w.sizes.lanes, words = lanes / 2;
  SmallVector<Num> ordered;
  for (size_t pair = 0; pair < row.size(); pair += 2)
    for (int64_t first : {int64_t(0), lanes}) {
      SmallVector<int64_t> order;
      for (int64_t column = first; column < first + lanes; ++column)
        order.push_back(column % NibbleNumbers::kOfHalf * words + column / NibbleNumbers::kOfHalf);
      ordered.push_back({&w.builder, vector::ShuffleOp::create(w.builder, w.loc(), row[pair].value,
                                                               row[pair + 1].value, order)});
    }
  return ordered;
}

//===----------------------------------------------------------------------===//
// Columns
//===----------------------------------------------------------------------===//

/// Counts the contiguous bytes of a column where squares of 128 bits are transposed, and the
/// columns.
constexpr int64_t kSide = 16;

/// Returns a power of two that divides the words of a group, up to the lanes.
static int64_t wordsOfStep(const Writer &w) {
  int64_t ofGroup = w.held.group * w.held.bits() / 32;
  return std::min(w.sizes.lanes, ofGroup & -ofGroup);
}

PackedColumns::PackedColumns(Writer &w, int64_t vectors)
    : w(w), words(w.held ? wordsOfStep(w) : 0),
      panel(w.panel(std::max<int64_t>(1, vectors * words * w.sizes.lanes))) {
  if (w.held.hasZeros())
    nibbles.emplace(w);
}

Pointer PackedColumns::wordAt(int64_t number, Index word) {
  return panel + (word + number * words) * w.sizes.lanes;
}

void PackedColumns::read(int64_t number, const Places &places) {
  nibbles ? readWords(number, places) : readBytes(number, places);
}

/// The panel is [words][lanes].
void PackedColumns::readWords(int64_t number, const Places &places) {
  int64_t side = words;
  Index pitch = places.pitch / w.held.perByte();
  for (int64_t column = 0; column < w.sizes.lanes; column += side) {
    SmallVector<Num> square;
    for (Index row : places.rows.slice(column, side))
      square.push_back(
          {&w.builder, places.first.loadStored(row * pitch, side, w.builder.getI32Type())});
    transpose(w, square);
    for (auto [word, part] : llvm::enumerate(square))
      LLVM::StoreOp::create(
          w.builder, w.loc(), part.value,
          (wordAt(number, w.constant(static_cast<int64_t>(word))) + w.constant(column)).address,
          /*alignment=*/4 * side);
  }
}

/// Reads squares of 16 columns and 16 neighbours of each, as many next to each other as a row has:
/// so vector t has terms t, t + 16, t + 32 and t + 48 of all columns, one term after another.
void PackedColumns::readBytes(int64_t number, const Places &places) {
  SmallVector<Num> square;
  for (Index row : places.rows)
    square.push_back({&w.builder, places.first.loadStored(row * places.pitch, 4 * words,
                                                          w.builder.getI8Type())});
  transposeInside(w, square, kSide);
  for (auto [term, bytes] : llvm::enumerate(square))
    LLVM::StoreOp::create(
        w.builder, w.loc(), bytes.value,
        (wordAt(number, w.constant(0)) + w.constant(static_cast<int64_t>(term) * words)).address,
        /*alignment=*/4 * words);
}

PackedColumns::Groups PackedColumns::groupsOf(const Places &places) {
  Index first = places.first.groupOf(w.constant(0)), pitch = places.pitch / w.held.group;
  auto each = [&](Type element, function_ref<Value(Index group)> valueOf) -> Value {
    auto values =
        llvm::map_to_vector(places.rows, [&](Index row) { return valueOf(first + row * pitch); });
    return vector::FromElementsOp::create(w.builder, w.loc(),
                                          VectorType::get(values.size(), element), values);
  };
  Value scales =
      each(w.accumulatorType, [&](Index group) { return places.first.scaleOf(group).value; });
  Groups groups{{&w.builder, scales}, {}};
  if (!nibbles)
    return groups;
  Value zeros =
      each(w.builder.getI32Type(), [&](Index group) { return places.first.zeroBitsOf(group); });
  for (int64_t place = 0; place < NibbleNumbers::kOfHalf; ++place)
    groups.zeros.push_back(nibbles->zeroOf(zeros, place));
  return groups;
}

PackedColumns::Word PackedColumns::wordOf(int64_t number, Index word) {
  if (!nibbles) {
    // A square has four words of each column; a term of 16 columns takes the room of four numbers.
    Index square = word / 4, first = word % 4 * 4;
    Word bytes;
    for (int64_t term = 0; term < termsOfWord(); ++term) {
      Pointer at = wordAt(number, w.constant(0)) + ((first + term) * words + square * 4);
      auto type = VectorType::get(w.sizes.lanes, w.builder.getI8Type());
      bytes.push_back(LLVM::LoadOp::create(w.builder, w.loc(), type, at.address, kSide));
    }
    return bytes;
  }
  auto type = VectorType::get(w.sizes.lanes, w.builder.getI32Type());
  Value bits = LLVM::LoadOp::create(w.builder, w.loc(), type, wordAt(number, word).address,
                                    /*alignment=*/64);
  return {nibbles->withExponents(withConstant<arith::AndIOp>(w, bits, 0xFFFF)),
          nibbles->withExponents(shiftedDown(w, bits, 16))};
}

Num PackedColumns::termOf(const Word &word, int64_t term, const Groups &groups) {
  if (nibbles) {
    int64_t place = term % NibbleNumbers::kOfHalf;
    return (nibbles->numberOf(word[term / NibbleNumbers::kOfHalf], place) - groups.zeros[place]) *
           groups.scale;
  }
  return numbersOfBytes(w, word[term]) * groups.scale;
}
