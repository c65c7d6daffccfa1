//===- KernelTraffic.cpp - Bytes that a GPU kernel moves -------------------===//

#include "llmmem/Codegen/Gpu/KernelTraffic.h"
#include "llmmem/Dialect/LlmDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

using Triple = std::array<int64_t, 3>;
/// A whole number that is known without data, or nothing.
using Known = std::optional<int64_t>;

/// Blocks of a launch are alike but for the first, the last and where they stand in a triangle of
/// attention; so many, evenly spread, stand for all.
static constexpr int64_t kMostBlocks = 8;
/// ... or the first and the last, where one takes so many ops: what grows from block to block grows
/// in a line.
static constexpr int64_t kMostOps = 1 << 20;
/// What every block reads alike is taken to stay in the second-level cache up to here, and what a
/// block touches in the first-level one (of 192 KiB on sm_80, shared by at most some blocks).
static constexpr int64_t kMostCached = 16 << 20, kMostOfBlock = 48 << 10;

//===----------------------------------------------------------------------===//
// Arithmetic of indices
//===----------------------------------------------------------------------===//

using Arithmetic = Known (*)(ArrayRef<int64_t>);

template <typename Function>
static Known both(ArrayRef<int64_t> x, Function function) {
  return static_cast<int64_t>(function(static_cast<uint64_t>(x[0]), static_cast<uint64_t>(x[1])));
}

/// Of numbers that are not negative, as indices are.
static Arithmetic arithmeticOf(StringRef op) {
  return llvm::StringSwitch<Arithmetic>(op)
      .Case("arith.addi", [](auto x) { return both(x, std::plus<>()); })
      .Case("arith.subi", [](auto x) { return both(x, std::minus<>()); })
      .Case("arith.muli", [](auto x) { return both(x, std::multiplies<>()); })
      .Cases({"arith.divui", "arith.divsi"},
             [](auto x) { return x[1] ? both(x, std::divides<>()) : std::nullopt; })
      .Cases({"arith.remui", "arith.remsi"},
             [](auto x) { return x[1] ? both(x, std::modulus<>()) : std::nullopt; })
      .Case("arith.andi", [](auto x) { return both(x, std::bit_and<>()); })
      .Case("arith.ori", [](auto x) { return both(x, std::bit_or<>()); })
      .Case("arith.xori", [](auto x) { return both(x, std::bit_xor<>()); })
      .Case("arith.shli",
            [](auto x) { return both(x, [](auto a, auto b) { return a << b % 64; }); })
      .Cases({"arith.shrui", "arith.shrsi"},
             [](auto x) { return both(x, [](auto a, auto b) { return a >> b % 64; }); })
      .Cases({"arith.minsi", "arith.minui"}, [](auto x) { return Known(std::min(x[0], x[1])); })
      .Cases({"arith.maxsi", "arith.maxui"}, [](auto x) { return Known(std::max(x[0], x[1])); })
      .Case("arith.select", [](auto x) { return Known(x[0] ? x[1] : x[2]); })
      .Cases(
          {"arith.index_cast", "arith.index_castui", "arith.extui", "arith.extsi", "arith.trunci"},
          [](auto x) { return Known(x[0]); })
      .Default(nullptr);
}

namespace {
/// An op that moves bytes of one of the kernel's buffers.
struct Access {
  /// Null, or which of several arguments the block at hand has chosen.
  Value choice;
  unsigned argument;
  int64_t bytes, element;
  bool isWrite;
  bool dependsOnBlock, dependsOnThread;
};

/// What an access op has touched in the block at hand.
struct Touched {
  /// (warp, how often the thread came by, address): served together. The second where nobody knows
  /// the address, but that it is one for all threads.
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
    kernel.walk([&](Operation *op) {
      if (Arithmetic function = arithmeticOf(op->getName().getStringRef()))
        arithmetic[op] = function;
    });
  }

  KernelTraffic count();

private:
  void findAccesses();
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
  void runFor(scf::ForOp loop);
  void runIf(scf::IfOp branch);
  void touch(Operation *op, Access &access);
  Known evaluate(Operation &op);
  void hand(ValueRange from, ValueRange to);

