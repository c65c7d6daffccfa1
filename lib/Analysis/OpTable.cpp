//===- OpTable.cpp - Op tables, read from JSON -----------------------------===//

#include "llmmem/Analysis/OpTable.h"
#include "llmmem/Support/JsonReader.h"
#include "llmmem/Support/TextFile.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/StringSwitch.h"

using namespace llvm;
using namespace llmmem;

static constexpr StringLiteral shippedTable =
#include "OpTables/stablehlo.inc"
    ;

namespace {
class OpTableReader {
public:
  OpTableReader(StringRef json, StringMap<OpTableEntry> &entries)
      : reader(json), entries(entries) {}

  Error run() {
    readTable();
    return reader.finish();
  }

private:
  bool readTable() {
    std::string format;
    int64_t version = 0;
    bool read = reader.members(
        {{"format",
          [&] {
            return reader.string(format) &&
                   (format == "llmmem-op-table" || reader.fail("expected llmmem-op-table"));
          }},
         {"version",
          [&] {
            return reader.integer(version) && (version == 1 || reader.fail("expected version 1"));
          }},
         {"ops", [&] { return reader.array([&] { return readEntry(); }); }}});
    return read && ((!format.empty() && version) ||
                    reader.fail("an op table must have 'format' and 'version'"));
  }

  bool readEntry() {
    std::vector<std::string> dialects, names, targets;
    OpTableEntry entry;
    std::string word;
    bool read = reader.members(
        {{"dialects", [&] { return readNames(dialects); }},
         {"ops", [&] { return readNames(names); }},
         {"targets", [&] { return readNames(targets); }},
         {"flops_per_element", entry.flopsPerElement},
         {"flops", [&] { return reader.string(word) && readFlops(word, entry.flops); }},
         {"bytes", [&] { return reader.string(word) && readBytes(word, entry.bytes); }},
         {"in_place", [&] { return reader.string(word) && readInPlace(word, entry.inPlace); }},
         {"effects", [&] { return reader.string(word) && readEffects(word, entry.isPure); }},
         {"constant", entry.isConstant},
         {"view", entry.isView},
         {"refuse", [&] {
            return reader.string(entry.refusal) &&
                   (!entry.refusal.empty() || reader.fail("expected a reason"));
          }}});
    if (!read)
      return false;
    if (names.empty())
      return reader.fail("an entry must have 'ops', the names that it is of");
    if (dialects.empty())
      dialects.emplace_back();
    // Names in a list of dialects are as many as the product of both.
    constexpr size_t kMost = 100000;
    if (entries.size() + dialects.size() * names.size() * std::max<size_t>(targets.size(), 1) >
        kMost)
      return reader.fail("the table has more than " + Twine(kMost) + " ops");
    for (const std::string &dialect : dialects)
      for (const std::string &name : names)
        enter(dialect.empty() ? name : dialect + "." + name, targets, entry);
    return true;
  }

  void enter(const std::string &name, ArrayRef<std::string> targets, const OpTableEntry &entry) {
    if (targets.empty())
      entries[name] = entry;
    for (const std::string &target : targets)
      entries[name + ":" + target] = entry;
  }

  bool readEffects(StringRef word, bool &isPure) {
    isPure = word == "none";
    return word == "none" || word == "once" || reader.fail("expected none or once");
  }

  bool readFlops(StringRef word, FlopRule &rule) {
    auto found = StringSwitch<std::optional<FlopRule>>(word)
                     .Case("dot_general", FlopRule::DotGeneral)
                     .Case("dot", FlopRule::Dot)
                     .Case("convolution", FlopRule::Convolution)
                     .Case("reduce", FlopRule::Reduce)
                     .Case("window", FlopRule::Window)
                     .Case("sort", FlopRule::Sort)
                     .Case("branches", FlopRule::Branches)
                     .Case("loop", FlopRule::Loop)
                     .Default(std::nullopt);
    rule = found.value_or(rule);
    return found || reader.fail("expected dot_general, dot, convolution, reduce, window, sort, "
                                "branches or loop");
  }

  bool readBytes(StringRef word, ByteRule &rule) {
    auto found = StringSwitch<std::optional<ByteRule>>(word)
                     .Case("all", ByteRule::All)
                     .Case("results", ByteRule::Results)
                     .Case("updates", ByteRule::Updates)
                     .Case("none", ByteRule::None)
                     .Default(std::nullopt);
    rule = found.value_or(rule);
    return found || reader.fail("expected all, results, updates or none");
  }

  bool readInPlace(StringRef word, InPlaceRule &rule) {
    auto found = StringSwitch<std::optional<InPlaceRule>>(word)
                     .Case("elements", InPlaceRule::Elements)
                     .Case("first", InPlaceRule::First)
                     .Case("each", InPlaceRule::Each)
                     .Default(std::nullopt);
    rule = found.value_or(rule);
    return found || reader.fail("expected elements, first or each");
  }

  bool readNames(std::vector<std::string> &names) {
    return reader.array([&] {
      names.emplace_back();
      return reader.string(names.back()) &&
             (!names.back().empty() || reader.fail("expected a name"));
    });
  }

  JsonReader reader;
  StringMap<OpTableEntry> &entries;
};
} // namespace

Error OpTable::add(StringRef json, StringRef where) {
  StringMap<OpTableEntry> read;
  if (Error error = OpTableReader(json, read).run())
    return createStringError(where + ": " + toString(std::move(error)));
  for (auto &entry : read)
    entries[entry.getKey()] = std::move(entry.getValue());
  return Error::success();
}

Expected<OpTable> OpTable::load(StringRef file) {
  OpTable table;
  if (Error error = table.add(shippedTable, "shipped op table"))
    return std::move(error);
  if (file.empty())
    return table;
  Expected<std::unique_ptr<MemoryBuffer>> text = readTextFile(file);
  if (!text)
    return text.takeError();
  if (Error error = table.add((*text)->getBuffer(), file))
    return std::move(error);
  return table;
}

const OpTableEntry *OpTable::find(mlir::Operation *op) const {
  StringRef name = op->getName().getStringRef();
  auto found = entries.end();
  if (auto target = op->getAttrOfType<mlir::StringAttr>("call_target_name"))
    found = entries.find((name + ":" + target.getValue()).str());
  if (found == entries.end())
    found = entries.find(name);
  return found == entries.end() ? nullptr : &found->getValue();
}
