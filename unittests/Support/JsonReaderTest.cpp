//===- JsonReaderTest.cpp - Bounds of what the reader of JSON takes ----------===//

#include "llmmem/Support/JsonReader.h"
#include "llmmem/Support/JsonTree.h"
#include "gtest/gtest.h"

using namespace llmmem;

namespace {

std::string skipAll(const std::string &text) {
  JsonReader reader(text);
  reader.skip();
  return llvm::toString(reader.finish());
}

std::string nested(int levels) { return std::string(levels, '[') + "1" + std::string(levels, ']'); }

TEST(JsonReaderTest, skipsNoMoreLevelsThanItSays) {
  EXPECT_EQ(skipAll(nested(63)), "");
  EXPECT_NE(skipAll(nested(100000)).find("nested too deeply, expected at most 64"),
            std::string::npos);
}

TEST(JsonReaderTest, findsARepeatedKeyAmongMany) {
  std::string object = "{";
  for (int i = 0; i < 120000; ++i)
    object += "\"key" + std::to_string(i) + "\": 1,";
  EXPECT_EQ(skipAll(object + "\"last\": 1}"), "");
  // Keys among the first, which are looked up in another way, and the last.
  for (const char *key : {"key3", "key119999"})
    EXPECT_NE(skipAll(object + "\"" + key + "\": 1}")
                  .find(std::string("key '") + key + "' is given twice"),
              std::string::npos);
}

TEST(JsonReaderTest, quotesNoMoreThanAPersonReads) {
  std::string key(100000, 'k');
  EXPECT_LT(skipAll("{\"" + key + "\": 1, \"" + key + "\": 1}").size(), 1000u);
}

TEST(JsonReaderTest, aTreeHasABoundedDepthToo) {
  llvm::Expected<llvm::json::Value> tree = parseJsonTree(nested(100000));
  EXPECT_EQ(llvm::toString(tree.takeError()),
            "nested too deeply, expected at most 64 objects and lists in each other");
}

} // namespace