  gpu::GPUFuncOp kernel;
  Triple grid, block;
  KernelTraffic result;
  llvm::MapVector<Operation *, Access> accesses;
  llvm::DenseMap<Operation *, Arithmetic> arithmetic;
  /// By argument; reads and writes.
  std::array<SmallVector<double>, 2> asked, moved;

  Triple blockId = {}, threadId = {};
  int64_t warp = 0, opsRun = 0;
  /// How often a thread comes by the op at hand for each time that it is run here.
  double timesExpected = 1;
  llvm::DenseMap<Value, Known> values;
  llvm::DenseMap<Operation *, int64_t> timesBy;
  llvm::DenseMap<Operation *, Touched> touched;
};
} // namespace

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

/// The kernel's argument that a buffer is a part of; nothing for memory of the block.
static std::optional<unsigned> argumentOf(gpu::GPUFuncOp kernel, Value buffer) {
  auto argument = dyn_cast<BlockArgument>(memref::skipViewLikeOps(cast<MemrefValue>(buffer)));
  if (!argument || argument.getOwner() != &kernel.getBody().front() ||
      argument.getArgNumber() >= kernel.getNumArguments())
    return std::nullopt;
  return argument.getArgNumber();
}

/// Whether anything that `value` is computed from is an `IdOp`: the number of a block, of a thread.
template <typename IdOp>
static bool dependsOn(Value value, llvm::DenseSet<Value> &seen) {
  if (!seen.insert(value).second)
    return false;
  auto visit = [&](Value operand) { return dependsOn<IdOp>(operand, seen); };
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
  if (auto loop = dyn_cast<scf::ForOp>(parent)) {
    // What is carried along says nothing of the number of the turn.
    if (value == loop.getInductionVar())
      return visit(loop.getLowerBound()) || visit(loop.getStep());
    auto carried = cast<BlockArgument>(value);
    return visit(loop.getTiedLoopInit(carried)->get()) ||
           visit(loop.getTiedLoopYieldedValue(carried)->get());
  }
  return llvm::any_of(parent->getOperands(), visit) ||
         llvm::any_of(owner->getTerminator()->getOperands(), visit);
}

static int64_t bytesOf(Type type) {
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.getNumElements() * vector.getElementTypeBitWidth() / 8;
  return type.getIntOrFloatBitWidth() / 8;
}

void Counter::findAccesses() {
  auto add = [&](Operation *op, Value buffer, Type moved, ValueRange indices, bool isWrite) {
    bool isChosen = buffer.getDefiningOp<scf::IfOp>() != nullptr;
    std::optional<unsigned> argument = argumentOf(kernel, buffer);
    if (!argument && !isChosen)
      return;
    llvm::DenseSet<Value> ofBlock, ofThread;
    bool onBlock =
        llvm::any_of(indices, [&](Value i) { return dependsOn<gpu::BlockIdOp>(i, ofBlock); });
    bool onThread =
        llvm::any_of(indices, [&](Value i) { return dependsOn<gpu::ThreadIdOp>(i, ofThread); });
    int64_t element = cast<MemRefType>(buffer.getType()).getElementTypeBitWidth() / 8;
    accesses[op] = {
        isChosen ? buffer : Value(), argument.value_or(0), bytesOf(moved), element, isWrite,
        onBlock || isChosen,         onThread || isChosen};
  };
  kernel.walk([&](Operation *op) {
    if (auto load = dyn_cast<memref::LoadOp>(op))
      add(op, load.getMemRef(), load.getType(), load.getIndices(), false);
    else if (auto store = dyn_cast<memref::StoreOp>(op))
      add(op, store.getMemRef(), store.getValue().getType(), store.getIndices(), true);
    else if (auto load = dyn_cast<vector::LoadOp>(op))
      add(op, load.getBase(), load.getType(), load.getIndices(), false);
    else if (auto store = dyn_cast<vector::StoreOp>(op))
      add(op, store.getBase(), store.getVectorType(), store.getIndices(), true);
  });
}

//===----------------------------------------------------------------------===//
// What data decides
//===----------------------------------------------------------------------===//

void llmmem::expectIterations(Operation *op, double iterations) {
  op->setAttr(LlmDialect::kExpectedIterations,
              FloatAttr::get(Float64Type::get(op->getContext()), iterations));
}

