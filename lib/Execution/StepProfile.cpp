//===- StepProfile.cpp - Where the time of steps goes ----------------------===//

#include "llmmem/Execution/StepProfile.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <deque>

using namespace llmmem;
namespace json = llvm::json;

void StepProfile::add(llvm::ArrayRef<int64_t> times) {
  // Drops the first step once there is a second.
  if (++steps == 2)
    llvm::for_each(taken, [](std::vector<int64_t> &ns) { ns.clear(); });
  last.assign(times.begin(), times.end());
  for (size_t call = 0; call < calls.size(); ++call)
    taken[call].push_back(times[2 * call + 1] - times[2 * call]);
}

std::vector<int64_t> StepProfile::medians() const {
  std::vector<int64_t> result;
  for (std::vector<int64_t> ns : taken) {
    llvm::sort(ns);
    size_t middle = ns.size() / 2;
    result.push_back(ns.empty()           ? 0
                     : ns.size() % 2 == 1 ? ns[middle]
                                          : (ns[middle - 1] + ns[middle]) / 2);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

namespace {
struct Row {
  std::string phase, kind;
  int64_t calls = 0, ns = 0, flops = 0;
};
} // namespace

static std::string phaseOf(const KernelCall &call) {
  return call.recomputed ? "recompute" : call.phase.empty() ? "other" : call.phase;
}

static void printRow(llvm::raw_ostream &os, const Row &row, int64_t all) {
  double milliseconds = 1e-6 * row.ns;
  os << llvm::left_justify(row.phase, 10) << llvm::left_justify(row.kind, 32)
     << llvm::format("%7lld %10.3f %7.2f %%", static_cast<long long>(row.calls), milliseconds,
                     all ? 100.0 * row.ns / all : 0.0);
  if (row.flops > 0 && row.ns > 0)
    os << llvm::format(" %9.2f", static_cast<double>(row.flops) / row.ns);
  os << "\n";
}

void StepProfile::print(llvm::raw_ostream &os) const {
  if (steps == 0)
    return;
  constexpr llvm::StringLiteral phases[] = {"forward", "recompute", "backward", "update", "other"};
  std::map<std::pair<std::string, std::string>, Row> byKind;
  std::map<std::string, Row> byPhase;
  Row all{"all", ""};
  for (auto [call, ns] : llvm::zip_equal(calls, medians())) {
    std::string phase = phaseOf(call);
    if (call.work == "started") {
      Row &row = byKind[{phase, call.kind}];
      ++row.calls;
      row.ns += ns;
      continue;
    }
    for (Row *row : {&byKind[{phase, call.kind}], &byPhase[phase], &all}) {
      ++row->calls;
      row->ns += ns;
      row->flops += call.flops;
    }
  }
  os << "profile of " << counted() << (counted() == 1 ? " step" : " steps")
     << (steps > 1 ? ", without the first" : "") << "\n"
     << "phase     kernel                            calls    ms/step    share   GFLOP/s\n";
  for (llvm::StringRef phase : phases) {
    std::vector<Row> rows;
    for (auto &[key, row] : byKind)
      if (key.first == phase)
        rows.push_back({key.first, key.second, row.calls, row.ns, row.flops});
    llvm::stable_sort(rows, [](const Row &a, const Row &b) { return a.ns > b.ns; });
    for (const Row &row : rows)
      printRow(os, row, all.ns);
  }
  for (llvm::StringRef phase : phases)
    if (auto row = byPhase.find(phase.str()); row != byPhase.end()) {
      row->second.phase = phase.str();
      row->second.kind = "(all)";
      printRow(os, row->second, all.ns);
    }
  printRow(os, all, all.ns);
}

//===----------------------------------------------------------------------===//
// Ranks
//===----------------------------------------------------------------------===//

static bool isTransfer(const KernelCall &call) {
  return call.work == "communication" || call.work == "started";
}

StepProfile::Transfers StepProfile::transfers() const {
  Transfers least;
  for (auto [call, times] : llvm::zip_equal(calls, taken))
    for (int64_t ns : times)
      if (isTransfer(call)) {
        int64_t &known = least.try_emplace(call.key, ns).first->second;
        known = std::min(known, ns);
      }
  return least;
}

StepProfile::Parts StepProfile::parts(const Transfers &transfers) const {
  Parts parts;
  std::deque<int64_t> started; // Transfers that nothing has waited for yet.
  auto split = [&](int64_t ns, int64_t transfer) {
    int64_t own = std::min(ns, transfer);
    parts.communication += own;
    parts.waiting += ns - own;
    return transfer - own;
  };
  for (auto [call, ns] : llvm::zip_equal(calls, medians())) {
    auto known = transfers.find(call.key);
    int64_t transfer = known == transfers.end() ? ns : known->second;
    if (call.work == "started") {
      started.push_back(transfer);
    } else if (call.work == "wait" && !started.empty()) {
      parts.overlapped += split(ns, started.front());
      started.pop_front();
    } else if (call.work == "communication") {
      split(ns, transfer);
    } else {
      parts.compute += ns;
    }
  }
  return parts;
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static json::Object describe(const KernelCall &call) {
  json::Object object{{"kind", call.kind},   {"key", call.key},
                      {"name", call.name},   {"phase", call.phase},
                      {"block", nullptr},    {"flops", call.flops},
                      {"bytes", call.bytes}, {"recomputed", call.recomputed},
                      {"work", call.work}};
  if (call.block)
    object["block"] = *call.block;
  return object;
}

json::Value StepProfile::toJson() const {
  json::Array list;
  for (auto [call, ns] : llvm::zip_equal(calls, medians())) {
    json::Object object = describe(call);
    object["ns"] = ns;
    list.push_back(std::move(object));
  }
  return json::Object{{"format", "llmmem-profile"},
                      {"version", 1},
                      {"steps", counted()},
                      {"calls", std::move(list)}};
}

json::Value StepProfile::toTrace() const {
  json::Array events;
  for (size_t number = 0; 2 * number + 1 < last.size(); ++number) {
    const KernelCall &call = calls[number];
    int64_t begin = last[2 * number], end = last[2 * number + 1];
    events.push_back(json::Object{{"name", call.name.empty() ? call.kind : call.name},
                                  {"cat", phaseOf(call)},
                                  {"ph", "X"},
                                  {"ts", 1e-3 * static_cast<double>(begin - last.front())},
                                  {"dur", 1e-3 * static_cast<double>(end - begin)},
                                  {"pid", 1},
                                  {"tid", call.work == "started" ? 2 : 1},
                                  {"args", describe(call)}});
  }
  return json::Object{{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}};
}
