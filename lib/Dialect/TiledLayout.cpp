//===- TiledLayout.cpp - In which order llm.tiled runs, and what lies where -===//

#include "llmmem/Dialect/TiledLayout.h"
#include "LlmVerify.h"
#include "llmmem/Dialect/LlmAnnotations.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Support/Count.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"
#include <map>

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

//===----------------------------------------------------------------------===//
// Units
//===----------------------------------------------------------------------===//

bool llm::isInMemory(Value value) {
  Operation *op = value.getDefiningOp();
  return !op || !isElementwise(op) || llvm::any_of(value.getUsers(), [](Operation *user) {
    return user->hasTrait<OpTrait::IsTerminator>() || !isElementwise(user);
  });
}

/// Adds the rows with bytes that elementwise ops read, through values without bytes.
static void addLoaded(Operation *op, const TiledUnit &unit, llvm::SetVector<Value> &loaded) {
  for (OpOperand &operand : op->getOpOperands()) {
    Operation *source = operand.get().getDefiningOp();
    if (!readsRows(operand) || (source && llvm::is_contained(unit.ops, source)))
      continue;
    if (isInMemory(operand.get()))
      loaded.insert(operand.get());
    else
      addLoaded(source, unit, loaded);
  }
}

static void describe(TiledUnit &unit) {
  llvm::SetVector<Value> loaded;
  for (Operation *op : unit.ops) {
    for (OpResult result : op->getResults())
      if (isInMemory(result))
        unit.stored.push_back(result);
    if (isElementwise(op)) {
      addLoaded(op, unit, loaded);
      continue;
    }
    for (OpOperand &operand : op->getOpOperands())
      if (readsRows(operand))
        loaded.insert(operand.get());
  }
  unit.loaded = loaded.takeVector();
}

SmallVector<TiledUnit> llm::unitsOf(TiledOp op) {
  SmallVector<TiledUnit> units;
  for (Operation &inner : op.getBody().front().without_terminator()) {
    bool joins = !units.empty() && isElementwise(&inner) && units.back().isElementwise() &&
                 inner.getResult(0).getType() == units.back().ops.back()->getResult(0).getType();
    if (!joins)
      units.emplace_back();
    units.back().ops.push_back(&inner);
  }
  llvm::for_each(units, describe);
  // Values without bytes alone are computed where they are read.
  llvm::erase_if(units, [](const TiledUnit &unit) { return unit.stored.empty(); });
  return units;
}

//===----------------------------------------------------------------------===//
// Slots
//===----------------------------------------------------------------------===//

namespace {
/// Takes bytes from the workspace, and gives them to others of the same size once they are free.
class Slots {
public:
  explicit Slots(int64_t &end) : end(end) {}

  int64_t take(Count bytes) {
    SmallVector<int64_t> &known = freed[bytes];
    if (!known.empty())
      return known.pop_back_val();
    return takeNew(bytes);
  }
  int64_t takeNew(Count bytes) {
    constexpr int64_t line = 64;
    Count begin = alignTo(Count(end), line);
    end = begin + bytes;
    return begin;
  }
  void free(int64_t begin, int64_t bytes) { freed[bytes].push_back(begin); }

private:
  int64_t &end;
  std::map<int64_t, SmallVector<int64_t>> freed; // By bytes.
};
} // namespace

static Count bytesOfChunk(TiledOp op, Value value) {
  auto type = tensorType(value);
  return Count(std::min(op.getChunkRows(), op.getNumRows())) * type.getShape().back() *
         bytesOfNumber(type.getElementType());
}

static bool staysInside(Value value) {
  return value.getDefiningOp() && llvm::none_of(value.getUsers(), [](Operation *user) {
           return user->hasTrait<OpTrait::IsTerminator>();
         });
}

/// An elementwise unit reads an element before it writes one, so what it reads last gives its bytes
/// to what it writes. A product writes before it has read all.
static void placeSlots(TiledOp op, TiledLayout &layout) {
  SmallVector<TiledUnit> units = unitsOf(op);
  llvm::DenseMap<Value, size_t> last;
  for (auto [number, unit] : llvm::enumerate(units))
    for (Value value : unit.loaded)
      last[value] = number;
  Slots slots(layout.end);
  for (auto [number, unit] : llvm::enumerate(units)) {
    auto freeLoaded = [&] {
      for (Value value : unit.loaded)
        if (last.lookup(value) == number && layout.slots.contains(value))
          slots.free(layout.slots.lookup(value), bytesOfChunk(op, value));
    };
    if (unit.isElementwise())
      freeLoaded();
    if (!isSumOverRows(unit.ops.front()))
      for (Value value : unit.stored)
        if (staysInside(value))
          layout.slots[value] = slots.take(bytesOfChunk(op, value));
    if (!unit.isElementwise())
      freeLoaded();
  }
}

//===----------------------------------------------------------------------===//
// Accumulators
//===----------------------------------------------------------------------===//

/// Returns how many bytes of an f32 accumulator do not lie in an element of the result.
static int64_t accumulatorWidth(TiledOp op, AccumulatingOpInterface sum) {
  bool isInHalves = isa<LinearWeightGradOp>(sum) && !isForLibrary(op) &&
                    tensorType(sum->getResult(0)).getElementType().isBF16();
  return isInHalves ? 2 : 4;
}

static TiledLayout::Contribution contributionOf(TiledOp op, LinearWeightGradOp sum, Slots &slots) {
  constexpr int64_t mostProduct = 1 << 20, wide = 4; // Elements, and bytes of f32.
  int64_t width = lastDim(sum.getX()), columns = lastDim(sum.getDy());
  Count rows = std::min<int64_t>(op.getGranule(), op.getNumRows());
  TiledLayout::Contribution part;
  part.columns = std::clamp<int64_t>(mostProduct / width, 1, columns);
  part.inputs = slots.takeNew(rows * width * wide);
  part.gradient = slots.takeNew(rows * part.columns * wide);
  part.product = slots.takeNew(Count(part.columns) * width * wide);
  return part;
}

TiledLayout llm::layoutOf(TiledOp op) {
  TiledLayout layout;
  Slots slots(layout.end);
  if (!op.splitsSums()) {
    placeSlots(op, layout);
    return layout;
  }
  for (AccumulatingOpInterface sum : op.getSums())
    layout.accumulators.push_back(slots.takeNew(
        Count(tensorType(sum->getResult(0)).getNumElements()) * accumulatorWidth(op, sum)));
  const int64_t shared = layout.end;
  int64_t end = shared;
  for (AccumulatingOpInterface sum : op.getSums()) {
    layout.end = shared;
    auto gradient = dyn_cast<LinearWeightGradOp>(*sum);
    layout.contributions.push_back(gradient ? contributionOf(op, gradient, slots)
                                            : TiledLayout::Contribution());
    end = std::max(end, layout.end);
  }
  layout.end = end;
  placeSlots(op, layout);
  return layout;
}
