//===- MemoryReportText.cpp - The report for programs and for people -------===//

#include "llmmem/Analysis/OpFacts.h"
#include "llmmem/Reports/MemoryReport.h"
#include "llmmem/Support/ByteSize.h"
#include "mlir/IR/AsmState.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace llmmem;
using llvm::formatv;

static std::string locationText(Operation *op) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (auto file = op->getLoc()->findInstanceOf<FileLineColLoc>())
    os << file.getFilename().getValue() << ":" << file.getLine() << ":" << file.getColumn();
  else
    os << op->getLoc();
  return text;
}

static double percent(int64_t part, int64_t whole) {
  return whole > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0.0;
}

//===----------------------------------------------------------------------===//
// For programs
//===----------------------------------------------------------------------===//

static llvm::json::Value blockOrNull(std::optional<int64_t> block) {
  return block ? llvm::json::Value(*block) : llvm::json::Value(nullptr);
}

static llvm::json::Value peakToJson(const MemoryReport &report) {
  llvm::json::Array live;
  // SSA names are those of the printed function, so that a reader finds the value in the text.
  Operation *function = report.peakOp ? report.peakOp->getParentOp() : nullptr;
  std::optional<AsmState> state;
  if (function)
    state.emplace(function);
  for (const LiveEntry &entry : report.live) {
    std::string ssa;
    llvm::raw_string_ostream os(ssa);
    if (entry.value)
      entry.value.printAsOperand(os, *state);
    live.push_back(llvm::json::Object{{"value", ssa},
                                      {"name", entry.name},
                                      {"bytes", entry.bytes},
                                      {"kind", entry.kind},
                                      {"block", blockOrNull(entry.block)}});
  }
  return llvm::json::Object{{"bytes", report.peak},
                            {"position", report.peakPosition},
                            {"op", report.peakOp ? report.peakOp->getName().getStringRef() : ""},
                            {"location", report.peakOp ? locationText(report.peakOp) : ""},
                            {"live", std::move(live)}};
}

static llvm::json::Value certificateToJson(const MemoryReport &report) {
  llvm::json::Object certificate{{"bound", report.bound},
                                 {"cost_lower_bound_ns", report.costLowerBoundNs},
                                 {"gap_percent", report.gapPercent()},
                                 {"peak_lower_bound", report.peakLowerBound}};
  if (!report.checked.empty())
    certificate["checked"] = report.checked;
  return certificate;
}

static llvm::json::Value stepToJson(const MemoryReport &report) {
  llvm::json::Object step{{"flops", report.stepFlops},
                          {"time_ns", report.stepNs},
                          {"planned_time_ns", report.plannedNs()}};
  if (std::optional<double> slowdown = report.slowdownPercent()) {
    step["time_without_budget_ns"] = *report.withoutBudgetNs;
    step["slowdown_percent"] = *slowdown;
  }
  if (std::optional<double> tokens = report.tokensPerSecond()) {
    step["tokens"] = report.tokens;
    step["tokens_per_second"] = *tokens;
  }
  return step;
}

static StringRef decisionOf(const SavedValue &saved) {
  return saved.recomputed ? "recompute" : saved.offloaded ? "offload" : "keep";
}

static llvm::json::Value hostToJson(const HostEntry &host) {
  llvm::json::Array leaving;
  for (const LeavingEntry &entry : host.leaving)
    leaving.push_back(llvm::json::Object{{"name", entry.name},
                                         {"bytes", entry.bytes},
                                         {"block", blockOrNull(entry.block)},
                                         {"copies_up", entry.ups},
                                         {"copies_down", entry.downs}});
  return llvm::json::Object{{"budget", blockOrNull(host.budget)},
                            {"resident", host.residentBytes},
                            {"resident_padding", host.residentPadding},
                            {"arena", host.arena},
                            {"up_bytes", host.upBytes},
                            {"down_bytes", host.downBytes},
                            {"copies_ns", host.copyNs},
                            {"updates", host.updates},
                            {"updates_ns", host.updateNs},
                            {"leaving", std::move(leaving)}};
}

