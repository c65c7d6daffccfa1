//===- MmaTile.cpp - Tiles and fragments of tensor cores ------------------===//

#include "MmaTile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include <numeric>

using namespace mlir;
using namespace llmmem;

MmaTile::MmaTile(KernelEmitter &e, int64_t rows, int64_t inner)
    : MmaTile(deviceLoops(e).workgroup(e, sizeOf(rows, inner), halfTypeOf(e)), 0, rows, inner) {}

FloatType llmmem::halfTypeOf(KernelEmitter &e) {
  auto isF16 = [](Type type) { return getElementTypeOrSelf(type).isF16(); };
  Operation *op = e.operation();
  if (llvm::any_of(op->getOperandTypes(), isF16) || llvm::any_of(op->getResultTypes(), isF16))
    return e.builder().getF16Type();
  return e.builder().getBF16Type();
}

//===----------------------------------------------------------------------===//
// Fragments
//===----------------------------------------------------------------------===//

/// Two elements of 16 bits as the i32 that mma.sync takes.
static Value bitsOf(KernelEmitter &e, Value pair) {
  OpBuilder &b = e.builder();
  auto word = VectorType::get({1}, b.getI32Type());
  Value bits = vector::BitCastOp::create(b, e.location(), word, pair);
  return vector::ExtractOp::create(b, e.location(), bits, 0);
}

static Value loadPair(KernelEmitter &e, const MmaTile &tile, Index row, Index inner) {
  return bitsOf(e, e.loadRaw(tile.memory, row * tile.pitch() + inner + tile.begin, 2));
}

FragmentA llmmem::loadFragmentA(KernelEmitter &e, const MmaTile &tile, Index row, Index inner,
                                MmaLane lane) {
  Index r = row + lane.group, k = inner + lane.pair * 2;
  return {{loadPair(e, tile, r, k), loadPair(e, tile, r + 8, k), loadPair(e, tile, r, k + 8),
           loadPair(e, tile, r + 8, k + 8)}};
}

FragmentB llmmem::loadFragmentB(KernelEmitter &e, const MmaTile &tile, Index column, Index inner,
                                MmaLane lane) {
  Index n = column + lane.group, k = inner + lane.pair * 2;
  return {{loadPair(e, tile, n, k), loadPair(e, tile, n, k + 8)}};
}

FragmentA llmmem::packFragment(KernelEmitter &e, const FragmentC &left, const FragmentC &right) {
  OpBuilder &b = e.builder();
  auto pairOf = [&](Num first, Num second) {
    Type half = halfTypeOf(e);
    Value pair = vector::FromElementsOp::create(
        b, e.location(), VectorType::get({2}, half),
        ValueRange{convert(first, half).value, convert(second, half).value});
    return bitsOf(e, pair);
  };
  return {{pairOf(left[0], left[1]), pairOf(left[2], left[3]), pairOf(right[0], right[1]),
           pairOf(right[2], right[3])}};
}

/// The two elements of one part of a fragment, in the type of 16 bits.
static Value pairOfPart(KernelEmitter &e, Value part) {
  OpBuilder &b = e.builder();
  Value word =
      vector::FromElementsOp::create(b, e.location(), VectorType::get({1}, b.getI32Type()), part);
  return vector::BitCastOp::create(b, e.location(), VectorType::get({2}, halfTypeOf(e)), word);
}

std::array<Num, 2> llmmem::unpackPart(KernelEmitter &e, Value part) {
  OpBuilder &b = e.builder();
  Value pair = pairOfPart(e, part);
  auto element = [&](int64_t number) {
    Value half = vector::ExtractOp::create(b, e.location(), pair, number);
    return convert({&b, half}, e.computeType());
  };
  return {element(0), element(1)};
}

FragmentC llmmem::zeroFragment(KernelEmitter &e) {
  Num zero = e.number(0.0);
  return {zero, zero, zero, zero};
}

/// As nvvm.mma.sync takes them: bf16 as words, f16 as pairs.
static SmallVector<Value> multiplicands(KernelEmitter &e, ArrayRef<Value> parts) {
  if (!halfTypeOf(e).isF16())
    return SmallVector<Value>(parts);
  return llvm::map_to_vector(parts, [&](Value part) { return pairOfPart(e, part); });
}

