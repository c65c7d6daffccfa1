//===- NamedPlaces.cpp - The places of a plan, by op, run and result --------===//

#include "NamedPlaces.h"
#include "HostArena.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Interfaces/Bytes.h"
#include <map>

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;
using llm::PlaceAttr;
using planning::OpIndex;
using planning::ValueIndex;

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

namespace {
class PlaceWriter {
public:
  PlaceWriter(MLIRContext *context, const ExtractedProblem &extracted, const StepStorage &storage,
              const planning::Plan &plan)
      : context(context), extracted(extracted), storage(storage), plan(plan),
        host(placeForUpdates(extracted, storage)) {
    for (const planning::InstanceOffset &entry : plan.offsets)
      offsets[{entry.step, entry.value}] = entry.offset;
    for (const planning::WorkspaceOffset &entry : plan.workspaces)
      workspaces[entry.step] = entry.offset;
  }

  ArrayAttr write(ArrayRef<int64_t> schedule) {
    llvm::DenseMap<int64_t, int64_t> runs;
    for (auto [step, number] : llvm::enumerate(schedule))
      addRun(step, number, runs[number]++);
    return ArrayAttr::get(context, places);
  }

private:
  void addRun(int32_t step, int64_t number, int64_t instance) {
    auto add = [&](std::optional<int64_t> result, int64_t bytes, int64_t offset) {
      places.push_back(PlaceAttr::get(context, number, instance, result, bytes, offset));
    };
    const planning::Op &op = extracted.problem.ops[plan.steps[step]];
    if (plan.steps[step] >= static_cast<OpIndex>(extracted.ops.size())) { // a copy, of one value
      const ValueIndex copied = op.writes.front();
      const Value onDevice =
          extracted.values[copied] ? extracted.values[copied] : extracted.values[op.reads.front()];
      const int64_t base = extracted.values[copied] ? 0 : host.bytes;
      return add(0, bytesOfType(onDevice.getType()), base + offsets.lookup({step, copied}));
    }
    for (OpResult result : extracted.ops[plan.steps[step]]->getResults())
      if (storage.hasOwnBytes(result))
        add(result.getResultNumber(), bytesOfType(result.getType()), offsetOf(step, result));
    if (op.workspace > 0)
      add(std::nullopt, op.workspace, workspaces.lookup(step));
  }

  /// The plan does not contain what updates hold in the host's arena, which precedes the values
  /// that leave.
  int64_t offsetOf(int32_t step, OpResult result) const {
    if (auto known = host.offsets.find(result); known != host.offsets.end())
      return known->second;
    const int64_t base = llm::isOnHost(result.getType()) ? host.bytes : 0;
    return base + offsets.lookup({step, extracted.indexOf.lookup(result)});
  }

  MLIRContext *context;
  const ExtractedProblem &extracted;
  const StepStorage &storage;
  const planning::Plan &plan;
  const HostArena host;
  llvm::DenseMap<std::pair<int32_t, ValueIndex>, int64_t> offsets; // by the plan's step and value
  llvm::DenseMap<int32_t, int64_t> workspaces;                     // by the plan's step
  SmallVector<Attribute> places;
};
} // namespace

void llmmem::writeNamedPlaces(func::FuncOp step, const ExtractedProblem &extracted,
                              const StepStorage &storage, const planning::Plan &plan,
                              ArrayRef<int64_t> schedule) {
  step->setAttr(LlmDialect::kPlaces,
                PlaceWriter(step.getContext(), extracted, storage, plan).write(schedule));
}

//===----------------------------------------------------------------------===//
// Finding
//===----------------------------------------------------------------------===//

namespace {
/// Holds the op, the run and the result; the place of a workspace has no result.
using PlaceName = std::tuple<int64_t, int64_t, std::optional<int64_t>>;

class PlaceFinder {
public:
  PlaceFinder(func::FuncOp step, ArrayRef<RunFootprint> footprints)
      : step(step), footprints(footprints), runs(footprints.size(), 0) {}

