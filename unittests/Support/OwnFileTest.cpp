//===- OwnFileTest.cpp - Whether another user could have written a file ------===//

#include "llmmem/Support/OwnFile.h"
#include "gtest/gtest.h"
#include <unistd.h>

using namespace llmmem;

namespace {

struct stat statusOf(mode_t mode, uid_t owner) {
  struct stat status = {};
  status.st_mode = mode;
  status.st_uid = owner;
  return status;
}

TEST(OwnFileTest, ownAndRootsFilesThatOthersReadAreOwn) {
  EXPECT_EQ(whyForeign(statusOf(S_IFREG | 0644, geteuid())), "");
  EXPECT_EQ(whyForeign(statusOf(S_IFDIR | 0755, 0)), "");
}

TEST(OwnFileTest, anotherUsersFileIsForeign) {
  EXPECT_EQ(whyForeign(statusOf(S_IFREG | 0600, geteuid() + 1)),
            "belongs to another user (uid " + std::to_string(geteuid() + 1) + ")");
}

TEST(OwnFileTest, aFileThatOthersWriteIsForeign) {
  EXPECT_EQ(whyForeign(statusOf(S_IFDIR | 0775, geteuid())),
            "may be written to by others (mode 0775)");
  EXPECT_EQ(whyForeign(statusOf(S_IFDIR | S_ISVTX | 0777, geteuid())),
            "may be written to by others (mode 1777)");
}

TEST(OwnFileTest, aLinkIsForeign) {
  EXPECT_EQ(whyForeign(statusOf(S_IFLNK | 0777, geteuid())), "is a link");
}

TEST(OwnFileTest, aPathLeadsOutByItsRootOrByAParent) {
  for (const char *path : {"/etc/file", "..", "../file", "a/../../file", "a/.."})
    EXPECT_TRUE(leadsOut(path)) << path;
  for (const char *path : {"file", "a/file", "..file", "a..", "./file"})
    EXPECT_FALSE(leadsOut(path)) << path;
}

TEST(OwnFileTest, nothingIsNotForeign) { EXPECT_EQ(whyForeign("/no/such/file"), ""); }

} // namespace
