//===- MeasuredTimes.cpp - The times of a step that ran --------------------------===//

#include "llmmem/Planning/Formats/PlanTimeline.h"
#include "llmmem/Support/JsonTree.h"
#include "llvm/Support/MathExtras.h"

using namespace llmmem;
using namespace llmmem::planning;

static llvm::Error refuse(const llvm::Twine &what) {
  return llvm::createStringError(what +
                                 "; expected what llmmem-run --profile-json writes of the step "
                                 "of this plan");
}

llvm::Error planning::takeMeasuredTimes(const Problem &problem, PlanTimeline &timeline,
                                        llvm::StringRef profile) {
  llvm::Expected<llvm::json::Value> tree = parseJsonTree(profile);
  if (!tree)
    return tree.takeError();
  const llvm::json::Object *object = tree->getAsObject();
  const llvm::json::Array *calls = object ? object->getArray("calls") : nullptr;
  if (!calls || object->getString("format") != "llmmem-profile")
    return refuse("is no llmmem-profile");
  if (calls->size() != timeline.steps.size())
    return refuse("has " + llvm::Twine(calls->size()) + " calls, the plan has " +
                  llvm::Twine(timeline.steps.size()) + " steps");
  int64_t now = 0;
  for (auto [number, value] : llvm::enumerate(*calls)) {
    TimelineStep &step = timeline.steps[number];
    const llvm::json::Object *call = value.getAsObject();
    const std::optional<int64_t> ns = call ? call->getInteger("ns") : std::nullopt;
    if (!ns || *ns < 0)
      return refuse("call " + llvm::Twine(number) + " has no 'ns' from 0 up");
    const std::string name = nameOfResult(problem, problem.ops[step.op]);
    if (call->getString("name") != llvm::StringRef(name) ||
        call->getBoolean("recomputed") != (step.run > 0))
      return refuse("call " + llvm::Twine(number) + " is of '" +
                    call->getString("name").value_or("") + "', step " + llvm::Twine(number) +
                    " of '" + name + "'" + (step.run > 0 ? ", run again" : ""));
    step.start = now;
    if (llvm::AddOverflow(now, *ns, now))
      return refuse("calls add up to 2^63 ns or more with call " + llvm::Twine(number));
    step.end = now;
  }
  timeline.isMeasured = true;
  return llvm::Error::success();
}
