//===- KernelCounts.cpp - What a GPU kernel does, counted statically -------===//

#include "llmmem/KernelAnalysis/KernelCounts.h"
#include "WarpInterpreter.h"
#include "llmmem/Codegen/Gpu/Cluster.h"
#include "llmmem/Codegen/Gpu/KernelAccess.h"
#include "llmmem/Codegen/Gpu/PowersOfTwo.h"
#include "llmmem/Codegen/Gpu/RegisterWgmma.h"
#include "llmmem/Codegen/Gpu/TensorMap.h"
#include "llmmem/Interfaces/Bytes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace llmmem;

//===----------------------------------------------------------------------===//
// One instruction
//===----------------------------------------------------------------------===//

// The numbers are those of NVIDIA, CUDA C++ Programming Guide, "Shared Memory" of compute
// capability 5.x and later, and of Nsight Compute's manual, "L1/TEX Cache": wavefronts.
static constexpr int64_t kBanks = 32, kBankBytes = 4, kPassBytes = kBanks * kBankBytes,
                         kSector = 32;
/// This is the widest access of one instruction; a wider vector takes several.
static constexpr int64_t kWidest = 16;

SharedPasses llmmem::sharedPasses(const WarpAddresses &addresses, int64_t bytes) {
  SharedPasses passes;
  int64_t parts = llvm::divideCeil(bytes, kWidest), width = std::min(bytes, kWidest),
          together = std::min<int64_t>(addresses.size(), kPassBytes / std::max(width, kBankBytes));
  for (int64_t part = 0; part < parts; ++part)
    for (size_t first = 0; first < addresses.size(); first += together) {
      std::array<llvm::SmallDenseSet<int64_t, 4>, kBanks> words;
      for (const std::optional<int64_t> &address :
           ArrayRef(addresses).slice(first, static_cast<size_t>(together)))
        for (int64_t byte = 0; address && byte < width; byte += kBankBytes) {
          int64_t word = (*address + part * kWidest + byte) / kBankBytes;
          words[word % kBanks].insert(word);
        }
      int64_t most = 0;
      for (const auto &ofBank : words)
        most = std::max<int64_t>(most, ofBank.size());
      passes.all += most;
      passes.fewest += most > 0;
      passes.degree = std::max(passes.degree, most);
    }
  return passes;
}

GlobalSectors llmmem::globalSectors(const WarpAddresses &addresses, int64_t bytes) {
  llvm::SmallDenseSet<int64_t, 64> sectors, distinct;
  for (const std::optional<int64_t> &address : addresses) {
    if (!address || !distinct.insert(*address).second)
      continue;
    for (int64_t sector = *address / kSector; sector * kSector < *address + bytes; ++sector)
      sectors.insert(sector);
  }
  int64_t moved = static_cast<int64_t>(distinct.size()) * bytes;
  return {static_cast<int64_t>(sectors.size()), llvm::divideCeilSigned(moved, kSector)};
}

//===----------------------------------------------------------------------===//
// A launch
//===----------------------------------------------------------------------===//

int64_t KernelCounts::degree() const {
  int64_t most = 1;
  for (const AccessCounts &access : accesses)
    most = std::max(most, access.degree);
  return most;
}

double KernelCounts::sum(bool isShared, double AccessCounts::*number) const {
  double total = 0;
  for (const AccessCounts &access : accesses)
    if (access.isShared == isShared)
      total += access.*number;
  return total;
}

namespace {
class LaunchCounter {
public:
  LaunchCounter(gpu::GPUFuncOp kernel, WarpInterpreter::Triple grid, WarpInterpreter::Triple block)
      : kernel(kernel), grid(grid), block(block),
        warps(llvm::divideCeil(block[0] * block[1] * block[2], WarpInterpreter::kLanes)) {
    findDependentsOfWgmma();
  }

