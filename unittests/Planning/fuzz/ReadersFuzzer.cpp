//===- ReadersFuzzer.cpp - Whatever the readers take must hold ---------------------===//
//
// Reads the input as a problem, as a plan for two fixed problems, as the proof of a fixed plan, and
// as a list of buffers. What a reader takes must pass its own check, read back as it was printed,
// and be safe to verify, to check and to pack.
//
//   cmake --preset sanitize && ninja -C build-sanitize ReadersFuzzer       needs libclang-rt-22-dev
//   mkdir found && build-sanitize/bin/ReadersFuzzer -max_total_time=600 \
//     -dict=unittests/Planning/fuzz/readers.dict found unittests/Planning/fuzz/corpus
//
// CorpusTest.cpp replays the corpus in the normal suite.
//
//===----------------------------------------------------------------------===//

#include "llmmem/Planning/Formats/BufferCsv.h"
#include "llmmem/Planning/Model/Verify.h"
#include "llmmem/Planning/Planner.h"
#include "llmmem/Planning/Proofs/Check.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>

using namespace llmmem::planning;

namespace {

void require(bool holds) {
  if (!holds)
    std::abort();
}

void asProblem(llvm::StringRef text) {
  llmmem::Result<Problem> problem = parseProblem(text);
  if (!problem)
    return;
  require(!validateProblem(*problem));
  const std::string printed = toJson(*problem);
  llmmem::Result<Problem> read = parseProblem(printed);
  require(static_cast<bool>(read));
  require(toJson(*read) == printed);

  if (checkPlannable(*problem))
    return;
  problem->budget.reset(); // the order as it stands need not keep it
  Plan plan;
  plan.status = Status::Feasible;
  for (OpIndex op = 0; op < static_cast<OpIndex>(problem->ops.size()); ++op)
    plan.steps.push_back(op);
  PackOptions options;
  options.alignment = problem->alignment;
  placeSteps(*problem, plan, options);
  if (problem->needsVersion2())
    plan.time = {plan.cost, plan.cost, 0};
  require(verify(*problem, plan).empty());
}

void asPlanFor(const Problem &problem, llvm::StringRef text) {
  llmmem::Result<Plan> plan = parsePlan(problem, text);
  if (!plan)
    return;
  static_cast<void>(verify(problem, *plan));
  const std::string printed = toJson(problem, *plan);
  llmmem::Result<Plan> read = parsePlan(problem, printed);
  if (!read) // an id that the problem does not have prints as null
    return;
  require(toJson(problem, *read) == printed);
}

void asPlan(llvm::StringRef text) {
  static const Problem problem = [] {
    Problem it;
    it.values = {{0, 4, false, ""}, {1, 4, false, ""}};
    it.ops.resize(1);
    it.ops[0].reads = {0};
    it.ops[0].writes = {1};
    it.ops[0].workspace = 4;
    return it;
  }();
  static const Problem withHost = [] {
    Problem it;
    it.moreMemories = {{"host", 4, 2}};
    it.values = {{0, 4, false, ""}, {1, 4, false, "", 1}, {2, 4, false, "", 1}};
    it.ops.resize(2);
    it.ops[0].reads = {0};
    it.ops[0].writes = {1};
    it.ops[0].resource = Resource::DeviceToHost;
    it.ops[1].id = 1;
    it.ops[1].reads = {1};
    it.ops[1].writes = {2};
    it.ops[1].resource = Resource::HostCompute;
    it.ops[1].workspaceMemory = 1;
    it.ops[1].alternatives = {{3, 4}};
    it.ops[1].optional = true;
    return it;
  }();
  asPlanFor(problem, text);
  asPlanFor(withHost, text);
}

/// No proof may make the checker believe the plan, which claims too much.
void asProof(llvm::StringRef text) {
  static const Problem problem = [] {
    Problem it;
    it.budget = 16; // enough without repeats, if op 1 runs first
    it.values = {{0, 8, false, ""}, {1, 0, false, ""}, {2, 8, false, ""}};
    it.ops.resize(3);
    it.ops[0].writes = {0};
    it.ops[0].cost = 5;
    it.ops[1].id = 1;
    it.ops[1].cost = 1;
    it.ops[1].workspace = 16;
    it.ops[1].writes = {1};
    it.ops[2].id = 2;
    it.ops[2].cost = 1;
    it.ops[2].reads = {0, 1};
    it.ops[2].writes = {2};
    return it;
  }();
  static const Plan tooMuch = [] {
    Plan it;
    it.costLowerBound = 8;
    it.peakLowerBound = 17;
    return it;
  }();
  llmmem::Result<Proof> proof = parseProof(problem, text);
  if (!proof)
    return;
  CheckOptions options;
  options.work = 1000;
  for (const ClaimCheck &check : checkProof(problem, tooMuch, *proof, options))
    require(check.claim == "plan" || check.verdict != Verdict::Checked);
  const std::string printed = toJson(problem, *proof);
  llmmem::Result<Proof> read = parseProof(problem, printed);
  require(!read || toJson(problem, *read) == printed);
}

void asBuffers(llvm::StringRef text) {
  llvm::Expected<BufferTable> table = parseBufferCsv(text);
  if (!table)
    return llvm::consumeError(table.takeError());
  PackOptions options;
  options.work = 1000;
  const Packing packing = pack(table->buffers, options);
  require(packing.arena >= packing.lowerBound);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  asProblem(text);
  asPlan(text);
  asProof(text);
  asBuffers(text);
  return 0;
}
