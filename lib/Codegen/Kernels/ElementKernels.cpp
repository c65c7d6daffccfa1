//===- ElementKernels.cpp - Kernels that go element by element ------------===//

#include "Emitter/Philox.h"
#include "Emitter/Ranks.h"
#include "Emitter/Scores.h"
#include "Gpu/DeviceActivations.h"
#include "KernelModels.h"
#include "llmmem/Codegen/Emitter/Gelu.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Dialect/RecurrentOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <cmath>

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

namespace {

/// Loads element `index` modulo `period`, for tables that repeat; from element `first` on, if
/// given.
Num loadPeriodic(KernelEmitter &e, Buffer buffer, Index index, unsigned lanes, int64_t period,
                 Index first = {}) {
  // Vectors begin at multiples of their lanes, so a vector crosses the period's end only if the
  // lanes do not divide it.
  if (period % lanes == 0)
    return e.load(buffer, first.value ? first + index % period : index % period, lanes);
  Value raw = arith::ConstantOp::create(
      e.builder(), e.location(), e.builder().getZeroAttr(VectorType::get({lanes}, buffer.element)));
  for (unsigned lane = 0; lane < lanes; ++lane)
    raw = vector::InsertOp::create(
        e.builder(), e.location(),
        e.loadRaw(buffer, first.value ? first + (index + lane) % period : (index + lane) % period),
        raw, lane);
  return convert({&e.builder(), raw}, e.computeType());
}

//===----------------------------------------------------------------------===//
// Formulas of one or two numbers
//===----------------------------------------------------------------------===//

Num logistic(Num x) { return 1.0 / (exp(-x) + 1.0); }

/// max(x, 0) + log(1 + exp(-|x|)) overflows nowhere.
Num softplus(Num x) { return maximum(x, x.like(0.0)) + log(exp(minimum(x, -x)) + 1.0); }

Num scaled(Num x, double alpha) { return alpha == 1.0 ? x : x * alpha; }

Num silu(Num x, double alpha) { return x / (exp(-scaled(x, alpha)) + 1.0); }

Num siluGrad(Num x, Num dy, double alpha) {
  Num s = logistic(scaled(x, alpha));
  return dy * s * (scaled(x, alpha) * (1.0 - s) + 1.0);
}

Value compare(arith::CmpFPredicate predicate, Num x, Num y) {
  return arith::CmpFOp::create(*x.builder, x.value.getLoc(), predicate, x.value, y.value);
}

/// Returns `inside` where x is within the bounds, else the value for the bound. A NaN is within
/// them.
template <typename ClampLike>
Num withinBounds(ClampLike op, Num x, Num inside, function_ref<Num(double)> bound) {
  if (op.getLow()) {
    double low = op.getLow()->convertToDouble();
    inside = select(compare(arith::CmpFPredicate::OLT, x, x.like(low)), bound(low), inside);
  }
  if (op.getHigh()) {
    double high = op.getHigh()->convertToDouble();
    inside = select(compare(arith::CmpFPredicate::OGT, x, x.like(high)), bound(high), inside);
  }
  return inside;
}

void emitUnary(KernelEmitter &e, Index i, unsigned lanes, function_ref<Num(Num)> formula) {
  e.store(e.result(0), i, formula(e.load(e.operand(0), i, lanes)));
}

void emitBinary(KernelEmitter &e, Index i, unsigned lanes, function_ref<Num(Num, Num)> formula) {
  e.store(e.result(0), i, formula(e.load(e.operand(0), i, lanes), e.load(e.operand(1), i, lanes)));
}

/// Eight lanes of a long formula at once do not fit 64 registers of a GPU, but two times four do.
Num byHalves(Num a, Num b, function_ref<Num(Num, Num)> formula) {
  OpBuilder &builder = *a.builder;
  Location loc = a.value.getLoc();
  Value result = a.value;
  int64_t lanes = cast<VectorType>(a.type()).getNumElements() / 2;
  for (int64_t begin : {int64_t(0), lanes}) {
    auto half = [&](Num x) -> Num {
      return {&builder, vector::ExtractStridedSliceOp::create(builder, loc, x.value, begin, lanes,
                                                              int64_t(1))};
    };
    result = vector::InsertStridedSliceOp::create(builder, loc, formula(half(a), half(b)).value,
                                                  result, begin, int64_t(1));
  }
  return {&builder, result};
}

struct GeluKernel : ElementModel<GeluKernel, GeluOp> {
  static void emitAt(GeluOp op, KernelEmitter &e, Index i, unsigned lanes) {
    if (auto device = DeviceActivations::of(e); device && !op.getExact())
      return emitUnary(e, i, lanes, [&](Num x) { return device->gelu(x); });
    emitUnary(e, i, lanes, op.getExact() ? exactGelu : gelu);
  }
};
struct SiluKernel : ElementModel<SiluKernel, SiluOp> {
  static void emitAt(SiluOp op, KernelEmitter &e, Index i, unsigned lanes) {
    double alpha = op.getAlpha().convertToDouble();
    auto device = DeviceActivations::of(e);
    emitUnary(e, i, lanes, [&](Num x) { return device ? device->silu(x, alpha) : silu(x, alpha); });
  }
};
struct ClampKernel : ElementModel<ClampKernel, ClampOp> {
  static void emitAt(ClampOp op, KernelEmitter &e, Index i, unsigned lanes) {
    emitUnary(e, i, lanes, [&](Num x) {
      return withinBounds(op, x, x, [&](double bound) { return x.like(bound); });
    });
  }
};
struct ClampGradKernel : ElementModel<ClampGradKernel, ClampGradOp> {
  static void emitAt(ClampGradOp op, KernelEmitter &e, Index i, unsigned lanes) {
    emitBinary(e, i, lanes, [&](Num x, Num dy) {
      return withinBounds(op, x, dy, [&](double) { return x.like(0.0); });
    });
  }
};
struct ScaleKernel : ElementModel<ScaleKernel, ScaleOp> {
  static void emitAt(ScaleOp op, KernelEmitter &e, Index i, unsigned lanes) {
    emitUnary(e, i, lanes, [&](Num x) { return x * op.getFactor().convertToDouble(); });
  }
};
struct SoftcapKernel : ElementModel<SoftcapKernel, SoftcapOp> {
  static void emitAt(SoftcapOp op, KernelEmitter &e, Index i, unsigned lanes) {
    emitUnary(e, i, lanes, [&](Num x) { return softcap(x, op.getCap().convertToDouble()); });
  }
};
struct SoftcapGradKernel : ElementModel<SoftcapGradKernel, SoftcapGradOp> {
  static void emitAt(SoftcapGradOp op, KernelEmitter &e, Index i, unsigned lanes) {
    double cap = op.getCap().convertToDouble();
    emitBinary(e, i, lanes, [&](Num y, Num dy) { return dy * softcapSlope(y, cap); });
  }
};
struct CastKernel : ElementModel<CastKernel, CastOp> {
  static void emitAt(CastOp, KernelEmitter &e, Index i, unsigned lanes) {
    emitUnary(e, i, lanes, [](Num x) { return x; });
  }
};
struct AddKernel : ElementModel<AddKernel, AddOp> {
  static void emitAt(AddOp, KernelEmitter &e, Index i, unsigned lanes) {
    emitBinary(e, i, lanes, [](Num a, Num b) { return a + b; });
  }
};
struct MulKernel : ElementModel<MulKernel, MulOp> {
  static void emitAt(MulOp, KernelEmitter &e, Index i, unsigned lanes) {
    emitBinary(e, i, lanes, [](Num a, Num b) { return a * b; });
  }
};
struct GeluGradKernel : ElementModel<GeluGradKernel, GeluGradOp> {
  static void emitAt(GeluGradOp op, KernelEmitter &e, Index i, unsigned lanes) {
    bool isLong = e.options().target == KernelTarget::Gpu && lanes == 8;
    auto device = DeviceActivations::of(e);
    auto formula = [&](Num x, Num dy) {
      if (op.getExact())
        return exactGeluGrad(x, dy);
      return device ? device->geluGrad(x, dy) : geluGrad(x, dy);
    };
    emitBinary(e, i, lanes,
               [&](Num x, Num dy) { return isLong ? byHalves(x, dy, formula) : formula(x, dy); });
  }
};
struct SiluGradKernel : ElementModel<SiluGradKernel, SiluGradOp> {
  static void emitAt(SiluGradOp op, KernelEmitter &e, Index i, unsigned lanes) {
    double alpha = op.getAlpha().convertToDouble();
    auto device = DeviceActivations::of(e);
    emitBinary(e, i, lanes, [&](Num x, Num dy) {
      return device ? device->siluGrad(x, dy, alpha) : siluGrad(x, dy, alpha);
    });
  }
};
struct AddBiasKernel : ElementModel<AddBiasKernel, AddBiasOp> {
  static void emitAt(AddBiasOp op, KernelEmitter &e, Index i, unsigned lanes) {
    Num bias = loadPeriodic(e, e.operand(1), i, lanes, op.getBias().getType().getNumElements());
    e.store(e.result(0), i, e.load(e.operand(0), i, lanes) + bias);
  }
};
struct LogisticKernel : ElementModel<LogisticKernel, LogisticOp> {
  static void emitAt(LogisticOp, KernelEmitter &e, Index i, unsigned lanes) {
    emitUnary(e, i, lanes, logistic);
  }
};
struct SoftplusKernel : ElementModel<SoftplusKernel, SoftplusOp> {
  static void emitAt(SoftplusOp, KernelEmitter &e, Index i, unsigned lanes) {
    emitUnary(e, i, lanes, softplus);
  }
};
struct ExpKernel : ElementModel<ExpKernel, ExpOp> {
  static void emitAt(ExpOp, KernelEmitter &e, Index i, unsigned lanes) {
    emitUnary(e, i, lanes, [](Num x) { return exp(x); });
  }
};
struct ScaleColumnsKernel : ElementModel<ScaleColumnsKernel, ScaleColumnsOp> {
  static void emitAt(ScaleColumnsOp op, KernelEmitter &e, Index i, unsigned lanes) {
    Num weight = loadPeriodic(e, e.operand(1), i, lanes, op.getWeight().getType().getNumElements());
    e.store(e.result(0), i, e.load(e.operand(0), i, lanes) * weight);
  }
};
struct FillKernel : KernelModel<FillKernel, FillOp> {
  static void emit(FillOp op, KernelEmitter &e) {
    double value = op.getValue().convertToDouble();
    forLanesParallel(e, e.result(0).size, [&](Index i, unsigned lanes) {
      e.store(e.result(0), i, e.splat(value, lanes));
    });
  }
};

//===----------------------------------------------------------------------===//
// Dropout
//===----------------------------------------------------------------------===//

/// Computes x / (1 - p), where `keep`, else 0.
Num dropped(Value keep, Num x, double p) { return select(keep, x / (1.0 - p), x.like(0.0)); }

/// Emits the first result of a dropout, whose mask is drawn from its seed, and returns the mask.
template <typename Op>
Value emitDropout(Op op, KernelEmitter &e, Index i, unsigned lanes) {
  double p = op.getP().convertToDouble();
  Philox philox(e, e.operand(op.getSeedMutable()));
  Value keep = philox.keeps(i, lanes, p);
  e.store(e.result(0), i, dropped(keep, e.load(e.operand(0), i, lanes), p));
  return keep;
}

struct DropoutKernel : ElementModel<DropoutKernel, DropoutOp> {
  static void emitAt(DropoutOp op, KernelEmitter &e, Index i, unsigned lanes) {
    emitDropout(op, e, i, lanes);
  }
};

struct StoredDropoutKernel : ElementModel<StoredDropoutKernel, StoredDropoutOp> {
  static void emitAt(StoredDropoutOp op, KernelEmitter &e, Index i, unsigned lanes) {
    Value keep = emitDropout(op, e, i, lanes);
    Type byte = e.builder().getI8Type();
    if (auto vector = dyn_cast<VectorType>(keep.getType()))
      byte = vector.clone(byte);
    e.storeRaw(e.result(1), i, arith::ExtUIOp::create(e.builder(), op.getLoc(), byte, keep));
  }
};

struct ApplyMaskKernel : ElementModel<ApplyMaskKernel, ApplyMaskOp> {
  static void emitAt(ApplyMaskOp op, KernelEmitter &e, Index i, unsigned lanes) {
    double p = op.getP().convertToDouble();
    Value mask = e.loadRaw(e.operand(op.getMaskMutable()), i, lanes);
    Value zero = arith::ConstantOp::create(e.builder(), op.getLoc(),
                                           e.builder().getZeroAttr(mask.getType()));
    Value keep =
        arith::CmpIOp::create(e.builder(), op.getLoc(), arith::CmpIPredicate::ne, mask, zero);
    e.store(e.result(0), i, dropped(keep, e.load(e.operand(0), i, lanes), p));
  }
};

//===----------------------------------------------------------------------===//
// Elements that depend on their index
//===----------------------------------------------------------------------===//

struct AddPositionsKernel : ElementModel<AddPositionsKernel, AddPositionsOp> {
  static void emitAt(AddPositionsOp op, KernelEmitter &e, Index i, unsigned lanes) {
    ArrayRef<int64_t> shape = op.getX().getType().getShape();
    int64_t used = shape[shape.size() - 2] * shape.back();
    Index first; // The first of this rank's positions.
    if (op.getAxes())
      first = positionInGroup(e, *op.getAxes()) * used;
    Num position = loadPeriodic(e, e.operand(1), i, lanes, used, first);
    e.store(e.result(0), i, e.load(e.operand(0), i, lanes) + position);
  }

