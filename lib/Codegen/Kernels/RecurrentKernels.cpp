//===- RecurrentKernels.cpp - Carrying states along a sequence ------------===//
//
// The columns of a state do not depend on each other, so each is carried by itself: a CPU carries a
// vector of columns through all tokens, a GPU one column in each thread.
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

/// Has the buffers and the sizes of a scan, and carries some columns of one head's state.
class Columns {
public:
  template <typename Scan>
  Columns(KernelEmitter &e, Scan op)
      : e(e), scan(op), hasDelta(op.getDelta()), scale(op.getScale().convertToDouble()) {}

  using Body = function_ref<void(Index number, Index column, unsigned lanes)>;

  /// Runs `body` for the columns of all heads, numbered over the batch.
  void forAll(Body body) const {
    const int64_t heads = scan.batch * scan.heads, count = heads * scan.value;
    if (e.options().target != KernelTarget::Gpu)
      return forRows(e, heads, {scan.value}, [&](Index number) {
        forLanes(e, scan.value, [&](Index column, unsigned lanes) { body(number, column, lanes); });
      });
    constexpr int64_t kThreads = 64; // Few columns must still fill a GPU.
    deviceLoops(e).launch(
        e, llvm::divideCeil(count, kThreads), kThreads, [&](Index block, Index thread) {
          Index place = block * kThreads + thread;
          auto run = [&] { body(place / scan.value, place % scan.value, 1); };
          count % kThreads == 0 ? run() : ifThen(e, less(place, e.index(count)), run);
        });
  }

  void copy(Buffer to, Index toBegin, Buffer from, Index fromBegin, unsigned lanes) const {
    forEach(e, scan.key, [&](Index i) {
      e.store(to, toBegin + i * scan.value, e.load(from, fromBegin + i * scan.value, lanes));
    });
  }
  void clear(Buffer to, Index begin, unsigned lanes) const {
    forEach(e, scan.key,
            [&](Index i) { e.store(to, begin + i * scan.value, e.splat(0.0, lanes)); });
  }

  /// Carries columns of `state`, which begin at element `begin`, over token `s` of the sequence of
  /// head `number`, and stores what the token's query reads.
  void step(Index number, Index s, Buffer state, Index begin, Index column, unsigned lanes) const {
    Index batch = number / scan.heads, head = number % scan.heads;
    Index token = batch * scan.seq + s, gate = token * scan.heads + head;
    Index key = (token * scan.groups + head / (scan.heads / scan.groups)) * scan.key;
    Index value = gate * scan.value + column;
    Num left = exp(e.load(e.operand(3), gate));
    Num update = e.load(e.operand(2), value, lanes);
    auto element = [&](Index i) { return e.load(state, begin + i * scan.value, lanes); };
    if (hasDelta)
      update = update - left * sumOfKey(lanes, [&](Index i, Num sum) {
                          return fma(e.load(e.operand(1), key + i), element(i), sum);
                        });
    update = update * e.load(e.operand(4), gate);
    Num read = sumOfKey(lanes, [&](Index i, Num sum) {
      Num next = fma(e.load(e.operand(1), key + i), update, left * element(i));
      e.store(state, begin + i * scan.value, next);
      return fma(e.load(e.operand(0), key + i), next, sum);
    });
    e.store(e.result(0), value, scale == 1.0 ? read : read * scale);
  }

private:
  /// Sums over the key in four chains, which do not wait for each other.
  Num sumOfKey(unsigned lanes, function_ref<Num(Index, Num sum)> add) const {
    const int64_t chains = scan.key % 4 == 0 ? 4 : 1;
    Row sums = foldSteps(e, e.index(0), e.index(scan.key), chains, Row(chains, e.splat(0.0, lanes)),
                         [&](Index i, ArrayRef<Num> carried) {
                           Row next;
                           for (int64_t chain = 0; chain < chains; ++chain)
                             next.push_back(add(i + chain, carried[chain]));
                           return next;
                         });
    return chains == 1 ? sums[0] : (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }

public:
  KernelEmitter &e;
  const StateScan scan;

private:
  bool hasDelta;
  double scale;
};

struct StateScanKernel : KernelModel<StateScanKernel, StateScanOp> {
  static void emit(StateScanOp op, KernelEmitter &e) {
    const Columns columns(e, op);
    const StateScan &scan = columns.scan;
    const auto chunk = static_cast<int64_t>(op.getChunk());
    Buffer states = e.result(1);
    columns.forAll([&](Index number, Index column, unsigned lanes) {
      Index batch = number / scan.heads, head = number % scan.heads;
      auto placeOf = [&](Index c) {
        Index state = (batch * scan.chunks(chunk) + c) * scan.heads + head;
        return state * scan.stateElements() + column;
      };
      columns.clear(states, placeOf(e.index(0)), lanes);
      forEach(e, scan.chunks(chunk), [&](Index c) {
        ifThen(e, less(e.index(0), c),
               [&] { columns.copy(states, placeOf(c), states, placeOf(c - 1), lanes); });
        forEach(e, c * chunk, minimum((c + 1) * chunk, e.index(scan.seq)),
                [&](Index s) { columns.step(number, s, states, placeOf(c), column, lanes); });
      });
    });
  }
};

struct CachedScanKernel : KernelModel<CachedScanKernel, CachedScanOp> {
  static void emit(CachedScanOp op, KernelEmitter &e) {
    const Columns columns(e, op);
    const StateScan &scan = columns.scan;
    Buffer state = e.result(1);
    columns.forAll([&](Index number, Index column, unsigned lanes) {
      Index begin = number * scan.stateElements() + column;
      columns.copy(state, begin, e.operand(5), begin, lanes); // The result may lie elsewhere.
      forEach(e, scan.seq, [&](Index s) {
        Index token = number / scan.heads * scan.seq + s,
              position = e.loadIndex(e.operand(6), token);
        ifThen(e, equal(position, e.index(0)), [&] { columns.clear(state, begin, lanes); });
        ifThen(e, less(position, e.index(0)), [&] {
          Index value = (token * scan.heads + number % scan.heads) * scan.value + column;
          e.store(e.result(0), value, e.splat(0.0, lanes));
        });
        ifThen(e, less(e.index(-1), position),
               [&] { columns.step(number, s, state, begin, column, lanes); });
      });
    });
  }
};

} // namespace

void llmmem::attachRecurrentKernels(MLIRContext *context) {
  attachKernels<StateScanKernel, CachedScanKernel>(context);
}
