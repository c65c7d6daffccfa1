//===- CollectiveKernels.cpp - Collectives as calls of the runtime ---------===//
//
// A collective is one call of a C function that handles only contiguous parts
// (docs/Design/Ranks.md). Where the parts along a dimension are not contiguous, the op's workspace
// makes them so, before the call or after it. On a GPU the call is in the host function, with
// addresses of the device, and the reordering is a launch.
//
//===----------------------------------------------------------------------===//

#include "CollectiveCall.h"
#include "Emitter/Ranks.h"
#include "KernelModels.h"
#include "llmmem/Dialect/LlmAnnotations.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Interfaces/Bytes.h"
#include <numeric>

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

namespace {

int64_t bytesOf(Buffer buffer) { return buffer.size * bytesOfNumber(buffer.element); }

/// Returns the workspace from `begin` to its end, in elements of `element`; null where nothing is
/// left.
Buffer workspaceFrom(Operation *op, KernelEmitter &e, int64_t begin, Type element) {
  int64_t bytes = cast<CostOpInterface>(op).getWorkspaceBytes() - begin;
  if (bytes <= 0)
    return {};
  return e.workspace(begin, bytes / bytesOfNumber(element), element);
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

/// Describes a value as `before` x `parts` x `run` elements: parts along a dimension, each of them
/// cut into pieces of `run` elements by the dimensions before it.
struct PartsOf {
  int64_t before, parts, run;

  PartsOf(Value whole, int64_t dimension, int64_t parts) : parts(parts) {
    auto type = cast<RankedTensorType>(whole.getType());
    before = ShapedType::getNumElements(type.getShape().take_front(dimension));
    run = type.getNumElements() / before / parts;
  }
  bool areInOnePiece() const { return before == 1 || parts == 1; }
};

/// Copies a value's elements to where each part is contiguous, or back.
void emitReorder(KernelEmitter &e, const PartsOf &shape, Buffer whole, Buffer pieces,
                 bool toPieces) {
  forRows(e, shape.before * shape.parts, {.width = shape.run}, [&](Index i) {
    Index inWhole = i * shape.run;
    Index inPieces =
        ((i % i.like(shape.parts)) * shape.before + i / i.like(shape.parts)) * shape.run;
    forLanes(e, shape.run, [&](Index lane, unsigned lanes) {
      Index from = (toPieces ? inWhole : inPieces) + lane,
            to = (toPieces ? inPieces : inWhole) + lane;
      e.storeRaw(toPieces ? pieces : whole, to, e.loadRaw(toPieces ? whole : pieces, from, lanes));
    });
  });
}

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

/// Holds the kernel of a collective. `Model` has `static void emit(ConcreteOp, KernelEmitter &)`.
template <typename Model, typename ConcreteOp>
struct CollectiveModel : BaseModel<Model, ConcreteOp> {
  LogicalResult emitKernel(Operation *op, KernelEmitter &emitter) const {
    if (isForLibrary(op) && emitter.options().target == KernelTarget::Cpu)
      return op->emitOpError("is planned for a sum by NCCL, without the buffer of MPI's; plan the "
                             "step with --collectives=mpi to run it on a CPU");
    Model::emit(cast<ConcreteOp>(op), emitter);
    return success();
  }
};

struct AllGatherModel : CollectiveModel<AllGatherModel, AllGatherOp> {
  static void emit(AllGatherOp op, KernelEmitter &e) {
    Buffer part = e.operand(0), whole = e.result(0);
    PartsOf shape(op.getWhole(), op.getDimension(), op.getGroupSize());
    Buffer gathered = shape.areInOnePiece() ? whole : workspaceFrom(op, e, 0, whole.element);
    CollectiveCall(op, e, op.getAxes())
        .pass(part)
        .pass(gathered)
        .passGroup(part.size, part.element)
        .emit("llmmem_all_gather");
    if (!shape.areInOnePiece())
      emitReorder(e, shape, whole, gathered, /*toPieces=*/false);
  }
};

struct ReduceScatterModel : CollectiveModel<ReduceScatterModel, ReduceScatterOp> {
  static void emit(ReduceScatterOp op, KernelEmitter &e) {
    Buffer whole = e.operand(0), part = e.result(0);
    PartsOf shape(op.getX(), op.getDimension(), op.getGroupSize());
    Buffer parts = whole;
    if (!shape.areInOnePiece()) {
      parts = e.workspace(0, whole.size, whole.element);
      emitReorder(e, shape, whole, parts, /*toPieces=*/true);
    }
    int64_t begin = shape.areInOnePiece() ? 0 : bytesOf(whole);
    CollectiveCall(op, e, op.getAxes())
        .pass(parts)
        .pass(part)
        .pass(workspaceFrom(op, e, begin, whole.element))
        .passGroup(part.size, part.element)
        .emit("llmmem_reduce_scatter");
  }
};

/// Emits a call from the operand to a result of its size. The function takes a workspace where
/// `hasWorkspace` says so, and the numbers of the op last.
template <typename ConcreteOp>
void emitWhole(ConcreteOp op, KernelEmitter &e, StringRef function, bool hasWorkspace,
               ArrayRef<int64_t> numbers = {}) {
  Buffer x = e.operand(0);
  CollectiveCall call(op, e, op.getAxes());
  call.pass(x).pass(e.result(0));
  if (hasWorkspace)
    call.pass(workspaceFrom(op, e, 0, x.element));
  call.passGroup(x.size, x.element);
  for (int64_t number : numbers)
    call.pass(number);
  call.emit(function);
}

struct AllReduceModel : CollectiveModel<AllReduceModel, AllReduceOp> {
  static void emit(AllReduceOp op, KernelEmitter &e) {
    emitWhole(op, e, "llmmem_all_reduce", /*hasWorkspace=*/true);
  }
};

struct ReduceModel : CollectiveModel<ReduceModel, ReduceOp> {
  static void emit(ReduceOp op, KernelEmitter &e) {
    emitWhole(op, e, "llmmem_reduce", /*hasWorkspace=*/true, op.getRoot());
  }
};

struct BroadcastModel : CollectiveModel<BroadcastModel, BroadcastOp> {
  static void emit(BroadcastOp op, KernelEmitter &e) {
    emitWhole(op, e, "llmmem_broadcast", /*hasWorkspace=*/false, op.getRoot());
  }
};

struct AllToAllModel : CollectiveModel<AllToAllModel, AllToAllOp> {
  static void emit(AllToAllOp op, KernelEmitter &e) {
    Buffer x = e.operand(0), y = e.result(0);
    int64_t size = op.getGroupSize();
    PartsOf sent(op.getX(), op.getSplit(), size), received(op.getY(), op.getConcat(), size);
    Buffer from = x, to = y;
    if (!sent.areInOnePiece()) {
      from = e.workspace(0, x.size, x.element);
      emitReorder(e, sent, x, from, /*toPieces=*/true);
    }
    if (!received.areInOnePiece())
      to = e.workspace(sent.areInOnePiece() ? 0 : bytesOf(x), y.size, y.element);
    CollectiveCall(op, e, op.getAxes())
        .pass(from)
        .pass(to)
        .passGroup(x.size / size, x.element)
        .emit("llmmem_all_to_all");
    if (!received.areInOnePiece())
      emitReorder(e, received, y, to, /*toPieces=*/false);
  }
};

struct SendReceiveModel : CollectiveModel<SendReceiveModel, SendReceiveOp> {
  static void emit(SendReceiveOp op, KernelEmitter &e) {
    emitWhole(op, e, "llmmem_send_receive", /*hasWorkspace=*/false,
              {static_cast<int64_t>(op.getShift()), op.getWraps()});
  }
};

/// All messages start, then all are waited for.
struct ExchangeModel : CollectiveModel<ExchangeModel, ExchangeOp> {
  static void emit(ExchangeOp op, KernelEmitter &e) {
    auto start = [&](Buffer buffer, int64_t position, StringRef function) {
      CollectiveCall(op, e, op.getAxes())
          .pass(buffer)
          .passGroup(buffer.size, buffer.element)
          .pass(position)
          .emit(function);
    };
    for (auto [number, from] : llvm::enumerate(op.getFrom()))
      start(e.result(number), from, "llmmem_exchange_receive");
    for (auto [number, to] : llvm::enumerate(op.getTo()))
      start(e.operand(number), to, "llmmem_exchange_send");
    CollectiveCall(op, e, op.getAxes()).passAxes().emit("llmmem_exchange_end");
  }
};

/// One group of threads copies at most this number of elements.
constexpr int64_t kElementsOfRun = 1024;

//===----------------------------------------------------------------------===//
// Buckets
//===----------------------------------------------------------------------===//

SmallVector<Buffer> operandsOf(KernelEmitter &e, unsigned count) {
  return llvm::map_to_vector(llvm::seq(count), [&](unsigned number) { return e.operand(number); });
}

SmallVector<Buffer> resultsOf(KernelEmitter &e, unsigned count) {
  return llvm::map_to_vector(llvm::seq(count), [&](unsigned number) { return e.result(number); });
}

int64_t elementsOf(ArrayRef<Buffer> values) {
  int64_t elements = 0;
  for (Buffer value : values)
    elements += value.size;
  return elements;
}

/// Describes rows of a buffer, each of which begins `stride` elements after the previous one.
struct Rows {
  Buffer buffer;
  int64_t begin, stride;
};

/// Copies `count` rows of `width` elements by the runtime, on a CPU: a bucket of a step's
/// parameters would otherwise be as many loops, each compiled separately.
void emitCopyRows(KernelEmitter &e, Rows from, Rows to, int64_t count, int64_t width) {
  Operation *op = e.operation();
  int64_t bytes = bytesOfNumber(from.buffer.element);
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(e.builder(), op->getLoc(),
                                     e.builder().getI64IntegerAttr(value));
  };
  auto address = [&](const Rows &rows) {
    return addressOf(op, e, Matrix{.buffer = rows.buffer, .begin = e.index(rows.begin)});
  };
  callRuntime(e, "llmmem_copy_rows",
              {address(from), number(from.stride * bytes), address(to), number(to.stride * bytes),
               number(count), number(width * bytes)});
}

/// Copies values into a bucket, or out of it. A bucket has `parts` parts; each has that part of
/// every value, one after another. It begins `first` elements after the beginning of the workspace.
void emitBucket(KernelEmitter &e, ArrayRef<Buffer> values, Buffer bucket, int64_t first,
                int64_t parts, bool toBucket) {
  int64_t stride = elementsOf(values) / parts, begin = 0;
  for (Buffer value : values) {
    int64_t count = value.size / parts;
    if (e.options().target == KernelTarget::Gpu) {
      // Vectors must be aligned in both buffers: runs begin at multiples of their length.
      int64_t run =
          std::gcd(std::gcd(std::gcd(count, stride), std::gcd(begin, first)), kElementsOfRun);
      forRows(e, value.size / run, {.width = run}, [&](Index row) {
        Index part = row / (count / run), inBucket = part * stride + row % (count / run) * run;
        forLanes(e, run, [&](Index lane, unsigned lanes) {
          Index outside = row * run + lane, inside = inBucket + begin + lane;
          if (toBucket)
            e.storeRaw(bucket, inside, e.loadRaw(value, outside, lanes));
          else
            e.storeRaw(value, outside, e.loadRaw(bucket, inside, lanes));
        });
      });
    } else {
      Rows inValue = {value, 0, count}, inBucket = {bucket, begin, stride};
      emitCopyRows(e, toBucket ? inValue : inBucket, toBucket ? inBucket : inValue, parts, count);
    }
    begin += count;
  }
}

/// In a group of one rank each result is its operand.
void emitIdentities(KernelEmitter &e, ArrayRef<Buffer> from, ArrayRef<Buffer> to) {
  for (auto [x, y] : llvm::zip_equal(from, to))
    forLanesParallel(e, x.size,
                     [&](Index i, unsigned lanes) { e.storeRaw(y, i, e.loadRaw(x, i, lanes)); });
}

struct AllReduceBucketModel : CollectiveModel<AllReduceBucketModel, AllReduceBucketOp> {
  static void emit(AllReduceBucketOp op, KernelEmitter &e) {
    SmallVector<Buffer> x = operandsOf(e, op.getX().size()), sums = resultsOf(e, x.size());
    if (op.getGroupSize() == 1)
      return emitIdentities(e, x, sums);
    Type element = x.front().element;
    Buffer bucket = e.workspace(0, elementsOf(x), element);
    emitBucket(e, x, bucket, /*first=*/0, /*parts=*/1, /*toBucket=*/true);
    CollectiveCall(op, e, op.getAxes())
        .pass(bucket)
        .pass(bucket)
        .pass(workspaceFrom(op, e, bytesOf(bucket), element))
        .passGroup(bucket.size, element)
        .emit("llmmem_all_reduce");
    emitBucket(e, sums, bucket, /*first=*/0, /*parts=*/1, /*toBucket=*/false);
  }
};

struct ReduceScatterBucketModel : CollectiveModel<ReduceScatterBucketModel, ReduceScatterBucketOp> {
  static void emit(ReduceScatterBucketOp op, KernelEmitter &e) {
    SmallVector<Buffer> x = operandsOf(e, op.getX().size()), parts = resultsOf(e, x.size());
    if (op.getGroupSize() == 1)
      return emitIdentities(e, x, parts);
    Type element = x.front().element;
    Buffer bucket = e.workspace(0, elementsOf(x), element);
    Buffer own = e.workspace(bytesOf(bucket), elementsOf(parts), element);
    emitBucket(e, x, bucket, /*first=*/0, op.getGroupSize(), /*toBucket=*/true);
    CollectiveCall(op, e, op.getAxes())
        .pass(bucket)
        .pass(own)
        .pass(workspaceFrom(op, e, bytesOf(bucket) + bytesOf(own), element))
        .passGroup(own.size, element)
        .emit("llmmem_reduce_scatter");
    emitBucket(e, parts, own, /*first=*/elementsOf(x), /*parts=*/1, /*toBucket=*/false);
  }
};

struct AllGatherBucketModel : CollectiveModel<AllGatherBucketModel, AllGatherBucketOp> {
  static void emit(AllGatherBucketOp op, KernelEmitter &e) {
    SmallVector<Buffer> parts = operandsOf(e, op.getParts().size()),
                        wholes = resultsOf(e, parts.size());
    if (op.getGroupSize() == 1)
      return emitIdentities(e, parts, wholes);
    Type element = parts.front().element;
    Buffer own = e.workspace(0, elementsOf(parts), element);
    Buffer bucket = e.workspace(bytesOf(own), elementsOf(wholes), element);
    emitBucket(e, parts, own, /*first=*/0, /*parts=*/1, /*toBucket=*/true);
    CollectiveCall(op, e, op.getAxes())
        .pass(own)
        .pass(bucket)
        .passGroup(own.size, element)
        .emit("llmmem_all_gather");
    emitBucket(e, wholes, bucket, /*first=*/elementsOf(parts), op.getGroupSize(),
               /*toBucket=*/false);
  }
};

/// It sends nothing: it copies the part that the position selects.
struct PartModel : CollectiveModel<PartModel, PartOp> {
  static void emit(PartOp op, KernelEmitter &e) {
    Buffer part = e.result(0);
    PartsOf shape(op.getX(), op.getDimension(), op.getGroupSize());
    Index position = positionInGroup(e, op.getAxes());
    if (shape.areInOnePiece() && e.options().target != KernelTarget::Gpu) {
      Index begin = position * part.size;
      forLanesParallel(e, part.size, [&](Index i, unsigned lanes) {
        e.storeRaw(part, i, e.loadRaw(e.operand(0), begin + i, lanes));
      });
      return;
    }
    // Vectors of a GPU must be aligned in both buffers.
    int64_t run = std::gcd(shape.run, kElementsOfRun), runsOfPart = shape.run / run;
    forRows(e, part.size / run, {.width = run}, [&](Index row) {
      Index piece = row / runsOfPart * shape.parts + position;
      Index begin = piece * shape.run + row % runsOfPart * run;
      forLanes(e, run, [&](Index j, unsigned lanes) {
        e.storeRaw(part, row * run + j, e.loadRaw(e.operand(0), begin + j, lanes));
      });
    });
  }
};

} // namespace

void llmmem::attachCollectiveKernels(MLIRContext *context) {
  attachKernels<AllGatherModel, ReduceScatterModel, AllReduceModel, ReduceModel, BroadcastModel,
                AllToAllModel, SendReceiveModel, ExchangeModel, AllReduceBucketModel,
                ReduceScatterBucketModel, AllGatherBucketModel, PartModel>(context);
}
