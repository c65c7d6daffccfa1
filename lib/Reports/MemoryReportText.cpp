//===- MemoryReportText.cpp - The report for programs and for people -------===//

#include "llmmem/Analysis/OpFacts.h"
#include "llmmem/Reports/MemoryReport.h"
#include "llmmem/Support/ByteSize.h"
#include "mlir/IR/AsmState.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <map>

using namespace mlir;
using namespace llmmem;
using llvm::formatv;

/// Says where the op stands in a file, or what it is called where it comes from none.
static std::string locationText(Operation *op) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (auto file = op->getLoc()->findInstanceOf<FileLineColLoc>())
    os << file.getFilename().getValue() << ":" << file.getLine() << ":" << file.getColumn();
  else if (auto name = op->getAttrOfType<StringAttr>("llm.name"))
    os << name.getValue();
  else
    os << op->getLoc();
  return text;
}

static double percent(double part, double whole) { return whole > 0 ? 100.0 * part / whole : 0.0; }

//===----------------------------------------------------------------------===//
// For programs
//===----------------------------------------------------------------------===//

static llvm::json::Value numberOrNull(std::optional<int64_t> number) {
  return number ? llvm::json::Value(*number) : llvm::json::Value(nullptr);
}

/// Returns the digits of a count, and the nearest double where they are too many for an integer.
static llvm::json::Value countOrDouble(double count) {
  constexpr double firstBeyond = 0x1p63;
  return count < firstBeyond ? llvm::json::Value(static_cast<int64_t>(count))
                             : llvm::json::Value(count);
}

static llvm::json::Value peakToJson(const PeakEntry &peak) {
  llvm::json::Array live;
  // SSA names are those of the printed function, so that a reader finds the value in the text.
  Operation *function = peak.op ? peak.op->getParentOp() : nullptr;
  std::optional<AsmState> state;
  if (function)
    state.emplace(function);
  for (const LiveEntry &entry : peak.live) {
    std::string ssa;
    llvm::raw_string_ostream os(ssa);
    if (entry.value)
      entry.value.printAsOperand(os, *state);
    live.push_back(llvm::json::Object{{"value", ssa},
                                      {"name", entry.name},
                                      {"bytes", entry.bytes},
                                      {"kind", entry.kind},
                                      {"block", numberOrNull(entry.block)}});
  }
  return llvm::json::Object{{"bytes", peak.bytes},
                            {"position", peak.position},
                            {"op", peak.op ? peak.op->getName().getStringRef() : ""},
                            {"location", peak.op ? locationText(peak.op) : ""},
                            {"live", std::move(live)}};
}

static llvm::json::Value certificateToJson(const MemoryReport &report) {
  llvm::json::Object certificate{{"bound", report.certificate.bound},
                                 {"cost_lower_bound_ns", report.certificate.costLowerBoundNs},
                                 {"gap_percent", report.gapPercent()},
                                 {"peak_lower_bound", report.certificate.peakLowerBound}};
  if (!report.certificate.checked.empty())
    certificate["checked"] = report.certificate.checked;
  return certificate;
}

