//===- LaunchParts.cpp - Launches whose blocks are distributed over tensors --===//

#include "llmmem/Codegen/Gpu/LaunchParts.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace llmmem;

int64_t llmmem::blocksOf(ArrayRef<LaunchPart> parts) {
  int64_t blocks = 0;
  for (const LaunchPart &part : parts)
    blocks += part.blocks;
  return blocks;
}

/// Returns the first block, the numbers and the buffers of the part that contains `block`; the
/// first of `parts` begins at block `first`.
static SmallVector<Value> emitTree(KernelEmitter &e, ArrayRef<LaunchPart> parts, int64_t first,
                                   Index block) {
  OpBuilder &builder = e.builder();
  SmallVector<Value> values;
  if (parts.size() == 1) {
    values.push_back(e.index(first).value);
    for (int64_t number : parts[0].numbers)
      values.push_back(e.index(number).value);
    for (Buffer buffer : parts[0].buffers) {
      auto type = MemRefType::get({ShapedType::kDynamic}, buffer.element);
      values.push_back(memref::CastOp::create(builder, e.location(), type, buffer.memref));
    }
    return values;
  }
  ArrayRef<LaunchPart> low = parts.take_front(parts.size() / 2),
                       high = parts.drop_front(low.size());
  int64_t middle = first + blocksOf(low);
  SmallVector<Type> types(1 + parts[0].numbers.size(), builder.getIndexType());
  for (Buffer buffer : parts[0].buffers)
    types.push_back(MemRefType::get({ShapedType::kDynamic}, buffer.element));
  auto branch = scf::IfOp::create(builder, e.location(), types, less(block, e.index(middle)),
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  for (bool isLow : {true, false}) {
    Region &region = isLow ? branch.getThenRegion() : branch.getElseRegion();
    builder.setInsertionPointToStart(&region.front());
    values = emitTree(e, isLow ? low : high, isLow ? first : middle, block);
    scf::YieldOp::create(builder, e.location(), values);
  }
  return branch.getResults();
}

FoundPart llmmem::findPart(KernelEmitter &e, ArrayRef<LaunchPart> parts, Index block) {
  SmallVector<Value> values = emitTree(e, parts, 0, block);
  OpBuilder &builder = e.builder();
  FoundPart found{block - Index{&builder, values[0]}, {}, {}};
  size_t numbers = parts[0].numbers.size();
  for (Value number : ArrayRef(values).slice(1, numbers))
    found.numbers.push_back({&builder, number});
  for (auto [memref, buffer] :
       llvm::zip(ArrayRef(values).drop_front(1 + numbers), parts[0].buffers))
    found.buffers.push_back({memref, 0, buffer.element});
  return found;
}

/// Operands come first, then results.
static Buffer bufferOf(const OpBuffers &op, size_t number) {
  size_t operands = op.operands.size();
  return number < operands ? op.operands[number] : op.results[number - operands];
}

/// Returns for each buffer of an op its number among the distinct ones: a result that is in place
/// of an operand in all ops has the operand's.
static SmallVector<unsigned> distinctPlaces(ArrayRef<OpBuffers> ops) {
  SmallVector<unsigned> places;
  unsigned next = 0;
  for (size_t number = 0; number < ops[0].operands.size() + ops[0].results.size(); ++number) {
    unsigned place = next;
    for (size_t other = 0; other < number; ++other)
      if (llvm::all_of(ops, [&](const OpBuffers &op) {
            return bufferOf(op, number).memref == bufferOf(op, other).memref;
          }))
        place = places[other];
    next += place == next;
    places.push_back(place);
  }
  return places;
}

void llmmem::forLanesOfOps(
    KernelEmitter &e, ArrayRef<OpBuffers> ops, KernelLoops::Common common,
    function_ref<void(KernelEmitter &, Index, unsigned, ArrayRef<Num>)> body) {
  int64_t lanes = e.lanes(), numOperands = ops[0].operands.size();
  bool haveRest = false;
  SmallVector<LaunchPart> parts;
  SmallVector<unsigned> places = distinctPlaces(ops);
  for (const OpBuffers &op : ops) {
    int64_t count = op.operands[0].size, vectors = count / lanes, items = vectors + count % lanes;
    SmallVector<Buffer> buffers;
    for (auto [number, place] : llvm::enumerate(places))
      if (place == buffers.size())
        buffers.push_back(bufferOf(op, number));
    int64_t blocks = llvm::divideCeil(items, kBlockThreads);
    parts.push_back({blocks, buffers, {vectors, items}});
    haveRest |= items > vectors;
  }
  DeviceLoops &device = deviceLoops(e);
  device.launch(e, blocksOf(parts), kBlockThreads, [&](Index block, Index thread) {
    // This comes first, because the addresses of all parts are live until then.
    FoundPart part = findPart(e, parts, block);
    Row numbers = device.commonNumbers(e, thread, common);
    Index vectors = part.numbers[0], item = part.block * kBlockThreads + thread;
    auto make = [&](Index first, unsigned width) {
      SmallVector<Buffer> all =
          llvm::map_to_vector(places, [&](unsigned place) { return part.buffers[place]; });
      ArrayRef<Buffer> buffers(all);
      KernelEmitter own(e.operation(), e, buffers.take_front(numOperands),
                        buffers.drop_front(numOperands));
      body(own, first, width, numbers);
    };
    ifThen(e, less(item, vectors), [&] { make(item * lanes, lanes); });
    if (haveRest)
      ifThen(e, less(item, part.numbers[1]), [&] {
        ifThen(e, less(vectors - 1, item), [&] { make(item + vectors * (lanes - 1), 1); });
      });
  });
}
