//===- RecurrentGradKernel.cpp - The gradients of a scan of states --------===//
//
// One iteration has one head. It goes through the chunks from the last to the first. In a chunk of
// n tokens, with l_t the sum of the decays up to token t, and S the state before the chunk:
//
// clang-format off
//   r_t = v_t - exp(l_t) S^T k_t - sum over s < t of exp(l_t - l_s) (k_t . k_s) u_s,   u_t = strength_t r_t
//   y_t = scale (exp(l_t) S^T q_t + sum over s <= t of exp(l_t - l_s) (q_t . k_s) u_s)
//   S'  = exp(l_n) S + sum over t of exp(l_n - l_t) k_t u_t^T
// clang-format on
//
// so that a chunk needs products of its tokens and of the state before it, and no other state (Yang
// et al. 2024, section 3). Without the delta rule r_t is v_t. A token's key reads the state (as a
// row) and adds to it (as a column); the gradient of l_t is what its query and its row contribute
// less what its column does.
//
//===----------------------------------------------------------------------===//

#include "KernelModels.h"
#include "llmmem/Codegen/Gpu/DeviceLoops.h"
#include "llmmem/Dialect/RecurrentOps.h"
#include "llmmem/Dialect/StateScan.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

namespace {

/// Distributes the work of a chunk over the threads of an iteration: those of a block on a GPU, and
/// one on a CPU. Between two loops stands `wait` where the second reads what the first wrote.
class ChunkLoops {
public:
  explicit ChunkLoops(KernelEmitter &e) : e(e), onDevice(e.options().target == KernelTarget::Gpu) {}

  void wait() const {
    if (onDevice)
      barrier(e);
  }
  /// Runs `body` for rows up to `count`, which is at most `most`, and their columns.
  void forRowsOfColumns(Index count, int64_t most, int64_t columns,
                        function_ref<void(Index row, Index column, unsigned lanes)> body) const {
    if (!onDevice)
      return forEach(e, e.index(0), count, [&](Index row) {
        forLanes(e, columns, [&](Index column, unsigned lanes) { body(row, column, lanes); });
      });
    deviceLoops(e).forElements(e, most * columns, [&](Index place) {
      Index row = place / columns;
      ifThen(e, less(row, count), [&] { body(row, place % columns, 1); });
    });
  }
  /// Does the same column by column, for numbers that are no vectors.
  void forPairs(Index count, int64_t most, int64_t columns,
                function_ref<void(Index row, Index column)> body) const {
    if (!onDevice)
      return forEach(e, e.index(0), count, [&](Index row) {
        forEach(e, columns, [&](Index column) { body(row, column); });
      });
    forRowsOfColumns(count, most, columns,
                     [&](Index row, Index column, unsigned) { body(row, column); });
  }
  void forColumns(int64_t columns, function_ref<void(Index column, unsigned lanes)> body) const {
    forRowsOfColumns(e.index(1), 1, columns,
                     [&](Index, Index column, unsigned lanes) { body(column, lanes); });
  }
  /// Returns a sum that one thread computes.
  Num ownSum(int64_t count, function_ref<Num(Index, unsigned lanes)> term) const {
    if (!onDevice)
      return sumOver(e, count, term);
    return sum(e.index(0), e.index(count), e.number(0.0),
               [&](Index i, Num before) { return before + term(i, 1); });
  }
  /// Adds to `initial` from `begin` to `end`.
  Num sum(Index begin, Index end, Num initial, function_ref<Num(Index, Num before)> add) const {
    return fold(e, begin, end, initial,
                [&](Index i, ArrayRef<Num> carried) -> Row { return {add(i, carried[0])}; })[0];
  }

private:
  KernelEmitter &e;
  bool onDevice;
};

/// Says which chunk it is, where it begins and how many tokens it has.
struct Chunk {
  Index number, first, count;
};

/// Emits one head's part of a chunk. Each function is one loop, or several that need no barrier
/// between them.
class ChunkGradient {
public:
  ChunkGradient(KernelEmitter &e, StateScanGradOp op, Index number)
      : e(e), loops(e), scan(op), chunk(op.getChunk()), parts(scan, chunk), hasDelta(op.getDelta()),
        scale(op.getScale().convertToDouble()), batch(number / scan.heads),
        head(number % scan.heads), workspace(e.workspace()), base(number * parts.size) {}

