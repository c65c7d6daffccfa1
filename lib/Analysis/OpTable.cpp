//===- OpTable.cpp - Op tables, read from JSON -----------------------------===//

#include "llmmem/Analysis/OpTable.h"
#include "llmmem/Support/JsonReader.h"
#include "llmmem/Support/TextFile.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace llvm;
using namespace llmmem;

static constexpr StringLiteral shippedTable =
#include "OpTables/stablehlo.inc"
    ;

namespace {
constexpr std::pair<StringLiteral, FlopRule> flopWords[] = {
    {"dot_general", FlopRule::DotGeneral},  {"dot", FlopRule::Dot},
    {"convolution", FlopRule::Convolution}, {"reduce", FlopRule::Reduce},
    {"window", FlopRule::Window},           {"sort", FlopRule::Sort},
    {"branches", FlopRule::Branches},       {"loop", FlopRule::Loop}};
constexpr std::pair<StringLiteral, ByteRule> byteWords[] = {{"all", ByteRule::All},
                                                            {"results", ByteRule::Results},
                                                            {"updates", ByteRule::Updates},
                                                            {"none", ByteRule::None}};
constexpr std::pair<StringLiteral, InPlaceRule> inPlaceWords[] = {
    {"elements", InPlaceRule::Elements},
    {"first", InPlaceRule::First},
    {"each", InPlaceRule::Each}};
constexpr std::pair<StringLiteral, TransferRule> transferWords[] = {
    {"all_reduce", TransferRule::AllReduce},
    {"gather", TransferRule::Gather},
    {"scatter", TransferRule::Scatter},
    {"permute", TransferRule::Permute}};
constexpr std::pair<StringLiteral, bool> effectWords[] = {{"none", true}, {"once", false}};

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
    int64_t version = 0;
    return reader.members({{required("format"), [&] { return reader.format("llmmem-op-table"); }},
                           {required("version"), [&] { return reader.version(version, 1); }},
                           {"ops", [&] { return reader.array([&] { return readEntry(); }); }}},
                          "an op table");
  }

  bool readEntry() {
    std::vector<std::string> dialects, names, targets;
    OpTableEntry entry;
    bool read =
        reader.members({{"dialects", [&] { return readNames(dialects); }},
                        {"ops", [&] { return readNames(names); }},
                        {"targets", [&] { return readNames(targets); }},
                        {"flops_per_element", entry.flopsPerElement},
                        {"flops", [&] { return reader.word(entry.flops, flopWords); }},
                        {"flops_product", [&] { return readProduct(entry); }},
                        {"bytes", [&] { return reader.word(entry.bytes, byteWords); }},
                        {"in_place", [&] { return reader.word(entry.inPlace, inPlaceWords); }},
                        {"transfer", [&] { return reader.word(entry.transfer, transferWords); }},
                        {"effects", [&] { return reader.word(entry.isPure, effectWords); }},
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

  /// Reads a number and extents, as in [4, [0, 1], [1, 2]]: four times the extents of dimension 1
  /// of operand 0 and of dimension 2 of operand 1.
  bool readProduct(OpTableEntry &entry) {
    entry.flops = FlopRule::Product;
    bool isFirst = true;
    bool read = reader.array([&] {
      if (std::exchange(isFirst, false))
        return reader.integer(entry.factor);
      auto &[operand, dimension] = entry.extents.emplace_back();
      return reader.elements("[operand, dimension]", {[&] { return reader.integer(operand); },
                                                      [&] { return reader.integer(dimension); }});
    });
    if (read && entry.extents.empty())
      return reader.fail("expected a number and extents, as in [2, [0, 0], [0, 1]]");
    return read;
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

const OpTableEntry &OpTable::byBytes() {
  static const OpTableEntry entry = [] {
    OpTableEntry once;
    once.isPure = false;
    return once;
  }();
  return entry;
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
