//===- ElementKernels.cpp - Kernels that go element by element -------------===//

#include "KernelModels.h"
#include "Philox.h"
#include "llmmem/Dialect/LlmOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <cmath>

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

namespace {

//===----------------------------------------------------------------------===//
// Formulas of one or two numbers
//===----------------------------------------------------------------------===//

/// 1 / (1 + exp(-x))
Num logistic(Num x) { return 1.0 / (exp(-x) + 1.0); }

constexpr double kGeluInner = 0.79788456080286535588; // sqrt(2 / pi)
constexpr double kGeluCubic = 0.044715;

Num gelu(Num x) {
  Num t = tanh((x + x * x * x * kGeluCubic) * kGeluInner);
  return x * 0.5 * (t + 1.0);
}

Num geluGrad(Num x, Num dy) {
  Num t = tanh((x + x * x * x * kGeluCubic) * kGeluInner);
  Num slope = (x * x * (3.0 * kGeluCubic) + 1.0) * kGeluInner;
  return dy * ((t + 1.0) * 0.5 + x * 0.5 * (1.0 - t * t) * slope);
}

Num siluGrad(Num x, Num dy) {
  Num s = logistic(x);
  return dy * s * (x * (1.0 - s) + 1.0);
}

template <typename Formula>
void emitUnary(KernelEmitter &e, Formula formula) {
  e.forLanesParallel(e.result(0).size, [&](Index i, unsigned lanes) {
    e.store(e.result(0), i, formula(e.load(e.operand(0), i, lanes)));
  });
}

template <typename Formula>
void emitBinary(KernelEmitter &e, Formula formula) {
  e.forLanesParallel(e.result(0).size, [&](Index i, unsigned lanes) {
    e.store(e.result(0), i,
            formula(e.load(e.operand(0), i, lanes), e.load(e.operand(1), i, lanes)));
  });
}

struct GeluKernel : KernelModel<GeluKernel, GeluOp> {
  static void emit(GeluOp, KernelEmitter &e) { emitUnary(e, gelu); }
};
struct SiluKernel : KernelModel<SiluKernel, SiluOp> {
  static void emit(SiluOp, KernelEmitter &e) {
    emitUnary(e, [](Num x) { return x / (exp(-x) + 1.0); });
  }
};
struct CastKernel : KernelModel<CastKernel, CastOp> {
  static void emit(CastOp, KernelEmitter &e) {
    emitUnary(e, [](Num x) { return x; });
  }
};
struct AddKernel : KernelModel<AddKernel, AddOp> {
  static void emit(AddOp, KernelEmitter &e) {
    emitBinary(e, [](Num a, Num b) { return a + b; });
  }
};
struct MulKernel : KernelModel<MulKernel, MulOp> {
  static void emit(MulOp, KernelEmitter &e) {
    emitBinary(e, [](Num a, Num b) { return a * b; });
  }
};
struct GeluGradKernel : KernelModel<GeluGradKernel, GeluGradOp> {
  static void emit(GeluGradOp, KernelEmitter &e) { emitBinary(e, geluGrad); }
};
struct SiluGradKernel : KernelModel<SiluGradKernel, SiluGradOp> {
  static void emit(SiluGradOp, KernelEmitter &e) { emitBinary(e, siluGrad); }
};
struct FillKernel : KernelModel<FillKernel, FillOp> {
  static void emit(FillOp op, KernelEmitter &e) {
    double value = op.getValue().convertToDouble();
    e.forLanesParallel(e.result(0).size, [&](Index i, unsigned lanes) {
      e.store(e.result(0), i, e.splat(value, lanes));
    });
  }
};

//===----------------------------------------------------------------------===//
// Dropout
//===----------------------------------------------------------------------===//

/// x / (1 - p), where `keep`, else 0.
Num dropped(Value keep, Num x, double p) { return select(keep, x / (1.0 - p), x.like(0.0)); }

struct DropoutKernel : KernelModel<DropoutKernel, DropoutOp> {
  static void emit(DropoutOp op, KernelEmitter &e) {
    double p = op.getP().convertToDouble();
    Philox philox(e, e.operand(op.getSeedMutable()), op.getKey());
    e.forLanesParallel(e.result(0).size, [&](Index i, unsigned lanes) {
      Value keep = philox.keeps(i, lanes, p);
      e.store(e.result(0), i, dropped(keep, e.load(e.operand(0), i, lanes), p));
    });
  }
};

struct StoredDropoutKernel : KernelModel<StoredDropoutKernel, StoredDropoutOp> {
  static void emit(StoredDropoutOp op, KernelEmitter &e) {
    double p = op.getP().convertToDouble();
    Philox philox(e, e.operand(op.getSeedMutable()), op.getKey());
    e.forLanesParallel(e.result(0).size, [&](Index i, unsigned lanes) {
      Value keep = philox.keeps(i, lanes, p);
      e.store(e.result(0), i, dropped(keep, e.load(e.operand(0), i, lanes), p));
      Type byte = e.builder().getI8Type();
      if (auto vector = dyn_cast<VectorType>(keep.getType()))
        byte = vector.clone(byte);
      e.storeRaw(e.result(1), i, arith::ExtUIOp::create(e.builder(), op.getLoc(), byte, keep));
    });
  }
};

struct ApplyMaskKernel : KernelModel<ApplyMaskKernel, ApplyMaskOp> {
  static void emit(ApplyMaskOp op, KernelEmitter &e) {
    double p = op.getP().convertToDouble();
    e.forLanesParallel(e.result(0).size, [&](Index i, unsigned lanes) {
      Value mask = e.loadRaw(e.operand(op.getMaskMutable()), i, lanes);
      Value zero = arith::ConstantOp::create(e.builder(), op.getLoc(),
                                             e.builder().getZeroAttr(mask.getType()));
      Value keep =
          arith::CmpIOp::create(e.builder(), op.getLoc(), arith::CmpIPredicate::ne, mask, zero);
      e.store(e.result(0), i, dropped(keep, e.load(e.operand(0), i, lanes), p));
    });
  }
};

//===----------------------------------------------------------------------===//
// Elements that know their place
//===----------------------------------------------------------------------===//

struct AddPositionsKernel : KernelModel<AddPositionsKernel, AddPositionsOp> {
  static void emit(AddPositionsOp op, KernelEmitter &e) {
    ArrayRef<int64_t> shape = op.getX().getType().getShape();
    int64_t used = shape[shape.size() - 2] * shape.back();
    e.forEachParallel(e.result(0).size / used, [&](Index b) {
      e.forLanes(used, [&](Index i, unsigned lanes) {
        Num x = e.load(e.operand(0), b * used + i, lanes);
        e.store(e.result(0), b * used + i, x + e.load(e.operand(1), i, lanes));
      });
    });
  }
};

struct CausalMaskKernel : KernelModel<CausalMaskKernel, CausalMaskOp> {
  static void emit(CausalMaskOp op, KernelEmitter &e) {
    int64_t seq = op.getScores().getType().getShape().back();
    int64_t window = op.getWindow().value_or(seq);
    Num fill = e.number(op.getFill().convertToDouble());
    e.forEachParallel(e.result(0).size / (seq * seq), [&](Index matrix) {
      e.forEach(seq, [&](Index i) {
        Index row = matrix * (seq * seq) + i * seq;
        Index begin = maximum(i - i.like(window - 1), i.like(0)), end = i + 1;
        e.forEach(e.index(0), begin, [&](Index j) { e.store(e.result(0), row + j, fill); });
        e.forEach(begin, end, [&](Index j) {
          e.storeRaw(e.result(0), row + j, e.loadRaw(e.operand(0), row + j));
        });
        e.forEach(end, e.index(seq), [&](Index j) { e.store(e.result(0), row + j, fill); });
      });
    });
  }
};

} // namespace

void llmmem::attachElementKernels(MLIRContext *context) {
  attachKernels<GeluKernel, SiluKernel, CastKernel, AddKernel, MulKernel, GeluGradKernel,
                SiluGradKernel, FillKernel, DropoutKernel, StoredDropoutKernel, ApplyMaskKernel,
                AddPositionsKernel, CausalMaskKernel>(context);
}
