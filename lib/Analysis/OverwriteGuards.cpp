//===- OverwriteGuards.cpp - When arguments may be overwritten -------------===//

#include "OverwriteGuards.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

using namespace llmmem;
using planning::OpIndex;
using planning::ValueIndex;

namespace {
class GuardFinder {
public:
  GuardFinder(const planning::Problem &problem, llvm::ArrayRef<Overwrite> overwrites)
      : problem(problem), overwrites(overwrites), readers(problem.values.size()),
        writer(problem.values.size(), -1), isKept(problem.values.size(), false) {
    for (OpIndex op = 0; op < count(); ++op) {
      for (ValueIndex value : problem.ops[op].reads)
        readers[value].push_back(op);
      for (ValueIndex value : problem.ops[op].writes)
        writer[value] = op;
    }
    for (ValueIndex value : problem.keep)
      isKept[value] = true;
  }

  OverwriteGuards run() {
    findTail();
    pinTail();
    for (const Overwrite &overwrite : overwrites)
      orderAfterReaders(overwrite);
    return std::move(guards);
  }

private:
  OpIndex count() const { return problem.ops.size(); }

  /// Marks what depends on what is marked.
  void spread(std::vector<bool> &marked) const {
    for (OpIndex op = 0; op < count(); ++op)
      for (ValueIndex value : problem.ops[op].reads)
        if (writer[value] >= 0 && marked[writer[value]])
          marked[op] = true;
  }

  bool allReadersIn(ValueIndex value, const std::vector<bool> &marked) const {
    return !isKept[value] &&
           llvm::all_of(readers[value], [&](OpIndex reader) { return marked[reader]; });
  }

  void findTail() {
    tail.assign(count(), false);
    for (const Overwrite &overwrite : overwrites)
      tail[overwrite.op] = true;
    spread(tail);
    // This marks what nothing but the tail reads in the end.
    std::vector<bool> serves = tail;
    for (OpIndex op = count() - 1; op >= 0; --op)
      serves[op] = serves[op] || (!problem.ops[op].writes.empty() &&
                                  llvm::all_of(problem.ops[op].writes, [&](ValueIndex value) {
                                    return allReadersIn(value, serves);
                                  }));
    // Of that, this keeps what reads nothing that others read: a gradient's scaling, not the
    // gradient's product.
    for (OpIndex op = 0; op < count(); ++op)
      if (serves[op] && llvm::all_of(problem.ops[op].reads, [&](ValueIndex value) {
            return writer[value] < 0 || allReadersIn(value, serves);
          }))
        tail[op] = true;
  }

  void pinTail() {
    std::vector<bool> once(count(), false);
    for (OpIndex op = 0; op < count(); ++op) {
      if (isReturned(op))
        once[op] = true;
      if (!tail[op])
        continue;
      once[op] = true;
      for (ValueIndex value : problem.ops[op].reads)
        if (writer[value] >= 0)
          once[writer[value]] = true;
    }
    for (OpIndex op = 0; op < count(); ++op)
      if (once[op])
        guards.once.push_back(op);
  }

  /// A value that is returned would be recomputed last, after everything.
  bool isReturned(OpIndex op) const {
    return llvm::any_of(problem.ops[op].writes, [&](ValueIndex value) { return isKept[value]; });
  }

  /// Waiting for the last of those that depend on the argument is waiting for all; and for the
  /// overwriting op before, which has waited for some of them.
  void orderAfterReaders(const Overwrite &overwrite) {
    std::vector<bool> depends(count(), false);
    for (OpIndex reader : readers[overwrite.argument])
      depends[reader] = true;
    spread(depends);
    bool waits = false;
    for (OpIndex op = 0; op < count(); ++op) {
      if (!depends[op] || tail[op])
        continue;
      waits = true;
      bool isLast = llvm::all_of(problem.ops[op].writes, [&](ValueIndex value) {
        return llvm::all_of(readers[value], [&](OpIndex reader) { return tail[reader]; });
      });
      if (isLast && waitedFor.insert(op).second)
        guards.order.push_back({overwrite.op, op});
    }
    if (!waits)
      return;
    if (before >= 0 && before != overwrite.op)
      guards.order.push_back({overwrite.op, before});
    before = overwrite.op;
  }

  const planning::Problem &problem;
  llvm::ArrayRef<Overwrite> overwrites;
  std::vector<std::vector<OpIndex>> readers;
  std::vector<OpIndex> writer;
  std::vector<bool> isKept, tail;
  llvm::DenseSet<OpIndex> waitedFor;
  OpIndex before = -1;
  OverwriteGuards guards;
};
} // namespace

OverwriteGuards llmmem::guardOverwrites(const planning::Problem &problem,
                                        llvm::ArrayRef<Overwrite> overwrites) {
  return GuardFinder(problem, overwrites).run();
}
