//===- TemporaryFileTest.cpp - What dead writers leave, and who removes it -------===//

#include "llmmem/Support/TemporaryFile.h"
#include "llmmem/Support/TextFile.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "gtest/gtest.h"
#include <csignal>
#include <set>
#include <sys/wait.h>
#include <unistd.h>

using namespace llmmem;
namespace fs = llvm::sys::fs;

namespace {

/// A folder of its own for each test, with a % in its name.
class TemporaryFileTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(fs::createUniqueDirectory("llmmem-temporary", unique));
    folder = unique;
    llvm::sys::path::append(folder, "100%");
    ASSERT_FALSE(fs::create_directory(folder));
  }
  void TearDown() override { EXPECT_FALSE(fs::remove_directories(unique)); }

  std::string path(llvm::StringRef name) const {
    llvm::SmallString<256> result(folder);
    llvm::sys::path::append(result, name);
    return std::string(result);
  }
  /// As a writer that was killed leaves it.
  void plant(llvm::StringRef name) const {
    int file = -1;
    ASSERT_FALSE(fs::openFileForWrite(path(name), file));
    close(file);
  }
  std::set<std::string> files() const {
    std::set<std::string> names;
    std::error_code code;
    for (fs::directory_iterator at(folder, code), end; at != end && !code; at.increment(code))
      names.insert(llvm::sys::path::filename(at->path()).str());
    return names;
  }
  static std::string nameOf(const TemporaryFile &file) {
    return llvm::sys::path::filename(file.path()).str();
  }
  TemporaryFile create(llvm::StringRef name) const {
    return llvm::cantFail(TemporaryFile::create(path(name)));
  }

  llvm::SmallString<256> unique, folder;
};

/// A process that begins to write, says the name of its temporary, and never ends by itself.
class Writer {
public:
  explicit Writer(const std::string &target) {
    int said[2];
    EXPECT_EQ(pipe(said), 0);
    process = fork();
    if (process == 0) {
      auto file = TemporaryFile::create(target);
      if (!file || ::write(said[1], file->path().c_str(), file->path().size() + 1) < 0)
        _exit(1);
      for (;;)
        pause();
    }
    close(said[1]);
    for (char letter; read(said[0], &letter, 1) == 1 && letter;)
      temporary += letter;
    close(said[0]);
  }
  ~Writer() { kill(); }

  void kill() {
    if (process > 0) {
      ::kill(process, SIGKILL);
      waitpid(process, nullptr, 0);
    }
    process = 0;
  }

  std::string temporary;

private:
  pid_t process = 0;
};

TEST_F(TemporaryFileTest, isKeptOrDiscarded) {
  {
    TemporaryFile kept = create("a"), discarded = create("a"), forgotten = create("a");
    EXPECT_EQ(files().size(), 3U);
    EXPECT_EQ(targetOfTemporary(nameOf(kept)), "a");
    EXPECT_FALSE(kept.keep());
    discarded.discard();
  }
  EXPECT_EQ(files(), std::set<std::string>{"a"});
}

TEST_F(TemporaryFileTest, theNextWriterRemovesWhatADeadOneLeft) {
  for (const char *name :
       {"a.0123abcd.tmp", "a.00000000.tmp", "a.0123abcd.tmp.o", "a.89abcdef.tmp.made"})
    plant(name);
  EXPECT_EQ(llvm::toString(writeTextFile(path("a"), "text")), "");
  EXPECT_EQ(files(), std::set<std::string>{"a"});
}

TEST_F(TemporaryFileTest, otherNamesStay) {
  const std::set<std::string> others = {
      "a.0123abcd",     "a.0123abcd.tmpx",  "a.0123ABCD.tmp", "a.123abcd.tmp",
      "b.0123abcd.tmp", "aa.0123abcd.tmp",  "a.tmp",          ".0123abcd.tmp",
      "0123abcd.tmp",   "a.b.0123abcd.tmp", "a-0123abcd.tmp"};
  for (const std::string &name : others)
    plant(name);
  removeDeadTemporaries(path("a"));
  EXPECT_EQ(files(), others);
}

