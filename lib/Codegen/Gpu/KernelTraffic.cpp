//===- KernelTraffic.cpp - Bytes that a GPU kernel moves ------------------===//

#include "llmmem/Codegen/Gpu/KernelTraffic.h"
#include "llmmem/Codegen/Gpu/KernelAccess.h"
#include "llmmem/Codegen/Gpu/TensorMap.h"
#include "llmmem/Dialect/LlmDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/SaveAndRestore.h"
#include <cmath>

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

using Triple = std::array<int64_t, 3>;
/// An integer that does not depend on data, or nothing.
using Known = std::optional<int64_t>;

/// Blocks of a launch differ only at the edges and by their position in the triangle of causal
/// attention: so many, evenly spread, represent all.
static constexpr int64_t kMostBlocks = 8;
/// ... or the first and the last, if one block takes so many ops: what changes from block to block
/// changes linearly.
static constexpr int64_t kMostOps = 1 << 20;
/// Model of the caches: what all blocks read stays in the second-level cache up to the first size,
/// and what one block accesses in the first-level cache up to the second (192 KiB on sm_80, for
/// several blocks).
static constexpr int64_t kMostCached = 16 << 20, kMostOfBlock = 48 << 10;

namespace {
/// An op that reads or writes one of the kernel's buffers.
struct Access {
  /// Null, or the value that says which of several arguments the current block has chosen.
  Value choice;
  unsigned argument;
  int64_t bytes, element;
  bool isWrite;
  bool dependsOnBlock, dependsOnThread;
  /// Of a flat buffer; null if there is none. And how many elements are read, if not all.
  Value index, count;
  /// Of a copy by a tensor map: what that says, and where the box begins. Moved in chunks of
  /// `bytes`.
  std::optional<TensorMap::Shape> map = std::nullopt;
  Value row, column;
};

/// What an op has accessed in the current block.
struct Touched {
  /// (warp, how often the thread ran the op before, address): one transaction. The second if the
  /// address is unknown but the same for all threads.
  llvm::DenseSet<std::tuple<int64_t, int64_t, int64_t>> served;
  llvm::DenseSet<std::pair<int64_t, int64_t>> servedUnknown;
  llvm::DenseSet<int64_t> addresses;
  double unknown = 0;
};

class Counter {
public:
  Counter(gpu::GPUFuncOp kernel, Triple grid, Triple block)
      : kernel(kernel), grid(grid), block(block) {
    for (auto *bytes : {&asked, &moved})
      for (bool isWrite : {false, true})
        (*bytes)[isWrite].resize(kernel.getNumArguments());
    findAccesses();
  }

  KernelTraffic count();

private:
  void findAccesses();
  void addAccess(Operation *op, const KernelAccess &access);
  bool isShared(Operation *op, const Access &access);
  double distinctBytes(unsigned argument, bool isWrite);
  void addBlock(double weight);
  void runBlock(int64_t number);
  void countAll();
  SmallVector<int64_t> beginsOfParts();
  void countParts(ArrayRef<int64_t> begins);
  void runThread(int64_t number);
  void run(Block &code);
  void runOp(Operation &op);
  void runLoop(LoopLikeOpInterface loop);
  void runIf(scf::IfOp branch);
  void touch(Operation *op, Access &access);
  void addBox(NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp copy);
  void touchBox(Touched &place, const Access &access, int64_t times);
  Known lookup(ArrayRef<OpFoldResult> bounds);
  Known evaluate(Operation &op);
  Known inferFrom(InferIntRangeInterface op);
  void hand(ValueRange from, ValueRange to);

  gpu::GPUFuncOp kernel;
  Triple grid, block;
  KernelTraffic result;
  llvm::MapVector<Operation *, Access> accesses;
  /// By argument; reads and writes.
  std::array<SmallVector<double>, 2> asked, moved;