static double expectedIterations(Operation *op) {
  auto iterations = op->getAttrOfType<FloatAttr>(LlmDialect::kExpectedIterations);
  return iterations ? iterations.getValueAsDouble() : 1.0;
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

static int64_t along(gpu::Dimension dimension, const Triple &triple) {
  return triple[static_cast<unsigned>(dimension)];
}

Known Counter::evaluate(Operation &op) {
  if (auto id = dyn_cast<gpu::ThreadIdOp>(op))
    return along(id.getDimension(), threadId);
  if (auto id = dyn_cast<gpu::BlockIdOp>(op))
    return along(id.getDimension(), blockId);
  if (auto size = dyn_cast<gpu::BlockDimOp>(op))
    return along(size.getDimension(), block);
  if (auto size = dyn_cast<gpu::GridDimOp>(op))
    return along(size.getDimension(), grid);
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto number = dyn_cast<IntegerAttr>(constant.getValue());
    if (!number)
      return std::nullopt;
    return op.getResult(0).getType().isInteger(1) ? number.getValue().getZExtValue()
                                                  : number.getInt();
  }
  SmallVector<int64_t, 3> numbers;
  for (Value value : op.getOperands()) {
    Known number = values.lookup(value);
    if (!number)
      return std::nullopt;
    numbers.push_back(*number);
  }
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return arith::applyCmpPredicate(compare.getPredicate(), APInt(64, numbers[0], true),
                                    APInt(64, numbers[1], true));
  if (auto function = arithmetic.lookup(&op))
    return function(numbers);
  return std::nullopt;
}

void Counter::touch(Operation *op, Access &access) {
  Touched &place = touched[op];
  if (access.choice)
    access.argument = values.lookup(access.choice).value_or(0);
  int64_t times = timesBy[op]++;
  Known address = 0;
  // The last operands are the indices of flat buffers.
  for (Value index : op->getOperands())
    if (index.getType().isIndex())
      address = values.lookup(index);
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

void Counter::runFor(scf::ForOp loop) {
  Known lower = values.lookup(loop.getLowerBound()), upper = values.lookup(loop.getUpperBound()),
        step = values.lookup(loop.getStep());
  bool isKnown = lower && upper && step && *step > 0;
  result.isEstimate |= !isKnown;
  hand(loop.getInitArgs(), loop.getRegionIterArgs());
  double expected = isKnown ? 1.0 : expectedIterations(loop);
  llvm::SaveAndRestore times(timesExpected, timesExpected * expected);
  int64_t turns =
      isKnown ? std::max<int64_t>(0, llvm::divideCeilSigned(*upper - *lower, *step)) : expected > 0;
  for (int64_t turn = 0; turn < turns; ++turn) {
    values[loop.getInductionVar()] = isKnown ? Known(*lower + turn * *step) : std::nullopt;
    run(*loop.getBody());
    hand(loop.getBody()->getTerminator()->getOperands(), loop.getRegionIterArgs());
  }
  hand(loop.getRegionIterArgs(), loop.getResults());
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
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return runFor(loop);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return runIf(branch);
  if (op.getNumRegions() > 0) {
    // A loop until data says so.
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

/// Whether it reads what every block reads.
bool Counter::isShared(Operation *op, const Access &access) {
  const Touched &place = touched[op];
  return !access.isWrite && !access.dependsOnBlock && place.unknown == 0 &&
         static_cast<int64_t>(place.addresses.size()) * access.bytes <= kMostCached;
}

/// Of one argument, as far as it is not shared: ranges that overlap count once.
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
      // Shared bytes come once a launch, whatever block is at hand.
      double once = shared[isWrite][number] * weight / blocks;
      asked[isWrite][number] += here[isWrite][number] * weight + once;
      moved[isWrite][number] +=
          (fits ? apart[isWrite][number] : here[isWrite][number]) * weight + once;
    }
  touched.clear();
}

static BytesByArgument rounded(const std::array<SmallVector<double>, 2> &bytes) {
  auto round = [](ArrayRef<double> numbers) {
    return llvm::map_to_vector(numbers, [](double x) { return static_cast<int64_t>(x + 0.5); });
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

/// Where a launch is shared out by comparing the number of the block: the first block of each part,
/// and how many there are in all.
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

/// The blocks of a part are alike but for the last.
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
