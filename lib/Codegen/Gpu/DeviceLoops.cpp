//===- DeviceLoops.cpp - Loops of kernels on the threads of a GPU ---------===//

#include "llmmem/Codegen/Gpu/DeviceLoops.h"
#include "llmmem/Dialect/FewerBits.h"
#include "llmmem/Dialect/LlmDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/SaveAndRestore.h"
#include <numeric>

using namespace mlir;
using namespace llmmem;

/// A thread of a warp takes at most this number of vectors of a row; a longer row takes a block.
static constexpr int64_t kVectorsOfWarp = 2;
/// A thread of a block can keep this number of vectors of a row in registers.
static constexpr int64_t kKeptVectors = 4;

DeviceLoops &llmmem::deviceLoops(KernelEmitter &e) { return static_cast<DeviceLoops &>(e.loops()); }

std::shared_ptr<KernelLoops> llmmem::makeDeviceLoops(Operation *op) {
  return std::make_shared<DeviceLoops>(op);
}

/// A vector has 16 bytes of the narrowest floating-point type among what `op` reads and writes,
/// except for tensors in fewer bits, whose lanes are those of their scales.
DeviceLoops::DeviceLoops(Operation *op) {
  unsigned narrowest = 64;
  for (TypeRange types : {TypeRange(op->getOperandTypes()), TypeRange(op->getResultTypes())})
    for (Type type : types)
      if (auto element = dyn_cast<FloatType>(getElementTypeOrSelf(type));
          element && !llm::isPacked(element))
        narrowest = std::min(narrowest, element.getWidth());
  vectorLanes = 128 / narrowest;
}

Operation *llmmem::lastOpBefore(OpBuilder &builder) {
  Block::iterator place = builder.getInsertionPoint();
  return place == builder.getInsertionBlock()->begin() ? nullptr : &*std::prev(place);
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

/// Clones constants into the body: as arguments their values would be unknown there.
static void sinkConstants(gpu::LaunchOp launch) {
  llvm::SetVector<Value> used;
  getUsedValuesDefinedAbove(launch.getBody(), used);
  OpBuilder inside = OpBuilder::atBlockBegin(&launch.getBody().front());
  for (Value value : used)
    if (Operation *source = value.getDefiningOp();
        source && (source->hasTrait<OpTrait::ConstantLike>() || isa<memref::GetGlobalOp>(source)))
      replaceAllUsesInRegionWith(value, inside.clone(*source)->getResult(0), launch.getBody());
}

void DeviceLoops::launch(KernelEmitter &e, int64_t blocks, int64_t threads, LaunchBody body,
                         int64_t dynamicBytes) {
  OpBuilder &builder = e.builder();
  Value one = e.index(1).value, grid = e.index(blocks).value, block = e.index(threads).value;
  Value dynamic;
  if (dynamicBytes > 0)
    dynamic = arith::ConstantIntOp::create(builder, e.location(), dynamicBytes, 32);
  auto launch =
      gpu::LaunchOp::create(builder, e.location(), grid, one, one, block, one, one, dynamic);
  launch.setModuleAttr(FlatSymbolRefAttr::get(builder.getContext(), "kernels"));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&launch.getBody().front());
  llvm::SaveAndRestore inside(current, launch);
  body({&builder, launch.getBlockIds().x}, {&builder, launch.getThreadIds().x});
  gpu::TerminatorOp::create(builder, e.location());
  sinkConstants(launch);
}

Buffer DeviceLoops::workgroup(KernelEmitter &e, int64_t size, Type element) {
  auto space = gpu::AddressSpaceAttr::get(e.builder().getContext(), gpu::AddressSpace::Workgroup);
  auto type = MemRefType::get({size}, element, MemRefLayoutAttrInterface(), space);
  return {current.addWorkgroupAttribution(type, e.location()), size, element};
}

Buffer llmmem::dynamicWorkgroup(KernelEmitter &e, int64_t bytes) {
  auto space = gpu::AddressSpaceAttr::get(e.builder().getContext(), gpu::AddressSpace::Workgroup);
  Type byte = e.builder().getI8Type();
  auto type = MemRefType::get({ShapedType::kDynamic}, byte, MemRefLayoutAttrInterface(), space);
  return {gpu::DynamicSharedMemoryOp::create(e.builder(), e.location(), type), bytes, byte};
}

Buffer llmmem::partOf(KernelEmitter &e, Buffer bytes, int64_t begin, int64_t size, Type element) {
  auto type = MemRefType::get({size}, element, MemRefLayoutAttrInterface(),
                              cast<MemRefType>(bytes.memref.getType()).getMemorySpace());
  Value part = memref::ViewOp::create(e.builder(), e.location(), type, bytes.memref,
                                      e.index(begin).value, ValueRange());
  return {part, size, element};
}