  Triple blockId = {}, threadId = {};
  int64_t warp = 0, opsRun = 0;
  /// How often a thread runs the current op for each time that it is interpreted here.
  double timesExpected = 1;
  llvm::DenseMap<Value, Known> values;
  llvm::DenseMap<Operation *, int64_t> timesBy;
  llvm::DenseMap<Operation *, Touched> touched;
};
} // namespace

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

/// The kernel's argument that a buffer is a part of; nothing for workgroup memory.
static std::optional<unsigned> argumentOf(gpu::GPUFuncOp kernel, Value buffer) {
  auto argument = dyn_cast<BlockArgument>(memref::skipViewLikeOps(cast<MemrefValue>(buffer)));
  if (!argument || argument.getOwner() != &kernel.getBody().front() ||
      argument.getArgNumber() >= kernel.getNumArguments())
    return std::nullopt;
  return argument.getArgNumber();
}

/// Whether the loop counts from a lower to an upper bound: scf.for does, scf.while does not.
static bool hasKnownForm(LoopLikeOpInterface loop) {
  return loop.getSingleInductionVar() && loop.getLoopLowerBounds() && loop.getLoopUpperBounds() &&
         loop.getLoopSteps();
}

/// Whether anything that `value` is computed from is an `IdOp`: the number of a block, of a thread.
template <typename IdOp>
static bool dependsOn(Value value, llvm::DenseSet<Value> &visited) {
  if (!visited.insert(value).second)
    return false;
  auto visit = [&](Value operand) { return dependsOn<IdOp>(operand, visited); };
  auto visitBound = [&](OpFoldResult bound) {
    auto operand = dyn_cast<Value>(bound);
    return operand && visit(operand);
  };
  if (Operation *op = value.getDefiningOp()) {
    if (isa<IdOp>(op))
      return true;
    bool inside = false;
    for (Region &region : op->getRegions())
      for (Block &block : region)
        inside |= llvm::any_of(block.getTerminator()->getOperands(), visit);
    return inside || llvm::any_of(op->getOperands(), visit);
  }
  Block *owner = cast<BlockArgument>(value).getOwner();
  Operation *parent = owner->getParentOp();
  if (isa<gpu::GPUFuncOp>(parent))
    return false;
  if (auto loop = dyn_cast<LoopLikeOpInterface>(parent); loop && hasKnownForm(loop)) {
    // Carried values do not count the iterations.
    if (value == loop.getSingleInductionVar())
      return llvm::any_of(*loop.getLoopLowerBounds(), visitBound) ||
             llvm::any_of(*loop.getLoopSteps(), visitBound);
    auto carried = cast<BlockArgument>(value);
    return visit(loop.getTiedLoopInit(carried)->get()) ||
           visit(loop.getTiedLoopYieldedValue(carried)->get());
  }
  return llvm::any_of(parent->getOperands(), visit) ||
         llvm::any_of(owner->getTerminator()->getOperands(), visit);
}

/// The type of what `op` reads from `buffer`, or writes to it: an element or a vector of elements.
static Type movedType(Operation *op, Value buffer, bool isWrite) {
  if (!isWrite)
    return op->getResult(0).getType();
  for (Type type : op->getOperandTypes())
    if (!isa<MemRefType>(type) && getElementTypeOrSelf(type) == getElementTypeOrSelf(buffer))
      return type;
  return {};
}

/// The operands from the first to the last index.
static ValueRange indicesOf(Operation *op) {
  auto isIndex = [](Value operand) { return operand.getType().isIndex(); };
  OperandRange operands = op->getOperands();
  auto first = llvm::find_if(operands, isIndex);
  auto last = std::find_if_not(first, operands.end(), isIndex);
  return operands.slice(first - operands.begin(), last - first);
}

