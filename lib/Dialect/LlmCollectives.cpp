//===- LlmCollectives.cpp - Cost, scratch and bytes of collectives ---------===//
//
// Volumes are those of ring algorithms (Thakur et al. 2005). Over MPI a sum is an all-to-all of its
// parts and then our sum in the order of ranks, so that all ranks get equal bits; the received
// parts are a workspace. NCCL sums by itself, so an op that a plan leaves to it
// (`llm.library_workspace = 0`) has none.
//
//===----------------------------------------------------------------------===//

#include "llmmem/Dialect/LlmAnnotations.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Support/Count.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

static RankedTensorType tensorType(Value value) { return cast<RankedTensorType>(value.getType()); }
static Count elements(Value value) { return tensorType(value).getNumElements(); }
static Count bytes(Value value) { return bytesOfType(value.getType()); }
static int64_t bytesOfElement(Value value) {
  return bytesOfNumber(tensorType(value).getElementType());
}

/// Returns the elements of the largest of `size` parts of a flat value.
static Count elementsOfPart(Value value, int64_t size) { return divideCeil(elements(value), size); }

/// Returns the bytes of the parts that a rank receives to sum one of them.
static Count bytesOfReceivedParts(Operation *op, Value value, int64_t size) {
  return size == 1 || isForLibrary(op) ? Count()
                                       : size * elementsOfPart(value, size) * bytesOfElement(value);
}

/// Returns the bytes in which the parts along `dimension` of `whole` are contiguous; 0 where they
/// are so in `whole` itself.
static Count bytesToReorder(Value whole, int64_t dimension, int64_t size) {
  int64_t before = ShapedType::getNumElements(tensorType(whole).getShape().take_front(dimension));
  return size == 1 || before == 1 ? Count() : bytes(whole);
}

//===----------------------------------------------------------------------===//
// Starts and waits
//===----------------------------------------------------------------------===//

bool llm::isSending(Operation *op) {
  auto cost = dyn_cast<CostOpInterface>(op);
  std::optional<TransferCost> transfer = cost ? cost.getTransfer() : std::nullopt;
  return transfer && transfer->ranks > 1;
}

bool llm::isStartable(Operation *op) { return op->hasTrait<Startable>() && isSending(op); }

bool llm::isStarted(Operation *op) { return op->hasAttr(LlmDialect::kStarted); }

/// Of starts without results and waits without operands, the n-th belong together.
static SmallVector<Operation *> startsWithoutResults(Operation *before) {
  SmallVector<Operation *> starts;
  for (Operation &op : *before->getBlock()) {
    if (&op == before)
      break;
    if (isStarted(&op) && op.getNumResults() == 0)
      starts.push_back(&op);
  }
  return starts;
}

Operation *WaitOp::getStart() {
  if (!getX().empty())
    return getX().front().getDefiningOp();
  SmallVector<Operation *> starts = startsWithoutResults(*this);
  int64_t number = 0;
  for (Operation *op = (*this)->getPrevNode(); op; op = op->getPrevNode())
    if (auto wait = dyn_cast<WaitOp>(op))
      number += wait.getX().empty();
  return number < static_cast<int64_t>(starts.size()) ? starts[number] : nullptr;
}

/// What is received or gathered is read after the wait, which therefore must stay; nothing reads
/// what was sent.
void WaitOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  if (getX().empty())
    effects.emplace_back(MemoryEffects::Write::get(), NetworkResource::get());
}

int64_t PartOp::getGroupSize() { return groupSizeOf(*this, getAxes()); }
int64_t PartOp::getFlops() { return 0; }
// The rest of x is not read.
int64_t PartOp::getBytesMoved() { return 2 * bytes(getPart()); }

//===----------------------------------------------------------------------===//
// Gathers
//===----------------------------------------------------------------------===//

int64_t AllGatherOp::getFlops() { return 0; }
int64_t AllGatherOp::getBytesMoved() { return bytes(getX()) + bytes(getWhole()); }
std::optional<TransferCost> AllGatherOp::getTransfer() {
  int64_t others = getGroupSize() - 1;
  return TransferCost{others, others * bytes(getX()), others + 1, bytes(getWhole())};
}
int64_t AllGatherOp::getWorkspaceBytes() {
  return bytesToReorder(getWhole(), getDimension(), getGroupSize());
}