  KernelCounts count();

private:
  void visit(Operation &op, const WarpInterpreter &at);
  void visitAccess(Operation &op, const KernelAccess &access, const WarpInterpreter &at);
  struct SharedOperand {
    Value descriptor;
    int64_t rows;
    bool isTurned;
  };
  void visitWgmma(Operation &op, int64_t columns, ArrayRef<SharedOperand> operands,
                  const WarpInterpreter &at);
  void visitWgmma(Operation &op, const WarpInterpreter &at);
  void visitBox(Operation &op, const WarpInterpreter &at);
  void visitPeerAccess(const PeerAccess &access, const WarpInterpreter &at);
  void countAccess(AccessCounts &site, const std::optional<WarpAddresses> &addresses, int64_t bytes,
                   const WarpInterpreter &at);
  void visitInstructions(Operation &op, double number);
  bool mayOverlapWgmma(Operation &op);
  void findDependentsOfWgmma();
  int64_t blocksWithMostTurns(int64_t blocks);
  std::optional<double> neededWgmmas();
  std::optional<WarpAddresses> addressesOf(const KernelAccess &access,
                                           const WarpInterpreter &at) const;
  bool isShared(Value memref);

  gpu::GPUFuncOp kernel;
  WarpInterpreter::Triple grid, block;
  int64_t warps;
  /// Counts the warps that the current one represents.
  double weight = 1;
  /// Counts, for the current block, what arrives at it and what leaves it.
  double sectorsOfBlock = 0;
  KernelCounts counts;
  /// Holds reads and writes.
  llvm::MapVector<std::pair<Operation *, unsigned>, AccessCounts> accesses;
  /// Says whether a block starts wgmma, or lies inside of one that does.
  llvm::DenseMap<Block *, bool> startsWgmma;
  /// Holds what is computed from wgmma's sums in the iteration of the loop that starts it.
  llvm::DenseSet<Operation *> dependentOnWgmma;
};
} // namespace

bool LaunchCounter::isShared(Value memref) {
  Value source = memref::skipViewLikeOps(cast<MemrefValue>(memref));
  if (source.getDefiningOp<gpu::DynamicSharedMemoryOp>())
    return true;
  auto argument = dyn_cast<BlockArgument>(source);
  return argument && argument.getOwner() == &kernel.front() &&
         argument.getArgNumber() >= kernel.getFirstWorkgroupAttributionIndex();
}

/// Returns nothing if data decides an address. Buffers begin at multiples of all numbers that
/// matter here.
std::optional<WarpAddresses> LaunchCounter::addressesOf(const KernelAccess &access,
                                                        const WarpInterpreter &at) const {
  WarpAddresses addresses;
  WarpInterpreter::Known index =
      access.indices.empty() ? WarpInterpreter::Numbers{} : at.lookup(access.indices.back());
  if (!index)
    return std::nullopt;
  WarpInterpreter::Known count;
  if (access.count)
    count = at.lookup(access.count);
  int64_t element = bytesOfNumber(getElementTypeOrSelf(access.type));
  int64_t begin = 0;
  if (auto view = access.memref.getDefiningOp<memref::ViewOp>())
    if (auto shift = at.lookup(view.getByteShift()))
      begin = (*shift)[0];
  int64_t named = access.matrices > 0 ? 8 * access.matrices : WarpInterpreter::kLanes;
  for (int64_t lane = 0; lane < named; ++lane)
    if ((at.active() >> lane & 1) && !(count && (*count)[lane] == 0))
      addresses[lane] = begin + (*index)[lane] * element;
  return addresses;
}

void LaunchCounter::visitAccess(Operation &op, const KernelAccess &access,
                                const WarpInterpreter &at) {
  AccessCounts &site = accesses[{&op, access.isWrite}];
  site.op = &op;
  site.isWrite = access.isWrite;
  site.isShared = isShared(access.memref);
  countAccess(site, addressesOf(access, at), bytesOfNumber(access.type), at);
}