static llvm::json::Value savedToJson(const MemoryReport &report) {
  llvm::json::Array tensors;
  for (const SavedValue &saved : report.saved) {
    llvm::json::Array readers;
    for (Operation *reader : saved.readers)
      readers.push_back(reader->getNumResults() ? getName(reader->getResult(0))
                                                : reader->getName().getStringRef().str());
    tensors.push_back(llvm::json::Object{{"name", getName(saved.value)},
                                         {"bytes", saved.bytes},
                                         {"block", blockOrNull(saved.block)},
                                         {"decision", decisionOf(saved)},
                                         {"readers", std::move(readers)}});
  }
  return llvm::json::Object{{"bytes", report.savedBytes},
                            {"by_block", llvm::json::Array(report.savedByBlock)},
                            {"tensors", std::move(tensors)}};
}

static llvm::json::Value epiloguesToJson(const MemoryReport &report) {
  llvm::json::Array list;
  for (const EpilogueEntry &entry : report.epilogues) {
    llvm::json::Object object{{"choice", entry.choice}, {"taken", entry.taken}};
    if (entry.peak) {
      object["time_ns"] = entry.ns;
      object["peak"] = *entry.peak;
    } else {
      object["time_lower_bound_ns"] = entry.ns;
      object["why"] = entry.why;
    }
    list.push_back(std::move(object));
  }
  return list;
}

static llvm::json::Value functionsToJson(const MemoryReport &report) {
  llvm::json::Array list;
  for (const FunctionEntry &entry : report.functions)
    list.push_back(
        llvm::json::Object{{"function", entry.name},
                           {"runs", entry.runs},
                           {"needed", entry.needed},
                           {"peak", entry.peak},
                           {"arena", entry.arena},
                           {"time_ns", entry.ns},
                           {"recompute_ns", entry.recomputeNs},
                           {"time_lower_bound_ns", entry.lowerBoundNs},
                           {"sent_bytes", entry.sentBytes},
                           {"time_without_budget_ns", blockOrNull(entry.withoutBudgetNs)},
                           {"budget", blockOrNull(entry.budget)},
                           {"device", entry.device}});
  return list;
}

static llvm::json::Value pricedByBytesToJson(const MemoryReport &report) {
  llvm::json::Array list;
  for (auto &[name, entry] : report.pricedByBytes)
    list.push_back(
        llvm::json::Object{{"op", name}, {"count", entry.first}, {"time_ns", entry.second}});
  return list;
}

llvm::json::Value MemoryReport::toJson() const {
  llvm::json::Object residentByRole;
  for (auto &[role, bytes] : resident)
    residentByRole[role] = bytes;
  llvm::json::Array chunkList;
  for (const ChunkEntry &chunk : chunks)
    chunkList.push_back(
        llvm::json::Object{{"name", chunk.name}, {"tokens", chunk.rows}, {"of", chunk.of}});
  llvm::json::Object object{
      {"format", "llmmem-memory-report"},
      {"version", 1},
      {"status", status},
      {"policy", policy},
      {"budget", blockOrNull(budget)},
      {"parameters", parameters},
      {"trained_parameters", trainedParameters},
      {"resident", std::move(residentByRole)},
      {"resident_padding", residentPadding},
      {"peak", peakToJson(*this)},
      {"arena", arena},
      {"fragmentation", fragmentation},
      {"saved", savedToJson(*this)},
      {"packed", llvm::json::Object{{"values", packed.values},
                                    {"bytes", packed.bytes},
                                    {"packed_bytes", packed.bytesWithScales}}},
      {"chunks", std::move(chunkList)},
      {"device", llvm::json::Object{{"name", device},
                                    {"source", deviceSource},
                                    {"measured_ops", measuredOps},
                                    {"modelled_ops", modelledOps}}},
      {"epilogues", epiloguesToJson(*this)},
      {"epilogues_decide_bits", epiloguesDecideBits},
      {"step", stepToJson(*this)},
      {"recompute", llvm::json::Object{{"ops", recomputeOps},
                                       {"flops", recomputeFlops},
                                       {"time_ns", recomputeNs},
                                       {"percent_flops", percent(recomputeFlops, stepFlops)},
                                       {"percent_time", percent(recomputeNs, stepNs)}}},
      {"ranks", llvm::json::Object{{"count", ranks},
                                   {"mesh", mesh},
                                   {"collectives", sent.collectives},
                                   {"repeated", sent.repeated},
                                   {"sent_bytes", sent.bytes},
                                   {"padding_bytes", paddingBytes},
                                   {"server_bytes", serverBytes},
                                   {"worker_needed", neededBytes() - serverBytes},
                                   {"time_ns", sent.ns}}},
      {"overlap",
       llvm::json::Object{{"started", overlap.started},
                          {"started_ns", overlap.startedNs},
                          {"hidden_ns", overlap.hiddenNs},
                          {"time_ns", overlap.stepNs},
                          {"time_lower_bound_ns", overlap.timeLowerBoundNs
                                                      ? llvm::json::Value(*overlap.timeLowerBoundNs)
                                                      : llvm::json::Value(nullptr)}}},
      {"certificate", certificateToJson(*this)},
      {"planning_seconds", planningSeconds}};
  if (host.isUsed())
    object["host"] = hostToJson(host);
  if (!pricedByBytes.empty())
    object["priced_by_bytes"] = pricedByBytesToJson(*this);
  if (!functions.empty())
    object["stages"] = functionsToJson(*this);
  if (!pipeline.schedule.empty())
    object["pipeline"] = llvm::json::Object{{"schedule", pipeline.schedule},
                                            {"micro_batches", pipeline.microBatches},
                                            {"time_ns", pipeline.ns},
                                            {"percent_waiting", 100.0 * pipeline.bubble}};
  return object;
}

