//===- RowKernels.cpp - Norms, softmax: kernels that go row by row --------===//
//
// A row is read whole (for its sums) before its first element is written, so results may be in
// place of operands.
//
//===----------------------------------------------------------------------===//

#include "KernelModels.h"
#include "RowOfBuffer.h"
#include "llmmem/Dialect/LlmOps.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

namespace {

int64_t widthOf(Value tensor) { return cast<RankedTensorType>(tensor.getType()).getShape().back(); }

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

struct LayerNormKernel : KernelModel<LayerNormKernel, LayerNormOp> {
  static void emit(LayerNormOp op, KernelEmitter &e) {
    Buffer x = e.operand(0), weight = e.operand(1), bias = e.operand(2), y = e.result(0);
    int64_t width = widthOf(op.getX());
    forRows(e, e.result(1).size, {width}, [&](Index row) {
      Index begin = row * width;
      RowOfBuffer xs(e, x, begin);
      Num mean = sumOver(e, width, [&](Index j, unsigned lanes) { return xs.load(j, lanes); }) /
                 static_cast<double>(width);
      Num variance = sumOver(e, width,
                             [&](Index j, unsigned lanes) {
                               Num centred = xs.load(j, lanes) - mean;
                               return centred * centred;
                             }) /
                     static_cast<double>(width);
      Num rstd = 1.0 / sqrt(variance + op.getEps().convertToDouble());
      forLanes(e, width, [&](Index j, unsigned lanes) {
        Num n = (xs.load(j, lanes) - mean) * rstd;
        e.store(y, begin + j, n * e.load(weight, j, lanes) + e.load(bias, j, lanes));
      });
      e.store(e.result(1), row, mean);
      e.store(e.result(2), row, rstd);
    });
  }
};

Num shifted(Num weight, double offset) { return offset == 0.0 ? weight : weight + offset; }

struct RmsNormKernel : KernelModel<RmsNormKernel, RmsNormOp> {
  static void emit(RmsNormOp op, KernelEmitter &e) {
    Buffer x = e.operand(0), weight = e.operand(1), y = e.result(0);
    int64_t width = widthOf(op.getX());
    double offset = op.getOffset().convertToDouble();
    forRows(e, e.result(1).size, {width}, [&](Index row) {
      Index begin = row * width;
      RowOfBuffer xs(e, x, begin);
      Num square = sumOver(e, width,
                           [&](Index j, unsigned lanes) {
                             Num v = xs.load(j, lanes);
                             return v * v;
                           }) /
                   static_cast<double>(width);
      Num rstd = 1.0 / sqrt(square + op.getEps().convertToDouble());
      forLanes(e, width, [&](Index j, unsigned lanes) {
        e.store(y, begin + j, xs.load(j, lanes) * rstd * shifted(e.load(weight, j, lanes), offset));
      });
      e.store(e.result(1), row, rstd);
    });
  }
};

/// Computes dx = rstd (g - mean(g) - n mean(g n)) with n = (x - mean) rstd and g = dy weight.
/// Without a mean (RMSNorm) both the mean and mean(g) are left out. Weights have `offset` added.
struct NormGradBuffers {
  Buffer x, mean, rstd, weight, dy;
};

void emitNormGrad(KernelEmitter &e, const NormGradBuffers &of, int64_t width, double offset = 0.0) {
  const auto &[x, mean, rstd, weight, dy] = of;
  forRows(e, rstd.size, {width}, [&](Index row) {
    Index begin = row * width;
    RowOfBuffer xs(e, x, begin), dys(e, dy, begin);
    Num scale = e.load(rstd, row);
    Num centre = mean ? e.load(mean, row) : e.number(0.0);
    auto normal = [&](Index j, unsigned lanes) {
      Num v = xs.load(j, lanes);
      return (mean ? v - centre : v) * scale;
    };
    auto gradient = [&](Index j, unsigned lanes) {
      return dys.load(j, lanes) * shifted(e.load(weight, j, lanes), offset);
    };
    Num meanTimesNormal =
        sumOver(e, width,
                [&](Index j, unsigned lanes) { return gradient(j, lanes) * normal(j, lanes); }) /
        static_cast<double>(width);
    Num meanOfGradient =
        mean ? sumOver(e, width, gradient) / static_cast<double>(width) : e.number(0.0);
    forLanes(e, width, [&](Index j, unsigned lanes) {
      Num g = gradient(j, lanes);
      Num centred = mean ? g - meanOfGradient : g;
      e.store(e.result(0), begin + j, (centred - normal(j, lanes) * meanTimesNormal) * scale);
    });
  });
}

struct LayerNormGradKernel : KernelModel<LayerNormGradKernel, LayerNormGradOp> {
  static void emit(LayerNormGradOp op, KernelEmitter &e) {
    emitNormGrad(e, {e.operand(0), e.operand(1), e.operand(2), e.operand(3), e.operand(4)},
                 widthOf(op.getX()));
  }
};
struct RmsNormGradKernel : KernelModel<RmsNormGradKernel, RmsNormGradOp> {
  static void emit(RmsNormGradOp op, KernelEmitter &e) {
    emitNormGrad(e, {e.operand(0), Buffer(), e.operand(1), e.operand(2), e.operand(3)},
                 widthOf(op.getX()), op.getOffset().convertToDouble());
  }
};

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

struct SoftmaxKernel : KernelModel<SoftmaxKernel, SoftmaxOp> {
  static void emit(SoftmaxOp op, KernelEmitter &e) {
    int64_t width = widthOf(op.getX());
    Buffer x = e.operand(0), y = e.result(0);
    forRows(e, x.size / width, {.width = width, .isAlone = true}, [&](Index row) {
      Index begin = row * width;
      RowOfBuffer xs(e, x, begin);
      Num largest =
          maximumOver(e, width, [&](Index j, unsigned lanes) { return xs.load(j, lanes); });
      auto power = [&](Index j, unsigned lanes) { return exp(xs.load(j, lanes) - largest); };
      Num total = sumOver(e, width, power);
      forLanes(e, width,
               [&](Index j, unsigned lanes) { e.store(y, begin + j, power(j, lanes) / total); });
    });
  }
};

struct SoftmaxGradKernel : KernelModel<SoftmaxGradKernel, SoftmaxGradOp> {
  static void emit(SoftmaxGradOp op, KernelEmitter &e) {
    int64_t width = widthOf(op.getY());
    Buffer y = e.operand(0), dy = e.operand(1);
    forRows(e, y.size / width, {.width = width, .isAlone = true}, [&](Index row) {
      Index begin = row * width;
      RowOfBuffer ys(e, y, begin), dys(e, dy, begin);
      Num inner = sumOver(e, width, [&](Index j, unsigned lanes) {
        return dys.load(j, lanes) * ys.load(j, lanes);
      });
      forLanes(e, width, [&](Index j, unsigned lanes) {
        Num g = dys.load(j, lanes) - inner;
        e.store(e.result(0), begin + j, ys.load(j, lanes) * g);
      });
    });
  }
};

} // namespace

void llmmem::attachRowKernels(MLIRContext *context) {
  attachKernels<LayerNormKernel, RmsNormKernel, LayerNormGradKernel, RmsNormGradKernel,
                SoftmaxKernel, SoftmaxGradKernel>(context);
}