int64_t AllToAllOp::getFlops() { return 0; }
int64_t AllToAllOp::getBytesMoved() { return bytes(getX()) + bytes(getY()); }
std::optional<TransferCost> AllToAllOp::getTransfer() {
  int64_t others = getGroupSize() - 1;
  return TransferCost{others, others * (bytes(getX()) / getGroupSize()), others + 1, bytes(getX())};
}
int64_t AllToAllOp::getWorkspaceBytes() {
  int64_t size = getGroupSize();
  return bytesToReorder(getX(), getSplit(), size) + bytesToReorder(getY(), getConcat(), size);
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

int64_t ReduceScatterOp::getFlops() { return (getGroupSize() - 1) * elements(getPart()); }
int64_t ReduceScatterOp::getBytesMoved() { return bytes(getX()) + bytes(getPart()); }
std::optional<TransferCost> ReduceScatterOp::getTransfer() {
  int64_t others = getGroupSize() - 1;
  return TransferCost{others, others * bytes(getPart()), others + 1, bytes(getX())};
}
int64_t ReduceScatterOp::getWorkspaceBytes() {
  int64_t size = getGroupSize();
  return bytesToReorder(getX(), getDimension(), size) + bytesOfReceivedParts(*this, getX(), size);
}

int64_t AllReduceOp::getFlops() {
  return (getGroupSize() - 1) * elementsOfPart(getX(), getGroupSize());
}
int64_t AllReduceOp::getBytesMoved() { return bytes(getX()) + bytes(getSum()); }
std::optional<TransferCost> AllReduceOp::getTransfer() {
  int64_t others = getGroupSize() - 1;
  return TransferCost{2 * others,
                      2 * others * elementsOfPart(getX(), getGroupSize()) * bytesOfElement(getX()),
                      others + 1, bytes(getX())};
}
int64_t AllReduceOp::getWorkspaceBytes() {
  return bytesOfReceivedParts(*this, getX(), getGroupSize());
}

int64_t ReduceOp::getFlops() {
  return (getGroupSize() - 1) * elementsOfPart(getX(), getGroupSize());
}
int64_t ReduceOp::getBytesMoved() { return bytes(getX()) + bytes(getSum()); }
std::optional<TransferCost> ReduceOp::getTransfer() {
  int64_t others = getGroupSize() - 1;
  return TransferCost{others, others ? bytes(getX()) : Count(), others + 1, bytes(getX())};
}
int64_t ReduceOp::getWorkspaceBytes() {
  return bytesOfReceivedParts(*this, getX(), getGroupSize());
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

int64_t BroadcastOp::getFlops() { return 0; }
int64_t BroadcastOp::getBytesMoved() { return bytes(getX()) + bytes(getY()); }
std::optional<TransferCost> BroadcastOp::getTransfer() {
  int64_t others = getGroupSize() - 1;
  return TransferCost{others, others ? bytes(getX()) : Count(), others + 1, bytes(getX())};
}
int64_t BroadcastOp::getWorkspaceBytes() { return 0; }

int64_t SendReceiveOp::getFlops() { return 0; }
int64_t SendReceiveOp::getBytesMoved() { return bytes(getX()) + bytes(getY()); }
std::optional<TransferCost> SendReceiveOp::getTransfer() {
  return TransferCost{1, bytes(getX()), getGroupSize(), bytes(getX())};
}
int64_t SendReceiveOp::getWorkspaceBytes() { return 0; }

// A view moves nothing.
int64_t ReplicaOp::getFlops() { return 0; }
int64_t ReplicaOp::getBytesMoved() { return 0; }
std::optional<TransferCost> ReplicaOp::getTransfer() { return std::nullopt; }
int64_t ReplicaOp::getWorkspaceBytes() { return 0; }

//===----------------------------------------------------------------------===//
// Buckets
//===----------------------------------------------------------------------===//

static Count elements(ValueRange values) {
  Count sum;
  for (Value value : values)
    sum += elements(value);
  return sum;
}

static Count bytes(ValueRange values) { return elements(values) * bytesOfElement(values.front()); }

/// What is written into the workspace, or read from it, is also read or written outside of it.
static Count bytesToCopy(ValueRange in, ValueRange out, int64_t size) {
  return size == 1 ? Count() : 2 * (bytes(in) + bytes(out));
}

int64_t AllReduceBucketOp::getFlops() {
  return (getGroupSize() - 1) * divideCeil(elements(getX()), getGroupSize());
}
int64_t AllReduceBucketOp::getBytesMoved() {
  return bytes(getX()) + bytes(getSums()) + bytesToCopy(getX(), getSums(), getGroupSize());
}
std::optional<TransferCost> AllReduceBucketOp::getTransfer() {
  int64_t size = getGroupSize(), others = size - 1;
  Count part = divideCeil(elements(getX()), size) * bytesOfElement(getX().front());
  return TransferCost{
      2 * others,  2 * others * part, size, bytes(getX()), bytesToCopy(getX(), getSums(), size),
      "all_reduce"};
}
int64_t AllReduceBucketOp::getWorkspaceBytes() {
  int64_t size = getGroupSize();
  if (size == 1)
    return 0;
  Count part = divideCeil(elements(getX()), size) * bytesOfElement(getX().front());
  return bytes(getX()) + (isForLibrary(*this) ? Count() : size * part);
}

int64_t ReduceScatterBucketOp::getFlops() { return (getGroupSize() - 1) * elements(getParts()); }
int64_t ReduceScatterBucketOp::getBytesMoved() {
  return bytes(getX()) + bytes(getParts()) + bytesToCopy(getX(), getParts(), getGroupSize());
}
std::optional<TransferCost> ReduceScatterBucketOp::getTransfer() {
  int64_t size = getGroupSize(), others = size - 1;
  return TransferCost{others,
                      others * bytes(getParts()),
                      size,
                      bytes(getX()),
                      bytesToCopy(getX(), getParts(), size),
                      "reduce_scatter"};
}
int64_t ReduceScatterBucketOp::getWorkspaceBytes() {
  Count received = isForLibrary(*this) ? Count() : bytes(getX());
  return getGroupSize() == 1 ? Count() : bytes(getX()) + received + bytes(getParts());
}

int64_t AllGatherBucketOp::getFlops() { return 0; }
int64_t AllGatherBucketOp::getBytesMoved() {
  return bytes(getParts()) + bytes(getWholes()) +
         bytesToCopy(getParts(), getWholes(), getGroupSize());
}
std::optional<TransferCost> AllGatherBucketOp::getTransfer() {
  int64_t size = getGroupSize(), others = size - 1;
  return TransferCost{others,
                      others * bytes(getParts()),
                      size,
                      bytes(getWholes()),
                      bytesToCopy(getParts(), getWholes(), size),
                      "all_gather"};
}
int64_t AllGatherBucketOp::getWorkspaceBytes() {
  return getGroupSize() == 1 ? Count() : bytes(getParts()) + bytes(getWholes());
}
