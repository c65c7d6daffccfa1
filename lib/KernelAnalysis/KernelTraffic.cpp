//===- KernelTraffic.cpp - Bytes that a GPU kernel moves ------------------===//

#include "llmmem/KernelAnalysis/KernelTraffic.h"
#include "WarpInterpreter.h"
#include "llmmem/Codegen/Gpu/KernelAccess.h"
#include "llmmem/Codegen/Gpu/TensorMap.h"
#include "llmmem/Interfaces/Bytes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include <cmath>
#include <map>

using namespace mlir;
using namespace llmmem;

using Triple = std::array<int64_t, 3>;

/// Blocks of a launch differ only at the edges and by their position in the triangle of causal
/// attention. So this number of blocks, evenly spread, represents all.
static constexpr int64_t kMostBlocks = 8;
/// If one block takes this number of ops, the first and the last block represent all, because what
/// changes from block to block changes linearly.
static constexpr int64_t kMostOps = 1 << 20;
/// These model the caches: what all blocks read stays in the second-level cache up to the first
/// size, and what one block accesses in the first-level cache up to the second (192 KiB on sm_80,
/// for several blocks).
static constexpr int64_t kMostCached = 16 << 20, kMostOfBlock = 48 << 10;

namespace {
/// Addresses are multiples of what a vector holds, which would crowd into few buckets.
struct AddressInfo : llvm::DenseMapInfo<int64_t> {
  static unsigned getHashValue(int64_t address) {
    return llvm::densemap::detail::mix(static_cast<uint64_t>(address));
  }
};

/// Holds what an op has accessed in the current block.
struct Touched {
  void beginWarp();
  void serve(const LaneIntegers &at, Lanes lanes, bool isWhole, double times);
  void addAddress(int64_t address);

  /// Counts transactions: a warp's accesses of one address at one time.
  double served = 0;
  /// Gives the share of blocks that access the addresses: less than 1 after a condition that data
  /// decides.
  double share = 0;
  /// Holds the bytes' addresses up to `mostAddresses`, and accesses of unknown addresses.
  llvm::DenseSet<int64_t, AddressInfo> addresses;
  double unknown = 0;
  int64_t mostAddresses = 0;

  /// Describe the current warp: how often each lane has run the op, at which of these times an
  /// address was accessed, and an unknown address that is the same for all threads.
  std::array<int64_t, LaneIntegers::kLanes> timesOf;
  llvm::DenseSet<std::pair<int64_t, int64_t>> inWarp;
  llvm::DenseSet<int64_t> unknownInWarp;
};

/// Describes a copy by a tensor map, and where its box begins.
struct BoxCopy {
  TensorMap::Shape map;
  Value row, column;
};

/// Describes an op that reads or writes one of the kernel's buffers.
struct Access {
  /// Is null, or the value that says which of several arguments the current block has chosen.
  Value choice = {};
  unsigned argument;
  int64_t bytes, element;
  bool isWrite;
  bool dependsOnBlock, dependsOnThread;
  /// Describe an access of a flat buffer: its index, null if there is none, and how many elements
  /// are read, if not all.
  Value index = {}, count = {};
  /// Is given for a copy by a tensor map, which moves chunks of `bytes`.
  std::optional<BoxCopy> box = std::nullopt;
  Touched touched = {};

  bool mayBeShared() const { return !isWrite && !dependsOnBlock; }
  bool isShared() const;
  void beginBlock();
};

class Counter {
public:
  Counter(gpu::GPUFuncOp kernel, Triple grid, Triple block)
      : kernel(kernel), grid(grid), block(block) {
    for (auto *bytes : {&asked, &moved})
      for (bool isWrite : {false, true})
        (*bytes)[isWrite].resize(kernel.getNumArguments());
    findAccesses();
    interpreter.emplace(
        kernel, grid, block, [this](Operation &op, const WarpInterpreter &at) { touch(op, at); },
        scope());
  }

  KernelTraffic count();

private:
  void findAccesses();
  void addAccess(Operation *op, const KernelAccess &access);
  void addBlock(double weight);
  void runBlock(int64_t number);
  void countAll();
  SmallVector<int64_t> beginsOfParts();
  void countParts(ArrayRef<int64_t> begins);
  void touch(Operation &op, const WarpInterpreter &at);
  void addBox(NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp copy);
  void touchBox(Touched &place, const BoxCopy &box, const WarpInterpreter &at);
  void touchUnknown(Touched &place, const Access &access, Lanes lanes, double times);
  WarpInterpreter::Scope scope() const;

