//===- CorpusTest.cpp - What the fuzzer starts from, replayed ---------------------===//

#include "llmmem/Support/TextFile.h"
#include "llvm/Support/FileSystem.h"
#include "gtest/gtest.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

namespace {

/// The fuzzer's function aborts where the readers break a promise. Each file is also cut short at
/// every byte, and changed at every byte, which is a poor man's fuzzing without the tools for it.
TEST(CorpusTest, replays) {
  std::error_code code;
  int files = 0;
  for (llvm::sys::fs::directory_iterator at(LLMMEM_FUZZ_CORPUS, code), end; at != end && !code;
       at.increment(code)) {
    auto file = llmmem::readTextFile(at->path());
    ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
    std::string text = (*file)->getBuffer().str();
    auto replay = [&] {
      LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t *>(text.data()), text.size());
    };
    replay();
    for (size_t position = 0; position < text.size(); ++position)
      for (char other : {'0', '"', ']', '-', '\xff'}) {
        std::swap(text[position], other);
        replay();
        std::swap(text[position], other);
      }
    for (; !text.empty(); text.pop_back())
      replay();
    ++files;
  }
  EXPECT_FALSE(code) << code.message();
  EXPECT_GE(files, 3);
}

} // namespace