//===----------------------------------------------------------------------===//
// For people
//===----------------------------------------------------------------------===//

/// Prints each choice that was compared, so that what was taken can be judged.
static void printEpilogues(const MemoryReport &report, llvm::raw_ostream &os) {
  StringRef title = "epilogues", taken;
  for (const EpilogueEntry &entry : report.epilogues) {
    os << formatv("{0,-14} {1}: ", title, entry.choice);
    if (entry.peak)
      os << formatv("{0:f3} ms, peak {1}{2}\n", entry.ns / 1e6, formatByteSize(*entry.peak),
                    entry.taken ? ", taken" : "");
    else
      os << formatv("at least {0:f3} ms, {1}\n", entry.ns / 1e6, entry.why);
    title = "";
    if (entry.taken)
      taken = entry.choice;
  }
  if (report.epiloguesDecideBits && !taken.empty())
    os << formatv("{0,-14} {1} under every budget: a library rounds after the epilogue alone, so "
                  "the choice decides last bits\n",
                  title, taken);
}

static void printFunctions(const MemoryReport &report, llvm::raw_ostream &os) {
  const bool isUneven = llvm::any_of(report.functions, [&](const FunctionEntry &entry) {
    return entry.budget != report.budget || entry.device != report.device;
  });
  for (const FunctionEntry &entry : report.functions) {
    os << formatv("{0,-14} {1} ({2} bytes) resident+arena, {3:f3} ms modelled, {4} a step",
                  "@" + entry.name, formatByteSize(entry.needed), entry.needed, entry.ns / 1e6,
                  entry.runs == 1 ? std::string("once") : formatv("{0} times", entry.runs).str());
    // Stages run at the same time: what one of them loses is no loss of the step by itself.
    if (!report.pipeline.schedule.empty() && entry.withoutBudgetNs)
      os << formatv(" ({0:f3} ms without a budget)", *entry.withoutBudgetNs / 1e6);
    if (isUneven)
      os << ", on " << entry.device
         << (entry.budget ? " under " + formatByteSize(*entry.budget) : std::string());
    os << "\n";
  }
  const PipelineEntry &pipeline = report.pipeline;
  if (!pipeline.schedule.empty())
    os << formatv("pipeline       {0}, {1} stages, {2} micro-batches: {3:f3} ms modelled, of which "
                  "stages wait {4:f2} %\n",
                  pipeline.schedule, report.functions.size(), pipeline.microBatches,
                  pipeline.ns / 1e6, 100.0 * pipeline.bubble);
}

/// Prints which prices are no more than traffic, and how much of the step depends on them.
static void printPricedByBytes(const MemoryReport &report, llvm::raw_ostream &os) {
  if (report.pricedByBytes.empty())
    return;
  int64_t count = 0, ns = 0;
  std::string names;
  for (auto &[name, entry] : report.pricedByBytes) {
    count += entry.first;
    ns += entry.second;
    names += formatv("{0}{1} ({2})", names.empty() ? "" : ", ", name, entry.first).str();
  }
  os << formatv("unpriced       {0} ops by the bytes they move, {1:f2} % of the time: {2}\n", count,
                percent(ns, report.stepNs + report.recomputeNs), names);
}