  gpu::GPUFuncOp kernel;
  Triple grid, block;
  KernelTraffic result;
  llvm::MapVector<Operation *, Access> accesses;
  /// Hold reads and writes by argument.
  std::array<SmallVector<double>, 2> asked, moved;

  std::optional<WarpInterpreter> interpreter;
};
} // namespace

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

/// Returns whether anything that `value` is computed from is an `IdOp`: the number of a block, of a
/// thread.
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
    if (isa<IdOp>(op) || (std::is_same_v<IdOp, gpu::BlockIdOp> && isa<NVVM::ClusterId>(op)))
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

/// Returns the type of what `op` reads from `buffer`, or writes to it: an element or a vector of
/// elements.
static Type movedType(Operation *op, Value buffer, bool isWrite) {
  if (!isWrite)
    return op->getResult(0).getType();
  for (Type type : op->getOperandTypes())
    if (!isa<MemRefType>(type) && getElementTypeOrSelf(type) == getElementTypeOrSelf(buffer))
      return type;
  return {};
}

/// Returns the operands from the first to the last index.
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
  std::optional<unsigned> argument = kernelArgumentOf(kernel, buffer);
  if (!argument && !isChosen)
    return;
  llvm::DenseSet<Value> ofBlock, ofThread;
  bool onBlock =
      llvm::any_of(access.indices, [&](Value i) { return dependsOn<gpu::BlockIdOp>(i, ofBlock); });
  bool onThread = llvm::any_of(access.indices,
                               [&](Value i) { return dependsOn<gpu::ThreadIdOp>(i, ofThread); });
  int64_t element = bytesOfNumber(cast<MemRefType>(buffer.getType()).getElementType());
  accesses[op] = {.choice = isChosen ? buffer : Value(),
                  .argument = argument.value_or(0),
                  .bytes = bytesOfNumber(access.type),
                  .element = element,
                  .isWrite = access.isWrite,
                  .dependsOnBlock = onBlock || isChosen,
                  .dependsOnThread = onThread || isChosen,
                  .index = access.indices.empty() ? Value() : access.indices.back(),
                  .count = access.count};
}

/// Handles an op of another dialect, which says by its memory effects what it reads and writes.
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
      map && map->buffer() ? kernelArgumentOf(kernel, map->buffer()) : std::nullopt;
  if (!argument || copy.getCoordinates().size() != 2)
    return;
  llvm::DenseSet<Value> ofBlock;
  bool onBlock = llvm::any_of(copy.getCoordinates(),
                              [&](Value i) { return dependsOn<gpu::BlockIdOp>(i, ofBlock); });
  accesses[copy] = {.argument = *argument,
                    .bytes = chunk,
                    .element = element,
                    .isWrite = false,
                    .dependsOnBlock = onBlock,
                    .dependsOnThread = false,
                    .box = BoxCopy{.map = map->shape(),
                                   .row = copy.getCoordinates()[1],
                                   .column = copy.getCoordinates()[0]}};
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
// Threads
//===----------------------------------------------------------------------===//

/// Returns what the lanes of a warp access at one time, if all have run the op equally often.
static int64_t distinctOf(const LaneIntegers &addresses, Lanes lanes) {
  if (addresses.isUniform())
    return lanes != 0;
  SmallVector<int64_t, LaneIntegers::kLanes> numbers;
  for (int64_t lane = 0; lane < LaneIntegers::kLanes; ++lane)
    if (contains(lanes, lane))
      numbers.push_back(addresses[lane]);
  llvm::sort(numbers);
  return std::distance(numbers.begin(), llvm::unique(numbers));
}

void Touched::beginWarp() {
  inWarp.clear();
  unknownInWarp.clear();
  timesOf.fill(0);
}

/// Beyond the limit only the fact counts that there are more.
void Touched::addAddress(int64_t address) {
  if (static_cast<int64_t>(addresses.size()) <= mostAddresses)
    addresses.insert(address);
}

