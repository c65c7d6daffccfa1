//===- VersionTwoJsonTest.cpp - Version 2 of problems and plans, read and printed --===//

#include "llmmem/Planning/Model/Plan.h"
#include "llvm/ADT/Twine.h"
#include "gtest/gtest.h"

using namespace llmmem::planning;

namespace {

constexpr const char *hostText = R"({"id": 0, "name": "device", "budget": 400, "alignment": 1},
  {"id": 1, "name": "host", "budget": 128, "alignment": 64})";

std::string problemText(llvm::StringRef memories, llvm::StringRef values, llvm::StringRef ops,
                        llvm::StringRef keep = "") {
  return ("{\"format\": \"llmmem-problem\", \"version\": 2,\n \"memories\": [\n  " + memories +
          "],\n \"values\": [\n  " + values + "],\n \"ops\": [\n  " + ops + "],\n \"keep\": [" +
          keep + "]}\n")
      .str();
}

/// The problem of VerifyMemoriesTest.
std::string example() {
  return problemText(hostText,
                     R"({"id": 0, "bytes": 100, "resident": true},
  {"id": 1, "bytes": 100},
  {"id": 2, "bytes": 100, "memory": 1},
  {"id": 3, "bytes": 100},
  {"id": 4, "bytes": 100})",
                     R"({"id": 0, "cost": 10, "reads": [0], "writes": [1]},
  {"id": 1, "cost": 8, "reads": [1], "writes": [2], "resource": "copy_up", "optional": true},
  {"id": 2, "cost": 10, "reads": [1], "writes": [3], "alternatives": [{"cost": 15}, {"cost": 12, "workspace": 64}]},
  {"id": 3, "cost": 8, "reads": [2], "writes": [1], "resource": "copy_down", "optional": true},
  {"id": 4, "cost": 20, "reads": [1, 3], "writes": [4]})",
                     "4");
}

std::string refusal(llvm::StringRef json) {
  llmmem::Result<Problem> problem = parseProblem(json);
  return problem ? "no refusal" : problem.error();
}

#define EXPECT_REFUSED(json, part)                                                                 \
  EXPECT_NE(refusal(json).find(part), std::string::npos) << refusal(json)

TEST(VersionTwo, ProblemsReadBackAsTheyPrint) {
  llmmem::Result<Problem> problem = parseProblem(example());
  ASSERT_TRUE(static_cast<bool>(problem)) << problem.error();
  EXPECT_EQ(problem->budget, 400);
  ASSERT_EQ(problem->numMemories(), 2);
  EXPECT_EQ(problem->budgetOf(1), 128);
  EXPECT_EQ(problem->alignmentOf(1), 64);
  EXPECT_EQ(problem->values[2].memory, 1);
  EXPECT_EQ(problem->ops[1].resource, Resource::DeviceToHost);
  EXPECT_TRUE(problem->ops[3].optional);
  EXPECT_EQ(problem->ops[2].alternatives[1].workspace, 64);
  std::string text = toJson(*problem);
  EXPECT_EQ(text, example());
}

/// What version 1 can say is printed in version 1.
TEST(VersionTwo, AProblemOfOneMemoryIsPrintedInVersionOne) {
  llmmem::Result<Problem> problem =
      parseProblem(problemText(R"({"id": 0, "name": "device", "budget": 9, "alignment": 4})",
                               R"({"id": 0, "bytes": 8, "memory": 0}, {"id": 1, "bytes": 8})",
                               R"({"id": 0, "reads": [0], "writes": [1], "resource": "compute"})"));
  ASSERT_TRUE(static_cast<bool>(problem)) << problem.error();
  std::string text = toJson(*problem);
  EXPECT_EQ(text.find("\"version\": 1, \"budget\": 9, \"alignment\": 4,\n \"values\""),
            text.find("\"version\""));
  EXPECT_EQ(text.find("memor"), std::string::npos);
}

