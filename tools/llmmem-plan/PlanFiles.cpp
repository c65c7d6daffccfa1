//===- PlanFiles.cpp - A plan for other programs -------------------------------===//

#include "PlanFiles.h"
#include "llmmem/Planning/Formats/PlanTimeline.h"
#include "llmmem/Support/TextFile.h"

using namespace llmmem;
using namespace llmmem::planning;

llvm::Error planning::writePlanFiles(const Problem &problem, const Plan &plan,
                                     const PlanFiles &files) {
  const bool isPlan = !plan.steps.empty() || problem.ops.empty();
  if (!isPlan || (files.timeline.empty() && files.trace.empty()))
    return llvm::Error::success();
  PlanTimeline timeline = timelineOf(problem, plan);
  // Two countings of the same bytes: never draw what the plan does not say.
  if (timeline.peak != plan.peak)
    return llvm::createStringError("the timeline has a peak of " + llvm::Twine(timeline.peak) +
                                   " bytes, the plan of " + llvm::Twine(plan.peak) +
                                   "; please report this");
  if (!files.profile.empty()) {
    llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> profile =
        readTextFile(files.profile, FileKind::Program);
    if (!profile)
      return profile.takeError();
    if (llvm::Error error = takeMeasuredTimes(problem, timeline, (*profile)->getBuffer()))
      return llvm::createStringError(files.profile + ": " + llvm::toString(std::move(error)));
  }
  if (!files.timeline.empty())
    if (llvm::Error error = writeTextFile(files.timeline, timelineJson(problem, timeline)))
      return error;
  if (!files.trace.empty())
    return writeTextFile(files.trace, traceJson(problem, timeline));
  return llvm::Error::success();
}