/// Accesses of one address count once if lanes run the op for the same time.
void Touched::serve(const LaneIntegers &at, Lanes lanes, bool isWhole, double times) {
  if (isWhole)
    served += static_cast<double>(distinctOf(at, lanes)) * times;
  for (int64_t lane = 0; lane < LaneIntegers::kLanes; ++lane) {
    if (!contains(lanes, lane))
      continue;
    addAddress(at[lane]);
    if (!isWhole)
      served += inWarp.insert({timesOf[lane], at[lane]}).second ? times : 0;
  }
}

/// What lies outside of the matrix is not read.
void Counter::touchBox(Touched &place, const BoxCopy &box, const WarpInterpreter &at) {
  constexpr int64_t columns = 64, chunk = 8;
  const TensorMap::Shape &map = box.map;
  const LaneIntegers &rows = at.integers(box.row), &firsts = at.integers(box.column);
  for (int64_t lane = 0; lane < LaneIntegers::kLanes; ++lane) {
    if (!contains(at.active(), lane))
      continue;
    if (!contains(rows.known() & firsts.known(), lane)) {
      place.unknown += at.times() * static_cast<double>(map.boxRows * columns / chunk);
      result.isEstimate = true;
      continue;
    }
    int64_t row = rows[lane], column = firsts[lane];
    for (int64_t line = row; line < std::min(row + map.boxRows, map.rows); ++line)
      for (int64_t first = column; first < std::min(column + columns, map.columns);
           first += chunk) {
        int64_t address = map.begin + line * map.pitch + first;
        place.served += place.inWarp.insert({place.timesOf[lane], address}).second ? at.times() : 0;
        place.addAddress(address);
      }
  }
}

/// Handles lanes whose address data decides.
void Counter::touchUnknown(Touched &place, const Access &access, Lanes lanes, double times) {
  for (int64_t lane = 0; lane < LaneIntegers::kLanes; ++lane)
    if (contains(lanes, lane)) {
      bool isNew = access.dependsOnThread || place.unknownInWarp.insert(place.timesOf[lane]).second;
      place.unknown += isNew ? times : 0;
      result.isEstimate = true;
    }
}

void Counter::touch(Operation &op, const WarpInterpreter &at) {
  Access &access = accesses.find(&op)->second;
  Touched &place = access.touched;
  Lanes lanes = at.active();
  place.share = std::max(place.share, std::min(at.times(), 1.0));
  if (access.choice) {
    const LaneIntegers &choice = at.integers(access.choice);
    int64_t last = 31 - llvm::countl_zero(lanes);
    access.argument = contains(choice.known(), last) ? choice[last] : 0;
  }
  // In this case no lane runs the op again for this time.
  bool isWhole = lanes == at.allLanes() && llvm::all_equal(place.timesOf);
  if (access.box)
    touchBox(place, *access.box, at);
  else {
    if (access.count) {
      const LaneIntegers &count = at.integers(access.count);
      for (int64_t lane = 0; lane < LaneIntegers::kLanes; ++lane)
        if (contains(count.known(), lane) && count[lane] == 0)
          lanes &= ~(Lanes(1) << lane);
    }
    LaneIntegers address = access.index ? at.integers(access.index) : LaneIntegers(0);
    place.serve(address, lanes & address.known(), isWhole, at.times());
    touchUnknown(place, access, lanes & ~address.known(), at.times());
  }
  for (int64_t lane = 0; lane < LaneIntegers::kLanes; ++lane)
    place.timesOf[lane] += contains(at.active(), lane);
}