void LaunchCounter::visitPeerAccess(const PeerAccess &access, const WarpInterpreter &at) {
  AccessCounts &site = accesses[{access.op(), access.isWrite()}];
  site.op = access.op();
  site.isWrite = access.isWrite();
  site.isShared = true;
  std::optional<WarpAddresses> addresses;
  if (WarpInterpreter::Known known = at.lookup(access.address())) {
    addresses.emplace();
    for (int64_t lane = 0; lane < WarpInterpreter::kLanes; ++lane)
      if (at.active() >> lane & 1)
        (*addresses)[lane] = (*known)[lane];
  }
  const int64_t bytes = bytesOfNumber(access.type());
  countAccess(site, addresses, bytes, at);
  counts.peerBytes +=
      weight * at.times() * static_cast<double>(llvm::popcount(at.active()) * bytes);
}

void LaunchCounter::countAccess(AccessCounts &site, const std::optional<WarpAddresses> &addresses,
                                int64_t bytes, const WarpInterpreter &at) {
  double times = weight * at.times();
  site.requests += times;
  if (!addresses) {
    // Nothing is known about the lanes, so shared memory has no conflicts and global memory no
    // neighbours.
    counts.isEstimate = true;
    double lanes = llvm::popcount(at.active());
    double units = site.isShared ? 1 : lanes * llvm::divideCeil(bytes, kSector);
    site.units += times * units;
    site.fewest += times * units;
    sectorsOfBlock += site.isShared ? 0 : at.times() * units;
    return;
  }
  if (site.isShared) {
    SharedPasses passes = sharedPasses(*addresses, bytes);
    site.units += times * static_cast<double>(passes.all);
    site.fewest += times * static_cast<double>(passes.fewest);
    site.degree = std::max(site.degree, passes.degree);
  } else {
    GlobalSectors sectors = globalSectors(*addresses, bytes);
    site.units += times * static_cast<double>(sectors.all);
    site.fewest += times * static_cast<double>(sectors.fewest);
    sectorsOfBlock += at.times() * static_cast<double>(sectors.all);
  }
}

/// Counts what wgmma reads of one operand. Shared memory delivers eight chunks of 16 bytes at a
/// time, those of eight neighbouring lines; with another layout than the descriptor's swizzle they
/// would lie in the same banks.
SharedPasses llmmem::passesOfOperand(MatrixDescriptor descriptor, int64_t rows, bool isTurned) {
  constexpr int64_t lines = 8, chunk = 8, inner = 16;
  int64_t groups = isTurned ? inner : rows, chunks = isTurned ? rows : inner;
  SharedPasses all;
  for (int64_t group = 0; group < groups; group += lines)
    for (int64_t first = 0; first < chunks; first += chunk) {
      WarpAddresses addresses;
      for (int64_t line = 0; line < lines; ++line) {
        int64_t row = isTurned ? first : group + line, place = isTurned ? group + line : first;
        addresses[line] = descriptor.byteOf(descriptor.start(), row, place, isTurned);
      }
      SharedPasses passes = sharedPasses(addresses, kWidest);
      all.all += passes.all;
      all.fewest += passes.fewest;
      all.degree = std::max(all.degree, passes.degree);
    }
  return all;
}

static bool isWgmma(Operation &op) {
  return isa<NVVM::WgmmaMmaAsyncOp>(op) || RegisterWgmma::match(&op);
}

bool LaunchCounter::mayOverlapWgmma(Operation &op) {
  Block *code = op.getBlock();
  if (!isa<LoopLikeOpInterface, scf::IfOp>(code->getParentOp()))
    return false;
  auto [known, isNew] = startsWgmma.try_emplace(code, false);
  if (isNew) {
    bool starts = llvm::any_of(*code, isWgmma) || mayOverlapWgmma(*code->getParentOp());
    startsWgmma[code] = starts;
    return starts;
  }
  return known->second;
}