  void emit() {
    loops.forColumns(scan.stateElements(), [&](Index i, unsigned lanes) {
      store(parts.stateGradient, i, e.splat(0.0, lanes));
    });
    loops.wait();
    const int64_t chunks = scan.chunks(chunk);
    forEach(e, chunks, [&](Index done) { emitChunk(e.index(chunks - 1) - done); });
  }

private:
  void emitChunk(Index number) {
    Index first = number * chunk;
    c = {number, first, minimum(e.index(scan.seq) - first, e.index(chunk))};
    sumDecays();
    loops.wait();
    exponentiate();
    loops.wait();
    multiplyTokens();
    loops.wait();
    updates();
    updateGradients();
    loops.wait();
    strengthGradients();
    productGradients();
    loops.wait();
    stateProducts();
    loops.wait();
    keyGradients();
    loops.wait();
    slopes();
    loops.wait();
    decayGradients();
    loops.wait();
    carryGradient();
    loops.wait();
  }

  //===--------------------------------------------------------------------===//
  // Elements
  //===--------------------------------------------------------------------===//

  Num at(int64_t part, Index i, unsigned lanes = 1) {
    return e.load(workspace, base + part + i, lanes);
  }
  void store(int64_t part, Index i, Num x) { e.store(workspace, base + part + i, x); }

  Index rowOf(Index t) { return batch * scan.seq + c.first + t; }
  Index gateOf(Index t) { return rowOf(t) * scan.heads + head; }
  Num q(Index t, Index i, unsigned lanes = 1) { return e.load(e.operand(0), keyOf(t) + i, lanes); }
  Num k(Index t, Index i, unsigned lanes = 1) { return e.load(e.operand(1), keyOf(t) + i, lanes); }
  Index keyOf(Index t) {
    return (rowOf(t) * scan.groups + head / (scan.heads / scan.groups)) * scan.key;
  }
  Num strength(Index t) { return e.load(e.operand(4), gateOf(t)); }
  Num dy(Index t, Index j, unsigned lanes = 1) {
    return e.load(e.operand(6), gateOf(t) * scan.value + j, lanes);
  }
  /// Returns r of a token, which is its value where no key reads the state.
  Num update(Index t, Index j, unsigned lanes = 1) {
    return hasDelta ? at(parts.updates, t * scan.value + j, lanes)
                    : e.load(e.operand(2), gateOf(t) * scan.value + j, lanes);
  }
  Num du(Index t, Index j, unsigned lanes = 1) {
    return at(parts.updateGradients, t * scan.value + j, lanes);
  }
  Num stateGradient(Index i, Index j, unsigned lanes = 1) {
    return at(parts.stateGradient, i * scan.value + j, lanes);
  }
  Index stateOf(Index number) {
    return ((batch * scan.chunks(chunk) + number) * scan.heads + head) * scan.stateElements();
  }
  /// Returns elements of the state before the chunk.
  Num state(Index i, Index j, unsigned lanes = 1) {
    Index place = stateOf(maximum(c.number, e.index(1)) - 1) + i * scan.value + j;
    return select(equal(c.number, e.index(0)), e.splat(0.0, lanes),
                  e.load(e.operand(5), place, lanes));
  }
  /// Return what is left of the state before the chunk at token t, of token s at token t, and of
  /// token t after the chunk.
  Num left(Index t) { return at(parts.leftBefore, t); }
  Num left(Index t, Index s) { return exp(at(parts.sums, t) - at(parts.sums, s)); }
  Num leftAtEnd(Index t) { return at(parts.leftAfter, t); }

  //===--------------------------------------------------------------------===//
  // What the forward computed
  //===--------------------------------------------------------------------===//

  void sumDecays() {
    loops.sum(e.index(0), c.count, e.number(0.0), [&](Index t, Num before) {
      Num sum = before + e.load(e.operand(3), gateOf(t));
      store(parts.sums, t, sum);
      return sum;
    });
  }

  void exponentiate() {
    loops.forPairs(c.count, chunk, 1, [&](Index t, Index) {
      store(parts.leftBefore, t, exp(at(parts.sums, t)));
      store(parts.leftAfter, t, left(c.count - 1, t));
    });
  }

