//===- ConvolutionKernels.cpp - Short convolutions along a sequence -------===//

#include "Emitter/ExactSums.h"
#include "Gpu/DeviceColumnSums.h"
#include "KernelModels.h"
#include "llmmem/Dialect/ConvolutionOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

namespace {

/// Holds the sizes of rows [batch, seq, width], and of the taps that convolve them.
struct Sizes {
  Sizes(Value rows, Value weight)
      : batch(shape(rows)[0]), seq(shape(rows)[1]), width(shape(rows)[2]), taps(shape(weight)[0]) {}
  static ArrayRef<int64_t> shape(Value value) {
    return cast<RankedTensorType>(value.getType()).getShape();
  }
  int64_t rows() const { return batch * seq; }

  int64_t batch, seq, width, taps;
};

/// Runs `term` for vectors of channels of each row, from the first tap to the last, and stores the
/// sum of what it returns times the tap's weight. All forms add in this order, so that a token has
/// the same bits whether its neighbours are new or in a ring.
void emitRows(KernelEmitter &e, const Sizes &sizes,
              function_ref<Num(Index row, int64_t tap, Index channel, unsigned lanes)> term) {
  forRows(e, sizes.rows(), {sizes.width}, [&](Index row) {
    forLanes(e, sizes.width, [&](Index channel, unsigned lanes) {
      Num sum = e.splat(0.0, lanes);
      for (int64_t tap = 0; tap < sizes.taps; ++tap)
        sum = sum + term(row, tap, channel, lanes) *
                        e.load(e.operand(1), channel + tap * sizes.width, lanes);
      e.store(e.result(0), row * sizes.width + channel, sum);
    });
  });
}

struct CausalConvKernel : KernelModel<CausalConvKernel, CausalConvOp> {
  static void emit(CausalConvOp op, KernelEmitter &e) {
    const Sizes sizes(op.getX(), op.getWeight());
    emitRows(e, sizes, [&](Index row, int64_t tap, Index channel, unsigned lanes) {
      const int64_t distance = sizes.taps - 1 - tap;
      auto load = [&](Index from) {
        return e.load(e.operand(0), from * sizes.width + channel, lanes);
      };
      if (distance == 0)
        return load(row);
      Index s = row % sizes.seq;
      Value isOutside =
          op.getInverse() ? less(e.index(sizes.seq - 1), s + distance) : less(s, e.index(distance));
      Index from = op.getInverse() ? minimum(row + distance, e.index(sizes.rows() - 1))
                                   : maximum(row, e.index(distance)) - distance;
      return select(isOutside, e.splat(0.0, lanes), load(from));
    });
  }
};

struct CausalConvWeightGradKernel
    : KernelModel<CausalConvWeightGradKernel, CausalConvWeightGradOp> {
  static void emit(CausalConvWeightGradOp op, KernelEmitter &e) {
    const Sizes sizes(op.getX(), op.getDw());
    Buffer x = e.operand(0), dy = e.operand(1), into = e.operand(op.getIntoMutable());
    const int64_t last = sizes.taps - 1, width = sizes.width;
    // Column j is channel j % width of tap j / width, which reads rows from some before on.
    auto term = [&](Index row, Index j, unsigned lanes) {
      Index distance = e.index(last) - j / width, channel = j % width;
      Num value = e.load(x, (maximum(row, distance) - distance) * width + channel, lanes);
      Num product = value * e.load(dy, row * width + channel, lanes);
      return select(less(row % sizes.seq, distance), e.splat(0.0, lanes), product);
    };
    if (e.options().target == KernelTarget::Gpu)
      return emitColumnSumsOnDevice(e, {into, sizes.rows(), sizes.taps * width, /*period=*/width,
                                        /*buffers=*/2, term});
    const auto lanes = static_cast<int64_t>(e.lanes());
    const int64_t together = width % lanes == 0 ? lanes : 1;
    forEachParallel(e, sizes.taps * width / together, [&](Index number) {
      emitColumnSums(e, into, sizes.rows(), number * together, 1, together, term);
    });
  }
};

struct CachedConvKernel : KernelModel<CachedConvKernel, CachedConvOp> {
  static void emit(CachedConvOp op, KernelEmitter &e) {
    const Sizes sizes(op.getX(), op.getWeight());
    const int64_t held = op.getState().getType().getDimSize(1);
    emitRows(e, sizes, [&](Index row, int64_t tap, Index channel, unsigned lanes) {
      const int64_t distance = sizes.taps - 1 - tap;
      Index position = e.loadIndex(e.operand(3), row), s = row % sizes.seq;
      auto load = [&](Buffer from, Index place) {
        return e.load(from, place * sizes.width + channel, lanes);
      };
      Num value = load(e.operand(0), maximum(row, e.index(distance)) - distance);
      if (distance > 0) {
        Index before = maximum(position, e.index(distance)) - distance;
        Num ofRing = load(e.operand(2), row / sizes.seq * held + before % held);
        value = select(less(s, e.index(distance)), ofRing, value);
      }
      // Before the first position, and in rows without one, there is nothing.
      return select(less(position, e.index(distance)), e.splat(0.0, lanes), value);
    });
  }
};

struct AppendStateKernel : KernelModel<AppendStateKernel, AppendStateOp> {
  static void emit(AppendStateOp op, KernelEmitter &e) {
    ArrayRef<int64_t> shape = op.getX().getType().getShape();
    const int64_t seq = shape[1], width = shape[2], held = op.getState().getType().getDimSize(1);
    auto copy = [&](Buffer from, Index source, Index slot) {
      forLanes(e, width, [&](Index channel, unsigned lanes) {
        e.storeRaw(e.result(0), slot * width + channel,
                   e.loadRaw(from, source * width + channel, lanes));
      });
    };
    forRows(e, shape[0] * held, {width}, [&](Index slot) {
      copy(e.operand(0), slot, slot); // The result may lie elsewhere.
      forEach(e, seq, [&](Index s) {
        Index row = slot / held * seq + s, position = e.loadIndex(e.operand(2), row);
        Value isToken = less(e.index(-1), position);
        Value isHere = equal(maximum(position, e.index(0)) % held, slot % held);
        ifThen(e, arith::AndIOp::create(e.builder(), e.location(), isToken, isHere),
               [&] { copy(e.operand(1), row, slot); });
      });
    });
  }
};

} // namespace

void llmmem::attachConvolutionKernels(MLIRContext *context) {
  attachKernels<CausalConvKernel, CausalConvWeightGradKernel, CachedConvKernel, AppendStateKernel>(
      context);
}