/// Values that a loop passes to its next iteration are not followed, because by then the previous
/// product may well be done.
void LaunchCounter::findDependentsOfWgmma() {
  SmallVector<Operation *> open;
  kernel.walk([&](Operation *op) {
    if (isWgmma(*op) && mayOverlapWgmma(*op))
      open.push_back(op);
  });
  while (!open.empty())
    for (Operation *user : open.pop_back_val()->getUsers()) {
      Operation *next = user->hasTrait<OpTrait::IsTerminator>() ? user->getParentOp() : user;
      if (next != user && isa<LoopLikeOpInterface>(next) && !mayOverlapWgmma(*next))
        continue;
      if (mayOverlapWgmma(*next) && dependentOnWgmma.insert(next).second)
        open.push_back(next);
    }
}

/// Each of the four warps counts a quarter of what their wgmma reads.
void LaunchCounter::visitWgmma(Operation &op, int64_t columns, ArrayRef<SharedOperand> operands,
                               const WarpInterpreter &at) {
  constexpr int64_t warps = 4, columnsOfMma = 8, inner = 16;
  double times = weight * at.times();
  counts.wgmmas += times * static_cast<double>(columns) / columnsOfMma;
  AccessCounts &site = accesses[{&op, false}];
  site.op = &op;
  site.isShared = true;
  site.requests += times;
  for (const SharedOperand &operand : operands) {
    WarpInterpreter::Known known = at.lookup(operand.descriptor);
    counts.isEstimate |= !known;
    int64_t least = operand.rows * inner * 2 / kPassBytes;
    SharedPasses passes = {least, least, 1};
    if (known)
      passes = passesOfOperand(MatrixDescriptor((*known)[0]), operand.rows, operand.isTurned);
    site.units += times * static_cast<double>(passes.all) / warps;
    site.fewest += times * static_cast<double>(passes.fewest) / warps;
    site.degree = std::max(site.degree, passes.degree);
  }
}

void LaunchCounter::visitWgmma(Operation &op, const WarpInterpreter &at) {
  if (std::optional<RegisterWgmma> product = RegisterWgmma::match(&op))
    return visitWgmma(op, product->columns(),
                      {{product->b(), product->columns(), product->isTurned()}}, at);
  if (auto product = dyn_cast<NVVM::WgmmaMmaAsyncOp>(op)) {
    int64_t rows = product.getShape().getM(), columns = product.getShape().getN();
    visitWgmma(op, columns,
               {{product.getDescriptorA(), rows, product.getLayoutA() == NVVM::MMALayout::col},
                {product.getDescriptorB(), columns, product.getLayoutB() == NVVM::MMALayout::row}},
               at);
  }
}

/// A copy by a tensor map is one instruction of one thread. Only the part of its box inside the
/// matrix is read. With the swizzle its rows are written without conflicts, to each block of the
/// cluster that the copy names (multicast), though they are read once.
void LaunchCounter::visitBox(Operation &op, const WarpInterpreter &at) {
  auto copy = dyn_cast<NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp>(op);
  std::optional<TensorMap> map =
      copy ? TensorMap::match(copy.getTmaDescriptor().getDefiningOp()) : std::nullopt;
  if (!map || copy.getCoordinates().size() != 2)
    return;
  constexpr int64_t columns = 64, element = 2;
  TensorMap::Shape shape = map->shape();
  auto inside = [&](Value first, int64_t count, int64_t bound) {
    WarpInterpreter::Known known = at.lookup(first);
    counts.isEstimate |= !known;
    int64_t begin = known ? (*known)[llvm::countr_zero(at.active())] : 0;
    return std::clamp<int64_t>(bound - begin, 0, count);
  };
  int64_t rows = inside(copy.getCoordinates()[1], shape.boxRows, shape.rows),
          width = inside(copy.getCoordinates()[0], columns, shape.columns);
  double times = weight * at.times();
  int64_t targets = 1;
  if (Value mask = copy.getMulticastMask()) {
    WarpInterpreter::Known known = at.lookup(mask);
    counts.isEstimate |= !known;
    uint16_t bits = known ? (*known)[llvm::countr_zero(at.active())] : 1;
    targets = llvm::popcount(bits);
  }
  auto sectors = static_cast<int64_t>(rows * llvm::divideCeil(width * element, kSector));
  counts.multicastSectors += times * static_cast<double>((targets - 1) * sectors);
  // Each of them brings to this block what this block brings to it.
  sectorsOfBlock += at.times() * static_cast<double>(targets * sectors);
  for (bool isWrite : {false, true}) {
    AccessCounts &site = accesses[{&op, isWrite}];
    site.op = &op;
    site.isWrite = site.isShared = isWrite;
    site.requests += times;
    int64_t units = isWrite ? targets * shape.boxRows * columns * element / kPassBytes : sectors;
    site.units += times * static_cast<double>(units);
    site.fewest += times * static_cast<double>(units);
    site.degree = isWrite;
  }
}

