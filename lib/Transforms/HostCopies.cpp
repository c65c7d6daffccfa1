//===- HostCopies.cpp - What leaves for the host, asked and written ---------===//

#include "HostCopies.h"
#include "llmmem/Dialect/LlmDialect.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;
using planning::OpIndex;

/// Nothing where neither the request nor the device's table has a link to the host.
static std::optional<planning::HostLink> linkOf(const CheckpointRequest &request,
                                                const DeviceModel &device) {
  constexpr int64_t nanoseconds = 1'000'000'000;
  std::optional<planning::HostLink> link = request.link;
  if (const DeviceLink *own = device.linkTo(DeviceLink::To::Host); own && !link)
    link = planning::HostLink{nanoseconds * own->upBytesPerNs, nanoseconds * own->downBytesPerNs,
                              own->latencyNs};
  if (link && request.linkLatency)
    link->latency = *request.linkLatency;
  return link;
}

LogicalResult llmmem::addHostCopies(func::FuncOp step, const CheckpointRequest &request,
                                    const DeviceModel &device, planning::StepForms &forms) {
  if (!request.hostBudget)
    return success();
  std::optional<planning::HostLink> link = linkOf(request, device);
  if (!link)
    return step.emitError() << "has a budget of the host (--host-budget), and the table of '"
                            << device.name
                            << "' has no link there; say what it moves: --link=25GB/s";
  for (planning::AlternativeProblem &form : forms.alternatives) {
    Result<planning::Problem> copied =
        planning::withHostCopies(form.problem, *request.hostBudget, *link);
    if (!copied)
      return step.emitError() << "--host-budget: " << copied.error();
    form.problem = std::move(*copied);
  }
  return success();
}

SmallVector<int64_t> llmmem::writeCopies(func::FuncOp step, const ExtractedProblem &extracted,
                                         const planning::Plan &plan) {
  const auto ops = static_cast<OpIndex>(extracted.ops.size());
  llvm::DenseMap<Operation *, int64_t> numberOf;
  for (auto [number, op] : llvm::enumerate(extracted.ops))
    numberOf[op] = number;
  llvm::DenseMap<OpIndex, int64_t> listed; // by the pair's copy up
  SmallVector<int64_t> copies, schedule;
  for (OpIndex index : plan.steps) {
    if (index < ops) {
      schedule.push_back(index);
      continue;
    }
    // Each value's copy up stands before its copy down (withHostCopies).
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
