//===- CorpusTest.cpp - What the fuzzers start from, replayed ----------------------===//

#include "Readers.h"
#include "llmmem/Support/TextFile.h"
#include "llvm/Support/FileSystem.h"
#include "gtest/gtest.h"

using namespace llmmem;

namespace {

/// Hands every file of a corpus to its reader, whole and cut short at `cuts` places.
void replay(llvm::StringRef corpus, void (*reader)(llvm::StringRef), size_t cuts) {
  std::error_code code;
  int files = 0;
  std::string folder = (LLMMEM_FUZZ_CORPORA "/" + corpus).str();
  for (llvm::sys::fs::directory_iterator at(folder, code), end; at != end && !code;
       at.increment(code)) {
    auto file = readTextFile(at->path());
    ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
    llvm::StringRef bytes = (*file)->getBuffer();
    reader(bytes);
    for (size_t cut = 0; cut < cuts; ++cut)
      reader(bytes.take_front(bytes.size() * cut / cuts));
    ++files;
  }
  EXPECT_FALSE(code) << code.message();
  EXPECT_GE(files, 3) << folder;
}

TEST(CorpusTest, replaysConfigs) { replay("config", fuzz::readConfig, 100); }
TEST(CorpusTest, replaysDeviceTables) { replay("device", fuzz::readDeviceTable, 100); }
TEST(CorpusTest, replaysSafeTensors) { replay("safetensors", fuzz::readSafeTensors, 100); }
TEST(CorpusTest, replaysTokenIds) { replay("ids", fuzz::readTokenIds, 20); }

} // namespace
