//===- LlmTiled.cpp - Meaning, bytes and price of llm.tiled ----------------===//

#include "GroupText.h"
#include "LlmVerify.h"
#include "llmmem/Alignment.h"
#include "llmmem/Dialect/ElementTypes.h"
#include "llmmem/Dialect/LlmAnnotations.h"
#include "llmmem/Dialect/TiledLayout.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Support/Count.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

#define GET_OP_CLASSES
#include "llmmem/Dialect/TiledOps.cpp.inc"

//===----------------------------------------------------------------------===//
// What may be in the body
//===----------------------------------------------------------------------===//

bool llm::isElementwise(Operation *op) {
  auto groupable = dyn_cast<GroupableOpInterface>(op);
  return groupable && groupable.getTraversal() == Traversal::Elementwise;
}

bool llm::isSumOverRows(Operation *op) { return isa<LinearWeightGradOp, SumRowsOp>(op); }

bool llm::canBeTiled(Operation *op) {
  if (auto linear = dyn_cast<LinearOp>(op))
    return !linear.getScales();
  return isSumOverRows(op) ||
         (isElementwise(op) && !isa<RandomOpInterface>(op) && op->getNumResults() == 1);
}

int64_t llm::rowsOf(Type tensor) {
  auto type = dyn_cast<RankedTensorType>(tensor);
  if (!type || type.getRank() == 0 || type.getShape().back() == 0)
    return 0;
  return type.getNumElements() / type.getShape().back();
}

bool llm::readsRows(OpOperand &operand) {
  Operation *op = operand.getOwner();
  if (op->hasTrait<OpTrait::IsTerminator>())
    return false;
  if (auto sum = dyn_cast<AccumulatingOpInterface>(op))
    return !sum.getInto() ||
           operand.getOperandNumber() != sum.getIntoMutable().begin()->getOperandNumber();
  if (isElementwise(op))
    return tensorType(operand.get()).getNumElements() ==
           tensorType(op->getResult(0)).getNumElements();
  return operand.getOperandNumber() == 0;
}

OperandRange TiledOp::getYielded() {
  return cast<TiledYieldOp>(getBody().front().getTerminator()).getValues();
}

SmallVector<AccumulatingOpInterface> TiledOp::getSums() {
  SmallVector<AccumulatingOpInterface> sums;
  for (Operation &op : getBody().front().without_terminator())
    if (isSumOverRows(&op))
      sums.push_back(cast<AccumulatingOpInterface>(op));
  return sums;
}

bool TiledOp::splitsSums() {
  SmallVector<AccumulatingOpInterface> sums = getSums();
  return !sums.empty() && getNumRows() > static_cast<int64_t>(getGranule()) &&
         tensorType(sums.front()->getResult(0)).getElementTypeBitWidth() == 16;
}

//===----------------------------------------------------------------------===//
// Text and verification
//===----------------------------------------------------------------------===//

void TiledOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  for (BlockArgument argument : region.getArguments())
    setName(argument, "in");
}

ParseResult TiledOp::parse(OpAsmParser &parser, OperationState &result) {
  return parseGroup(parser, result);
}

void TiledOp::print(OpAsmPrinter &printer) {
  constexpr uint64_t usualGranule = 512; // What the op has if none is written.
  SmallVector<StringRef> elided;
  if (getGranule() == usualGranule)
    elided.push_back("granule");
  printGroup(printer, *this, elided);
}

LogicalResult TiledOp::verify() {
  if (getBody().getArgumentTypes() != getInputs().getTypes())
    return emitOpError("has operands of types ")
           << getInputs().getTypes() << ", but its body takes " << getBody().getArgumentTypes();
  if (getYielded().getTypes() != getOutputs().getTypes())
    return emitOpError("has results of types ")
           << getOutputs().getTypes() << ", but its body yields " << getYielded().getTypes();
  const int64_t granule = getGranule(), chunk = getChunk(), rows = getNumRows();
  if (granule < 1)
    return emitOpError() << "has an accumulation tile ('granule') of " << granule
                         << " rows, expected at least 1";
  if (chunk < 1 || (chunk < rows && chunk % granule != 0))
    return emitOpError() << "has a chunk of " << chunk << " rows, expected a multiple of "
                         << granule << ", or all " << rows;
  return success();
}

/// What is read as a whole must be there before the first chunk, and what has rows has as many as
/// all others.
static LogicalResult verifyOperand(OpOperand &operand, int64_t rows) {
  Operation *op = operand.getOwner();
  if (!readsRows(operand))
    return isa<BlockArgument>(operand.get())
               ? success()
               : op->emitOpError() << "reads operand " << operand.getOperandNumber()
                                   << " as a whole; expected an operand of llm.tiled";
  if (rowsOf(operand.get().getType()) != rows)
    return op->emitOpError() << "reads " << rowsOf(operand.get().getType())
                             << " rows, and the first product of llm.tiled has " << rows;
  return success();
}

