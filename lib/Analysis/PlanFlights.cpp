//===- PlanFlights.cpp - What is in flight, and who may touch it ------------===//
//
// That nothing but started collectives reads what is not there yet is the verifier of the ops
// (`verifyStart`): they read the result of the wait. What remains are bytes.
//
//===----------------------------------------------------------------------===//

#include "PlanFlights.h"
#include "llmmem/Dialect/LlmOps.h"
#include <list>

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

namespace {
class FlightVerifier {
public:
  FlightVerifier(func::FuncOp step, const DerivedPlaces &places)
      : body(step.getBody().front()), places(places) {}

  LogicalResult run() {
    for (Operation &op : body.without_terminator()) {
      if (auto wait = dyn_cast<llm::WaitOp>(op)) {
        land(wait);
        continue;
      }
      // Started ones run one after another.
      if (!llm::isStarted(&op))
        checkWrites(op);
      else
        inFlight.push_back({&op, usedBy(op, /*withReads=*/true)});
    }
    for (const Flight &left : inFlight)
      fail(left.op) << "is still in flight where the step ends";
    return failure(broken);
  }

private:
  /// `home` null: of the arena.
  struct Used {
    BlockArgument home;
    int64_t begin, end;
  };
  struct Flight {
    Operation *op;
    SmallVector<Used> used;
  };

  InFlightDiagnostic fail(Operation *op) {
    broken = true;
    return op->emitError() << "[flight] ";
  }

  Used placeOf(Value value) const {
    Value storage = places.source.lookup(value);
    int64_t begin = places.offsetOf.lookup(storage);
    return {places.homeOf.lookup(storage), begin, begin + bytesOfType(storage.getType())};
  }

  SmallVector<Used> usedBy(Operation &op, bool withReads) const {
    SmallVector<Used> used;
    for (Value result : op.getResults())
      if (places.source.lookup(result) == result)
        used.push_back(placeOf(result));
    if (auto workspace = op.getAttrOfType<DenseI64ArrayAttr>(LlmDialect::kWorkspace);
        workspace && workspace.size() == 2)
      used.push_back({nullptr, workspace[0], workspace[0] + workspace[1]});
    if (withReads)
      for (Value operand : op.getOperands())
        used.push_back(placeOf(operand));
    return used;
  }

  static bool share(const Used &a, const Used &b) {
    if (a.home || b.home)
      return a.home == b.home;
    return a.begin < b.end && b.begin < a.end;
  }

  void checkWrites(Operation &op) {
    SmallVector<Used> written = usedBy(op, /*withReads=*/false);
    for (const Flight &flight : inFlight)
      for (const Used &mine : written)
        if (llvm::any_of(flight.used, [&](const Used &its) { return share(mine, its); })) {
          InFlightDiagnostic error = fail(&op);
          error << "overwrites bytes that '" << flight.op->getName().getStringRef()
                << "' has in flight; expected its 'llm.wait' before this op";
          error.attachNote(flight.op->getLoc()) << "which starts here";
          return;
        }
  }

  void land(llm::WaitOp wait) {
    Operation *awaited = wait.getStart();
    if (!inFlight.empty() && inFlight.front().op == awaited) {
      inFlight.pop_front();
      return;
    }
    InFlightDiagnostic error = fail(wait);
    error << "stands before the wait for what started earlier; expected waits in the order of the "
             "starts";
    if (!inFlight.empty())
      error.attachNote(inFlight.front().op->getLoc()) << "which starts here";
    inFlight.remove_if([&](const Flight &flight) { return flight.op == awaited; });
  }

  Block &body;
  const DerivedPlaces &places;
  std::list<Flight> inFlight;
  bool broken = false;
};
} // namespace

LogicalResult llmmem::verifyFlights(func::FuncOp step, const DerivedPlaces &places) {
  return FlightVerifier(step, places).run();
}