FragmentC llmmem::multiply(KernelEmitter &e, const FragmentA &a, const FragmentB &b,
                           const FragmentC &c) {
  OpBuilder &builder = e.builder();
  SmallVector<Value> sums = llvm::map_to_vector(c, [](Num sum) { return sum.value; });
  auto type = LLVM::LLVMStructType::getLiteral(builder.getContext(),
                                               SmallVector<Type>(4, builder.getF32Type()));
  NVVM::MMATypes half = halfTypeOf(e).isF16() ? NVVM::MMATypes::f16 : NVVM::MMATypes::bf16;
  std::array<NVVM::MMATypes, 2> elements = {half, half};
  std::array<NVVM::MMALayout, 2> layouts = {NVVM::MMALayout::row, NVVM::MMALayout::col};
  Value result = NVVM::MmaOp::create(
      builder, e.location(), type, multiplicands(e, a.parts), multiplicands(e, b.parts), sums,
      {kMmaRows, kMmaColumns, kMmaInner}, std::nullopt, std::nullopt, elements, layouts);
  FragmentC next;
  for (int64_t i = 0; i < 4; ++i)
    next[i] = {&builder, LLVM::ExtractValueOp::create(builder, e.location(), result, i)};
  return next;
}

//===----------------------------------------------------------------------===//
// Copying
//===----------------------------------------------------------------------===//

int64_t llmmem::knownDivisor(Value index) {
  APInt constant;
  if (matchPattern(index, m_ConstantInt(&constant)))
    return std::abs(constant.getSExtValue());
  if (auto sum = index.getDefiningOp<arith::AddIOp>())
    return std::gcd(knownDivisor(sum.getLhs()), knownDivisor(sum.getRhs()));
  if (auto product = index.getDefiningOp<arith::MulIOp>()) {
    // Larger divisors add no information, and their product might overflow.
    constexpr int64_t kEnough = 1 << 12;
    return std::gcd(knownDivisor(product.getLhs()), kEnough) *
           std::gcd(knownDivisor(product.getRhs()), kEnough);
  }
  if (auto argument = dyn_cast<BlockArgument>(index))
    if (auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
        loop && argument == loop.getInductionVar())
      return std::gcd(knownDivisor(loop.getLowerBound()), knownDivisor(loop.getStep()));
  return 1;
}

static bool isWhole(Index index, int64_t lanes) { return knownDivisor(index.value) % lanes == 0; }

static Value zeroElements(KernelEmitter &e, int64_t lanes) {
  Type half = halfTypeOf(e);
  Type type = lanes == 1 ? half : VectorType::get({lanes}, half);
  return arith::ConstantOp::create(e.builder(), e.location(), e.builder().getZeroAttr(type));
}

/// The elements from `place` on where `inside`, else 0.
static Value loadInside(KernelEmitter &e, Buffer buffer, Index place, int64_t lanes, Value inside) {
  OpBuilder &b = e.builder();
  Value zero = zeroElements(e, lanes);
  auto branch = scf::IfOp::create(b, e.location(), zero.getType(), inside, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, e.location(), e.loadRaw(buffer, place, lanes));
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, e.location(), zero);
  return branch.getResult(0);
}

static Value both(KernelEmitter &e, Value a, Value b) {
  return arith::AndIOp::create(e.builder(), e.location(), a, b);
}

void llmmem::copyTile(KernelEmitter &e, const MmaTile &tile, const TileSource &from, Index thread,
                      int64_t threads) {
  // Lines of the tile as they lie in memory.
  int64_t lines = from.transposed ? tile.inner : tile.rows,
          width = from.transposed ? tile.rows : tile.inner;
  Index line = from.transposed ? from.inner : from.row,
        column = from.transposed ? from.row : from.inner,
        lineBound = from.transposed ? from.innerBound : from.rowBound,
        columnBound = from.transposed ? from.rowBound : from.innerBound;
  constexpr int64_t kVector = 8;
  bool isAligned = width % kVector == 0 && from.pitch % kVector == 0 &&
                   isWhole(from.begin, kVector) && isWhole(column, kVector) &&
                   isWhole(columnBound, kVector);
  int64_t lanes = isAligned ? kVector : 1, inLine = width / lanes, pieces = lines * inLine;
  auto copyPiece = [&](Index piece) {
    Index l = piece / inLine, c = piece % inLine * lanes;
    Value inside = both(e, less(line + l, lineBound), less(column + c, columnBound));
    Value elements = loadInside(e, from.buffer, from.begin + (line + l) * from.pitch + column + c,
                                lanes, inside);
    if (!from.transposed)
      return e.storeRaw(tile.memory, l * tile.pitch() + c + tile.begin, elements);
    for (int64_t lane = 0; lane < lanes; ++lane) {
      Value element = elements;
      if (lanes > 1)
        element = vector::ExtractOp::create(e.builder(), e.location(), elements, lane);
      e.storeRaw(tile.memory, (c + lane) * tile.pitch() + l + tile.begin, element);
    }
  };
  // Unrolled, so that all loads are issued before the first is waited for.
  constexpr int64_t kMostWritten = 8;
  if (pieces % threads == 0 && pieces / threads <= kMostWritten) {
    for (int64_t piece = 0; piece < pieces / threads; ++piece)
      copyPiece(thread + piece * threads);
    return;
  }
  e.forSteps(thread, e.index(pieces), threads, copyPiece);
}