TEST_F(TemporaryFileTest, whatIsNoFileStays) {
  ASSERT_FALSE(fs::create_directory(path("a.0123abcd.tmp")));
  plant("precious");
  ASSERT_FALSE(fs::create_link(path("precious"), path("a.89abcdef.tmp")));
  removeDeadTemporaries(path("a"));
  EXPECT_EQ(files(), (std::set<std::string>{"a.0123abcd.tmp", "a.89abcdef.tmp", "precious"}));
}

TEST_F(TemporaryFileTest, theTemporaryOfALiveProcessStaysUntilItIsKilled) {
  Writer writer(path("a"));
  std::string name = llvm::sys::path::filename(writer.temporary).str();
  plant(name + ".made");
  EXPECT_EQ(llvm::toString(writeTextFile(path("a"), "text")), "");
  EXPECT_EQ(files(), (std::set<std::string>{"a", name, name + ".made"}));
  writer.kill();
  EXPECT_EQ(llvm::toString(writeTextFile(path("a"), "text")), "");
  EXPECT_EQ(files(), std::set<std::string>{"a"});
}

TEST_F(TemporaryFileTest, aFolderIsSweptOfAllTargetsOfAKind) {
  Writer writer(path("alive.o"));
  plant("a.o.0123abcd.tmp");
  plant("b.so.0123abcd.tmp");
  plant("c");
  plant("notes.20261128.tmp");
  removeDeadTemporariesIn(folder, {".o", ".so"});
  EXPECT_EQ(files(), (std::set<std::string>{"c", "notes.20261128.tmp",
                                            llvm::sys::path::filename(writer.temporary).str()}));
}

TEST_F(TemporaryFileTest, writesPiecesOneAfterAnother) {
  TemporaryFile file = create("a");
  ASSERT_FALSE(file.write({"one, ", "", "two"}));
  ASSERT_FALSE(file.write({", three"}));
  ASSERT_FALSE(file.keep());
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> text = readTextFile(path("a"));
  ASSERT_TRUE(static_cast<bool>(text));
  EXPECT_EQ((*text)->getBuffer(), "one, two, three");
}

/// What a tool has made of the input takes the target's place, and the writer's own file goes.
TEST_F(TemporaryFileTest, keepsACompanionInsteadOfItself) {
  TemporaryFile file = create("a"), failing = create("b");
  ASSERT_FALSE(file.write({"input"}));
  ASSERT_FALSE(static_cast<bool>(writeTextFile(file.companion("made"), "made")));
  EXPECT_FALSE(file.keepCompanion("made"));
  EXPECT_EQ(failing.keepCompanion("made"), std::errc::no_such_file_or_directory);
  EXPECT_EQ(files(), std::set<std::string>{"a"});
  uint64_t bytes = 0;
  EXPECT_FALSE(fs::file_size(path("a"), bytes));
  EXPECT_EQ(bytes, 4u);
}

TEST_F(TemporaryFileTest, findsWhatLinksLeadTo) {
  plant("a");
  ASSERT_FALSE(fs::create_link(path("a"), path("link")));
  EXPECT_EQ(llvm::sys::path::filename(*resolveTarget(path("link"))), "a");
  EXPECT_EQ(*resolveTarget(path("none")), path("none"));
  EXPECT_EQ(resolveTarget(folder).getError(), std::errc::is_a_directory);
}

TEST_F(TemporaryFileTest, sweepersDoNotMeet) {
  plant("a.0123abcd.tmp");
  std::vector<DeadTemporary> first = findDeadTemporaries(path("a"));
  ASSERT_EQ(first.size(), 1U);
  EXPECT_TRUE(findDeadTemporaries(path("a")).empty());
  first.front().remove();
  EXPECT_TRUE(files().empty());
}

TEST_F(TemporaryFileTest, aFolderThatIsNotThereHasNone) {
  removeDeadTemporariesIn(path("missing"), {".o"});
  EXPECT_TRUE(findDeadTemporaries(path("missing/a")).empty());
  EXPECT_FALSE(
      static_cast<bool>(llvm::expectedToOptional(TemporaryFile::create(path("missing/a")))));
}

} // namespace