TEST(VersionTwo, KeysOfTheOtherVersion) {
  EXPECT_REFUSED(R"({"format": "llmmem-problem", "version": 1, "memories": []})",
                 "key 'memories' belongs to version 2 of the format; give \"version\": 2 before");
  EXPECT_REFUSED(R"({"format": "llmmem-problem", "memories": [], "version": 2})",
                 "give \"version\": 2 before it");
  EXPECT_REFUSED(R"({"format": "llmmem-problem", "version": 2, "budget": 1})",
                 "key 'budget' belongs to version 1");
  EXPECT_REFUSED(R"({"version": 1, "values": [{"id": 0, "bytes": 1, "memory": 0}]})",
                 "key 'memory' belongs to version 2");
  EXPECT_REFUSED(R"({"version": 1, "ops": [{"optional": true}]})",
                 "key 'optional' belongs to version 2");
  EXPECT_REFUSED(
      R"({"version": 2, "speed": 1})",
      "unknown key 'speed'; expected one of format, version, values, ops, keep, forms, choice, "
      "guessed_phases, memories");
}

TEST(VersionTwo, WrongMemories) {
  auto memories = [](llvm::StringRef text) { return problemText(text, "", ""); };
  EXPECT_REFUSED(memories(R"({"id": 1, "name": "device"})"), "expected 0");
  EXPECT_REFUSED(memories(R"({"id": 0, "name": "gpu"})"), "memory 0 must be named \"device\"");
  EXPECT_REFUSED(memories(R"({"id": 0})"), "a memory must have 'id' and 'name'");
  EXPECT_REFUSED(memories(R"({"name": "device"})"), "a memory must have 'id' and 'name'");
  EXPECT_REFUSED(memories(R"({"id": 0, "name": "device", "size": 1})"), "unknown key 'size'");
  EXPECT_REFUSED(memories(R"({"id": 0, "name": "device", "alignment": 0})"), "from 1");
  EXPECT_REFUSED(memories(R"({"id": 0, "name": "device"}, {"id": 1, "name": "device"})"),
                 "memories[1].name: 'device' is taken by memories[0]");
}

TEST(VersionTwo, WrongPlaces) {
  auto with = [](llvm::StringRef values, llvm::StringRef ops) {
    return problemText(hostText, values, ops);
  };
  EXPECT_REFUSED(with(R"({"id": 0, "bytes": 8, "memory": 2})", ""),
                 "values[0].memory: names no memory; there are 0 to 1");
  constexpr const char *both = R"({"id": 0, "bytes": 8}, {"id": 1, "bytes": 8, "memory": 1})";
  EXPECT_REFUSED(with(both, R"({"id": 0, "reads": [1], "writes": []})"),
                 "value 1: an op on 'compute' has this in the device's memory");
  EXPECT_REFUSED(with(both, R"({"id": 0, "reads": [], "writes": [1], "resource": "link"})"),
                 "an op on 'link' has this in the device's memory");
  EXPECT_REFUSED(with(both, R"({"id": 0, "reads": [1], "writes": [], "resource": "copy_up"})"),
                 "ops[0].reads: value 1: an op on 'copy_up' has this in the device's memory");
  EXPECT_REFUSED(with(both, R"({"id": 0, "reads": [], "writes": [0], "resource": "copy_up"})"),
                 "an op on 'copy_up' has this in a memory other than the device's");
  EXPECT_REFUSED(with(both, R"({"id": 0, "reads": [0], "writes": [], "resource": "copy_down"})"),
                 "an op on 'copy_down' has this in a memory other than the device's");
  EXPECT_REFUSED(with(both, R"({"id": 0, "reads": [0], "writes": [], "resource": "host_compute"})"),
                 "an op on 'host_compute' has this in a memory other than the device's");
  EXPECT_REFUSED(with(both, R"({"id": 0, "reads": [], "writes": [], "workspace": 1,
                               "workspace_memory": 1})"),
                 "ops[0].workspace_memory: an op on 'compute' has this in the device's memory");
  EXPECT_REFUSED(with(both, R"({"id": 0, "reads": [], "writes": [], "resource": "host_compute",
                               "alternatives": [{"cost": 1, "workspace": 1}]})"),
                 "an op on 'host_compute' has this in a memory other than the device's");
  EXPECT_REFUSED(with(both, R"({"id": 0, "reads": [], "writes": [], "workspace_memory": 2})"),
                 "ops[0].workspace_memory: names no memory");
  EXPECT_REFUSED(with(both, R"({"id": 0, "reads": [0], "writes": [1], "resource": "copy_up",
                               "in_place": [[1, 0]]})"),
                 "the two of a pair must live in one memory");
  EXPECT_REFUSED(with(both, R"({"id": 0, "reads": [], "writes": [], "resource": "disk"})"),
                 "expected compute");
}

