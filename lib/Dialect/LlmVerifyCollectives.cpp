//===- LlmVerifyCollectives.cpp - Verifiers of what ranks do together ------===//

#include "LlmVerify.h"
#include "llmmem/Support/Count.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

/// Axes must be in the mesh's order, so that one group has one spelling.
LogicalResult llm::expectAxes(Operation *op, ArrayAttr axes) {
  MeshAttr mesh = meshOf(op);
  if (!mesh)
    return op->emitOpError("has a group but no mesh; declare the axes on the function, as in "
                           "attributes {llm.mesh = #llm.mesh<dp = 2>}");
  if (axes.empty())
    return op->emitOpError() << "names no axis; the mesh is " << mesh;
  std::optional<unsigned> before;
  for (StringAttr axis : axes.getAsRange<StringAttr>()) {
    std::optional<unsigned> number = mesh.findAxis(axis.getValue());
    if (!number)
      return op->emitOpError() << "runs over axis " << axis << ", expected one of " << mesh;
    if (before && *before >= *number)
      return op->emitOpError() << "names its axes as " << axes
                               << ", expected each once in the order of " << mesh;
    before = number;
  }
  return success();
}

LogicalResult llm::expectVocabulary(Operation *op, std::optional<VocabularyAttr> vocabulary,
                                    int64_t count) {
  if (!vocabulary)
    return success();
  if (failed(expectAxes(op, vocabulary->getAxes())))
    return failure();
  int64_t ranks = groupSizeOf(op, vocabulary->getAxes()), size = vocabulary->getSize();
  if (size >= 1 && ranks >= llvm::divideCeilSigned(size, count) && size <= INT32_MAX)
    return success();
  return op->emitOpError() << "has " << count << " of the vocabulary on each of " << ranks
                           << " ranks, expected at least " << size << " together";
}

LogicalResult llm::expectSharding(Operation *op, ShardingAttr sharding, int64_t rank) {
  if (!sharding)
    return success();
  if (sharding.getRank() != rank)
    return op->emitOpError() << "has a sharding of " << sharding.getRank()
                             << " dimensions, expected " << rank;
  llvm::SmallPtrSet<Attribute, 4> known;
  for (unsigned dimension = 0; dimension < rank; ++dimension) {
    ArrayAttr axes = sharding.getAxes(dimension);
    if (axes.empty())
      continue;
    if (failed(expectAxes(op, axes)))
      return failure();
    for (Attribute axis : axes)
      if (!known.insert(axis).second)
        return op->emitOpError() << "splits two dimensions over axis " << axis;
  }
  return success();
}

/// `whole` must have `dimension`, and there `size` times as much as `part`; all else must be equal.
static LogicalResult expectParts(Operation *op, StringRef wholeName, Value whole,
                                 StringRef partName, Value part, int64_t dimension, int64_t size) {
  RankedTensorType wholeType = tensorType(whole);
  if (dimension < 0 || dimension >= wholeType.getRank())
    return op->emitOpError() << "has dimension " << dimension << ", expected one of the "
                             << wholeType.getRank() << " of '" << wholeName << "'";
  int64_t extent = wholeType.getShape()[dimension];
  if (extent % size != 0)
    return op->emitOpError() << "splits dimension " << dimension << " of '" << wholeName << "', "
                             << extent << ", over " << size << " ranks, which do not divide it";
  SmallVector<int64_t> shape(wholeType.getShape());
  shape[dimension] /= size;
  if (failed(expectSameElement(op, {whole, part})))
    return failure();
  return expectShape(op, partName, part, shape);
}

static LogicalResult expectRoot(Operation *op, int64_t root, int64_t size) {
  if (root >= 0 && root < size)
    return success();
  return op->emitOpError() << "has root " << root << ", expected a position from 0 to " << size - 1;
}

//===----------------------------------------------------------------------===//
// Starts and waits
//===----------------------------------------------------------------------===//

/// A queue runs one call after another, so one may read the result of another without a wait.
LogicalResult llm::verifyStart(Operation *op) {
  // The wait for a start without results follows it in the text, which verify-plan checks.
  if (!isStarted(op) || op->getNumResults() == 0)
    return success();
  Operation *wait = nullptr;
  for (Operation *user : op->getUsers()) {
    if (isa<WaitOp>(user)) {
      if (wait && wait != user) {
        InFlightDiagnostic error = op->emitOpError("is started and has a second wait");
        error.attachNote(user->getLoc()) << "which stands here";
        return error;
      }
      wait = user;
    } else if (!isStarted(user) || queueOf(user) != queueOf(op)) {
      InFlightDiagnostic error = user->emitOpError()
                                 << "reads what '" << op->getName().getStringRef()
                                 << "' started; expected the result of its 'llm.wait'";
      error.attachNote(op->getLoc()) << "which starts here";
      return error;
    }
  }
  if (wait && wait->getBlock() == op->getBlock())
    return success();
  return op->emitOpError("is started and nothing waits for it; expected an 'llm.wait' of its "
                         "result in the same block");
}

LogicalResult WaitOp::verify() {
  Operation *start = getStart();
  if (!start && getX().empty())
    return emitOpError("waits for a start without results, but every earlier one has its wait");
  if (!start || !isStarted(start))
    return emitOpError(
        "waits for a value that is not started; expected the result of a collective or a "
        "copy with 'llm.started'");
  if (llvm::equal(getX(), start->getResults()))
    return success();
  return emitOpError() << "waits for " << getX().size() << " values, expected the "
                       << start->getNumResults() << " results of what is started, in their order";
}

