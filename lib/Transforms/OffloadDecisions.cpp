//===- OffloadDecisions.cpp - What leaves for the host, asked and written ---===//

#include "OffloadDecisions.h"
#include "HostArena.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Layout/ResidentBytes.h"
#include "llmmem/Transforms/StateOnHost.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;
using planning::OpIndex;

/// A rate that is too large for 64 bits is the largest one: no copy is priced below its time.
static int64_t perSecond(int64_t bytesPerNs) {
  return llvm::checkedMul<int64_t>(bytesPerNs, 1'000'000'000).value_or(INT64_MAX);
}

std::optional<planning::HostLink> llmmem::linkToHost(std::optional<planning::HostLink> given,
                                                     std::optional<int64_t> latency,
                                                     const DeviceModel &device) {
  std::optional<planning::HostLink> link = given;
  if (const DeviceLink *own = device.linkTo(DeviceLink::To::Host); own && !link)
    link = planning::HostLink{perSecond(own->upBytesPerNs), perSecond(own->downBytesPerNs),
                              own->latencyNs};
  if (link && latency)
    link->latency = *latency;
  return link;
}

LogicalResult llmmem::emitNoLink(func::FuncOp step, const DeviceModel &device) {
  return step.emitError()
         << "has values on the host (--host-budget, --optimizer-on), and the table "
            "of '"
         << device.name << "' has no link there; say what it moves: --link=25GB/s";
}

int64_t llmmem::residentOnHost(func::FuncOp step) { return StepResidents(step).host.allocated; }

LogicalResult llmmem::addHostCopies(func::FuncOp step, const CheckpointRequest &request,
                                    const DeviceModel &device, ArrayRef<StepVariant> alternatives,
                                    planning::VariantSet &variants) {
  if (!request.host.budget)
    return success();
  std::optional<planning::HostLink> link =
      linkToHost(request.host.link, request.host.linkLatency, device);
  if (!link)
    return emitNoLink(step, device);
  int64_t ofUpdates = 0;
  for (const StepVariant &it : alternatives)
    ofUpdates = std::max(ofUpdates, placeForUpdates(it.extracted, it.storage).bytes);
  int64_t left = *request.host.budget - residentOnHost(step) - ofUpdates;
  if (left < 0) {
    InFlightDiagnostic error = step.emitError();
    error << "--host-budget: what lies on the host throughout, " << residentOnHost(step)
          << " bytes, ";
    if (ofUpdates > 0)
      error << "and what its updates hold there, " << ofUpdates << ", together exceed";
    else
      error << "exceeds";
    return error << " the budget of " << *request.host.budget << "; give more";
  }
  for (planning::ProblemVariant &variant : variants.alternatives) {
    Result<planning::Problem> copied = planning::withHostCopies(variant.problem, left, *link);
    if (!copied)
      return step.emitError() << "--host-budget: " << copied.error();
    variant.problem = std::move(*copied);
  }
  return success();
}

SmallVector<int64_t> llmmem::writeCopies(func::FuncOp step, const ExtractedProblem &extracted,
                                         const planning::Plan &plan) {
  const auto ops = static_cast<OpIndex>(extracted.ops.size());
  llvm::DenseMap<Operation *, int64_t> numberOf;
  for (auto [number, op] : llvm::enumerate(extracted.ops))
    numberOf[op] = number;
  llvm::DenseMap<OpIndex, int64_t> listed; // by the pair's copy to the host
  SmallVector<int64_t> copies, schedule;
  for (OpIndex index : plan.steps) {
    if (index < ops) {
      schedule.push_back(index);
      continue;
    }
    // Each value's copy to the host comes before its copy to the device (withHostCopies).
    OpIndex side = (index - ops) % 2, up = index - side;
    auto [it, isNew] = listed.try_emplace(up, listed.size());
    if (isNew) {
      auto value = cast<OpResult>(extracted.values[extracted.problem.ops[up].reads.front()]);
      llvm::append_values(copies, numberOf.lookup(value.getOwner()),
                          static_cast<int64_t>(value.getResultNumber()),
                          extracted.problem.ops[up].cost, extracted.problem.ops[up + 1].cost);
    }
    schedule.push_back(ops + 2 * it->second + side);
  }
  if (!copies.empty())
    step->setAttr(LlmDialect::kCopies, Builder(step.getContext()).getDenseI64ArrayAttr(copies));
  return schedule;
}
