//===- TokenizerTest.cpp - Ids and texts as Hugging Face's tokenizers ------===//
//
// Inputs are written by utils/golden-tokenizers.py.
//
//===----------------------------------------------------------------------===//

#include "llmmem/Tokenizers/Tokenizer.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <gtest/gtest.h>

using namespace llmmem;
namespace json = llvm::json;

static std::string input(llvm::StringRef name) {
  return (llvm::Twine(LLMMEM_TOKENIZER_INPUTS "/") + name).str();
}

static Tokenizer readTokenizer(llvm::StringRef name) {
  llvm::Expected<Tokenizer> tokenizer = Tokenizer::read(input(name));
  EXPECT_TRUE(static_cast<bool>(tokenizer)) << llvm::toString(tokenizer.takeError());
  return std::move(*tokenizer);
}

static json::Value readExpected(llvm::StringRef name) {
  return llvm::cantFail(
      json::parse(llvm::cantFail(llvm::errorOrToExpected(llvm::MemoryBuffer::getFile(input(name))))
                      ->getBuffer()));
}

/// Returns what reading a file of this text says.
static std::string refusalOf(llvm::StringRef text) {
  llvm::SmallString<128> path;
  EXPECT_FALSE(llvm::sys::fs::createTemporaryFile("tokenizer", "json", path));
  std::error_code code;
  llvm::raw_fd_ostream(path, code) << text;
  llvm::Expected<Tokenizer> tokenizer = Tokenizer::read(path);
  llvm::sys::fs::remove(path);
  return tokenizer ? "" : llvm::toString(tokenizer.takeError());
}

namespace {
class Tokenizers : public testing::TestWithParam<const char *> {};
} // namespace

TEST_P(Tokenizers, GiveTheIdsAndTheTextsOfTheReference) {
  Tokenizer tokenizer = readTokenizer(GetParam() + std::string(".json"));
  json::Value file = readExpected(GetParam() + std::string(".expected.json"));
  ASSERT_GE(file.getAsArray()->size(), 20u);
  for (const json::Value &entry : *file.getAsArray()) {
    const json::Object &expected = *entry.getAsObject();
    llvm::StringRef text = *expected.getString("text");
    std::vector<int32_t> ids;
    for (const json::Value &id : *expected.getArray("ids"))
      ids.push_back(static_cast<int32_t>(*id.getAsInteger()));
    EXPECT_EQ(llvm::cantFail(tokenizer.encode(text)), ids) << text.str();
    EXPECT_EQ(tokenizer.decode(ids), expected.getString("decoded")->str()) << text.str();
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, Tokenizers,
                         testing::Values("gpt2", "llama3", "qwen2", "o200k", "neox", "stripping",
                                         "falcon", "llama2", "mistral", "metaspace", "gemma"),
                         [](const auto &kind) { return std::string(kind.param); });

TEST(Tokenizer, EncodesALongRunOfSpacesAndALongWord) {
  Tokenizer tokenizer = readTokenizer("gpt2.json");
  std::string text = std::string(200000, ' ') + std::string(200000, 'a');
  EXPECT_EQ(tokenizer.decode(llvm::cantFail(tokenizer.encode(text))), text);
}

TEST(Tokenizer, RefusesATextThatIsNotUTF8) {
  llvm::Expected<std::vector<int32_t>> ids = readTokenizer("gpt2.json").encode("ab\xFF");
  EXPECT_EQ(llvm::toString(ids.takeError()), "the text is not UTF-8 from byte 2 on");
}

TEST(Tokenizer, HasNoTextForIdsBeyondItsVocabulary) {
  Tokenizer tokenizer = readTokenizer("gpt2.json");
  auto beyond = static_cast<int32_t>(tokenizer.vocabulary());
  EXPECT_EQ(tokenizer.decode({beyond, -1, beyond - 1}), ""); // the last one is special
}

TEST(Tokenizer, RefusesWhatItDoesNotKnowByItsName) {
  auto expect = [](llvm::StringRef text, llvm::StringRef message) {
    std::string said = refusalOf(text);
    EXPECT_TRUE(llvm::StringRef(said).contains(message)) << text.str() << "\n" << said;
  };
  const std::string model = R"("model": {"type": "BPE", "vocab": {"a": 0}, "merges": []})";
  expect("{", "is not JSON");
  expect("[]", "is no tokenizer.json: expected an object");
  expect("{}", "it has no 'model'");
  expect(R"({"model": {"type": "WordPiece"}})", "the model 'WordPiece' is not supported");
  expect(R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"]}})",
         "its merge of 'a' and 'b' is not in its vocabulary");
  expect(R"({"model": {"type": "BPE", "vocab": {"a": -1}, "merges": []}})",
         "its token 'a' has no id from 0 to 16777215");
  expect("{" + model + R"(, "normalizer": {"type": "Precompiled"}})",
         "the normalizer 'Precompiled' is not supported");
  expect("{" + model + R"(, "pre_tokenizer": {"type": "BertPreTokenizer"}})",
         "the pre-tokenizer 'BertPreTokenizer' is not supported");
  expect("{" + model + R"(, "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "("}}})",
         "the regular expression '(' cannot be read");
  expect("{" + model + R"(, "post_processor": {"type": "BertProcessing"}})",
         "the post-processor 'BertProcessing' is not supported");
  expect("{" + model + R"(, "decoder": {"type": "CTC"}})", "the decoder 'CTC' is not supported");
}
