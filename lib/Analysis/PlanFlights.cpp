//===- PlanFlights.cpp - What is in flight, and who may touch it ------------===//
//
// The verifier of the ops (`verifyStart`) checks that only what runs after a start reads what is
// not there yet: all else reads the result of the wait. What remains are bytes.
//
//===----------------------------------------------------------------------===//

#include "PlanFlights.h"
#include "PlanBytes.h"
#include "llmmem/Dialect/LlmOps.h"
#include <array>
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
      checkWrites(op);
      if (llm::isStarted(&op))
        queueOf(op).push_back({&op, usedBy(op, /*withReads=*/true)});
    }
    for (const Flights &flights : queues)
      for (const Flight &left : flights)
        fail(left.op) << "is still in flight where the step ends";
    return failure(broken);
  }

private:
  /// Holds a use; where `home` is null it is of the arena of its memory.
  struct Used {
    BlockArgument home;
    int64_t begin, end;
    bool onHost;
  };
  struct Flight {
    Operation *op;
    SmallVector<Used> used;
  };
  using Flights = std::list<Flight>;

  Flights &queueOf(Operation &start) { return queues[static_cast<size_t>(llm::queueOf(&start))]; }

  InFlightDiagnostic fail(Operation *op) {
    broken = true;
    return op->emitError() << "[flight] ";
  }

  Used placeOf(Value value) const {
    Value storage = places.source.lookup(value);
    int64_t begin = places.offsetOf.lookup(storage);
    return {places.homeOf.lookup(storage), begin, begin + planBytesOf(storage),
            llm::isOnHost(storage.getType())};
  }

  SmallVector<Used> usedBy(Operation &op, bool withReads) const {
    SmallVector<Used> used;
    for (Value result : op.getResults())
      if (places.source.lookup(result) == result)
        used.push_back(placeOf(result));
    if (auto workspace = op.getAttrOfType<DenseI64ArrayAttr>(LlmDialect::kWorkspace);
        workspace && workspace.size() == 2)
      used.push_back({nullptr, workspace[0], workspace[0] + workspace[1], /*onHost=*/false});
    if (withReads)
      for (Value operand : op.getOperands())
        used.push_back(placeOf(operand));
    return used;
  }

  static bool share(const Used &a, const Used &b) {
    if (a.home || b.home)
      return a.home == b.home;
    return a.onHost == b.onHost && a.begin < b.end && b.begin < a.end;
  }

  /// Starts of a queue run one after another.
  void checkWrites(Operation &op) {
    SmallVector<Used> written = usedBy(op, /*withReads=*/false);
    for (const Flights &flights : queues)
      if (!llm::isStarted(&op) || &flights != &queueOf(op))
        for (const Flight &flight : flights)
          if (failed(checkWrites(op, written, flight)))
            return;
  }

  LogicalResult checkWrites(Operation &op, ArrayRef<Used> written, const Flight &flight) {
    for (const Used &mine : written)
      if (llvm::any_of(flight.used, [&](const Used &its) { return share(mine, its); })) {
        InFlightDiagnostic error = fail(&op);
        error << "overwrites bytes that '" << flight.op->getName().getStringRef()
              << "' has in flight; expected its 'llm.wait' before this op";
        error.attachNote(flight.op->getLoc()) << "which starts here";
        return failure();
      }
    return success();
  }

  void land(llm::WaitOp wait) {
    Operation *awaited = wait.getStart();
    Flights &inFlight = queueOf(*awaited);
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
  std::array<Flights, llm::kStartQueues> queues;
  bool broken = false;
};
} // namespace

LogicalResult llmmem::verifyFlights(func::FuncOp step, const DerivedPlaces &places) {
  return FlightVerifier(step, places).run();
}
