//===- RopeKernels.cpp - Rotary angles ------------------------------------===//

#include "KernelModels.h"
#include "llmmem/Codegen/Gpu/DeviceLoops.h"
#include "llmmem/Dialect/LlmOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include <cmath>
#include <numeric>

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

/// Returns a table of constants.
static Buffer tableOf(KernelEmitter &e, ArrayRef<double> numbers) {
  auto module = e.operation()->getParentOfType<ModuleOp>();
  auto type = MemRefType::get({static_cast<int64_t>(numbers.size())}, e.builder().getF64Type());
  auto initial = DenseElementsAttr::get(
      RankedTensorType::get(type.getShape(), type.getElementType()), numbers);
  std::string name;
  for (unsigned k = 0; module.lookupSymbol(name = "table_" + std::to_string(k)); ++k)
    ;
  OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
  memref::GlobalOp::create(top, e.location(), name, top.getStringAttr("private"), type, initial,
                           /*constant=*/true, /*alignment=*/IntegerAttr());
  return {memref::GetGlobalOp::create(e.builder(), e.location(), type, name), type.getNumElements(),
          type.getElementType()};
}

namespace {

/// Returns the number of elements of a head that rotate.
int64_t rotaryElements(RopeOp op) {
  int64_t size = op.getX().getType().getShape().back() / static_cast<int64_t>(op.getHeads());
  return op.getRotary().value_or(size);
}

/// Returns theta^(-2i/d) / divisors[i] for i < d/2, where d elements of a head rotate.
SmallVector<double> ropeFrequencies(RopeOp op) {
  int64_t size = rotaryElements(op);
  double theta = op.getTheta().convertToDouble();
  SmallVector<double> frequencies;
  for (int64_t i = 0; i < size / 2; ++i)
    frequencies.push_back(
        std::pow(theta, -2.0 * static_cast<double>(i) / static_cast<double>(size)));
  if (auto scaling = op.getScaling())
    for (auto [frequency, divisor] :
         llvm::zip_equal(frequencies, scaling->getDivisors().getValues<double>()))
      frequency /= divisor;
  return frequencies;
}

struct RopeKernel : KernelModel<RopeKernel, RopeOp> {
  struct Emission {
    RopeOp op;
    KernelEmitter &e;
    int64_t batch, seq, width, heads, size, half;
    Buffer frequencies, cosines = Buffer(), sines = Buffer();

    Emission(RopeOp op, KernelEmitter &e)
        : op(op), e(e), batch(op.getX().getType().getShape()[0]),
          seq(op.getX().getType().getShape()[1]), width(op.getX().getType().getShape()[2]),
          heads(op.getHeads()), size(width / heads), half(rotaryElements(op) / 2),
          frequencies(tableOf(e, ropeFrequencies(op))) {}

    void allot() { cosines = e.scratch(half), sines = e.scratch(half); }

    /// Returns the number of sequences that share the positions of their rows.
    int64_t together() { return op.getPositions() ? 1 : batch; }
    /// Returns the number of iterations, each with a position of its own.
    int64_t rows() { return seq * (batch / together()); }
    /// Returns the position of iteration `row`, in each of these sequences.
    Index positionOf(Index row) {
      return op.getPositions() ? maximum(e.loadIndex(e.operand(1), row), e.index(0)) : row;
    }
    Index sequenceOf(Index row, Index b) { return op.getPositions() ? row / seq : b; }
    Index rowOf(Index row) { return op.getPositions() ? row % seq : row; }

    /// Computes the angle by which position `s` rotates pair `i` of each head.
    void emitAngle(Index s, Index i) {
      // Angles grow to thousands of rotations, so they are f64, whatever the kernel computes in.
      Num frequency{&e.builder(), e.loadRaw(frequencies, i)};
      Num angle = convert(toNumber(s, e.computeType()), frequency.type()) * frequency;
      Num sine = convert(scaled(sin(angle)), e.computeType());
      e.store(cosines, i, convert(scaled(cos(angle)), e.computeType()));
      e.store(sines, i, op.getInverse() ? -sine : sine);
    }