//===----------------------------------------------------------------------===//
// Buckets
//===----------------------------------------------------------------------===//

/// There must be at least one value, each with its result, and all must have one element type.
static LogicalResult expectBucket(Operation *op, ArrayAttr axes, ValueRange values,
                                  ValueRange results) {
  if (failed(expectAxes(op, axes)))
    return failure();
  if (values.empty() || values.size() != results.size())
    return op->emitOpError() << "has " << values.size() << " values and " << results.size()
                             << " results, expected as many of both, and at least one";
  for (Value value : values)
    if (tensorType(value).getElementType() != tensorType(values.front()).getElementType())
      return op->emitOpError() << "mixes values of " << tensorType(values.front()) << " and "
                               << tensorType(value) << ", expected one type of elements";
  return success();
}

LogicalResult AllReduceBucketOp::verify() {
  if (failed(expectBucket(*this, getAxes(), getX(), getSums())))
    return failure();
  for (auto [x, sum] : llvm::zip_equal(getX(), getSums()))
    if (x.getType() != sum.getType())
      return emitOpError() << "sums " << x.getType() << " to " << sum.getType()
                           << ", expected one type";
  return success();
}

LogicalResult ReduceScatterBucketOp::verify() {
  if (failed(expectBucket(*this, getAxes(), getX(), getParts())))
    return failure();
  for (auto [x, part] : llvm::zip_equal(getX(), getParts()))
    if (failed(expectParts(*this, "x", x, "part", part, /*dimension=*/0, getGroupSize())))
      return failure();
  return success();
}

LogicalResult AllGatherBucketOp::verify() {
  if (failed(expectBucket(*this, getAxes(), getParts(), getWholes())))
    return failure();
  for (auto [part, whole] : llvm::zip_equal(getParts(), getWholes()))
    if (failed(expectParts(*this, "whole", whole, "part", part, /*dimension=*/0, getGroupSize())))
      return failure();
  if (getDestinations().empty() ||
      llvm::equal(getDestinations().getTypes(), getWholes().getTypes()))
    return success();
  return emitOpError("has destinations of other types than its results, expected one for each "
                     "result, of its type, or none");
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

LogicalResult AllGatherOp::verify() {
  if (failed(expectAxes(*this, getAxes())) ||
      failed(expectParts(*this, "whole", getWhole(), "x", getX(), getDimension(), getGroupSize())))
    return failure();
  if (getDestination() && getDestination().getType() != getWhole().getType())
    return emitOpError() << "has a destination of type " << getDestination().getType()
                         << ", expected " << getWhole().getType();
  return success();
}

LogicalResult ReduceScatterOp::verify() {
  if (failed(expectAxes(*this, getAxes())))
    return failure();
  return expectParts(*this, "x", getX(), "part", getPart(), getDimension(), getGroupSize());
}

LogicalResult PartOp::verify() {
  if (failed(expectAxes(*this, getAxes())))
    return failure();
  return expectParts(*this, "x", getX(), "part", getPart(), getDimension(), getGroupSize());
}

LogicalResult AllReduceOp::verify() { return expectAxes(*this, getAxes()); }
LogicalResult ReplicaOp::verify() { return expectAxes(*this, getAxes()); }

LogicalResult BroadcastOp::verify() {
  return failed(expectAxes(*this, getAxes())) ? failure()
                                              : expectRoot(*this, getRoot(), getGroupSize());
}

LogicalResult ReduceOp::verify() {
  return failed(expectAxes(*this, getAxes())) ? failure()
                                              : expectRoot(*this, getRoot(), getGroupSize());
}

LogicalResult AllToAllOp::verify() {
  if (failed(expectAxes(*this, getAxes())))
    return failure();
  RankedTensorType type = tensorType(getX());
  int64_t size = getGroupSize(), split = getSplit(), concat = getConcat();
  for (auto [name, dimension] : {std::pair("split", split), std::pair("concat", concat)})
    if (dimension < 0 || dimension >= type.getRank())
      return emitOpError() << "has " << name << " " << dimension << ", expected one of the "
                           << type.getRank() << " dimensions of 'x'";
  if (type.getShape()[split] % size != 0)
    return emitOpError() << "splits dimension " << split << " of 'x', " << type.getShape()[split]
                         << ", over " << size << " ranks, which do not divide it";
  SmallVector<int64_t> shape(type.getShape());
  shape[split] /= size;
  Count whole = Count(shape[concat]) * size;
  if (whole.isTooMany())
    return emitOpError()
           << "brings dimension " << concat << " of " << size
           << " ranks together to more than 2^63; make the dimension or the mesh smaller";
  shape[concat] = whole;
  if (failed(expectSameElement(*this, {getX(), getY()})))
    return failure();
  return expectShape(*this, "y", getY(), shape);
}

LogicalResult SendReceiveOp::verify() {
  if (failed(expectAxes(*this, getAxes())))
    return failure();
  int64_t size = getGroupSize(), shift = getShift();
  if (shift != 0 && shift > -size && shift < size)
    return success();
  return emitOpError() << "shifts by " << shift << " in a group of " << size
                       << ", expected a neighbour: not 0, and less than the group either way";
}