static int64_t elementsOf(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? vector.getNumElements() : 1;
}

/// Counts arithmetic that is no index arithmetic, in instructions of one lane; 0 for other ops.
static int64_t arithmeticOf(Operation &op) {
  if (!isa_and_nonnull<arith::ArithDialect, math::MathDialect>(op.getDialect()) ||
      op.hasTrait<OpTrait::ConstantLike>() || op.getNumResults() != 1)
    return 0;
  Type type = op.getResult(0).getType();
  return getElementTypeOrSelf(type).isIndex() ? 0 : elementsOf(type);
}

static bool isSpecial(Operation &op) {
  auto call = dyn_cast<LLVM::CallIntrinsicOp>(op);
  return isa<NVVM::RcpApproxFtzF32Op>(op) || (call && call.getIntrin() == kApproximatePower);
}

void LaunchCounter::visitInstructions(Operation &op, double number) {
  // Products themselves follow one another without a wait.
  bool isDependent = dependentOnWgmma.contains(&op) && !isWgmma(op);
  counts.instructions += number;
  counts.inLoopsOfWgmma += mayOverlapWgmma(op) ? number : 0;
  counts.dependentOnWgmma += isDependent ? number : 0;
  counts.specials += isSpecial(op) ? number : 0;
  counts.specialsDependentOnWgmma += isSpecial(op) && isDependent ? number : 0;
}

void LaunchCounter::visit(Operation &op, const WarpInterpreter &at) {
  double times = weight * at.times();
  int64_t instructions = arithmeticOf(op);
  for (const KernelAccess &access : kernelAccessesOf(&op)) {
    visitAccess(op, access, at);
    instructions = llvm::divideCeil(bytesOfNumber(access.type), kWidest);
  }
  if (std::optional<PeerAccess> access = PeerAccess::match(&op)) {
    visitPeerAccess(*access, at);
    instructions = 1;
  }
  if (isa<NVVM::MmaOp>(op))
    counts.mmas += times;
  visitWgmma(op, at);
  visitBox(op, at);
  if (isa<gpu::BarrierOp, NVVM::ClusterWaitOp>(op) && weight > 0)
    counts.barriers += times / static_cast<double>(warps);
  bool isOne =
      isa<NVVM::MmaOp, NVVM::RcpApproxFtzF32Op, LLVM::CallIntrinsicOp, gpu::ShuffleOp,
          gpu::BarrierOp, NVVM::ClusterWaitOp, NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp,
          NVVM::MBarrierArriveOp, NVVM::MBarrierArriveExpectTxOp, NVVM::MBarrierTryWaitParityOp>(
          op);
  if ((isWgmma(op) || isOne) && !TensorMap::match(&op))
    instructions = 1;
  if (instructions > 0)
    visitInstructions(op, times * static_cast<double>(instructions));
}