/// An order token of 0 bytes may be anybody's.
TEST(VersionTwo, ValuesWithoutBytesAreAnybodys) {
  EXPECT_EQ(
      refusal(problemText(hostText, R"({"id": 0, "bytes": 0})",
                          R"({"id": 0, "reads": [0], "writes": [], "resource": "copy_down"})")),
      "no refusal");
}

TEST(VersionTwo, OptionalOps) {
  auto with = [](llvm::StringRef ops, llvm::StringRef keep = "") {
    return problemText(R"({"id": 0, "name": "device"})",
                       R"({"id": 0, "bytes": 8, "resident": true}, {"id": 1, "bytes": 8})", ops,
                       keep);
  };
  constexpr llvm::StringLiteral maker =
      R"({"id": 0, "reads": [0], "writes": [1], "optional": true})";
  EXPECT_EQ(refusal(with(maker)), "no refusal");
  EXPECT_REFUSED(with(maker, "1"), "keep: value 1 is written by optional ops alone");
  EXPECT_REFUSED(with((maker + R"(, {"id": 1, "reads": [1], "writes": []})").str()),
                 "reads value 1, which only optional ops write");
  EXPECT_REFUSED(
      with((R"({"id": 1, "reads": [1], "writes": [], "optional": true}, )" + maker).str()),
      "reads value 1 before ops[1] writes it");
  EXPECT_REFUSED(with(R"({"id": 0, "reads": [], "writes": [0], "optional": true})"),
                 "value 0 is resident");
}

TEST(VersionTwo, WrongAlternatives) {
  auto with = [](llvm::StringRef alternatives) {
    return problemText(
        R"({"id": 0, "name": "device"})", "",
        (R"({"id": 0, "reads": [], "writes": [], "alternatives": [)" + alternatives + "]}").str());
  };
  EXPECT_REFUSED(with("{}"), "an alternative must have 'cost'");
  EXPECT_REFUSED(with(R"({"cost": -1})"), "from 0");
  EXPECT_REFUSED(with(R"({"cost": 1, "time": 1})"), "unknown key 'time'");
  EXPECT_EQ(refusal(with(R"({"cost": 9223372036854775807}, {"cost": 1})")), "no refusal");
  EXPECT_REFUSED(problemText(R"({"id": 0, "name": "device"})", "",
                             R"({"id": 0, "reads": [], "writes": [], "cost": 1},
        {"id": 1, "reads": [], "writes": [], "alternatives": [{"cost": 9223372036854775807}]})"),
                 "their costs add up");
}

std::string planText(llvm::StringRef memories, llvm::StringRef more) {
  return ("{\"format\": \"llmmem-plan\", \"version\": 2, \"status\": \"feasible\",\n"
          " \"steps\": [0, 1, 2, 3, 4],\n \"alternatives\": [[2, 1]],\n"
          " \"offsets\": [[0, 1, 0], [1, 2, 0], [2, 3, 100], [3, 1, 0], [4, 4, 200]],\n"
          " \"workspaces\": [],\n \"memories\": [" +
          memories + "],\n \"cost\": 61, \"base_cost\": 45, \"cost_lower_bound\": 0,\n" + more +
          ", \"seconds\": 0.000}\n")
      .str();
}