/// Follows only what is accessed, and where.
WarpInterpreter::Scope Counter::scope() const {
  WarpInterpreter::Scope scope;
  for (const auto &[op, access] : accesses) {
    scope.ops.insert(op);
    for (Value value : {access.choice, access.index, access.count})
      if (value)
        scope.values.push_back(value);
    if (access.box)
      scope.values.append({access.box->row, access.box->column});
  }
  return scope;
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// Returns whether it reads the same bytes in every block.
bool Access::isShared() const {
  return mayBeShared() && touched.unknown == 0 &&
         static_cast<int64_t>(touched.addresses.size()) * bytes <= kMostCached;
}

void Access::beginBlock() {
  touched = {};
  touched.mostAddresses =
      mayBeShared() ? kMostCached / bytes : kMostOfBlock / std::max<int64_t>(element, 1);
}

/// Returns the bytes of overlapping ranges, each once.
static int64_t bytesOfUnion(std::vector<std::pair<int64_t, int64_t>> &ranges) {
  int64_t bytes = 0, end = 0;
  llvm::sort(ranges);
  for (auto [first, last] : ranges) {
    bytes += std::max<int64_t>(0, last - std::max(first, end));
    end = std::max(end, last);
  }
  return bytes;
}

/// Returns the bytes that are not shared between blocks. Overlapping ranges count once, and those
/// that few blocks access count by the largest share of blocks that one of their accesses has.
static double distinctBytes(MutableArrayRef<const Access *> ofArgument) {
  llvm::sort(ofArgument,
             [](const Access *a, const Access *b) { return a->touched.share > b->touched.share; });
  std::vector<std::pair<int64_t, int64_t>> ranges;
  double bytes = 0;
  for (auto [number, access] : llvm::enumerate(ofArgument)) {
    bytes += access->touched.unknown * static_cast<double>(access->bytes);
    for (int64_t address : access->touched.addresses)
      ranges.emplace_back(address * access->element, address * access->element + access->bytes);
    bool isLast = number + 1 == ofArgument.size();
    double next = isLast ? 0 : ofArgument[number + 1]->touched.share;
    if (next < access->touched.share)
      bytes += (access->touched.share - next) * static_cast<double>(bytesOfUnion(ranges));
  }
  return bytes;
}

void Counter::addBlock(double weight) {
  struct OfArgument {
    double shared = 0, here = 0, distinct = 0;
    SmallVector<const Access *> apart;
  };
  // Reads come first, then writes.
  std::map<std::pair<bool, unsigned>, OfArgument> arguments;
  for (auto &[op, access] : accesses) {
    const Touched &place = access.touched;
    OfArgument &all = arguments[{access.isWrite, access.argument}];
    if (access.isShared()) {
      all.shared += place.share * static_cast<double>(static_cast<int64_t>(place.addresses.size()) *
                                                      access.bytes);
      continue;
    }
    all.here += (place.served + place.unknown) * static_cast<double>(access.bytes);
    all.apart.push_back(&access);
  }
  double footprint = 0, blocks = static_cast<double>(grid[0] * grid[1] * grid[2]);
  for (auto &[key, all] : arguments)
    footprint += all.distinct = distinctBytes(all.apart);
  bool fits = footprint <= static_cast<double>(kMostOfBlock);
  for (const auto &[key, all] : arguments) {
    auto [isWrite, number] = key;
    // Shared bytes move once a launch.
    double once = all.shared * weight / blocks;
    asked[isWrite][number] += all.here * weight + once;
    moved[isWrite][number] += (fits ? all.distinct : all.here) * weight + once;
  }
}

static BytesByArgument rounded(const std::array<SmallVector<double>, 2> &bytes) {
  auto round = [](ArrayRef<double> numbers) {
    return llvm::map_to_vector(numbers, [](double x) -> int64_t { return std::llround(x); });
  };
  return {round(bytes[false]), round(bytes[true])};
}

void Counter::runBlock(int64_t number) {
  Triple id = {number % grid[0], number / grid[0] % grid[1], number / grid[0] / grid[1]};
  int64_t threads = block[0] * block[1] * block[2];
  int64_t warps = llvm::divideCeil(threads, LaneIntegers::kLanes);
  for (auto &[op, access] : accesses)
    access.beginBlock();
  for (int64_t warp = 0; warp < warps; ++warp) {
    for (auto &[op, access] : accesses)
      access.touched.beginWarp();
    interpreter->run(id, warp);
  }
}

void Counter::countAll() {
  int64_t blocks = grid[0] * grid[1] * grid[2], samples = std::min(blocks, kMostBlocks);
  for (int64_t sample = 0; sample < samples; ++sample) {
    runBlock(samples == 1 ? 0 : sample * (blocks - 1) / (samples - 1));
    if (sample == 0 && interpreter->opsRun() > kMostOps)
      samples = std::min<int64_t>(blocks, 2);
    addBlock(static_cast<double>(blocks) / static_cast<double>(samples));
  }
}

/// Returns, where a launch is divided into parts by comparing the number of the block, the first
/// block of each part, and the number of blocks.
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
  result.isEstimate |= interpreter->dependsOnData();
  result.asked = rounded(asked);
  result.moved = rounded(moved);
  return result;
}

KernelTraffic llmmem::measureTraffic(gpu::GPUFuncOp kernel, Triple grid, Triple block) {
  return Counter(kernel, grid, block).count();
}