  /// Multiplies queries and keys by the keys of tokens up to their own.
  void multiplyTokens() {
    loops.forPairs(c.count, chunk, chunk, [&](Index t, Index s) {
      ifThen(e, less(s, t + 1), [&] {
        Num decay = left(t, s);
        Num ofQuery = loops.ownSum(
            scan.key, [&](Index i, unsigned lanes) { return q(t, i, lanes) * k(s, i, lanes); });
        store(parts.ofQueries, t * chunk + s, ofQuery * decay * scale);
        if (!hasDelta)
          return;
        Num ofKey = loops.ownSum(
            scan.key, [&](Index i, unsigned lanes) { return k(t, i, lanes) * k(s, i, lanes); });
        store(parts.ofKeys, t * chunk + s, ofKey * decay);
      });
    });
  }

  /// Computes r from the first token to the last; a thread keeps its columns.
  void updates() {
    if (!hasDelta)
      return;
    loops.forColumns(scan.value, [&](Index j, unsigned lanes) {
      forEach(e, e.index(0), c.count, [&](Index t) {
        Num read =
            loops.sum(e.index(0), e.index(scan.key), e.splat(0.0, lanes), [&](Index i, Num before) {
              return fma(k(t, i), state(i, j, lanes), before);
            });
        Num rest = e.load(e.operand(2), gateOf(t) * scan.value + j, lanes) - left(t) * read;
        rest = loops.sum(e.index(0), t, rest, [&](Index s, Num before) {
          return before - at(parts.ofKeys, t * chunk + s) * strength(s) * update(s, j, lanes);
        });
        store(parts.updates, t * scan.value + j, rest);
      });
    });
  }

  //===--------------------------------------------------------------------===//
  // Gradients
  //===--------------------------------------------------------------------===//

  /// Computes the gradients of u and v from the last token to the first.
  void updateGradients() {
    loops.forColumns(scan.value, [&](Index j, unsigned lanes) {
      forEach(e, e.index(0), c.count, [&](Index after) {
        Index t = c.count - 1 - after;
        Num added =
            loops.sum(e.index(0), e.index(scan.key), e.splat(0.0, lanes), [&](Index i, Num before) {
              return fma(k(t, i), stateGradient(i, j, lanes), before);
            });
        Num gradient = loops.sum(t, c.count, added * leftAtEnd(t), [&](Index s, Num before) {
          return fma(at(parts.ofQueries, s * chunk + t), dy(s, j, lanes), before);
        });
        if (hasDelta)
          gradient = loops.sum(t + 1, c.count, gradient, [&](Index s, Num before) {
            return before - at(parts.ofKeys, s * chunk + t) * strength(s) * du(s, j, lanes);
          });
        store(parts.updateGradients, t * scan.value + j, gradient);
        e.store(e.result(2), gateOf(t) * scan.value + j, gradient * strength(t));
      });
    });
  }

  void strengthGradients() {
    loops.forPairs(c.count, chunk, 1, [&](Index t, Index) {
      e.store(e.result(4), gateOf(t), loops.ownSum(scan.value, [&](Index j, unsigned lanes) {
        return du(t, j, lanes) * update(t, j, lanes);
      }));
    });
  }

  /// Replaces the products of tokens by their gradients, times what is left of the earlier token.
  void productGradients() {
    loops.forPairs(c.count, chunk, chunk, [&](Index t, Index s) {
      ifThen(e, less(s, t + 1), [&] {
        Num decay = left(t, s) * strength(s);
        Num ofQuery = loops.ownSum(scan.value, [&](Index j, unsigned lanes) {
          return dy(t, j, lanes) * update(s, j, lanes);
        });
        store(parts.ofQueries, t * chunk + s, ofQuery * decay * scale);
        if (!hasDelta)
          return;
        Num ofKey = loops.ownSum(scan.value, [&](Index j, unsigned lanes) {
          return du(t, j, lanes) * update(s, j, lanes);
        });
        store(parts.ofKeys, t * chunk + s, -(ofKey * decay * strength(t)));
      });
    });
  }

  /// Multiplies the rows of tokens by the state before the chunk and by its gradient after it.
  void stateProducts() {
    loops.forPairs(c.count, chunk, scan.key, [&](Index t, Index i) {
      Index place = t * scan.key + i;
      Num before = left(t);
      Num query = loops.ownSum(scan.value, [&](Index j, unsigned lanes) {
        return state(i, j, lanes) * dy(t, j, lanes);
      });
      store(parts.byQuery, place, query * before * scale);
      Num column = loops.ownSum(scan.value, [&](Index j, unsigned lanes) {
        return stateGradient(i, j, lanes) * update(t, j, lanes);
      });
      store(parts.asColumn, place, column * leftAtEnd(t) * strength(t));
      if (!hasDelta)
        return;
      Num row = loops.ownSum(scan.value, [&](Index j, unsigned lanes) {
        return state(i, j, lanes) * du(t, j, lanes);
      });
      store(parts.asRow, place, -(row * before * strength(t)));
    });
  }