  FailureOr<std::vector<RunPlaces>> run(ArrayRef<int64_t> schedule) {
    if (failed(read()))
      return failure();
    std::vector<RunPlaces> found;
    for (int64_t number : schedule)
      if (failed(findRun(number, runs[number]++, found.emplace_back())))
        return failure();
    if (!named.empty())
      return refuse(named.begin()->second);
    return found;
  }

private:
  static PlaceName nameOf(PlaceAttr place) {
    return {place.getOp(), place.getInstance(), place.getResult()};
  }

  LogicalResult read() {
    for (auto place : step->getAttrOfType<ArrayAttr>(LlmDialect::kPlaces).getAsRange<PlaceAttr>())
      if (!named.try_emplace(nameOf(place), place).second)
        return step.emitError() << "'" << LlmDialect::kPlaces << "' has two places of "
                                << wordsOf(nameOf(place)) << ", expected one; " << kPlanItAgain;
    return success();
  }

  LogicalResult findRun(int64_t number, int64_t instance, RunPlaces &places) {
    const RunFootprint &footprint = footprints[number];
    places.results.resize(footprint.results.size());
    for (auto [result, bytes] : llvm::enumerate(footprint.results))
      if (bytes &&
          failed(take(footprint.op, {number, instance, result}, *bytes, places.results[result])))
        return failure();
    return footprint.workspace == 0 ? success()
                                    : take(footprint.op, {number, instance, std::nullopt},
                                           footprint.workspace, places.workspace);
  }

  LogicalResult take(Operation *op, const PlaceName &name, int64_t bytes,
                     std::optional<int64_t> &offset) {
    auto found = named.find(name);
    if (found == named.end())
      return op->emitError() << "'" << LlmDialect::kPlaces << "' has no place of " << wordsOf(name)
                             << ", which has " << bytes << " bytes; " << kPlanItAgain;
    PlaceAttr place = found->second;
    if (place.getBytes() != bytes)
      return op->emitError() << "'" << LlmDialect::kPlaces << "' has a place of "
                             << place.getBytes() << " bytes for " << wordsOf(name) << ", which has "
                             << bytes << "; " << kPlanItAgain;
    named.erase(found);
    offset = place.getOffset();
    return success();
  }

  /// Says what a place is of, which no run has a use for.
  LogicalResult refuse(PlaceAttr place) {
    const int64_t number = place.getOp();
    const bool isKnown = number < static_cast<int64_t>(footprints.size());
    InFlightDiagnostic error = (isKnown ? footprints[number].op : step.getOperation())->emitError();
    error << "'" << LlmDialect::kPlaces << "' has a place of " << wordsOf(nameOf(place))
          << ", but ";
    if (!isKnown)
      error << "the step has ops 0 to " << footprints.size() - 1 << " alone";
    else if (place.getInstance() >= runs[number])
      error << "'" << LlmDialect::kSchedule << "' has only " << runs[number] << " of its runs";
    else if (!place.getResult())
      error << "it has none";
    else if (*place.getResult() >= static_cast<int64_t>(footprints[number].results.size()))
      error << "the op has only " << footprints[number].results.size() << " results";
    else
      error << "its bytes are those of another value";
    return error << "; " << kPlanItAgain;
  }

  static std::string wordsOf(const PlaceName &name) {
    auto [op, instance, result] = name;
    std::string what = result ? "result " + std::to_string(*result) : "the workspace";
    return what + " of run " + std::to_string(instance) + " of op " + std::to_string(op);
  }

  func::FuncOp step;
  const ArrayRef<RunFootprint> footprints;
  SmallVector<int64_t> runs;            // how often each number of the schedule has run
  std::map<PlaceName, PlaceAttr> named; // that no run has taken yet
};
} // namespace

FailureOr<std::vector<RunPlaces>> llmmem::findNamedPlaces(func::FuncOp step,
                                                          ArrayRef<int64_t> schedule,
                                                          ArrayRef<RunFootprint> footprints) {
  return PlaceFinder(step, footprints).run(schedule);
}