void Counter::addAccess(Operation *op, const KernelAccess &access) {
  Value buffer = access.memref;
  bool isChosen = buffer.getDefiningOp<scf::IfOp>() != nullptr;
  std::optional<unsigned> argument = argumentOf(kernel, buffer);
  if (!argument && !isChosen)
    return;
  llvm::DenseSet<Value> ofBlock, ofThread;
  bool onBlock =
      llvm::any_of(access.indices, [&](Value i) { return dependsOn<gpu::BlockIdOp>(i, ofBlock); });
  bool onThread = llvm::any_of(access.indices,
                               [&](Value i) { return dependsOn<gpu::ThreadIdOp>(i, ofThread); });
  int64_t element = cast<MemRefType>(buffer.getType()).getElementTypeBitWidth() / 8;
  accesses[op] = {isChosen ? buffer : Value(),
                  argument.value_or(0),
                  bytesInMemory(access.type),
                  element,
                  access.isWrite,
                  onBlock || isChosen,
                  onThread || isChosen,
                  access.indices.empty() ? Value() : access.indices.back(),
                  access.count};
}

/// Of an op of another dialect, which says by its memory effects what it reads and writes.
static SmallVector<KernelAccess, 2> accessesByEffects(MemoryEffectOpInterface op) {
  SmallVector<KernelAccess, 2> accesses;
  SmallVector<MemoryEffects::EffectInstance> effects;
  op.getEffects(effects);
  for (const MemoryEffects::EffectInstance &effect : effects) {
    bool isWrite = isa<MemoryEffects::Write>(effect.getEffect());
    Value buffer = effect.getValue();
    bool isAccess = isWrite || isa<MemoryEffects::Read>(effect.getEffect());
    if (isAccess && buffer && isa<MemRefType>(buffer.getType()))
      accesses.push_back({buffer, indicesOf(op), movedType(op, buffer, isWrite), isWrite});
  }
  return accesses;
}

void Counter::addBox(NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp copy) {
  constexpr int64_t chunk = 16, element = 2;
  std::optional<TensorMap> map = TensorMap::match(copy.getTmaDescriptor().getDefiningOp());
  std::optional<unsigned> argument =
      map && map->buffer() ? argumentOf(kernel, map->buffer()) : std::nullopt;
  if (!argument || copy.getCoordinates().size() != 2)
    return;
  llvm::DenseSet<Value> ofBlock;
  bool onBlock = llvm::any_of(copy.getCoordinates(),
                              [&](Value i) { return dependsOn<gpu::BlockIdOp>(i, ofBlock); });
  Access access{Value(), *argument, chunk, element, false, onBlock, false, Value(), Value()};
  access.map = map->shape();
  access.row = copy.getCoordinates()[1];
  access.column = copy.getCoordinates()[0];
  accesses[copy] = access;
}

void Counter::findAccesses() {
  kernel.walk([&](Operation *op) {
    if (auto copy = dyn_cast<NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp>(op))
      return addBox(copy);
    SmallVector<KernelAccess, 2> found = kernelAccessesOf(op);
    if (auto effects = dyn_cast<MemoryEffectOpInterface>(op); effects && found.empty())
      found = accessesByEffects(effects);
    for (const KernelAccess &access : found)
      addAccess(op, access);
  });
}

//===----------------------------------------------------------------------===//
// What data decides
//===----------------------------------------------------------------------===//

void llmmem::expectIterations(Operation *op, double iterations) {
  op->setAttr(LlmDialect::kExpectedIterations,
              FloatAttr::get(Float64Type::get(op->getContext()), iterations));
}

