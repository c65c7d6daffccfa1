//===- ProblemJsonTest.cpp - Strict readers of problems, plans and buffers -------===//

#include "RandomProblem.h"
#include "llmmem/Planning/Formats/BufferCsv.h"
#include "llmmem/Planning/Model/Plan.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace llmmem::planning;

namespace {

/// Returns a problem's text from its lists.
std::string problemText(llvm::StringRef values, llvm::StringRef ops, llvm::StringRef more = "") {
  return ("{\"format\": \"llmmem-problem\", \"version\": 1, \"values\": [" + values +
          "],\n\"ops\": [" + ops + "]" + more + "}")
      .str();
}

std::string refusal(llvm::StringRef json) {
  llmmem::Result<Problem> problem = parseProblem(json);
  return problem ? "no refusal" : problem.error();
}

#define EXPECT_REFUSED(json, text)                                                                 \
  EXPECT_NE(refusal(json).find(text), std::string::npos) << refusal(json)

constexpr const char *oneValue = R"({"id": 0, "bytes": 8})";
constexpr const char *twoValues = R"({"id": 0, "bytes": 8}, {"id": 1, "bytes": 8})";
constexpr const char *oneOp = R"({"id": 0, "reads": [0], "writes": [1]})";

TEST(ProblemJson, DefaultsAndIds) {
  llmmem::Result<Problem> problem =
      parseProblem(problemText(R"({"id": 9223372036854775807, "bytes": 8}, {"id": 5, "bytes": 0})",
                               R"({"id": 7, "reads": [9223372036854775807, 9223372036854775807],
                                   "writes": [5]})"));
  ASSERT_TRUE(static_cast<bool>(problem)) << problem.error();
  EXPECT_EQ(problem->alignment, 1);
  EXPECT_FALSE(problem->budget);
  EXPECT_EQ(problem->ops[0].reads, std::vector<ValueIndex>{0}); // f(x, x) reads x
  EXPECT_TRUE(problem->ops[0].recompute);
}

TEST(ProblemJson, PrintedProblemsReadBack) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Problem problem = randomProblem(seed, 8);
    problem.ops[0].name = "quote \" and \xc3\xa4";
    problem.ops[0].block = 3;
    problem.ops[0].phase = Phase::Backward;
    const std::string first = toJson(problem);
    llmmem::Result<Problem> read = parseProblem(first);
    ASSERT_TRUE(static_cast<bool>(read)) << read.error();
    EXPECT_EQ(toJson(*read), first);
  }
}

TEST(ProblemJson, RefusesWhatIsNoJson) {
  EXPECT_REFUSED("", "line 1, column 1: expected an object");
  EXPECT_REFUSED("[]", "expected an object");
  EXPECT_REFUSED(problemText(oneValue, "") + "x", "expected nothing more");
  EXPECT_REFUSED(R"({"format": "llmmem-problem)", "closing quote");
  EXPECT_REFUSED(R"({"format": "\q"})", "wrong escape");
  EXPECT_REFUSED("{\"format\": \"\xff\"}", "UTF-8");
  EXPECT_REFUSED(R"({"format": "llmmem-problem", "format": "llmmem-problem"})", "is given twice");
  EXPECT_REFUSED(std::string(1'000'000, '['), "expected an object");
  EXPECT_REFUSED("{\"values\":" + std::string(1'000'000, '['), "expected an object");
}

TEST(ProblemJson, RefusesOtherFormats) {
  EXPECT_REFUSED("{}", "llmmem-problem");
  EXPECT_REFUSED(R"({"format": "llmmem-plan"})", "llmmem-problem");
  EXPECT_REFUSED(R"({"format": "llmmem-problem", "version": 3})", "expected version 1 or 2");
  EXPECT_REFUSED(R"({"format": "llmmem-problem", "version": 1, "values": []})", "'ops'");
}

