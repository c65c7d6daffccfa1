//===- MmaTile.cpp - Tiles and fragments of tensor cores ------------------===//

#include "MmaTile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include <numeric>

using namespace mlir;
using namespace llmmem;

/// Count the elements of a chunk of 16 bytes, and the chunks that cover all banks.
static constexpr int64_t kChunk = 8, kBankChunks = 8;

FloatType llmmem::halfTypeOf(KernelEmitter &e) {
  auto isF16 = [](Type type) { return getElementTypeOrSelf(type).isF16(); };
  Operation *op = e.operation();
  if (llvm::any_of(op->getOperandTypes(), isF16) || llvm::any_of(op->getResultTypes(), isF16))
    return e.builder().getF16Type();
  return e.builder().getBF16Type();
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

bool MmaTile::isSwizzled(int64_t width) {
  return llvm::isPowerOf2_64(width) && width >= 4 * kChunk;
}

int64_t MmaTile::pitchOf(int64_t width) { return isSwizzled(width) ? width : width + kChunk; }

MmaTile::MmaTile(KernelEmitter &e, int64_t rows, int64_t inner, Lines lines)
    : rows(rows), inner(inner), lines(lines) {
  memory = deviceLoops(e).workgroup(e, size(), halfTypeOf(e));
  begin = e.index(0);
}

static Index exclusiveOr(Index a, Index b) {
  return {a.builder, arith::XOrIOp::create(*a.builder, a.value.getLoc(), a.value, b.value)};
}

Index MmaTile::placeOf(Index line, Index column) const {
  Index place = begin + line * pitchOf(width());
  if (!isSwizzled(width()))
    return place + column;
  // Lines that together cover all banks share the places of their chunks.
  int64_t chunks = std::min(width() / kChunk, kBankChunks), together = kBankChunks / chunks;
  Index turn = line / together % chunks * kChunk;
  return place + exclusiveOr(column, turn);
}

//===----------------------------------------------------------------------===//
// Fragments
//===----------------------------------------------------------------------===//

/// Returns two elements of 16 bits as the i32 that mma.sync takes.
static Value bitsOf(KernelEmitter &e, Value pair) {
  OpBuilder &b = e.builder();
  auto word = VectorType::get({1}, b.getI32Type());
  Value bits = vector::BitCastOp::create(b, e.location(), word, pair);
  return vector::ExtractOp::create(b, e.location(), bits, 0);
}

/// Loads the words of four matrices of 8 x 8 elements, whose rows of 16 bytes the lanes name: lane
/// i that of row i % 8 of matrix i / 8. Matrices are numbered in two bits: the first changes the
/// row of the tile if `rowFirst`, else the inner place, and the second the other.
static std::array<Value, 4> loadMatrices(KernelEmitter &e, const MmaTile &tile, Index row,
                                         Index inner, MmaLane lane, bool rowFirst) {
  OpBuilder &b = e.builder();
  Index inMatrix = lane.number % 8, first = lane.number / 8 % 2 * 8, second = lane.number / 16 * 8;
  Index ofRow = rowFirst ? first : second, ofInner = rowFirst ? second : first;
  bool isTurned = tile.lines == MmaTile::Lines::Inner;
  (isTurned ? ofInner : ofRow) = (isTurned ? ofInner : ofRow) + inMatrix;
  auto type = VectorType::get({4, 2}, halfTypeOf(e));
  Value loaded = nvgpu::LdMatrixOp::create(b, e.location(), type, tile.memory.memref,
                                           tile.elementAt(row + ofRow, inner + ofInner).value,
                                           /*transpose=*/isTurned, /*numTiles=*/4);
  std::array<Value, 4> words;
  for (int64_t matrix = 0; matrix < 4; ++matrix)
    words[matrix] = bitsOf(e, vector::ExtractOp::create(b, e.location(), loaded, matrix));
  return words;
}

FragmentA llmmem::loadFragmentA(KernelEmitter &e, const MmaTile &tile, Index row, Index inner,
                                MmaLane lane) {
  return {loadMatrices(e, tile, row, inner, lane, /*rowFirst=*/true)};
}

std::array<FragmentB, 2> llmmem::loadFragmentsB(KernelEmitter &e, const MmaTile &tile, Index column,
                                                Index inner, MmaLane lane) {
  std::array<Value, 4> words = loadMatrices(e, tile, column, inner, lane, /*rowFirst=*/false);
  return {FragmentB{{words[0], words[1]}}, FragmentB{{words[2], words[3]}}};
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

/// Returns the two elements of one part of a fragment, in the type of 16 bits.
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

/// nvvm.mma.sync takes bf16 as words and f16 as pairs.
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
    int64_t left = knownDivisor(product.getLhs()), right = knownDivisor(product.getRhs());
    return left == 0 || right == 0 ? 0 : std::gcd(left, kEnough) * std::gcd(right, kEnough);
  }
  if (auto argument = dyn_cast<BlockArgument>(index))
    if (auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
        loop && argument == loop.getInductionVar())
      return std::gcd(knownDivisor(loop.getLowerBound()), knownDivisor(loop.getStep()));
  return 1;
}