  /// Adds what the tokens of the chunk contribute, and stores the gradients of queries and keys.
  void keyGradients() {
    loops.forRowsOfColumns(c.count, chunk, scan.key, [&](Index t, Index i, unsigned lanes) {
      Index place = t * scan.key + i, result = gateOf(t) * scan.key + i;
      Num query =
          loops.sum(e.index(0), t + 1, at(parts.byQuery, place, lanes), [&](Index s, Num before) {
            return fma(at(parts.ofQueries, t * chunk + s), k(s, i, lanes), before);
          });
      Num column =
          loops.sum(t, c.count, at(parts.asColumn, place, lanes), [&](Index s, Num before) {
            return fma(at(parts.ofQueries, s * chunk + t), q(s, i, lanes), before);
          });
      Num all = column;
      if (hasDelta) {
        column = loops.sum(t + 1, c.count, column, [&](Index s, Num before) {
          return fma(at(parts.ofKeys, s * chunk + t), k(s, i, lanes), before);
        });
        Num row = loops.sum(e.index(0), t, at(parts.asRow, place, lanes), [&](Index s, Num before) {
          return fma(at(parts.ofKeys, t * chunk + s), k(s, i, lanes), before);
        });
        store(parts.asRow, place, row);
        all = column + row;
      }
      store(parts.byQuery, place, query);
      store(parts.asColumn, place, column);
      e.store(e.result(0), result, query);
      e.store(e.result(1), result, all);
    });
  }

  void slopes() {
    loops.forPairs(c.count, chunk, 1, [&](Index t, Index) {
      store(parts.slopes, t, loops.ownSum(scan.key, [&](Index i, unsigned lanes) {
        Index place = t * scan.key + i;
        Num ofKey = -at(parts.asColumn, place, lanes);
        if (hasDelta)
          ofKey = at(parts.asRow, place, lanes) + ofKey;
        return q(t, i, lanes) * at(parts.byQuery, place, lanes) + k(t, i, lanes) * ofKey;
      }));
    });
  }

  /// A decay changes the sums of its own token, of later ones and of the chunk's end.
  void decayGradients() {
    Index end = stateOf(c.number);
    Num atEnd = sumOver(e, scan.stateElements(), [&](Index i, unsigned lanes) {
      return at(parts.stateGradient, i, lanes) * e.load(e.operand(5), end + i, lanes);
    });
    loops.sum(e.index(0), c.count, atEnd, [&](Index after, Num later) {
      Index t = c.count - 1 - after;
      Num sum = later + at(parts.slopes, t);
      e.store(e.result(3), gateOf(t), sum);
      return sum;
    });
  }

  /// Replaces the gradient of the state after the chunk by that of the state before it.
  void carryGradient() {
    loops.forRowsOfColumns(
        e.index(scan.key), scan.key, scan.value, [&](Index i, Index j, unsigned lanes) {
          Num initial = stateGradient(i, j, lanes) * left(c.count - 1);
          Num sum = loops.sum(e.index(0), c.count, initial, [&](Index t, Num before) {
            Num next = fma(q(t, i) * left(t) * scale, dy(t, j, lanes), before);
            return hasDelta ? next - k(t, i) * left(t) * strength(t) * du(t, j, lanes) : next;
          });
          store(parts.stateGradient, i * scan.value + j, sum);
        });
  }

  KernelEmitter &e;
  ChunkLoops loops;
  StateScan scan;
  int64_t chunk;
  ScanWorkspace parts;
  bool hasDelta;
  double scale;
  Index batch, head;
  Buffer workspace;
  Index base;
  Chunk c;
};

struct StateScanGradKernel : KernelModel<StateScanGradKernel, StateScanGradOp> {
  static void emit(StateScanGradOp op, KernelEmitter &e) {
    const StateScan scan(op);
    forEachParallel(e, scan.batch * scan.heads,
                    [&](Index number) { ChunkGradient(e, op, number).emit(); });
  }
};

} // namespace

void llmmem::attachRecurrentGradKernel(MLIRContext *context) {
  attachKernels<StateScanGradKernel>(context);
}
