//===- CheckpointOutcome.cpp - What came of planning several functions -----===//

#include "llmmem/Reports/CheckpointOutcome.h"
#include "llmmem/Support/TextFile.h"

using namespace mlir;
using namespace llmmem;

void LeastBytes::add(const LeastBytes &other) {
  peak = std::max(peak, other.peak);
  budget = std::max(budget, other.budget);
  peakLowerBound = std::max(peakLowerBound, other.peakLowerBound);
  budgetLowerBound = std::max(budgetLowerBound, other.budgetLowerBound);
}

void CheckpointOutcome::add(const CheckpointOutcome &function) {
  std::lock_guard<std::mutex> guard(lock);
  // This is what was checked of all functions, if that is one thing.
  checked = seconds == 0 || checked == function.checked ? function.checked : std::string();
  // A function without a plan decides the status, whatever came of the others.
  if (!noPlan || function.noPlan)
    status = function.status;
  noPlan |= function.noPlan;
  changedOps |= function.changedOps;
  seconds = std::max(seconds, function.seconds);
  least.add(function.least);
  llvm::append_range(heldBack, function.heldBack);
}

llvm::Error CheckpointOutcome::write(llvm::StringRef path, std::string text) {
  if (texts == Texts::Written)
    return writeTextFile(path, text);
  if (texts == Texts::HeldBack)
    heldBack.push_back({path.str(), std::move(text)});
  return llvm::Error::success();
}

void CheckpointOutcome::print(std::string text) {
  if (texts == Texts::Written)
    *reportStream << text;
  else if (texts == Texts::HeldBack)
    heldBack.push_back({std::nullopt, std::move(text)});
}

llvm::Error CheckpointOutcome::writeHeldBack() {
  std::lock_guard<std::mutex> guard(lock);
  for (const HeldBack &it : std::exchange(heldBack, {})) {
    if (!it.path)
      *reportStream << it.text;
    else if (llvm::Error error = writeTextFile(*it.path, it.text))
      return error;
  }
  return llvm::Error::success();
}

std::optional<MemoryReport> CheckpointOutcome::addReport(func::FuncOp function, MemoryReport report,
                                                         size_t count) {
  std::lock_guard<std::mutex> guard(lock);
  report.plan.seconds = seconds;
  report.certificate.checked = checked;
  if (count == 1)
    return report;
  functions.push_back(report.entryOf(function));
  reports.emplace(function.getName().str(), std::move(report));
  if (reports.size() < count)
    return std::nullopt;
  // Functions are in the order of the names, whichever was planned first; @stage10 comes after
  // @stage9.
  llvm::sort(functions,
             [](auto &a, auto &b) { return StringRef(a.name).compare_numeric(b.name) < 0; });
  auto fullest = llvm::max_element(
      reports, [](auto &a, auto &b) { return a.second.neededBytes() < b.second.neededBytes(); });
  MemoryReport shown = std::move(fullest->second);
  shown.plan.seconds = seconds;
  shown.certificate.checked = checked;
  shown.several.functions = std::move(functions);
  return shown;
}