static bool isMultiple(Index index, int64_t number) {
  return knownDivisor(index.value) % number == 0;
}

/// Describes a tile and its source, by lines and by columns of a line.
struct LineCopy {
  LineCopy(const MmaTile &tile, const TileSource &from)
      : isByRows(tile.lines == MmaTile::Lines::Rows), line(isByRows ? from.row : from.inner),
        column(isByRows ? from.inner : from.row),
        lineBound(isByRows ? from.rowBound : from.innerBound),
        columnBound(isByRows ? from.innerBound : from.rowBound),
        allLines(isMultiple(lineBound, tile.numLines()) && isMultiple(line, tile.numLines())),
        allColumns(isMultiple(columnBound, tile.width()) && isMultiple(column, tile.width())) {}

  bool isByRows;
  Index line, column, lineBound, columnBound;
  /// Say whether bounds need no check.
  bool allLines, allColumns;
};

bool llmmem::isCopiedAsync(const MmaTile &tile, const TileSource &from) {
  return from.pitch % kChunk == 0 && isMultiple(from.begin, kChunk) &&
         isMultiple(LineCopy(tile, from).column, kChunk);
}

/// Starts the copy of one chunk of 16 bytes; what lies beyond a bound is not read.
static void copyChunk(KernelEmitter &e, const MmaTile &tile, const TileSource &from,
                      const LineCopy &copy, Index line, Index column) {
  OpBuilder &b = e.builder();
  Index source = from.begin + (copy.line + line) * from.pitch + copy.column + column;
  std::optional<Index> count;
  if (!copy.allColumns)
    count = maximum(minimum(copy.columnBound - copy.column - column, e.index(kChunk)), e.index(0));
  if (!copy.allLines) {
    Value inside = less(copy.line + line, copy.lineBound);
    Index all = count.value_or(e.index(kChunk));
    count =
        Index{&b, arith::SelectOp::create(b, e.location(), inside, all.value, e.index(0).value)};
  }
  nvgpu::DeviceAsyncCopyOp::create(
      b, e.location(), nvgpu::DeviceAsyncTokenType::get(b.getContext()), tile.memory.memref,
      tile.placeOf(line, column).value, from.buffer.memref, source.value, b.getIndexAttr(kChunk),
      count ? count->value : Value(), /*bypassL1=*/b.getUnitAttr());
}

/// Copies one element, or 0 beyond a bound.
static void copyElement(KernelEmitter &e, const MmaTile &tile, const TileSource &from,
                        const LineCopy &copy, Index line, Index column) {
  OpBuilder &b = e.builder();
  Value inside = arith::AndIOp::create(b, e.location(), less(copy.line + line, copy.lineBound),
                                       less(copy.column + column, copy.columnBound));
  auto branch = scf::IfOp::create(b, e.location(), halfTypeOf(e), inside,
                                  /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    Index source = from.begin + (copy.line + line) * from.pitch + copy.column + column;
    scf::YieldOp::create(b, e.location(), e.loadRaw(from.buffer, source));
    b.setInsertionPointToStart(branch.elseBlock());
    Value zero = arith::ConstantOp::create(b, e.location(), b.getZeroAttr(halfTypeOf(e)));
    scf::YieldOp::create(b, e.location(), zero);
  }
  e.storeRaw(tile.memory, tile.placeOf(line, column), branch.getResult(0));
}

void llmmem::copyTile(KernelEmitter &e, const MmaTile &tile, const TileSource &from, Index thread,
                      int64_t threads) {
  LineCopy copy(tile, from);
  bool isAsync = isCopiedAsync(tile, from);
  int64_t inLine = tile.width() / (isAsync ? kChunk : 1), pieces = tile.numLines() * inLine;
  auto copyPiece = [&](Index piece) {
    Index line = piece / inLine, column = piece % inLine;
    if (isAsync)
      copyChunk(e, tile, from, copy, line, column * kChunk);
    else
      copyElement(e, tile, from, copy, line, column);
  };
  // It is unrolled, so that all loads are issued before the first is waited for.
  constexpr int64_t kMostWritten = 8;
  if (pieces % threads == 0 && pieces / threads <= kMostWritten) {
    for (int64_t piece = 0; piece < pieces / threads; ++piece)
      copyPiece(thread + piece * threads);
    return;
  }
  forSteps(e, thread, e.index(pieces), threads, copyPiece);
}

void llmmem::commitCopies(KernelEmitter &e) {
  NVVM::CpAsyncCommitGroupOp::create(e.builder(), e.location());
}

void llmmem::waitForCopies(KernelEmitter &e, int32_t groups) {
  NVVM::CpAsyncWaitGroupOp::create(e.builder(), e.location(), groups);
}