double llmmem::expectedIterations(Operation *op) {
  auto iterations = op->getAttrOfType<FloatAttr>(LlmDialect::kExpectedIterations);
  return iterations ? iterations.getValueAsDouble() : 1.0;
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

static int64_t along(gpu::Dimension dimension, const Triple &triple) {
  return triple[static_cast<unsigned>(dimension)];
}

/// The result of an op on integers that are known, by the ranges that the op infers from them.
Known Counter::inferFrom(InferIntRangeInterface op) {
  SmallVector<ConstantIntRanges, 3> operands;
  for (Value value : op->getOperands()) {
    Known number = values.lookup(value);
    if (!number)
      return std::nullopt;
    unsigned width = ConstantIntRanges::getStorageBitwidth(value.getType());
    operands.push_back(ConstantIntRanges::constant(
        APInt(width, *number, /*isSigned=*/true, /*implicitTrunc=*/true)));
  }
  Known result;
  op.inferResultRanges(operands, [&](Value value, const ConstantIntRanges &range) {
    if (std::optional<APInt> number = range.getConstantValue())
      result = value.getType().isInteger(1) ? number->getZExtValue() : number->getSExtValue();
  });
  return result;
}

Known Counter::evaluate(Operation &op) {
  return llvm::TypeSwitch<Operation *, Known>(&op)
      .Case([&](gpu::ThreadIdOp id) { return along(id.getDimension(), threadId); })
      .Case([&](gpu::BlockIdOp id) { return along(id.getDimension(), blockId); })
      .Case([&](gpu::BlockDimOp size) { return along(size.getDimension(), block); })
      .Case([&](gpu::GridDimOp size) { return along(size.getDimension(), grid); })
      .Case([&](InferIntRangeInterface inferable) { return inferFrom(inferable); })
      .Default(std::nullopt);
}

/// What lies outside of the matrix is not read.
void Counter::touchBox(Touched &place, const Access &access, int64_t times) {
  constexpr int64_t columns = 64, chunk = 8;
  const TensorMap::Shape &map = *access.map;
  Known row = values.lookup(access.row), column = values.lookup(access.column);
  if (!row || !column) {
    place.unknown += timesExpected * static_cast<double>(map.boxRows * columns / chunk);
    result.isEstimate = true;
    return;
  }
  for (int64_t line = *row; line < std::min(*row + map.boxRows, map.rows); ++line)
    for (int64_t first = *column; first < std::min(*column + columns, map.columns);
         first += chunk) {
      int64_t address = map.begin + line * map.pitch + first;
      place.served.insert({warp, times, address});
      place.addresses.insert(address);
    }
}

void Counter::touch(Operation *op, Access &access) {
  Touched &place = touched[op];
  if (access.choice)
    access.argument = values.lookup(access.choice).value_or(0);
  int64_t times = timesBy[op]++;
  if (access.map)
    return touchBox(place, access, times);
  if (access.count && values.lookup(access.count) == Known(0))
    return;
  Known address = access.index ? values.lookup(access.index) : Known(0);
  if (!address) {
    if (access.dependsOnThread || place.servedUnknown.insert({warp, times}).second)
      place.unknown += timesExpected;
    result.isEstimate = true;
    return;
  }
  place.served.insert({warp, times, *address});
  place.addresses.insert(*address);
}

void Counter::hand(ValueRange from, ValueRange to) {
  SmallVector<Known> numbers;
  for (Value value : from)
    numbers.push_back(values.lookup(value));
  for (auto [value, number] : llvm::zip(to, numbers))
    values[value] = number;
}

Known Counter::lookup(ArrayRef<OpFoldResult> bounds) {
  if (std::optional<int64_t> constant = getConstantIntValue(bounds.front()))
    return constant;
  auto value = dyn_cast<Value>(bounds.front());
  return value ? values.lookup(value) : std::nullopt;
}

void Counter::runLoop(LoopLikeOpInterface loop) {
  Known lower = lookup(*loop.getLoopLowerBounds()), upper = lookup(*loop.getLoopUpperBounds()),
        step = lookup(*loop.getLoopSteps());
  bool isKnown = lower && upper && step && *step > 0;
  result.isEstimate |= !isKnown;
  hand(loop.getInits(), loop.getRegionIterArgs());
  double expected = isKnown ? 1.0 : expectedIterations(loop);
  llvm::SaveAndRestore times(timesExpected, timesExpected * expected);
  int64_t iterations =
      isKnown ? std::max<int64_t>(0, llvm::divideCeilSigned(*upper - *lower, *step)) : expected > 0;
  Block &body = loop.getLoopRegions().front()->front();
  Value number = *loop.getSingleInductionVar();
  for (int64_t iteration = 0; iteration < iterations; ++iteration) {
    values[number] = isKnown ? Known(*lower + iteration * *step) : std::nullopt;
    run(body);
    hand(loop.getYieldedValues(), loop.getRegionIterArgs());
  }
  hand(loop.getRegionIterArgs(), *loop.getLoopResults());
}

void Counter::runIf(scf::IfOp branch) {
  Known condition = values.lookup(branch.getCondition());
  result.isEstimate |= !condition;
  double expected = condition ? 1.0 : expectedIterations(branch);
  llvm::SaveAndRestore times(timesExpected, timesExpected * expected);
  for (Region &region : branch->getRegions()) {
    bool isThen = region.getRegionNumber() == 0;
    if (region.empty() || expected == 0 || (condition && (*condition != 0) != isThen))
      continue;
    run(region.front());
    hand(region.front().getTerminator()->getOperands(), branch.getResults());
  }
  if (!condition)
    for (Value value : branch.getResults())
      values[value] = std::nullopt;
}

void Counter::runOp(Operation &op) {
  ++opsRun;
  if (auto access = accesses.find(&op); access != accesses.end())
    return touch(&op, access->second);
  if (auto loop = dyn_cast<LoopLikeOpInterface>(op); loop && hasKnownForm(loop))
    return runLoop(loop);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return runIf(branch);
  if (op.getNumRegions() > 0) {
    // A loop that data ends.
    result.isEstimate = true;
    for (Region &region : op.getRegions())
      run(region.front());
    return;
  }
  if (auto cast = dyn_cast<memref::CastOp>(op))
    values[cast] = argumentOf(kernel, cast.getSource());
  else if (op.getNumResults() == 1 && op.getResult(0).getType().isIntOrIndex())
    values[op.getResult(0)] = evaluate(op);
}

void Counter::run(Block &code) {
  for (Operation &op : code.without_terminator())
    runOp(op);
}

void Counter::runThread(int64_t number) {
  threadId = {number % block[0], number / block[0] % block[1], number / block[0] / block[1]};
  warp = number / 32;
  values.clear();
  timesBy.clear();
  run(kernel.getBody().front());
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// Whether it reads the same bytes in every block.
bool Counter::isShared(Operation *op, const Access &access) {
  const Touched &place = touched[op];
  return !access.isWrite && !access.dependsOnBlock && place.unknown == 0 &&
         static_cast<int64_t>(place.addresses.size()) * access.bytes <= kMostCached;
}

/// Bytes of one argument that are not shared between blocks; overlapping ranges count once.
double Counter::distinctBytes(unsigned argument, bool isWrite) {
  std::vector<std::pair<int64_t, int64_t>> ranges;
  double unknown = 0;
  int64_t bytes = 0, end = 0;
  for (auto &[op, access] : accesses) {
    if (access.argument != argument || access.isWrite != isWrite || isShared(op, access))
      continue;
    const Touched &place = touched[op];
    unknown += place.unknown * static_cast<double>(access.bytes);
    for (int64_t address : place.addresses)
      ranges.emplace_back(address * access.element, address * access.element + access.bytes);
  }
  llvm::sort(ranges);
  for (auto [first, last] : ranges) {
    bytes += std::max<int64_t>(0, last - std::max(first, end));
    end = std::max(end, last);
  }
  return static_cast<double>(bytes) + unknown;
}

void Counter::addBlock(double weight) {
  double blocks = static_cast<double>(grid[0] * grid[1] * grid[2]);
  std::array<SmallVector<double>, 2> here, apart, shared;
  for (bool isWrite : {false, true}) {
    here[isWrite].resize(kernel.getNumArguments());
    apart[isWrite].resize(kernel.getNumArguments());
    shared[isWrite].resize(kernel.getNumArguments());
  }
  for (auto &[op, access] : accesses) {
    const Touched &place = touched[op];
    if (isShared(op, access))
      shared[access.isWrite][access.argument] +=
          static_cast<double>(place.addresses.size() * access.bytes);
    else
      here[access.isWrite][access.argument] +=
          (static_cast<double>(place.served.size()) + place.unknown) *
          static_cast<double>(access.bytes);
  }
  double footprint = 0;
  for (bool isWrite : {false, true})
    for (unsigned number = 0; number < kernel.getNumArguments(); ++number)
      footprint += apart[isWrite][number] = distinctBytes(number, isWrite);
  bool fits = footprint <= static_cast<double>(kMostOfBlock);
  for (bool isWrite : {false, true})
    for (unsigned number = 0; number < kernel.getNumArguments(); ++number) {
      // Shared bytes move once a launch.
      double once = shared[isWrite][number] * weight / blocks;
      asked[isWrite][number] += here[isWrite][number] * weight + once;
      moved[isWrite][number] +=
          (fits ? apart[isWrite][number] : here[isWrite][number]) * weight + once;
    }
  touched.clear();
}

static BytesByArgument rounded(const std::array<SmallVector<double>, 2> &bytes) {
  auto round = [](ArrayRef<double> numbers) {
    return llvm::map_to_vector(numbers, [](double x) -> int64_t { return std::llround(x); });
  };
  return {round(bytes[false]), round(bytes[true])};
}

void Counter::runBlock(int64_t number) {
  blockId = {number % grid[0], number / grid[0] % grid[1], number / grid[0] / grid[1]};
  for (int64_t thread = 0; thread < block[0] * block[1] * block[2]; ++thread)
    runThread(thread);
}

void Counter::countAll() {
  int64_t blocks = grid[0] * grid[1] * grid[2], samples = std::min(blocks, kMostBlocks);
  for (int64_t sample = 0; sample < samples; ++sample) {
    runBlock(samples == 1 ? 0 : sample * (blocks - 1) / (samples - 1));
    if (sample == 0 && opsRun > kMostOps)
      samples = std::min<int64_t>(blocks, 2);
    addBlock(static_cast<double>(blocks) / static_cast<double>(samples));
  }
}

/// Where a launch is divided into parts by comparing the number of the block: the first block of
/// each part, and the number of blocks.
SmallVector<int64_t> Counter::beginsOfParts() {
  int64_t blocks = grid[0] * grid[1] * grid[2];
  SmallVector<int64_t> begins = {0, blocks};
  kernel.walk([&](arith::CmpIOp compare) {
    auto id = compare.getLhs().getDefiningOp<gpu::BlockIdOp>();
    std::optional<int64_t> bound = getConstantIntValue(compare.getRhs());
    if (id && id.getDimension() == gpu::Dimension::x && bound && *bound > 0 && *bound < blocks)
      begins.push_back(*bound);
  });
  llvm::sort(begins);
  begins.erase(llvm::unique(begins), begins.end());
  return begins;
}

/// The blocks of a part are equal except for the last.
void Counter::countParts(ArrayRef<int64_t> begins) {
  for (auto [first, end] : llvm::zip(begins.drop_back(), begins.drop_front())) {
    if (end - first > 1) {
      runBlock(first);
      addBlock(static_cast<double>(end - first - 1));
    }
    runBlock(end - 1);
    addBlock(1);
  }
}

KernelTraffic Counter::count() {
  SmallVector<int64_t> begins = beginsOfParts();
  if (begins.size() > 2)
    countParts(begins);
  else
    countAll();
  result.asked = rounded(asked);
  result.moved = rounded(moved);
  return result;
}

KernelTraffic llmmem::measureTraffic(gpu::GPUFuncOp kernel, Triple grid, Triple block) {
  return Counter(kernel, grid, block).count();
}
