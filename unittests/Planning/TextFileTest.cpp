//===- TextFileTest.cpp - Whole texts, or none -----------------------------------===//

#include "llmmem/Support/TextFile.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "gtest/gtest.h"
#include <vector>

using namespace llmmem;
namespace fs = llvm::sys::fs;

namespace {

/// A folder of its own for each test.
class TextFileTest : public testing::Test {
protected:
  void SetUp() override { ASSERT_FALSE(fs::createUniqueDirectory("llmmem-text", folder)); }
  void TearDown() override { fs::remove_directories(folder); }

  std::string path(llvm::StringRef name) const {
    llvm::SmallString<256> result(folder);
    llvm::sys::path::append(result, name);
    return std::string(result);
  }
  static std::string read(llvm::StringRef path) {
    auto text = readTextFile(path);
    return text ? (*text)->getBuffer().str() : "error: " + llvm::toString(text.takeError());
  }
  static std::string write(llvm::StringRef path, llvm::StringRef text) {
    return llvm::toString(writeTextFile(path, text));
  }
  int files() const {
    int count = 0;
    std::error_code code;
    for (fs::directory_iterator at(folder, code), end; at != end && !code; at.increment(code))
      ++count;
    return count;
  }

  llvm::SmallString<256> folder;
};

TEST_F(TextFileTest, readsWhatWasWritten) {
  std::string text("any\0bytes\xff\n", 11);
  EXPECT_EQ(write(path("a"), text), "");
  EXPECT_EQ(read(path("a")), text);
  EXPECT_EQ(write(path("a"), ""), "");
  EXPECT_EQ(read(path("a")), "");
  EXPECT_EQ(files(), 1) << "no temporary is left";
}

TEST_F(TextFileTest, checksOutputsBeforeTheyAreWritten) {
  auto check = [](std::vector<llvm::StringRef> paths) {
    return llvm::toString(checkOutputs(paths));
  };
  const std::string good = path("a"), absent = path("no/b"), same = std::string(folder);
  EXPECT_EQ(check({}), "");
  EXPECT_EQ(check({good, "", "", "-", "/dev/null", "/dev/null", "here"}), "");
  EXPECT_EQ(check({good, absent}),
            "cannot create a file next to '" + absent + "': No such file or directory");
  EXPECT_EQ(check({same}), "cannot write '" + same + "': Is a directory");
  EXPECT_EQ(check({good, "-", good}),
            "two outputs go to '" + good + "'; give each a file of its own");
  EXPECT_EQ(check({"-", "-"}), "two outputs go to '-'; give each a file of its own");
  EXPECT_EQ(files(), 0) << "a check writes nothing";
}

TEST_F(TextFileTest, namesWhatFailed) {
  EXPECT_EQ(read(path("absent")),
            "error: cannot read '" + path("absent") + "': No such file or directory");
  EXPECT_EQ(write(folder, "text"), "cannot write '" + std::string(folder) + "': Is a directory");
  EXPECT_NE(write(path("no/folder"), "text").find("cannot create a file next to"),
            std::string::npos);
  EXPECT_EQ(write("", "text"), "no file is named to write to; give one, or - for stdout");
  EXPECT_EQ(files(), 0);
}

TEST_F(TextFileTest, fullDevicesAreSaid) {
  if (!fs::exists("/dev/full"))
    GTEST_SKIP() << "no /dev/full here";
  EXPECT_NE(write("/dev/full", "text").find("cannot write '/dev/full'"), std::string::npos);
}

TEST_F(TextFileTest, writesThroughLinks) {
  EXPECT_EQ(write(path("target"), "old"), "");
  ASSERT_FALSE(fs::create_link("target", path("link")));
  EXPECT_EQ(write(path("link"), "new"), "");
  EXPECT_EQ(read(path("target")), "new");
  bool isLink = false;
  EXPECT_FALSE(fs::is_symlink_file(path("link"), isLink));
  EXPECT_TRUE(isLink);
}

} // namespace