/// Prints the two numbers that a user compares: how long a step takes, and how many tokens that
/// makes.
static void printTime(const MemoryReport &report, llvm::raw_ostream &os) {
  if (std::optional<MemoryReport::WholeStep> whole = report.wholeStep())
    os << formatv("step           {0:f3} ms modelled, {1:f2} % slower than the {2:f3} ms without a "
                  "budget\n",
                  whole->ns / 1e6, whole->slowdownPercent(), whole->withoutBudgetNs / 1e6);
  if (!report.functions.empty())
    return;
  os << formatv("step           {0:f3} ms modelled", report.plannedNs() / 1e6);
  if (std::optional<double> slowdown = report.slowdownPercent())
    os << formatv(", {0:f2} % slower than the {1:f3} ms without a budget", *slowdown,
                  *report.withoutBudgetNs / 1e6);
  if (std::optional<double> tokens = report.tokensPerSecond())
    os << formatv("; {0}{1:f0} tokens/s{2}", report.ratesAreMeasured ? "" : "at most ", *tokens,
                  report.ratesAreMeasured ? "" : " (datasheet)");
  os << "\n";
}

/// Prints the second memory: what it holds, and what goes there and back.
static void printHost(const MemoryReport &report, llvm::raw_ostream &os) {
  const HostEntry &host = report.host;
  if (!host.isUsed())
    return;
  os << formatv("host budget    {0}\n", host.budget ? formatByteSize(*host.budget) : "none");
  os << formatv("host           {0} ({1} bytes) resident+arena, arena {2} bytes\n",
                formatByteSize(host.neededBytes()), host.neededBytes(), host.arena);
  os << formatv(
      "offload        {0} values leave: {1} ({2} bytes) up, {3} ({4} bytes) down, {5:f3} ms "
      "of copies modelled\n",
      host.leaving.size(), formatByteSize(host.upBytes), host.upBytes,
      formatByteSize(host.downBytes), host.downBytes, host.copyNs / 1e6);
  if (host.updates > 0)
    os << formatv("updates        {0} on the host, {1:f3} ms modelled\n", host.updates,
                  host.updateNs / 1e6);
}