  /// A thread loads its vector of the table once, for all sequences of the batch, where these begin
  /// at multiples of a vector.
  static void emitOnDevice(AddPositionsOp op, KernelEmitter &e) {
    constexpr int64_t together = 4; // Loads in flight.
    ArrayRef<int64_t> shape = op.getX().getType().getShape();
    Buffer x = e.operand(0), table = e.operand(1), y = e.result(0);
    int64_t used = shape[shape.size() - 2] * shape.back(), batch = x.size / used;
    if (used % static_cast<int64_t>(e.lanes()) != 0)
      return forLanesParallel(e, y.size, [&](Index i, unsigned lanes) { emitAt(op, e, i, lanes); });
    Index begin = e.index(0); // The first of this rank's positions.
    if (op.getAxes())
      begin = positionInGroup(e, *op.getAxes()) * used;
    forLanesParallel(e, used, [&](Index i, unsigned lanes) {
      Num position = e.load(table, begin + i, lanes);
      auto addTo = [&](Index first, int64_t count) {
        Row sums;
        for (int64_t k = 0; k < count; ++k)
          sums.push_back(e.load(x, (first + k) * used + i, lanes) + position);
        for (int64_t k = 0; k < count; ++k)
          e.store(y, (first + k) * used + i, sums[k]);
      };
      int64_t whole = batch - batch % together;
      forSteps(e, e.index(0), e.index(whole), together, [&](Index b) { addTo(b, together); });
      addTo(e.index(whole), batch - whole);
    });
  }
};

/// Returns whether the query of each score attends to its key: j <= i < j + window, from the
/// score's index.
Value isKeyUnmasked(KernelEmitter &e, Location loc, Value number, int64_t seq, int64_t window) {
  OpBuilder &builder = e.builder();
  auto constant = [&](int64_t value) -> Value {
    TypedAttr attribute = builder.getI64IntegerAttr(value);
    if (auto vector = dyn_cast<VectorType>(number.getType()))
      attribute = DenseElementsAttr::get(vector, APInt(64, value));
    return arith::ConstantOp::create(builder, loc, attribute);
  };
  Value width = constant(seq);
  Value key = arith::RemUIOp::create(builder, loc, number, width);
  Value row = arith::DivUIOp::create(builder, loc, number, width);
  Value query = arith::RemUIOp::create(builder, loc, row, width);
  Value end = arith::AddIOp::create(builder, loc, key, constant(window));
  Value causal = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ule, key, query);
  Value inWindow = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, query, end);
  return arith::AndIOp::create(builder, loc, causal, inWindow);
}

struct CausalMaskKernel : ElementModel<CausalMaskKernel, CausalMaskOp> {
  static void emitAt(CausalMaskOp op, KernelEmitter &e, Index i, unsigned lanes) {
    int64_t seq = op.getScores().getType().getShape().back();
    Value visible =
        isKeyUnmasked(e, op.getLoc(), elementNumbers(i, lanes), seq, op.getWindow().value_or(seq));
    Num score = e.load(e.operand(0), i, lanes);
    e.store(e.result(0), i, select(visible, score, score.like(op.getFill().convertToDouble())));
  }
};

} // namespace

void llmmem::attachElementKernels(MLIRContext *context) {
  attachKernels<GeluKernel, SiluKernel, ClampKernel, ClampGradKernel, ScaleKernel, SoftcapKernel,
                SoftcapGradKernel, CastKernel, AddKernel, MulKernel, AddBiasKernel, GeluGradKernel,
                SiluGradKernel, ExpKernel, LogisticKernel, SoftplusKernel, ScaleColumnsKernel,
                FillKernel, DropoutKernel, StoredDropoutKernel, ApplyMaskKernel, AddPositionsKernel,
                CausalMaskKernel>(context);
}