constexpr const char *uses =
    R"({"id": 0, "peak": 400, "arena": 300, "peak_lower_bound": 100}, {"id": 1, "peak": 100, "arena": 100, "peak_lower_bound": 0})";
constexpr const char *times = R"( "time": 53, "base_time": 40, "time_lower_bound": 40)";

TEST(VersionTwo, PlansReadBackAsTheyPrint) {
  Problem problem = *parseProblem(example());
  const std::string text = planText(uses, times);
  llmmem::Result<Plan> plan = parsePlan(problem, text);
  ASSERT_TRUE(static_cast<bool>(plan)) << plan.error();
  EXPECT_EQ(plan->peak, 400);
  EXPECT_EQ(plan->moreMemories[0].arena, 100);
  EXPECT_EQ(plan->time->base, 40);
  EXPECT_EQ(plan->alternatives[0].number, 1);
  EXPECT_EQ(toJson(problem, *plan), text);
}

TEST(VersionTwo, WitnessesNameTheirMemory) {
  Problem problem = *parseProblem(example());
  Plan plan;
  plan.moreMemories.resize(1);
  plan.witness = Witness{std::nullopt, {2}, 100, false, "why", 1};
  std::string text = toJson(problem, plan);
  EXPECT_NE(text.find("\"bytes\": 100, \"memory\": 1, "), std::string::npos) << text;
  llmmem::Result<Plan> read = parsePlan(problem, text);
  ASSERT_TRUE(static_cast<bool>(read)) << read.error();
  EXPECT_EQ(read->witness->memory, 1);
}

TEST(VersionTwo, WrongPlans) {
  Problem problem = *parseProblem(example());
  auto planRefusal = [&](const std::string &json) {
    llmmem::Result<Plan> plan = parsePlan(problem, json);
    return plan ? "no refusal" : plan.error();
  };
#define EXPECT_PLAN_REFUSED(json, part)                                                            \
  EXPECT_NE(planRefusal(json).find(part), std::string::npos) << planRefusal(json)
  EXPECT_PLAN_REFUSED(R"({"format": "llmmem-plan", "version": 1})",
                      "expected version 2, as the problem has several memories");
  EXPECT_PLAN_REFUSED(R"({"format": "llmmem-plan", "version": 3})", "expected version 1 or 2");
  EXPECT_PLAN_REFUSED(R"({"format": "llmmem-plan", "version": 2, "status": "unknown"})",
                      "a llmmem-plan must have 'format', 'version', 'status', 'steps', 'offsets', "
                      "'cost', 'memories' and 'time'");
  EXPECT_PLAN_REFUSED(planText(uses, R"( "base_time": 1)"), "'memories' and 'time'");
  EXPECT_PLAN_REFUSED(planText(R"({"id": 1, "peak": 1})", times), "expected 0");
  EXPECT_PLAN_REFUSED(planText(R"({"peak": 1})", times), "a memory must have 'id'");
  EXPECT_PLAN_REFUSED(planText(R"({"id": 0, "bytes": 1})", times), "unknown key 'bytes'");
  EXPECT_PLAN_REFUSED(R"({"version": 2, "peak": 1})", "key 'peak' belongs to version 1");
  EXPECT_PLAN_REFUSED(R"({"version": 2, "time": -1})", "from 0");
  EXPECT_PLAN_REFUSED(R"({"version": 2, "alternatives": [[2, 0]]})", "from 1");
  EXPECT_PLAN_REFUSED(R"({"version": 2, "alternatives": [[2]]})",
                      "expected [op, number of its alternative]");
}

} // namespace