static llvm::json::Value stepToJson(const MemoryReport &report) {
  llvm::json::Object step{{"flops", countOrDouble(report.time.once.flops)},
                          {"time_ns", report.time.once.ns},
                          {"planned_time_ns", report.time.plannedNs()}};
  if (std::optional<double> slowdown = report.slowdownPercent()) {
    step["time_without_budget_ns"] = *report.time.withoutBudgetNs;
    step["slowdown_percent"] = *slowdown;
  }
  if (std::optional<double> tokens = report.tokensPerSecond()) {
    step["tokens"] = report.time.tokens;
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
                                         {"block", numberOrNull(entry.block)},
                                         {"copies_up", entry.ups},
                                         {"copies_down", entry.downs}});
  return llvm::json::Object{{"budget", numberOrNull(host.budget)},
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

static llvm::json::Value savedToJson(const SavedEntry &entry) {
  llvm::json::Array tensors;
  for (const SavedValue &saved : entry.values) {
    llvm::json::Array readers;
    for (Operation *reader : saved.readers)
      readers.push_back(reader->getNumResults() ? getName(reader->getResult(0))
                                                : reader->getName().getStringRef().str());
    tensors.push_back(llvm::json::Object{{"name", getName(saved.value)},
                                         {"bytes", saved.bytes},
                                         {"block", numberOrNull(saved.block)},
                                         {"decision", decisionOf(saved)},
                                         {"readers", std::move(readers)}});
  }
  return llvm::json::Object{{"bytes", entry.bytes},
                            {"by_block", llvm::json::Array(entry.byBlock)},
                            {"tensors", std::move(tensors)}};
}

static llvm::json::Value epiloguesToJson(const VariantEntry &variant) {
  llvm::json::Array list;
  for (const EpilogueEntry &entry : variant.epilogues) {
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

static llvm::json::Value functionsToJson(const SeveralFunctions &several) {
  llvm::json::Array list;
  for (const FunctionEntry &entry : several.functions)
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
                           {"time_without_budget_ns", numberOrNull(entry.withoutBudgetNs)},
                           {"budget", numberOrNull(entry.budget)},
                           {"device", entry.device}});
  return list;
}

static llvm::json::Value pricedByBytesToJson(const PriceEntry &prices) {
  llvm::json::Array list;
  for (auto &[name, entry] : prices.byBytes)
    list.push_back(
        llvm::json::Object{{"op", name}, {"count", entry.first}, {"time_ns", entry.second}});
  return list;
}

static llvm::json::Value recomputationToJson(const TimeEntry &time) {
  const Work &again = time.recomputed;
  return llvm::json::Object{{"ops", time.recomputedOps},
                            {"flops", countOrDouble(again.flops)},
                            {"time_ns", again.ns},
                            {"percent_flops", percent(again.flops, time.once.flops)},
                            {"percent_time", percent(again.ns, time.once.ns)}};
}

static llvm::json::Value overlapToJson(const OverlapEntry &overlap) {
  return llvm::json::Object{{"started", overlap.started},
                            {"started_ns", overlap.startedNs},
                            {"hidden_ns", overlap.hiddenNs},
                            {"time_ns", overlap.stepNs},
                            {"time_lower_bound_ns", numberOrNull(overlap.timeLowerBoundNs)}};
}

static llvm::json::Value ranksToJson(const MemoryReport &report) {
  const RanksEntry &ranks = report.ranks;
  const int64_t serverBytes = report.resident.serverBytes;
  return llvm::json::Object{{"count", ranks.count},
                            {"mesh", ranks.mesh},
                            {"collectives", ranks.collectives},
                            {"repeated", ranks.repeated},
                            {"sent_bytes", ranks.sentBytes},
                            {"padding_bytes", ranks.paddingBytes},
                            {"server_bytes", serverBytes},
                            {"worker_needed", report.neededBytes() - serverBytes},
                            {"time_ns", ranks.ns}};
}

llvm::json::Value MemoryReport::toJson() const {
  llvm::json::Object roles;
  for (auto &[role, bytes] : resident.byRole)
    roles[role] = bytes;
  llvm::json::Array chunks;
  for (const ChunkEntry &chunk : variant.chunks)
    chunks.push_back(
        llvm::json::Object{{"name", chunk.name}, {"tokens", chunk.rows}, {"of", chunk.of}});
  llvm::json::Object object{
      {"format", "llmmem-memory-report"},
      {"version", 1},
      {"status", "feasible"},
      {"policy", plan.policy},
      {"budget", numberOrNull(plan.budget)},
      {"parameters", resident.parameters},
      {"trained_parameters", resident.trainedParameters},
      {"resident", std::move(roles)},
      {"resident_padding", resident.padding},
      {"peak", peakToJson(peak)},
      {"arena", arena.bytes},
      {"fragmentation", arena.fragmentation},
      {"saved", savedToJson(saved)},
      {"packed", llvm::json::Object{{"values", saved.packed.values},
                                    {"bytes", saved.packed.bytes},
                                    {"packed_bytes", saved.packed.bytesWithScales}}},
      {"chunks", std::move(chunks)},
      {"device", llvm::json::Object{{"name", prices.device},
                                    {"source", prices.source},
                                    {"measured_ops", prices.measured},
                                    {"modelled_ops", prices.modelled}}},
      {"epilogues", epiloguesToJson(variant)},
      {"epilogues_decide_bits", variant.epiloguesDecideBits},
      {"step", stepToJson(*this)},
      {"recompute", recomputationToJson(time)},
      {"ranks", ranksToJson(*this)},
      {"overlap", overlapToJson(time.overlap)},
      {"certificate", certificateToJson(*this)},
      {"planning_seconds", plan.seconds}};
  if (host.isUsed())
    object["host"] = hostToJson(host);
  if (!prices.byBytes.empty())
    object["priced_by_bytes"] = pricedByBytesToJson(prices);
  if (!several.functions.empty())
    object["stages"] = functionsToJson(several);
  if (const PipelineEntry &pipeline = several.pipeline; !pipeline.schedule.empty())
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
static void printEpilogues(const VariantEntry &variant, llvm::raw_ostream &os) {
  StringRef title = "epilogues", taken;
  for (const EpilogueEntry &entry : variant.epilogues) {
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
  if (variant.epiloguesDecideBits && !taken.empty())
    os << formatv("{0,-14} {1} under every budget: a library rounds after the epilogue alone, so "
                  "the choice decides last bits\n",
                  title, taken);
}

static void printFunctions(const MemoryReport &report, llvm::raw_ostream &os) {
  const bool isUneven = llvm::any_of(report.several.functions, [&](const FunctionEntry &entry) {
    return entry.budget != report.plan.budget || entry.device != report.prices.device;
  });
  for (const FunctionEntry &entry : report.several.functions) {
    os << formatv("{0,-14} {1} ({2} bytes) resident+arena, {3:f3} ms modelled, {4} a step",
                  "@" + entry.name, formatByteSize(entry.needed), entry.needed, entry.ns / 1e6,
                  entry.runs == 1 ? std::string("once") : formatv("{0} times", entry.runs).str());
    // Stages run at the same time: what one of them loses is no loss of the step by itself.
    if (!report.several.pipeline.schedule.empty() && entry.withoutBudgetNs)
      os << formatv(" ({0:f3} ms without a budget)", *entry.withoutBudgetNs / 1e6);
    if (isUneven)
      os << ", on " << entry.device
         << (entry.budget ? " under " + formatByteSize(*entry.budget) : std::string());
    os << "\n";
  }
  const PipelineEntry &pipeline = report.several.pipeline;
  if (!pipeline.schedule.empty())
    os << formatv("pipeline       {0}, {1} stages, {2} micro-batches: {3:f3} ms modelled, of which "
                  "stages wait {4:f2} %\n",
                  pipeline.schedule, report.several.functions.size(), pipeline.microBatches,
                  pipeline.ns / 1e6, 100.0 * pipeline.bubble);
}

/// Prints which prices are no more than traffic, and how much of the step depends on them.
static void printPricedByBytes(const MemoryReport &report, llvm::raw_ostream &os) {
  if (report.prices.byBytes.empty())
    return;
  int64_t count = 0, ns = 0;
  std::string names;
  for (auto &[name, entry] : report.prices.byBytes) {
    count += entry.first;
    ns += entry.second;
    names += formatv("{0}{1} ({2})", names.empty() ? "" : ", ", name, entry.first).str();
  }
  os << formatv("unpriced       {0} ops by the bytes they move, {1:f2} % of the time: {2}\n", count,
                percent(ns, report.time.once.ns + report.time.recomputed.ns), names);
}

/// Prints the two numbers that a user compares: how long a step takes, and how many tokens that
/// makes.
static void printTime(const MemoryReport &report, llvm::raw_ostream &os) {
  if (std::optional<MemoryReport::WholeStep> whole = report.wholeStep())
    os << formatv("step           {0:f3} ms modelled, {1:f2} % slower than the {2:f3} ms without a "
                  "budget\n",
                  whole->ns / 1e6, whole->slowdownPercent(), whole->withoutBudgetNs / 1e6);
  if (!report.several.functions.empty())
    return;
  os << formatv("step           {0:f3} ms modelled", report.time.plannedNs() / 1e6);
  if (std::optional<double> slowdown = report.slowdownPercent())
    os << formatv(", {0:f2} % slower than the {1:f3} ms without a budget", *slowdown,
                  *report.time.withoutBudgetNs / 1e6);
  if (std::optional<double> tokens = report.tokensPerSecond())
    os << formatv("; {0}{1:f0} tokens/s{2}", report.prices.ratesAreMeasured ? "" : "at most ",
                  *tokens, report.prices.ratesAreMeasured ? "" : " (datasheet)");
  os << "\n";
}

/// Prints the second memory: what it holds, and what goes there and back.
static void printHost(const HostEntry &host, llvm::raw_ostream &os) {
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

/// Prints the peak and what it is made of.
static void printPeak(const MemoryReport &report, llvm::raw_ostream &os) {
  const PeakEntry &peak = report.peak;
  std::map<StringRef, int64_t> byKind;
  for (const LiveEntry &entry : peak.live)
    byKind[entry.kind] += entry.bytes;
  os << formatv("peak           {0} ({1} bytes)", formatByteSize(peak.bytes), peak.bytes);
  if (peak.op)
    os << formatv(" at op {0}, {1}, {2}", peak.position, peak.op->getName().getStringRef(),
                  locationText(peak.op));
  os << formatv("\n  resident     {0}\n", formatByteSize(report.resident.bytes));
  for (auto &[kind, bytes] : byKind)
    os << formatv("  {0,-12} {1}\n", kind, formatByteSize(bytes));
}

/// Returns what the name of an op has in common with those of other blocks.
static std::string withoutNumbers(llvm::StringRef name) {
  std::string text;
  llvm::copy_if(name, std::back_inserter(text), [](char c) { return !llvm::isDigit(c); });
  return text;
}

/// Prints a line for the ops of all blocks that work on as many tokens at a time.
static void printChunks(llvm::ArrayRef<ChunkEntry> chunks, llvm::raw_ostream &os) {
  auto keyOf = [](const ChunkEntry &chunk) {
    return std::tuple(withoutNumbers(chunk.name), chunk.rows, chunk.of);
  };
  std::map<std::tuple<std::string, int64_t, int64_t>, int64_t> counts;
  for (const ChunkEntry &chunk : chunks)
    ++counts[keyOf(chunk)];
  for (const ChunkEntry &chunk : chunks) {
    const int64_t count = std::exchange(counts[keyOf(chunk)], 0);
    if (count == 0)
      continue; // The first one's line has it.
    os << formatv("chunks         {0}{1}: {2} of {3} tokens at a time\n", chunk.name,
                  count > 1 ? formatv(" and {0} like it", count - 1).str() : "", chunk.rows,
                  chunk.of);
  }
}

/// Prints the chunks, the values in fewer bits and the epilogues that the step has.
static void printVariant(const MemoryReport &report, llvm::raw_ostream &os) {
  printChunks(report.variant.chunks, os);
  const PackedValues &packed = report.saved.packed;
  if (packed.values > 0)
    os << formatv("packed         {0} saved values of {1} in 8 bits, {2} with scales\n",
                  packed.values, formatByteSize(packed.bytes),
                  formatByteSize(packed.bytesWithScales));
  printEpilogues(report.variant, os);
}

/// Prints what ops were priced by.
static void printPrices(const MemoryReport &report, llvm::raw_ostream &os) {
  const PriceEntry &prices = report.prices;
  os << formatv("device         {0} ({1})", prices.device, prices.source);
  if (prices.measured > 0)
    os << formatv("; {0} of {1} ops priced as measured", prices.measured,
                  prices.measured + prices.modelled);
  os << "\n";
  printPricedByBytes(report, os);
}

static void printRecomputation(const TimeEntry &time, llvm::raw_ostream &os) {
  const Work &again = time.recomputed;
  if (time.recomputedOps == 0) {
    os << "recompute      0 ops\n";
    return;
  }
  os << formatv("recompute      {0} ops, {1:e3} FLOPs ({2:f2} %), {3:f3} ms modelled ({4:f2} %)\n",
                time.recomputedOps, again.flops, percent(again.flops, time.once.flops),
                again.ns / 1e6, percent(again.ns, time.once.ns));
}

static void printSent(const RanksEntry &ranks, llvm::raw_ostream &os) {
  if (ranks.count > 1)
    os << formatv(
        "ranks          {0} of {1}; each sends {2} ({3} bytes) in {4} collectives, {5} of "
        "them repeated, {6:f3} ms modelled\n",
        ranks.count, ranks.mesh, formatByteSize(ranks.sentBytes), ranks.sentBytes,
        ranks.collectives, ranks.repeated, ranks.ns / 1e6);
}

static void printOverlap(const MemoryReport &report, llvm::raw_ostream &os) {
  const OverlapEntry &overlap = report.time.overlap;
  if (overlap.started == 0)
    return;
  os << formatv("overlap        {0} {5} started, {1:f3} ms of their {2:f3} ms hidden; the "
                "step {3:f3} ms modelled{4}\n",
                overlap.started, overlap.hiddenNs / 1e6, overlap.startedNs / 1e6,
                overlap.stepNs / 1e6,
                overlap.timeLowerBoundNs
                    ? formatv(", {0:f3} ms proved necessary", *overlap.timeLowerBoundNs / 1e6).str()
                    : "",
                report.host.leaving.empty() ? "collectives"
                : report.host.updates > 0   ? "copies and updates"
                                            : "copies");
}

/// Prints what ranks hold unequally: the state of a server, and the padding of a vocabulary.
static void printUnequalRanks(const MemoryReport &report, llvm::raw_ostream &os) {
  const int64_t needed = report.neededBytes(), worker = needed - report.resident.serverBytes;
  if (worker < needed)
    os << formatv(
        "server         needs {0} ({1} bytes), each other rank {2} ({3} bytes): optimizer "
        "state is the server's alone\n",
        formatByteSize(needed), needed, formatByteSize(worker), worker);
  if (const int64_t padding = report.ranks.paddingBytes; padding > 0)
    os << formatv(
        "padding        {0} ({1} bytes) of all ranks' arguments, where ranks do not divide "
        "the vocabulary\n",
        formatByteSize(padding), padding);
}

static void printBound(const MemoryReport &report, llvm::raw_ostream &os) {
  const CertificateEntry &certificate = report.certificate;
  int64_t provedNs = std::max<int64_t>(0, certificate.costLowerBoundNs - report.time.once.ns);
  os << formatv("lower bound    {0:f3} ms of recomputation proved necessary ({1}); gap {2:f2} % of "
                "the step\n",
                provedNs / 1e6, certificate.bound.empty() ? "none" : certificate.bound,
                report.gapPercent());
  if (!certificate.checked.empty())
    os << formatv("checked        {0}\n", certificate.checked);
}

void MemoryReport::printSummary(llvm::raw_ostream &os) const {
  os << formatv("budget         {0}\n", plan.budget ? formatByteSize(*plan.budget) : "none");
  printPeak(*this, os);
  printVariant(*this, os);
  printPrices(*this, os);
  printTime(*this, os);
  printRecomputation(time, os);
  printSent(ranks, os);
  printHost(host, os);
  printOverlap(*this, os);
  printUnequalRanks(*this, os);
  printBound(*this, os);
  os << formatv("arena          {0} ({1} bytes), fragmentation {2:f3} %\n",
                formatByteSize(arena.bytes), arena.bytes, 100.0 * arena.fragmentation);
  os << formatv("resident+arena {0} ({1} bytes, {2} of them to align resident buffers)\n",
                formatByteSize(neededBytes()), neededBytes(), resident.padding);
  printFunctions(*this, os);
  os << formatv("planning       {0:f2} s\n", plan.seconds);
}

static void printSaved(const SavedEntry &entry, llvm::raw_ostream &os) {
  os << formatv("\nsaved for the backward, kept: {0} ({1} bytes)\n", formatByteSize(entry.bytes),
                entry.bytes);
  for (size_t block = 0; block < entry.byBlock.size();) {
    // Equal neighbours share a line.
    size_t end = block;
    while (end < entry.byBlock.size() && entry.byBlock[end] == entry.byBlock[block])
      ++end;
    os << formatv("  block{0} {1}: {2} bytes each\n", end - block > 1 ? "s" : "",
                  end - block > 1 ? formatv("{0}..{1}", block, end - 1).str()
                                  : std::to_string(block),
                  entry.byBlock[block]);
    block = end;
  }
  std::optional<int64_t> shown;
  for (const SavedValue &saved : entry.values)
    if (saved.block && (!shown || *shown == *saved.block)) {
      if (!shown)
        os << formatv("\nblock {0} in detail\n", *saved.block);
      shown = saved.block;
      os << formatv("  {0,14} {1,-9} {2}\n", saved.bytes, decisionOf(saved), getName(saved.value));
    }
}

void MemoryReport::print(llvm::raw_ostream &os) const {
  os << formatv("policy         {0}\nparameters     {1}", plan.policy, resident.parameters);
  if (resident.trainedParameters != resident.parameters)
    os << formatv(", {0} of them trained", resident.trainedParameters);
  if (ranks.count > 1)
    os << formatv(", those of one of {0} ranks", ranks.count);
  os << "\n";
  for (auto &[role, bytes] : resident.byRole)
    if (bytes == 0)
      os << formatv("  {0,-15} none\n", role);
    else
      os << formatv("  {0,-15} {1} bytes, {2} or {3}\n", role, bytes, formatByteSize(bytes),
                    formatBinaryByteSize(bytes));
  printSummary(os);
  os << "\nlargest values at the peak\n";
  for (const LiveEntry &entry : llvm::ArrayRef(peak.live).take_front(12))
    os << formatv("  {0,14} {1,-9} {2}\n", entry.bytes, entry.kind, entry.name);
  printSaved(saved, os);
}
