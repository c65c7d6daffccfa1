//===- StepProfileTest.cpp - Where the time of steps goes ------------------===//

#include "llmmem/Execution/StepProfile.h"
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