void llmmem::barrier(KernelEmitter &e) { gpu::BarrierOp::create(e.builder(), e.location()); }

void llmmem::barrierNeeding(KernelEmitter &e, int32_t registers) {
  auto barrier = gpu::BarrierOp::create(e.builder(), e.location());
  barrier->setAttr(llm::LlmDialect::kRegisters, e.builder().getI32IntegerAttr(registers));
}

Num llmmem::exchange(KernelEmitter &e, Num x, int32_t distance) {
  auto shuffle = gpu::ShuffleOp::create(e.builder(), e.location(), x.value, distance, kWarp,
                                        gpu::ShuffleMode::XOR);
  return {x.builder, shuffle.getShuffleResult()};
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

/// Moves the ops after `before` up to `last`, which compute `numbers`, to the first op that uses
/// one. The ops between them load from memory while one thread computes the numbers: no load would
/// pass their barrier.
static void delayUntilUsed(Operation *before, Operation *last, ArrayRef<Num> numbers) {
  if (numbers.empty())
    return;
  Block &block = *last->getBlock();
  Operation *first = nullptr;
  for (Num number : numbers)
    for (Operation *user : number.value.getUsers())
      if (Operation *own = block.findAncestorOpInBlock(*user);
          !first || own->isBeforeInBlock(first))
        first = own;
  if (!first)
    return;
  auto begin = before ? std::next(before->getIterator()) : block.begin();
  SmallVector<Operation *> delayed;
  for (Operation &op : llvm::make_range(begin, std::next(last->getIterator())))
    delayed.push_back(&op);
  for (Operation *op : delayed)
    op->moveBefore(first);
}

void DeviceLoops::forLanesParallel(KernelEmitter &e, int64_t count, Common common,
                                   CommonBody body) {
  if (count == 0)
    return;
  int64_t lanes = vectorLanes, vectors = count / lanes, items = vectors + count % lanes;
  int64_t threads = std::min<int64_t>(kBlockThreads, llvm::alignTo(items, kWarp));
  launch(e, llvm::divideCeil(items, threads), threads, [&](Index block, Index thread) {
    Operation *before = lastOpBefore(e.builder());
    Row numbers = commonNumbers(e, thread, common);
    Operation *last = lastOpBefore(e.builder());
    llvm::SaveAndRestore own(inLanes, true);
    Index item = block * threads + thread;
    auto ifBelow = [&](int64_t bound, function_ref<void()> then) {
      bound % threads == 0 ? then() : ifThen(e, less(item, e.index(bound)), then);
    };
    if (vectors > 0)
      ifBelow(vectors, [&] { body(item * lanes, lanes, numbers); });
    if (items > vectors)
      ifBelow(items, [&] {
        ifThen(e, less(e.index(vectors - 1), item),
               [&] { body(item + (vectors * lanes - vectors), 1, numbers); });
      });
    delayUntilUsed(before, last, numbers);
  });
}

/// One thread computes them, and the block reads them from workgroup memory.
Row DeviceLoops::commonNumbers(KernelEmitter &e, Index thread, Common common) {
  Row computed, known;
  SmallVector<Buffer> slots;
  ifThen(e, equal(thread, e.index(0)), [&] {
    computed = common();
    for (Num number : computed) {
      slots.push_back(workgroup(e, 1, number.type()));
      e.storeRaw(slots.back(), e.index(0), number.value);
    }
  });
  if (!slots.empty())
    barrier(e);
  for (Buffer slot : slots)
    known.push_back({&e.builder(), e.loadRaw(slot, e.index(0))});
  return known;
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

void DeviceLoops::forRows(KernelEmitter &e, int64_t rows, RowShape shape, Body body) {
  if (current)
    return forEach(e, rows, body);
  bool isBlock = shape.synchronizes || shape.width > kVectorsOfWarp * kWarp * vectorLanes;
  int64_t together = isBlock ? 1 : std::min(kBlockThreads / kWarp, rows);
  int64_t threads = isBlock ? kBlockThreads : together * kWarp;
  if (isBlock && !shape.synchronizes)
    threads = std::min<int64_t>(threads, llvm::alignTo(shape.width / vectorLanes, kWarp));
  launch(e, llvm::divideCeil(rows, together), threads, [&](Index block, Index thread) {
    int64_t size = isBlock ? threads : kWarp;
    Index number = isBlock ? block : block * together + thread / kWarp;
    llvm::SaveAndRestore ofGroup(threadInGroup, std::optional(isBlock ? thread : thread % kWarp));
    llvm::SaveAndRestore ofSize(groupThreads, size);
    llvm::SaveAndRestore ofShape(row, shape);
    llvm::SaveAndRestore ofNumber(rowNumber, std::optional(number));
    portions.clear();
    if (rows % together == 0)
      body(number);
    else
      ifThen(e, less(number, e.index(rows)), [&] { body(number); });
  });
}

void DeviceLoops::once(KernelEmitter &e, function_ref<void()> body) {
  forRows(e, 1, {.width = 1, .synchronizes = true}, [&](Index) { body(); });
}

DeviceLoops::Distribution DeviceLoops::distribute(KernelEmitter &e, int64_t count) {
  int64_t lanes = std::gcd<int64_t>(vectorLanes, row.pitch);
  if (lanes == vectorLanes || !row.isAlone) {
    int64_t vectors = count / lanes;
    return {std::nullopt, e.index(vectors), static_cast<unsigned>(lanes), e.index(vectors * lanes),
            vectors * lanes < count};
  }
  // Single elements precede the next aligned vector, which begins at the same index in all buffers.
  lanes = vectorLanes;
  Index begin = *rowNumber * row.pitch, place = begin % lanes;
  Index head = minimum((e.index(lanes) - place) % lanes, e.index(count));
  Index vectors = (e.index(count) - head) / lanes;
  return {head, vectors, static_cast<unsigned>(lanes), head + vectors * lanes, true};
}

Index DeviceLoops::firstOfVector(const Distribution &distribute, Index number) {
  Index first = number * static_cast<int64_t>(distribute.lanes);
  return distribute.head ? *distribute.head + first : first;
}

/// Returns the vectors of a short row that this thread takes. They are unrolled, so that loaded
/// values stay in registers, and computed once a row, so that equal indices are equal values.
const DeviceLoops::Portion *DeviceLoops::portionOf(KernelEmitter &e, int64_t count) {
  Block *block = e.builder().getInsertionBlock();
  auto known = llvm::find_if(portions, [&](const Portion &portion) {
    bool isInScope =
        portion.block == block || portion.block->findAncestorOpInBlock(*block->getParentOp());
    return portion.count == count && isInScope;
  });
  if (known != portions.end())
    return &*known;
  int64_t lanes = std::gcd<int64_t>(vectorLanes, row.pitch), vectors = count / lanes;
  if (count == 0 || count % lanes != 0 || vectors > kKeptVectors * groupThreads ||
      (lanes < vectorLanes && row.isAlone))
    return nullptr;
  // A thread without a vector of its own would read the last one, and in a warp nothing orders that
  // before the write by its owner.
  if (groupThreads == kWarp && vectors % kWarp != 0)
    return nullptr;
  Portion portion{count, block, static_cast<unsigned>(lanes), {}};
  for (int64_t begin = 0; begin < vectors; begin += groupThreads) {
    Index own = *threadInGroup + begin;
    bool isWhole = begin + groupThreads <= vectors;
    Value inside = isWhole ? Value() : less(own, e.index(vectors));
    Index readable = isWhole ? own : minimum(own, e.index(vectors - 1));
    portion.vectors.push_back({readable * lanes, inside});
  }
  portions.push_back(std::move(portion));
  return &portions.back();
}

void DeviceLoops::forLanes(KernelEmitter &e, int64_t count, LanesBody body) {
  if (!current)
    return llmmem::forLanesParallel(e, count, body);
  llvm::SaveAndRestore own(inLanes, true);
  if (const Portion *portion = portionOf(e, count)) {
    unsigned lanes = portion->lanes;
    for (auto [first, inside] : SmallVector<OwnVector>(portion->vectors)) {
      auto make = [&, first = first] { body(first, lanes); };
      inside ? ifThen(e, inside, make) : make();
    }
    return;
  }
  Distribution parts = distribute(e, count);
  if (parts.head)
    forSteps(e, *threadInGroup, *parts.head, groupThreads, [&](Index i) { body(i, 1); });
  forSteps(e, *threadInGroup, parts.vectors, groupThreads,
           [&](Index v) { body(firstOfVector(parts, v), parts.lanes); });
  if (parts.hasRest)
    forSteps(e, parts.rest + *threadInGroup, e.index(count), groupThreads,
             [&](Index i) { body(i, 1); });
}

Row DeviceLoops::foldOwn(KernelEmitter &e, int64_t count, Start start, Step step,
                         ReduceLanes acrossLanes) {
  if (const Portion *portion = portionOf(e, count)) {
    unsigned lanes = portion->lanes;
    Row carried = start(lanes);
    for (auto [first, inside] : SmallVector<OwnVector>(portion->vectors)) {
      Row next = step(first, lanes, carried);
      // A thread without a vector of its own has read another's.
      for (auto [before, after] : llvm::zip(carried, next))
        before = inside ? select(inside, after, before) : after;
    }
    return acrossLanes(carried);
  }
  Distribution parts = distribute(e, count);
  auto single = [&](Index i, ArrayRef<Num> carried) { return step(i, 1, carried); };
  Row carried = foldSteps(e, *threadInGroup, parts.vectors, groupThreads, start(parts.lanes),
                          [&](Index v, ArrayRef<Num> numbers) {
                            return step(firstOfVector(parts, v), parts.lanes, numbers);
                          });
  carried = acrossLanes(carried);
  if (parts.head)
    carried = foldSteps(e, *threadInGroup, *parts.head, groupThreads, carried, single);
  if (parts.hasRest)
    carried =
        foldSteps(e, parts.rest + *threadInGroup, e.index(count), groupThreads, carried, single);
  return carried;
}

Num DeviceLoops::reduce(KernelEmitter &e, int64_t count, Term term, Reduction reduction) {
  auto start = [&](unsigned lanes) -> Row { return {e.splat(reduction.neutral, lanes)}; };
  auto step = [&](Index i, unsigned lanes, ArrayRef<Num> carried) -> Row {
    return {reduction.combine(carried[0], term(i, lanes))};
  };
  Row total = foldOwn(e, count, start, step, [&](ArrayRef<Num> carried) -> Row {
    return {reduction.acrossLanes(carried[0])};
  });
  return acrossThreadGroup(e, total[0], reduction.combine);
}

Num llmmem::acrossLanes(KernelEmitter &e, Num x, int64_t lanes,
                        function_ref<Num(Num, Num)> combine) {
  // Both orders of adding two numbers give the same bits, so all threads agree.
  for (int64_t distance = lanes / 2; distance > 0; distance /= 2)
    x = combine(x, exchange(e, x, static_cast<int32_t>(distance)));
  return x;
}

Num DeviceLoops::acrossThreadGroup(KernelEmitter &e, Num x, function_ref<Num(Num, Num)> combine) {
  x = acrossLanes(e, x, kWarp, combine);
  if (groupThreads == kWarp)
    return x;
  int64_t warps = groupThreads / kWarp;
  Buffer slots = workgroup(e, warps, x.type());
  ifThen(e, equal(*threadInGroup % kWarp, e.index(0)),
         [&] { storeRawOwn(e, slots, *threadInGroup / kWarp, x.value); });
  barrier(e);
  SmallVector<Num> parts;
  for (int64_t warp = 0; warp < warps; ++warp)
    parts.push_back({x.builder, e.loadRaw(slots, e.index(warp))});
  // It combines halves; the middle one of an odd number waits.
  for (size_t left = parts.size(); left > 1; left = (left + 1) / 2)
    for (size_t i = 0; i < left / 2; ++i)
      parts[i] = combine(parts[i], parts[i + (left + 1) / 2]);
  // This precedes the next iteration of a loop, which writes the slots again.
  if (e.builder().getInsertionBlock() != &current.getBody().front())
    barrier(e);
  return parts[0];
}

void DeviceLoops::forElements(KernelEmitter &e, int64_t count, Body body) {
  llvm::SaveAndRestore own(inLanes, true);
  forSteps(e, *threadInGroup, e.index(count), groupThreads, body);
}

void DeviceLoops::storeRawOwn(KernelEmitter &e, Buffer buffer, Index index, Value value) {
  llvm::SaveAndRestore own(inLanes, true);
  e.storeRaw(buffer, index, value);
}

Num DeviceLoops::sumOfElements(KernelEmitter &e, int64_t count, function_ref<Num(Index)> term) {
  Num sum =
      foldSteps(e, *threadInGroup, e.index(count), groupThreads, e.number(0.0),
                [&](Index i, ArrayRef<Num> carried) -> Row { return {carried[0] + term(i)}; })[0];
  return acrossThreadGroup(e, sum, [](Num a, Num b) { return a + b; });
}

void DeviceLoops::storeOnce(KernelEmitter &e, function_ref<void()> store) {
  if (inLanes || !isInThreadGroup())
    return store();
  ifThen(e, equal(*threadInGroup, e.index(0)), store);
}

Buffer DeviceLoops::scratch(KernelEmitter &e, int64_t size, Type element) {
  return workgroup(e, size, element);
}
