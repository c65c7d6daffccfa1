//===- WarpgroupTile.cpp - Tiles that wgmma reads -------------------------===//

#include "WarpgroupTile.h"
#include "llmmem/Codegen/Gpu/RegisterWgmma.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace llmmem;

SmallVector<std::pair<int64_t, MmaTile>> WarpgroupTile::parts() const {
  if (!isTurned())
    return {{0, MmaTile(memory, begin, rows, kSwizzledLine, lines)}};
  SmallVector<std::pair<int64_t, MmaTile>> all;
  for (int64_t row = 0; row < rows; row += kSwizzledLine)
    all.push_back({row, MmaTile(memory, begin + sizeOf(row), kSwizzledLine, kSwizzledLine, lines)});
  return all;
}

//===----------------------------------------------------------------------===//
// Descriptors
//===----------------------------------------------------------------------===//

/// Returns the fields other than the address of the operand. A leading offset is not needed where
/// lines are rows.
static int64_t layoutBits(bool isTurned, int64_t innerLines) {
  constexpr int64_t unit = 16, swizzledIn128 = int64_t(1) << 62;
  int64_t leading = isTurned ? innerLines * kSwizzledLine * 2 / unit : 1;
  return swizzledIn128 | (kSwizzledBytes / unit) << 32 | leading << 16;
}

static Value constantBits(KernelEmitter &e, int64_t bits) {
  OpBuilder &b = e.builder();
  return arith::ConstantOp::create(b, e.location(), b.getI64IntegerAttr(bits));
}

Value WarpgroupTile::descriptor(KernelEmitter &e, Index row) const {
  OpBuilder &b = e.builder();
  Index address{&b, memref::ExtractAlignedPointerAsIndexOp::create(b, e.location(), memory.memref)};
  Index byte = address + (begin + row * kSwizzledLine) * 2;
  Value bytes = arith::IndexCastOp::create(b, e.location(), b.getI64Type(), byte.value);
  constexpr int64_t addressBits = (1 << 18) - 1;
  Value begins = arith::AndIOp::create(b, e.location(), bytes, constantBits(e, addressBits));
  begins = arith::ShRUIOp::create(b, e.location(), begins, constantBits(e, 4));
  return arith::OrIOp::create(b, e.location(), begins,
                              constantBits(e, layoutBits(isTurned(), innerLines)));
}

Value WarpgroupTile::advance(KernelEmitter &e, Value descriptor, int64_t rows,
                             int64_t inner) const {
  // It moves by whole groups of eight lines, or by a part of a line, which does not change the
  // swizzle.
  int64_t elements = rows * kSwizzledLine + inner * (isTurned() ? kSwizzledLine : 1);
  if (elements == 0)
    return descriptor;
  return arith::AddIOp::create(e.builder(), e.location(), descriptor,
                               constantBits(e, elements * 2 / 16));
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// Returns the type of `count` numbers of a thread.
static Type typeOfSums(OpBuilder &b, size_t count) {
  return LLVM::LLVMStructType::getLiteral(b.getContext(), SmallVector<Type>(count, b.getF32Type()));
}

Value llmmem::zeroSums(KernelEmitter &e, int64_t columns) {
  return LLVM::ZeroOp::create(e.builder(), e.location(), typeOfSums(e.builder(), columns / 2));
}

Value llmmem::noSums(KernelEmitter &e, int64_t columns) {
  return LLVM::PoisonOp::create(e.builder(), e.location(), typeOfSums(e.builder(), columns / 2));
}

Row llmmem::takeSums(KernelEmitter &e, Value sums) {
  OpBuilder &b = e.builder();
  Row taken;
  auto count = static_cast<int64_t>(cast<LLVM::LLVMStructType>(sums.getType()).getBody().size());
  for (int64_t number = 0; number < count; ++number)
    taken.push_back({&b, LLVM::ExtractValueOp::create(b, e.location(), sums, number)});
  return taken;
}

Value llmmem::makeSums(KernelEmitter &e, ArrayRef<Num> numbers) {
  OpBuilder &b = e.builder();
  Value sums = LLVM::PoisonOp::create(b, e.location(), typeOfSums(b, numbers.size()));
  for (auto [place, number] : llvm::enumerate(numbers))
    sums = LLVM::InsertValueOp::create(b, e.location(), sums, number.value,
                                       static_cast<int64_t>(place));
  return sums;
}

//===----------------------------------------------------------------------===//
// wgmma
//===----------------------------------------------------------------------===//

void llmmem::barrierBeforeWgmma(KernelEmitter &e, int32_t registers) {
  OpBuilder &b = e.builder();
  auto shared = NVVM::SharedSpaceAttr::get(b.getContext(), NVVM::SharedSpace::shared_cta);
  NVVM::FenceProxyOp::create(b, e.location(), NVVM::ProxyKind::async_shared, shared);
  barrierNeeding(e, registers);
}

void llmmem::fenceSums(KernelEmitter &e) {
  NVVM::WgmmaFenceAlignedOp::create(e.builder(), e.location());
}

Value llmmem::startWgmma(KernelEmitter &e, const WarpgroupTile &a, Value ofA,
                         const WarpgroupTile &b, Value ofB, Value sums, bool clears) {
  OpBuilder &builder = e.builder();
  MLIRContext *context = builder.getContext();
  auto shape = NVVM::MMAShapeAttr::get(context, kWgmmaRows, b.rows, kMmaInner);
  NVVM::WGMMATypes half = halfTypeOf(e).isF16() ? NVVM::WGMMATypes::f16 : NVVM::WGMMATypes::bf16;
  NVVM::MMALayout byRows = NVVM::MMALayout::row, byColumns = NVVM::MMALayout::col;
  return NVVM::WgmmaMmaAsyncOp::create(
      builder, e.location(), sums.getType(), sums, ofA, ofB, shape, half, half,
      NVVM::WGMMATypes::f32, clears ? NVVM::WGMMAScaleOut::zero : NVVM::WGMMAScaleOut::one,
      NVVM::WGMMAScaleIn::one, NVVM::WGMMAScaleIn::one, a.isTurned() ? byColumns : byRows,
      b.isTurned() ? byRows : byColumns, NVVM::MMAIntOverflowAttr());
}

Value llmmem::startWgmma(KernelEmitter &e, const FragmentA &a, const WarpgroupTile &b, Value ofB,
                         Value sums) {
  return RegisterWgmma::create(e.builder(), e.location(), sums, a.parts, ofB, b.isTurned(),
                               halfTypeOf(e).isF16());
}

void llmmem::commitWgmma(KernelEmitter &e) {
  NVVM::WgmmaGroupSyncAlignedOp::create(e.builder(), e.location());
}

void llmmem::waitForWgmma(KernelEmitter &e, int64_t groups) {
  NVVM::WgmmaWaitGroupSyncOp::create(e.builder(), e.location(), groups);
}
