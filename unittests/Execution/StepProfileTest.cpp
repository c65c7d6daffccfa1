//===- StepProfileTest.cpp - Where the time of steps goes ------------------===//

#include "llmmem/Execution/StepProfile.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace llmmem;

/// The times of calls in a profile.
static std::vector<int64_t> timesOf(const StepProfile &profile) {
  std::vector<int64_t> times;
  llvm::json::Value json = profile.toJson();
  for (const llvm::json::Value &call : *json.getAsObject()->getArray("calls"))
    times.push_back(*call.getAsObject()->getInteger("ns"));
  return times;
}

TEST(StepProfile, GivesTheMedianOfTheStepsAfterTheFirst) {
  KernelCall call;
  call.kind = "gelu";
  StepProfile profile({call, call});
  EXPECT_EQ(timesOf(profile), (std::vector<int64_t>{0, 0}));
  // A single step counts.
  profile.add({100, 1100, 1200, 9200});
  EXPECT_EQ(timesOf(profile), (std::vector<int64_t>{1000, 8000}));
  profile.add({0, 10, 10, 40});
  EXPECT_EQ(timesOf(profile), (std::vector<int64_t>{10, 30}));
  // Of two the middle, of three the second: one slow step changes nothing.
  profile.add({0, 20, 20, 70});
  EXPECT_EQ(timesOf(profile), (std::vector<int64_t>{15, 40}));
  profile.add({0, 5000, 5000, 5040});
  EXPECT_EQ(timesOf(profile), (std::vector<int64_t>{20, 40}));
}

// What was started runs beside the step, whose time is compute and waiting.
TEST(StepProfile, SaysComputeCommunicationAndWaitingApart) {
  auto callOf = [](const char *kind, const char *work) {
    KernelCall call;
    call.kind = kind;
    call.phase = "backward";
    call.work = work;
    return call;
  };
  StepProfile profile({callOf("gelu", "compute"), callOf("all_reduce", "started"),
                       callOf("gelu", "compute"), callOf("wait", "wait"),
                       callOf("all_gather", "communication")});
  profile.add({0, 2000000, 2100000, 7100000, 2200000, 5200000, 5300000, 7300000, 7400000, 8400000});
  std::string text;
  llvm::raw_string_ostream os(text);
  profile.print(os);
  EXPECT_NE(text.find("compute 5.000 ms, communication 6.000 ms, waiting for it 3.000 ms\n"),
            std::string::npos)
      << text;
  // All calls of the step's own thread: 5 ms of compute, and 3 of waiting.
  EXPECT_NE(text.find("      4      8.000  100.00 %\n"), std::string::npos) << text;
}