/// Where a loop takes every `blocks`-th iteration, from the block's own on (over tiles of C, for
/// example), the first blocks take one iteration more than the others. Returns how many; all if
/// there is no such loop.
int64_t LaunchCounter::blocksWithMostTurns(int64_t blocks) {
  int64_t most = blocks;
  kernel.walk([&](scf::ForOp loop) {
    std::optional<int64_t> step = getConstantIntValue(loop.getStep()),
                           end = getConstantIntValue(loop.getUpperBound());
    if (step != blocks || !end || !loop.getLowerBound().getDefiningOp<gpu::BlockIdOp>())
      return;
    most = *end % blocks == 0 ? blocks : *end % blocks;
    counts.busiest = static_cast<double>(llvm::divideCeilSigned(*end, blocks) * blocks) /
                     static_cast<double>(*end);
  });
  return most;
}

/// Applies to a product whose tiles two maps bring, first those of A.
std::optional<double> LaunchCounter::neededWgmmas() {
  SmallVector<TensorMap::Shape> maps;
  NVVM::WgmmaMmaAsyncOp product;
  kernel.walk([&](Operation *op) {
    if (std::optional<TensorMap> map = TensorMap::match(op))
      maps.push_back(map->shape());
    if (auto next = dyn_cast<NVVM::WgmmaMmaAsyncOp>(op))
      product = next;
  });
  if (!product || maps.size() != 2)
    return std::nullopt;
  // Lines of a turned operand are terms.
  auto sizesOf = [](const TensorMap::Shape &map, bool isTurned) {
    return isTurned ? std::pair(map.columns, map.rows) : std::pair(map.rows, map.columns);
  };
  auto [rows, terms] = sizesOf(maps[0], product.getLayoutA() == NVVM::MMALayout::col);
  auto [columns, ofB] = sizesOf(maps[1], product.getLayoutB() == NVVM::MMALayout::row);
  if (terms != ofB)
    return std::nullopt;
  constexpr double ofMma = 16 * 8 * 16;
  return static_cast<double>(rows) * static_cast<double>(columns) * static_cast<double>(terms) /
         ofMma;
}

KernelCounts LaunchCounter::count() {
  int64_t blocks = grid[0] * grid[1] * grid[2], most = blocksWithMostTurns(blocks);
  WarpInterpreter interpreter(kernel, grid, block,
                              [&](Operation &op, const WarpInterpreter &at) { visit(op, at); });
  auto follow = [&](int64_t first, int64_t count, int64_t mostSamples) {
    int64_t samples = std::min(count, mostSamples);
    weight = static_cast<double>(count) / static_cast<double>(samples);
    for (int64_t sample = 0; sample < samples; ++sample) {
      int64_t number = first + (samples == 1 ? 0 : sample * (count - 1) / (samples - 1));
      WarpInterpreter::Triple id = {number % grid[0], number / grid[0] % grid[1],
                                    number / grid[0] / grid[1]};
      sectorsOfBlock = 0;
      for (int64_t warp = 0; warp < warps; ++warp)
        interpreter.run(id, warp);
      counts.mostSectors = std::max(counts.mostSectors, sectorsOfBlock);
    }
  };
  // They are evenly spread, so that what changes linearly with the number of the block (the keys
  // that causal attention reads) is counted right.
  constexpr int64_t kMostBlocks = 4;
  if (most < blocks) {
    follow(0, most, kMostBlocks / 2);
    follow(most, blocks - most, kMostBlocks / 2);
  } else {
    follow(0, blocks, kMostBlocks);
  }
  counts.isEstimate |= interpreter.dependsOnData();
  counts.neededWgmmas = neededWgmmas();
  counts.clusterBlocks = clusterBlocksOf(kernel);
  for (auto &[key, access] : accesses)
    counts.accesses.push_back(access);
  return counts;
}

KernelCounts llmmem::countKernel(gpu::GPUFuncOp kernel, WarpInterpreter::Triple grid,
                                 WarpInterpreter::Triple block) {
  return LaunchCounter(kernel, grid, block).count();
}
