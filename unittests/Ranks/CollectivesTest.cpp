//===- CollectivesTest.cpp - Collectives, their sums and their groups ------===//

#include "llmmem/Runtime/Collectives.h"
#include "Definitions.h"
#include "ThreadTransport.h"
#include "gtest/gtest.h"
#include <cstdlib>

namespace {

class Collectives : public ::testing::TestWithParam<std::vector<int64_t>> {};

TEST_P(Collectives, AreWhatTheyAreDefinedToBe) {
  runAsRanks(GetParam(), [&](int) { EXPECT_EQ(checkCollectives(GetParam()), ""); });
}

INSTANTIATE_TEST_SUITE_P(Meshes, Collectives,
                         ::testing::Values(std::vector<int64_t>{1}, std::vector<int64_t>{2},
                                           std::vector<int64_t>{3}, std::vector<int64_t>{5},
                                           std::vector<int64_t>{2, 3},
                                           std::vector<int64_t>{2, 1, 2}));

TEST(CollectivesAlone, AreTheIdentity) { EXPECT_EQ(checkCollectives({1, 1}), ""); }

// 2 x 3 ranks, the last axis the fastest: rank 4 is (1, 1).
TEST(Ranks, AreNumberedRowMajor) {
  runAsRanks({2, 3}, [](int rank) {
    EXPECT_EQ(llmmem_group_position(1), rank / 3);
    EXPECT_EQ(llmmem_group_position(2), rank % 3);
    EXPECT_EQ(llmmem_group_position(3), rank);
    EXPECT_EQ(llmmem_group_position(0), 0);
  });
}

TEST(Ranks, RefuseAMeshOfAnotherSize) {
  llmmem_transport transport = {};
  transport.ranks = 3;
  transport.close = [](void *) {};
  const int64_t sizes[] = {2, 2};
  char message[256] = "";
  EXPECT_EQ(llmmem_ranks_join(&transport, 2, sizes, message, sizeof message), 1);
  EXPECT_STREQ(message, "the step's mesh has 4 ranks and this job 3; start it with 'mpirun -n 4'");
  llmmem_ranks_end();
}

TEST(Ranks, OneProcessRunsAMeshOfOneRank) {
  const int64_t one[] = {1}, two[] = {2};
  char message[256] = "";
  EXPECT_EQ(llmmem_ranks_begin(1, one, 0, message, sizeof message), 0);
  EXPECT_EQ(llmmem_ranks_begin(1, two, 0, message, sizeof message), 1);
  EXPECT_STREQ(message, "the step's mesh has 2 ranks and this is one process; start it with "
                        "'mpirun -n 2'");
}

TEST(Ranks, TorchrunsVariablesNameMpirun) {
  setenv("TORCHELASTIC_RUN_ID", "none", 1);
  const int64_t two[] = {2};
  char message[256] = "";
  EXPECT_EQ(llmmem_ranks_begin(1, two, 0, message, sizeof message), 1);
  unsetenv("TORCHELASTIC_RUN_ID");
  EXPECT_NE(std::string(message).find("mpirun"), std::string::npos) << message;
}

} // namespace
