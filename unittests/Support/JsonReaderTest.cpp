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

/// Returns what is wrong with a table of rows, whose kind is flat or round.
std::string tableError(const std::string &text) {
  enum class Kind : uint8_t { Flat, Round } kind;
  static constexpr std::pair<llvm::StringLiteral, Kind> kinds[] = {{"flat", Kind::Flat},
                                                                   {"round", Kind::Round}};
  JsonReader reader(text);
  int64_t rows = 0, columns = 0, first = 0, last = 0;
  reader.members({{required("rows"), rows},
                  {required("kind"), [&] { return reader.word(kind, kinds); }},
                  {"columns", columns, 1},
                  {"range",
                   [&] {
                     return reader.elements("[first, last]",
                                            {[&] { return reader.integer(first); },
                                             [&] { return reader.integer(last); }});
                   }}},
                 "a table");
  return llvm::toString(reader.finish());
}

TEST(JsonReaderTest, namesAllThatIsRequired) {
  EXPECT_EQ(tableError(R"({"rows": 2, "kind": "round"})"), "");
  EXPECT_EQ(tableError(R"({"columns": 2, "kind": "flat"})"),
            "line 1, column 30: a table must have 'rows' and 'kind'");
}

TEST(JsonReaderTest, readsTheWordsOfATable) {
  EXPECT_EQ(tableError(R"({"rows": 2, "kind": "square"})"),
            "line 1, column 21, at kind: expected flat or round");
}

TEST(JsonReaderTest, readsAListOfItsLength) {
  EXPECT_EQ(tableError(R"({"rows": 2, "kind": "flat", "range": [0, 1]})"), "");
  for (const char *range : {"[0]", "[0, 1, 2]"})
    EXPECT_NE(tableError(std::string(R"({"rows": 2, "kind": "flat", "range": )") + range + "}")
                  .find("expected [first, last]"),
              std::string::npos);
}

} // namespace
