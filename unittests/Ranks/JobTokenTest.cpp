//===- JobTokenTest.cpp - What the ranks of a job know ---------------------===//

extern "C" {
#include "JobToken.h"
#include "SocketJob.h"
}
#include "gtest/gtest.h"
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/stat.h>

namespace fs = std::filesystem;

namespace {

std::string hexOf(const uint8_t *digest) {
  std::string text;
  for (int k = 0; k < SHA256_BYTES; ++k) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", digest[k]);
    text += digits;
  }
  return text;
}

TEST(Sha256Test, KnownDigests) {
  uint8_t digest[SHA256_BYTES];
  Sha256 hash;
  sha256_begin(&hash);
  sha256_add(&hash, "abc", 3);
  sha256_end(&hash, digest);
  EXPECT_EQ(hexOf(digest), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  // RFC 4231, case 2, in two pieces.
  const HmacPiece pieces[] = {{"what do ya want ", 16}, {"for nothing?", 12}};
  hmac_sha256("Jefe", 4, pieces, 2, digest);
  EXPECT_EQ(hexOf(digest), "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  // RFC 4231, case 6: a key longer than a block.
  const std::string key(131, '\xaa'),
      text = "Test Using Larger Than Block-Size Key - Hash Key First";
  const HmacPiece whole = {text.data(), text.size()};
  hmac_sha256(key.data(), key.size(), &whole, 1, digest);
  EXPECT_EQ(hexOf(digest), "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

/// A home folder of its own, and no launcher.
class JobTokenTest : public ::testing::Test {
protected:
  JobTokenTest() {
    for (const char *name : {"LLMMEM_JOB_TOKEN", "TORCHELASTIC_RUN_ID", "SLURM_JOB_ID",
                             "SLURM_STEP_ID", "XDG_STATE_HOME"})
      unsetenv(name);
    setenv("HOME", home.c_str(), 1);
    fs::remove_all(home);
  }
  ~JobTokenTest() override { fs::remove_all(home); }

  /// The token, or why there is none.
  static std::string read() {
    uint8_t token[SHA256_BYTES];
    char message[1024];
    return llmmem_read_job_token(token, message, sizeof message) ? message : hexOf(token);
  }

  std::string home = ::testing::TempDir() + "llmmem-job-token-" + std::to_string(getpid());
  fs::path file = fs::path(home) / ".local/state/llmmem/job-token";
};

TEST_F(JobTokenTest, TheFirstRankMakesTheUsersSecret) {
  std::string first = read();
  EXPECT_EQ(first.size(), 64U);
  EXPECT_EQ(read(), first);
  struct stat facts = {};
  ASSERT_EQ(stat(file.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0600U);
  EXPECT_EQ(facts.st_size, 64);
}

TEST_F(JobTokenTest, AnotherJobHasAnotherToken) {
  std::string first = read();
  setenv("TORCHELASTIC_RUN_ID", "7", 1);
  std::string second = read();
  EXPECT_NE(second, first);
  unsetenv("TORCHELASTIC_RUN_ID");
  setenv("SLURM_JOB_ID", "7", 1);
  EXPECT_NE(read(), second);
}

TEST_F(JobTokenTest, AFileThatOthersReadIsRefused) {
  read();
  chmod(file.c_str(), 0640);
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "can be read or written by others; 'chmod 600' it",
                      read());
}

TEST_F(JobTokenTest, ALinkIsRefused) {
  read();
  fs::rename(file, file.string() + ".other");
  fs::create_symlink(file.string() + ".other", file);
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "cannot be used: Too many levels of symbolic links",
                      read());
}

TEST_F(JobTokenTest, AFileThatWasCutOffIsRefused) {
  read();
  fs::resize_file(file, 63);
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "has fewer than 64 digits; delete it", read());
}

TEST_F(JobTokenTest, AVariableTakesTheFilesPlace) {
  setenv("LLMMEM_JOB_TOKEN", "sixteen letters.", 1);
  EXPECT_EQ(read().size(), 64U);
  EXPECT_FALSE(fs::exists(file));
  setenv("LLMMEM_JOB_TOKEN", "fifteen letters", 1);
  EXPECT_PRED_FORMAT2(::testing::IsSubstring,
                      "LLMMEM_JOB_TOKEN has 15 characters; expected 16 or more", read());
}

/// Refuses variables of a launcher that are not whole numbers in their range.
TEST_F(JobTokenTest, VariablesAreWholeNumbers) {
  for (auto [rank, ranks, port, expected] :
       {std::tuple("1x", "2", "29500", "RANK is '1x'; expected a number from 0 to"),
        {"99999999999", "2", "29500", "RANK is '99999999999'; expected"},
        {"0", "2147483647", "29500",
         "WORLD_SIZE is '2147483647'; expected a number from 1 to 65536"},
        {"2", "2", "29500", "expected a rank below the number of ranks"},
        {"0", "2", "65536", "MASTER_PORT is '65536'; expected a number from 1 to 65535"},
        {"0", "2", "", "found no address of rank 0"}}) {
    setenv("RANK", rank, 1);
    setenv("WORLD_SIZE", ranks, 1);
    setenv("MASTER_ADDR", "127.0.0.1", 1);
    setenv("MASTER_PORT", port, 1);
    SocketJob job;
    char message[1024];
    EXPECT_EQ(llmmem_read_socket_job(&job, message, sizeof message), 1);
    EXPECT_PRED_FORMAT2(::testing::IsSubstring, expected, message);
  }
}

} // namespace