LogicalResult TiledOp::verifyRegions() {
  Block &body = getBody().front();
  if (llvm::none_of(body, llvm::IsaPred<LinearOp>))
    return emitOpError("has no llm.linear; expected the products of a feed-forward");
  if (getYielded().empty())
    return emitOpError("yields nothing");
  llvm::SmallPtrSet<Value, 8> yielded;
  for (Value value : getYielded())
    if (isa<BlockArgument>(value) || !yielded.insert(value).second)
      return emitOpError("yields an operand, or one value twice; a reader of the result can read "
                         "the operand, or the other result");
  for (Operation &op : body.without_terminator()) {
    if (!canBeTiled(&op))
      return op.emitOpError("cannot run over a chunk of rows after another; expected llm.linear "
                            "without scales, an elementwise op without random numbers, "
                            "llm.linear_weight_grad or llm.sum_rows");
    for (OpOperand &operand : op.getOpOperands())
      if (failed(verifyOperand(operand, getNumRows())))
        return failure();
    bool leaves = llvm::all_of(op.getUsers(), llvm::IsaPred<TiledYieldOp>);
    if (isSumOverRows(&op) && !leaves)
      return op.emitOpError("is a sum over all rows, which is complete after the last chunk alone; "
                            "expected it to leave the body");
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Chunks
//===----------------------------------------------------------------------===//

int64_t TiledOp::getNumRows() {
  for (LinearOp linear : getBody().getOps<LinearOp>())
    return rowsOf(linear.getX().getType());
  return 0;
}
int64_t TiledOp::getChunkRows() { return getChunk(); }
void TiledOp::setChunkRows(int64_t rows) { setChunk(rows); }

SmallVector<int64_t> TiledOp::getChunkCandidates() {
  if (getFixedChunk())
    return {getChunkRows()};
  int64_t granule = getGranule();
  SmallVector<int64_t> candidates{getNumRows()};
  while (candidates.back() > granule)
    candidates.push_back(llvm::alignTo(llvm::divideCeil(candidates.back(), 2), granule));
  return candidates;
}

//===----------------------------------------------------------------------===//
// Bytes and price
//===----------------------------------------------------------------------===//

/// A sum goes on where its accumulator lies.
SmallVector<unsigned> TiledOp::getInPlaceOperands(unsigned result) {
  auto sum = dyn_cast<AccumulatingOpInterface>(getYielded()[result].getDefiningOp());
  auto into = sum ? dyn_cast_or_null<BlockArgument>(sum.getInto()) : BlockArgument();
  if (!into || !into.hasOneUse())
    return {};
  return {into.getArgNumber()};
}

bool TiledOp::multipliesMatrices() {
  for (LinearOp linear : getBody().getOps<LinearOp>())
    return isOfLibraries(tensorType(linear.getX()).getElementType());
  return false;
}

int64_t TiledOp::getLibraryWorkspaceBytes() { return libraryWorkspaceBytes(*this); }

int64_t TiledOp::getWorkspaceBytes() {
  const int64_t own = layoutOf(*this).end, library = libraryWorkspaceBytes(*this);
  return library ? int64_t(alignTo(Count(own), kArenaAlignment) + Count(library)) : own;
}

/// Returns what one unit costs with `rows` of all rows: the rows that it loads and stores, and what
/// it reads as a whole. A sum reads and writes its accumulator, which at the beginning is `into`.
static KernelCost costOf(TiledOp op, const TiledUnit &unit, int64_t rows, bool isFirst) {
  Count flops, ofRows, whole;
  for (Operation *inner : unit.ops) {
    flops += cast<CostOpInterface>(inner).getFlops();
    for (OpOperand &operand : inner->getOpOperands())
      if (!readsRows(operand) && !isSumOverRows(inner))
        whole += bytesOfType(operand.get().getType());
  }
  for (Value value : unit.loaded)
    ofRows += bytesOfType(value.getType());
  auto sum = dyn_cast<AccumulatingOpInterface>(unit.ops.front());
  if (sum) {
    Count once = bytesOfType(sum->getResult(0).getType()), wide = (op.splitsSums() ? 2 : 1) * once;
    whole += wide + (!isFirst ? wide : sum.getInto() ? once : Count());
  } else {
    for (Value value : unit.stored)
      ofRows += bytesOfType(value.getType());
  }
  const int64_t all = op.getNumRows();
  return {int64_t(flops / all) * rows, int64_t(ofRows / all) * rows + int64_t(whole)};
}

SmallVector<KernelCost> TiledOp::getKernelCosts() {
  SmallVector<TiledUnit> units = unitsOf(*this);
  SmallVector<KernelCost> kernels;
  const int64_t all = getNumRows(), chunk = std::min(getChunkRows(), all);
  SmallVector<KernelCost> ofWhole; // Of a chunk that is neither the first nor short.
  for (const TiledUnit &unit : units)
    ofWhole.push_back(costOf(*this, unit, chunk, /*isFirst=*/false));
  for (int64_t begin = 0; begin < all; begin += chunk) {
    if (begin > 0 && begin + chunk <= all) {
      kernels.append(ofWhole);
      continue;
    }
    for (const TiledUnit &unit : units)
      kernels.push_back(costOf(*this, unit, std::min(chunk, all - begin), begin == 0));
  }
  return kernels;
}

int64_t TiledOp::getFlops() {
  Count flops;
  for (KernelCost kernel : getKernelCosts())
    flops += kernel.flops;
  return flops;
}

int64_t TiledOp::getBytesMoved() {
  Count bytes;
  for (KernelCost kernel : getKernelCosts())
    bytes += kernel.bytesMoved;
  return bytes;
}