TEST(ProblemJson, RefusesUnknownAndMissingKeys) {
  EXPECT_REFUSED(problemText(oneValue, "", R"(, "speed": 1)"), "unknown key 'speed'");
  EXPECT_REFUSED(problemText(R"({"id": 0, "bytes": 8, "size": 1})", ""),
                 "at values[0].size: unknown key");
  EXPECT_REFUSED(problemText(oneValue, R"({"id": 0, "read": []})"), "ops[0].read: unknown key");
  EXPECT_REFUSED(problemText(R"({"id": 0})", ""), "must have 'id' and 'bytes'");
  EXPECT_REFUSED(problemText(oneValue, R"({"id": 0, "reads": []})"), "'reads' and 'writes'");
}

TEST(ProblemJson, RefusesNumbersThatAreNone) {
  for (const char *number : {"-1", "9223372036854775808", "1e3", "8.0", "0x8", "08", "\"8\"",
                             "null", "99999999999999999999999999"})
    EXPECT_REFUSED(problemText(std::string(R"({"id": 0, "bytes": )") + number + "}", ""),
                   "at values[0].bytes: expected an integer from 0 to 2^63 - 1");
  EXPECT_REFUSED(problemText(oneValue, "", R"(, "alignment": 0)"), "expected an integer from 1");
  EXPECT_REFUSED(problemText(oneValue, "", R"(, "budget": -5)"), "at budget");
}

TEST(ProblemJson, SaysLineAndColumn) {
  EXPECT_REFUSED("{\"format\": \"llmmem-problem\",\n  \"version\": true}",
                 "line 2, column 14, at version");
}

TEST(ProblemJson, RefusesDuplicateIds) {
  EXPECT_REFUSED(problemText(R"({"id": 3, "bytes": 8}, {"id": 3, "bytes": 8})", ""),
                 "values[1].id: id 3 is taken by values[0]");
  EXPECT_REFUSED(
      problemText(twoValues, std::string(oneOp) + "," + R"({"id": 0, "reads": [], "writes": []})"),
      "ops[1].id: id 0 is taken by ops[0]");
}

TEST(ProblemJson, RefusesUnknownValues) {
  EXPECT_REFUSED(problemText(oneValue, oneOp), "ops[0].writes: no value has the id 1");
  EXPECT_REFUSED(problemText(oneValue, "", R"(, "keep": [4])"), "keep: no value has the id 4");
}

TEST(ProblemJson, RefusesTwoWriters) {
  EXPECT_REFUSED(
      problemText(twoValues, std::string(oneOp) + "," + R"({"id": 1, "reads": [], "writes": [1]})"),
      "ops[1].writes: value 1 is written by ops[0] already");
  EXPECT_REFUSED(problemText(twoValues, R"({"id": 1, "reads": [], "writes": [1, 1]})"), "already");
}

TEST(ProblemJson, RefusesReadsBeforeWritesAndCycles) {
  EXPECT_REFUSED(
      problemText(twoValues, std::string(R"({"id": 4, "reads": [1], "writes": [0]},)") + oneOp),
      "ops[0].reads: reads value 1 before ops[1] writes it");
  EXPECT_REFUSED(problemText(oneValue, R"({"id": 4, "reads": [0], "writes": [0]})"),
                 "reads value 0 before ops[0] writes it");
}

TEST(ProblemJson, RefusesResidentResults) {
  EXPECT_REFUSED(
      problemText(R"({"id": 0, "bytes": 8}, {"id": 1, "bytes": 8, "resident": true})", oneOp),
      "value 1 is resident, which only inputs may be");
}

/// What an op reads in two ways has one entry, and one pair or none: whoever makes a problem says
/// in it whether the result may be in all of them.
TEST(ProblemJson, RefusesAValueThatIsListedTwice) {
  llmmem::Result<Problem> problem = parseProblem(problemText(twoValues, oneOp));
  ASSERT_TRUE(static_cast<bool>(problem)) << problem.error();
  problem->ops[0].reads.push_back(problem->ops[0].reads[0]);
  EXPECT_NE(validateProblem(*problem).value_or("").find("value 0 is given twice"),
            std::string::npos);
}

TEST(ProblemJson, RefusesForeignInPlacePairs) {
  EXPECT_REFUSED(
      problemText(twoValues, R"({"id": 0, "reads": [0], "writes": [1], "in_place": [[0, 1]]})"),
      "in_place: the first of a pair");
  EXPECT_REFUSED(
      problemText(twoValues, R"({"id": 0, "reads": [0], "writes": [1], "in_place": [[1]]})"),
      "expected a pair");
}