    Num scaled(Num x) {
      double magnitude = op.getScaling() ? op.getScaling()->getMagnitude().getValueAsDouble() : 1.0;
      return magnitude == 1.0 ? x : x * magnitude;
    }

    /// Returns where head `h` of a position begins.
    Index head(Index b, Index s, Index h) { return (b * seq + s) * width + h * size; }

    void emitPairs(Index b, Index s, Index h, Index i, unsigned lanes) {
      if (op.getInterleaved()) {
        for (unsigned lane = 0; lane < lanes; ++lane)
          emitNeighbours(head(b, s, h), i + lane);
        return;
      }
      Index low = head(b, s, h) + i;
      rotate(low, low + half, i, lanes);
    }

    /// Rotates pair `i` of the head from `begin` on, whose elements are adjacent.
    void emitNeighbours(Index begin, Index i) {
      Index low = begin + i * 2;
      rotate(low, low + 1, i, 1);
    }

    /// Rotates the pairs whose elements are at `low` and at `high` by the angles from `i` on.
    void rotate(Index low, Index high, Index i, unsigned lanes) {
      Buffer x = e.operand(0), y = e.result(0);
      Num cosine = e.load(cosines, i, lanes), sine = e.load(sines, i, lanes);
      Num first = e.load(x, low, lanes), second = e.load(x, high, lanes);
      e.store(y, low, first * cosine - second * sine);
      e.store(y, high, second * cosine + first * sine);
    }

    /// Returns the number of elements of a head that do not rotate.
    int64_t rest() const { return size - 2 * half; }
    void emitRest(Index b, Index s, Index h, Index i, unsigned lanes) {
      Index place = head(b, s, h) + i + 2 * half;
      e.store(e.result(0), place, e.load(e.operand(0), place, lanes));
    }
  };

  static void emit(RopeOp op, KernelEmitter &e) {
    Emission rope(op, e);
    forEachParallel(e, rope.rows(), [&](Index row) {
      rope.allot();
      Index position = rope.positionOf(row), s = rope.rowOf(row);
      forEach(e, rope.half, [&](Index i) { rope.emitAngle(position, i); });
      forEach(e, rope.together(), [&](Index together) {
        Index b = rope.sequenceOf(row, together);
        forEach(e, rope.heads, [&](Index h) {
          forLanes(e, rope.half,
                   [&](Index i, unsigned lanes) { rope.emitPairs(b, s, h, i, lanes); });
          if (rope.rest() > 0)
            forLanes(e, rope.rest(),
                     [&](Index i, unsigned lanes) { rope.emitRest(b, s, h, i, lanes); });
        });
      });
    });
  }

  /// A block computes the angles of a position once, for all heads of all sequences.
  static void emitOnDevice(RopeOp op, KernelEmitter &e) {
    Emission rope(op, e);
    int64_t pairs = rope.together() * rope.heads * rope.half, rest = rope.rest();
    int64_t pitch = std::gcd(rope.half, rest);
    forRows(e, rope.rows(), {.width = pairs, .pitch = pitch, .synchronizes = true}, [&](Index row) {
      rope.allot();
      Index position = rope.positionOf(row), s = rope.rowOf(row);
      deviceLoops(e).forElements(e, rope.half, [&](Index i) { rope.emitAngle(position, i); });
      barrier(e);
      forLanes(e, pairs, [&](Index pair, unsigned lanes) {
        Index head = pair / rope.half;
        rope.emitPairs(rope.sequenceOf(row, head / rope.heads), s, head % rope.heads,
                       pair % rope.half, lanes);
      });
      if (rest == 0)
        return;
      forLanes(e, rope.together() * rope.heads * rest, [&](Index element, unsigned lanes) {
        Index head = element / rest;
        rope.emitRest(rope.sequenceOf(row, head / rope.heads), s, head % rope.heads, element % rest,
                      lanes);
      });
    });
  }
};

} // namespace

void llmmem::attachRopeKernels(MLIRContext *context) { attachKernels<RopeKernel>(context); }