void MemoryReport::printSummary(llvm::raw_ostream &os) const {
  std::map<StringRef, int64_t> byKind;
  for (const LiveEntry &entry : live)
    byKind[entry.kind] += entry.bytes;
  os << formatv("budget         {0}\n", budget ? formatByteSize(*budget) : "none");
  os << formatv("peak           {0} ({1} bytes)", formatByteSize(peak), peak);
  if (peakOp)
    os << formatv(" at op {0}, {1}, {2}", peakPosition, peakOp->getName().getStringRef(),
                  locationText(peakOp));
  os << formatv("\n  resident     {0}\n", formatByteSize(residentBytes));
  for (auto &[kind, bytes] : byKind)
    os << formatv("  {0,-12} {1}\n", kind, formatByteSize(bytes));
  for (const ChunkEntry &chunk : chunks)
    os << formatv("chunks         {0}: {1} of {2} tokens at a time\n", chunk.name, chunk.rows,
                  chunk.of);
  if (packed.values > 0)
    os << formatv("packed         {0} saved values of {1} in 8 bits, {2} with scales\n",
                  packed.values, formatByteSize(packed.bytes),
                  formatByteSize(packed.bytesWithScales));
  printEpilogues(*this, os);
  os << formatv("device         {0} ({1})", device, deviceSource);
  if (measuredOps > 0)
    os << formatv("; {0} of {1} ops priced as measured", measuredOps, measuredOps + modelledOps);
  os << "\n";
  printPricedByBytes(*this, os);
  printTime(*this, os);
  os << formatv("recompute      {0} ops, {1:e3} FLOPs ({2:f2} %), {3:f3} ms modelled ({4:f2} %)\n",
                recomputeOps, static_cast<double>(recomputeFlops),
                percent(recomputeFlops, stepFlops), recomputeNs / 1e6,
                percent(recomputeNs, stepNs));
  if (ranks > 1)
    os << formatv(
        "ranks          {0} of {1}; each sends {2} ({3} bytes) in {4} collectives, {5} of "
        "them repeated, {6:f3} ms modelled\n",
        ranks, mesh, formatByteSize(sent.bytes), sent.bytes, sent.collectives, sent.repeated,
        sent.ns / 1e6);
  printHost(*this, os);
  if (overlap.started > 0)
    os << formatv(
        "overlap        {0} {5} started, {1:f3} ms of their {2:f3} ms hidden; the "
        "step {3:f3} ms modelled{4}\n",
        overlap.started, overlap.hiddenNs / 1e6, overlap.startedNs / 1e6, overlap.stepNs / 1e6,
        overlap.timeLowerBoundNs
            ? formatv(", {0:f3} ms proved necessary", *overlap.timeLowerBoundNs / 1e6).str()
            : "",
        host.leaving.empty() ? "collectives"
        : host.updates > 0   ? "copies and updates"
                             : "copies");
  if (serverBytes > 0)
    os << formatv(
        "server         needs {0} ({1} bytes), each other rank {2} ({3} bytes): optimizer "
        "state is the server's alone\n",
        formatByteSize(neededBytes()), neededBytes(), formatByteSize(neededBytes() - serverBytes),
        neededBytes() - serverBytes);
  if (paddingBytes > 0)
    os << formatv(
        "padding        {0} ({1} bytes) of all ranks' arguments, where ranks do not divide "
        "the vocabulary\n",
        formatByteSize(paddingBytes), paddingBytes);
  int64_t provedNs = std::max<int64_t>(0, costLowerBoundNs - stepNs);
  os << formatv("lower bound    {0:f3} ms of recomputation proved necessary ({1}); gap {2:f2} % of "
                "the step\n",
                provedNs / 1e6, bound.empty() ? "none" : bound, gapPercent());
  if (!checked.empty())
    os << formatv("checked        {0}\n", checked);
  os << formatv("arena          {0} ({1} bytes), fragmentation {2:f3} %\n", formatByteSize(arena),
                arena, 100.0 * fragmentation);
  os << formatv("resident+arena {0} ({1} bytes, {2} of them to align resident buffers)\n",
                formatByteSize(neededBytes()), neededBytes(), residentPadding);
  printFunctions(*this, os);
  os << formatv("planning       {0:f2} s\n", planningSeconds);
}

static void printSaved(const MemoryReport &report, llvm::raw_ostream &os) {
  os << formatv("\nsaved for the backward, kept: {0} ({1} bytes)\n",
                formatByteSize(report.savedBytes), report.savedBytes);
  for (size_t block = 0; block < report.savedByBlock.size();) {
    // Equal neighbours share a line.
    size_t end = block;
    while (end < report.savedByBlock.size() &&
           report.savedByBlock[end] == report.savedByBlock[block])
      ++end;
    os << formatv("  block{0} {1}: {2} bytes each\n", end - block > 1 ? "s" : "",
                  end - block > 1 ? formatv("{0}..{1}", block, end - 1).str()
                                  : std::to_string(block),
                  report.savedByBlock[block]);
    block = end;
  }
  std::optional<int64_t> shown;
  for (const SavedValue &saved : report.saved)
    if (saved.block && (!shown || *shown == *saved.block)) {
      if (!shown)
        os << formatv("\nblock {0} in detail\n", *saved.block);
      shown = saved.block;
      os << formatv("  {0,14} {1,-9} {2}\n", saved.bytes, decisionOf(saved), getName(saved.value));
    }
}

void MemoryReport::print(llvm::raw_ostream &os) const {
  os << formatv("policy         {0}\nparameters     {1}", policy, parameters);
  if (trainedParameters != parameters)
    os << formatv(", {0} of them trained", trainedParameters);
  os << "\n";
  for (auto &[role, bytes] : resident)
    if (bytes == 0)
      os << formatv("  {0,-15} none\n", role);
    else
      os << formatv("  {0,-15} {1} bytes, {2} or {3}\n", role, bytes, formatByteSize(bytes),
                    formatBinaryByteSize(bytes));
  printSummary(os);
  os << "\nlargest values at the peak\n";
  for (const LiveEntry &entry : llvm::ArrayRef(live).take_front(12))
    os << formatv("  {0,14} {1,-9} {2}\n", entry.bytes, entry.kind, entry.name);
  printSaved(*this, os);
}