TEST(ProblemJson, RefusesSumsThatOverflow) {
  EXPECT_REFUSED(
      problemText(R"({"id": 0, "bytes": 9223372036854775807}, {"id": 1, "bytes": 1})", ""),
      "2^63 or more");
  EXPECT_REFUSED(
      problemText(R"({"id": 0, "bytes": 9223372036854775807})", "", R"(, "alignment": 256)"),
      "rounded up to the alignment");
  EXPECT_REFUSED(
      problemText("", R"({"id": 0, "cost": 9223372036854775807, "reads": [], "writes": []},
                         {"id": 1, "cost": 1, "reads": [], "writes": []})"),
      "costs add up");
}

TEST(PlanJson, PrintedPlansReadBack) {
  Problem problem = randomProblem(3, 6);
  Plan plan;
  plan.status = Status::Unknown;
  plan.steps = {0, 1, 0};
  plan.offsets = {{-1, 0, 16}, {0, 1, 0}};
  plan.workspaces = {{1, 32}};
  plan.seconds = 0.25;
  plan.witness = Witness{2, {1, 0}, 77, true, "an \"op\""};
  const std::string first = toJson(problem, plan);
  llmmem::Result<Plan> read = parsePlan(problem, first);
  ASSERT_TRUE(static_cast<bool>(read)) << read.error();
  EXPECT_EQ(toJson(problem, *read), first);
  EXPECT_EQ(read->witness->values, (std::vector<ValueIndex>{1, 0}));
}

/// What a plan names and the problem lacks is for the verifier to say, not for the reader.
TEST(PlanJson, UnknownIdsAreReadable) {
  const Problem problem = randomProblem(3, 2);
  llmmem::Result<Plan> plan = parsePlan(problem, R"({"format": "llmmem-plan", "version": 1,
    "status": "feasible", "steps": [99], "offsets": [[0, 99, 0]], "peak": 0, "arena": 0,
    "cost": 0, "witness": null})");
  ASSERT_TRUE(static_cast<bool>(plan)) << plan.error();
  EXPECT_EQ(plan->steps[0], -1);
  EXPECT_EQ(plan->offsets[0].value, -1);
}

TEST(BufferCsv, ReadsAnyColumnOrder) {
  llvm::Expected<BufferTable> table =
      parseBufferCsv("size,id,upper,lower,offset\r\n4,b1,3,0,9\r\n\r\n");
  ASSERT_TRUE(static_cast<bool>(table)) << llvm::toString(table.takeError());
  std::string text;
  llvm::raw_string_ostream os(text);
  printBufferCsv(*table, {12}, os);
  EXPECT_EQ(text, "id,lower,upper,size,offset\nb1,0,3,4,12\n");
}

TEST(BufferCsv, RefusesWithTheLine) {
  auto refused = [](llvm::StringRef rows, llvm::StringRef header = "id,lower,upper,size") {
    llvm::Expected<BufferTable> table = parseBufferCsv((header + "\n" + rows).str());
    return table ? std::string("no refusal") : llvm::toString(table.takeError());
  };
  EXPECT_NE(refused("", "id,lower,upper").find("line 1: column 'size' is missing"),
            std::string::npos);
  EXPECT_NE(refused("", "id,lower,upper,size,speed").find("unknown column 'speed'"),
            std::string::npos);
  EXPECT_NE(refused("a,0,1,1\nb,0,1").find("line 3: expected 4 cells, got 3"), std::string::npos);
  EXPECT_NE(refused("a,0,1,-1").find("as size, got '-1'"), std::string::npos);
  EXPECT_NE(refused("a,0,1,9223372036854775808").find("as size"), std::string::npos);
  EXPECT_NE(refused("a,5,5,1").find("must be above lower"), std::string::npos);
  EXPECT_NE(refused("a,0,1,1\na,0,1,1").find("is given twice"), std::string::npos);
  EXPECT_NE(refused("a,0,1,9223372036854775807\nb,0,1,1").find("add up"), std::string::npos);
}

} // namespace
