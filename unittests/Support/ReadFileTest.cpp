//===- ReadFileTest.cpp - Whole files that come to an end --------------------===//

#include "llmmem/Support/TextFile.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "gtest/gtest.h"
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace llmmem;

namespace {

class ReadFileTest : public ::testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("llmmem-read", folder));
    path = (folder + "/file").str();
  }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }

  void write(llvm::StringRef text) {
    std::error_code code;
    llvm::raw_fd_ostream os(path, code);
    os << text;
  }

  /// Returns what is read, or the error.
  std::string read(FileKind kind = FileKind::Description) {
    auto buffer = readTextFile(path, kind);
    if (!buffer)
      return llvm::toString(buffer.takeError());
    EXPECT_EQ((*buffer)->getBufferEnd()[0], '\0');
    EXPECT_EQ((*buffer)->getBufferIdentifier(), path);
    return (*buffer)->getBuffer().str();
  }

  llvm::SmallString<128> folder;
  std::string path;
};

TEST_F(ReadFileTest, readsFilesOfAnySize) {
  for (size_t size : {0, 1, 16383, 16384, 65536, 65537}) {
    std::string text(size, 'x');
    write(text);
    EXPECT_EQ(read(), text) << size;
  }
}

TEST_F(ReadFileTest, refusesWhatHasNoEnd) {
  path = "/dev/zero";
  EXPECT_EQ(read(FileKind::Data), "cannot read '/dev/zero': it is a device; name a file, or - for "
                                  "what a program writes to stdin");
  path = folder.str().str();
  EXPECT_EQ(read(), "cannot read '" + path + "': Is a directory");
  path = "/dev/null";
  EXPECT_EQ(read(), "");
}

TEST_F(ReadFileTest, refusesAFifoThatNobodyOpens) {
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(read(), "cannot read '" + path +
                        "': it is a pipe that no program has opened for writing within 2 seconds; "
                        "start that program first, or name a file");
}

TEST_F(ReadFileTest, readsAFifoThatAProgramOpensLater) {
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::thread writer([&] {
    usleep(20000);
    int end = open(path.c_str(), O_WRONLY);
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(::write(end, "piece ", 6), 6);
      usleep(20000);
    }
    close(end);
  });
  EXPECT_EQ(read(), "piece piece piece ");
  writer.join();
}

TEST_F(ReadFileTest, readsAPipeOfAShell) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_EQ(::write(ends[1], "text", 4), 4);
  close(ends[1]);
  path = "/dev/fd/" + std::to_string(ends[0]);
  EXPECT_EQ(read(), "text");
  close(ends[0]);
}

TEST_F(ReadFileTest, mapsWhatIsLarge) {
  write("");
  ASSERT_EQ(truncate(path.c_str(), off_t(2) << 30), 0);
  EXPECT_EQ(read(), "cannot read '" + path +
                        "': it has 2.15 GB, expected at most 268.44 MB; is it the right one?");
  auto buffer = readTextFile(path, FileKind::Data);
  ASSERT_TRUE(bool(buffer)) << llvm::toString(buffer.takeError());
  EXPECT_EQ((*buffer)->getBufferSize(), size_t(2) << 30);
  EXPECT_EQ((*buffer)->getBufferEnd()[0], '\0');
  struct rusage used;
  ASSERT_EQ(getrusage(RUSAGE_SELF, &used), 0);
  EXPECT_LT(used.ru_maxrss, 1 << 20); // KiB
}

} // namespace
