//===- WholeFileTest.cpp - Files in C that are whole or absent -------------===//

#include "llmmem/Runtime/WholeFile.h"
#include "llmmem/Support/TextFile.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include <cerrno>
#include <gtest/gtest.h>

namespace fs = llvm::sys::fs;

namespace {
class WholeFileTest : public testing::Test {
protected:
  void SetUp() override { ASSERT_FALSE(fs::createUniqueDirectory("llmmem-whole", folder)); }
  void TearDown() override { EXPECT_FALSE(fs::remove_directories(folder)); }

  std::string path(llvm::StringRef name) const { return (folder + "/" + name).str(); }
  std::string textOf(llvm::StringRef name) const {
    llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> text = llmmem::readTextFile(path(name));
    return text ? (*text)->getBuffer().str() : llvm::toString(text.takeError());
  }

  llvm::SmallString<128> folder;
  llmmem_whole_file whole;
};

TEST_F(WholeFileTest, replacesTheOldTextWhenTheNewOneIsWhole) {
  for (const char *text : {"old", "newer"}) {
    std::string name = path("a"), before = fs::exists(name) ? textOf("a") : "";
    ASSERT_EQ(llmmem_whole_file_open(&whole, name.c_str()), 0);
    fputs(text, whole.file);
    fflush(whole.file);
    EXPECT_EQ(fs::exists(name) ? textOf("a") : "", before);
    EXPECT_EQ(llmmem_whole_file_keep(&whole), 0);
    EXPECT_EQ(textOf("a"), text);
    EXPECT_FALSE(fs::exists(path("a.new")));
  }
}

TEST_F(WholeFileTest, leavesNothingWhereItFails) {
  std::string name = path("taken");
  ASSERT_FALSE(fs::create_directory(name));
  ASSERT_EQ(llmmem_whole_file_open(&whole, name.c_str()), 0);
  EXPECT_EQ(llmmem_whole_file_keep(&whole), EISDIR);
  EXPECT_FALSE(fs::exists(path("taken.new")));
}

TEST_F(WholeFileTest, saysWhyItCannotBegin) {
  std::string missing = path("missing/a"), longName(5000, 'a');
  EXPECT_EQ(llmmem_whole_file_open(&whole, missing.c_str()), ENOENT);
  EXPECT_EQ(llmmem_whole_file_open(&whole, longName.c_str()), ENAMETOOLONG);
}
} // namespace
