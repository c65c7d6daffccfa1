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
  // The median of two is their middle, that of three the second: one slow step changes nothing.
  profile.add({0, 20, 20, 70});
  EXPECT_EQ(timesOf(profile), (std::vector<int64_t>{15, 40}));
  profile.add({0, 5000, 5000, 5040});
  EXPECT_EQ(timesOf(profile), (std::vector<int64_t>{20, 40}));
}

// What was started overlaps with the step, whose own time is compute, communication and waiting.
TEST(StepProfile, SaysComputeCommunicationAndWaitingApart) {
  auto callOf = [](const char *kind, const char *work) {
    KernelCall call;
    call.kind = call.key = kind;
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
  // All calls of the step's own thread.
  EXPECT_NE(text.find("      4      8.000  100.00 %\n"), std::string::npos) << text;
  StepProfile::Transfers transfers = profile.transfers();
  EXPECT_EQ(transfers, (StepProfile::Transfers{{"all_gather", 1000000}, {"all_reduce", 5000000}}));
  // Alone, no other rank is waited for: 2 of 5 ms of the sum are in its wait.
  StepProfile::Parts alone = profile.parts(transfers);
  EXPECT_EQ(alone.compute, 5000000);
  EXPECT_EQ(alone.communication, 3000000);
  EXPECT_EQ(alone.waiting, 0);
  EXPECT_EQ(alone.overlapped, 3000000);
  // Another rank has seen how little they take.
  StepProfile::Parts parts = profile.parts({{"all_gather", 400000}, {"all_reduce", 1500000}});
  EXPECT_EQ(parts.compute, 5000000);
  EXPECT_EQ(parts.communication, 1900000);
  EXPECT_EQ(parts.waiting, 1100000);
  EXPECT_EQ(parts.overlapped, 0);
}
