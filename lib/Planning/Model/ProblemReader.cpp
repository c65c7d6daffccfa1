//===- ProblemReader.cpp - The reader of a llmmem-problem -------------------===//

#include "ProblemReader.h"
#include "llmmem/Planning/Model/ValidateTilings.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llmmem;
using namespace llmmem::planning;
using Members = llvm::ArrayRef<JsonMember>;

llvm::Expected<VariantSet> ProblemReader::run() {
  readProblem();
  if (llvm::Error error = reader.finish())
    return std::move(error);
  if (llvm::Error error = resolve())
    return std::move(error);
  if (std::optional<std::string> error = validateProblem(problem))
    return llvm::createStringError(*error);
  if (llvm::Error error = resolveVariants())
    return std::move(error);
  return std::move(variants);
}

/// Joins the keys of members, as messages name them.
static std::string keysOf(Members members) {
  return llvm::join(llvm::map_range(members, [](const JsonMember &it) { return it.key; }), ", ");
}

bool ProblemReader::members(Members both, Members ofVersion1, Members ofVersion2) {
  return reader.object([&](llvm::StringRef key) {
    const Members own = isVersion2() ? ofVersion2 : ofVersion1;
    auto isNamed = [&](const JsonMember &it) { return it.key == key; };
    for (Members members : {both, own})
      if (const auto *found = llvm::find_if(members, isNamed); found != members.end())
        return reader.member(*found);
    if (llvm::any_of(isVersion2() ? ofVersion1 : ofVersion2, isNamed))
      return reader.fail("key '" + key + "' belongs to version " + (isVersion2() ? "1" : "2") +
                         " of the format" +
                         (isVersion2() ? "; expected one of " + keysOf(both) + ", " + keysOf(own)
                                       : llvm::Twine("; give \"version\": 2 before it")));
    return reader.unknownKey(key, keysOf(both) + (own.empty() ? "" : ", ") + keysOf(own));
  });
}

bool ProblemReader::readMemory() {
  const int64_t number = numMemories++;
  int64_t id = -1, alignment = 1;
  std::string name;
  std::optional<int64_t> budget;
  const bool read = reader.members(
      {{"id",
        [&] {
          return reader.integer(id) &&
                 (id == number || reader.fail("memories are numbered from 0, the device first; "
                                              "expected " +
                                              llvm::Twine(number)));
        }},
       {"name", name},
       {"budget", [&] { return reader.integer(budget.emplace()); }},
       {"alignment", alignment, 1}});
  if (!read)
    return false;
  if (id < 0 || name.empty())
    return reader.fail("a memory must have 'id' and 'name'");
  if (number > 0) {
    problem.moreMemories.push_back({std::move(name), budget, alignment});
    return true;
  }
  problem.budget = budget;
  problem.alignment = alignment;
  return name == "device" || reader.fail("memory 0 must be named \"device\"");
}

bool ProblemReader::memory(MemoryIndex &index) {
  int64_t number = 0;
  if (!reader.integer(number))
    return false;
  // Whether there is such a memory is known only at the end of the file.
  index = static_cast<MemoryIndex>(std::min<int64_t>(number, INT32_MAX));
  return true;
}

bool ProblemReader::resource(Resource &resource) {
  std::string name;
  if (!reader.string(name))
    return false;
  for (Resource candidate : allResources)
    if (name == nameOf(candidate)) {
      resource = candidate;
      return true;
    }
  return reader.fail(
      "expected \"compute\", \"host_compute\", \"link\", \"copy_up\" or \"copy_down\"");
}

bool ProblemReader::readAlternative(Alternative &alternative) {
  bool hasCost = false;
  const bool read =
      reader.members({{"cost", [&] { return hasCost = true, reader.integer(alternative.cost); }},
                      {"workspace", alternative.workspace}});
  return read && (hasCost || reader.fail("an alternative must have 'cost'"));
}

bool ProblemReader::readProblem() {
  std::string format;
  const bool read =
      members({{"format",
                [&] {
                  return reader.string(format) &&
                         (format == "llmmem-problem" || reader.fail("expected \"llmmem-problem\""));
                }},
               {"version",
                [&] {
                  return reader.integer(version) &&
                         (version == 1 || version == 2 || reader.fail("expected version 1 or 2"));
                }},
               {"values", [&] { return readValues(); }},
               {"ops", [&] { return readOps(); }},
               {"keep", [&] { return ids(keep); }},
               {"forms", [&] { return reader.array([&] { return readVariant(); }); }},
               {"choice", [&] { return readChoice(); }},
               {"guessed_phases", variants.guessedPhases}},
              {{"budget", [&] { return reader.integer(problem.budget.emplace()); }},
               {"alignment", problem.alignment, 1}},
              {{"memories", [&] { return reader.array([&] { return readMemory(); }); }}});
  if (!read)
    return false;
  if (format.empty() || version == 0)
    return reader.fail("expected \"format\": \"llmmem-problem\" and \"version\": 1");
  return (hasValues && hasOps) || reader.fail("'values' and 'ops' must be there");
}

bool ProblemReader::readValues() {
  return hasValues = true, reader.array([&] { return readValue(); });
}

bool ProblemReader::readOps() {
  return hasOps = true, reader.array([&] { return readOp(); });
}

bool ProblemReader::readChoice() {
  std::string text;
  if (!reader.string(text))
    return false;
  variants.choice = text == "plan" ? VariantSelection::ByPlan : VariantSelection::ByOpsOnce;
  return text == "plan" || text == "ops_once" || reader.fail("expected \"plan\" or \"ops_once\"");
}

bool ProblemReader::readVariant() {
  VariantText &variant = variantTexts.emplace_back();
  auto own = [&]() -> ProblemReader & {
    if (!variant.own) {
      variant.own = std::make_unique<ProblemReader>(reader);
      variant.own->version = version;
    }
    return *variant.own;
  };
  auto readTilings = [&] { return readTiling(variant.tilings.emplace_back()); };
  if (!reader.members({{"tilings", [&] { return reader.array(readTilings); }},
                       {"selected", [&] { return ids(variant.selected); }},
                       {"values", [&] { return own().readValues(); }},
                       {"ops", [&] { return own().readOps(); }},
                       {"keep", [&] { return own().ids(own().keep); }}}))
    return false;
  return !variant.own || (variant.own->hasValues && variant.own->hasOps) ||
         reader.fail("a form has 'values' and 'ops' of its own, or neither");
}

bool ProblemReader::readTiling(std::vector<VariantText::Entry> &tiling) {
  return reader.array([&] {
    VariantText::Entry &entry = tiling.emplace_back(VariantText::Entry{-1, -1, 0});
    const bool read =
        reader.members({{"op", entry.op}, {"cost", entry.cost}, {"workspace", entry.workspace}});
    return read && ((entry.op >= 0 && entry.cost >= 0) ||
                    reader.fail("an op of a tiling must have 'op' and 'cost'"));
  });
}

bool ProblemReader::readValue() {
  Value &value = problem.values.emplace_back();
  bool hasId = false, hasBytes = false;
  const bool read = members(
      {{"id", [&] { return hasId = true, reader.integer(value.id); }},
       {"bytes", [&] { return hasBytes = true, reader.integer(value.bytes); }},
       {"name", value.name},
       {"resident", value.resident}},
      {}, {{"memory", [&] { return memory(value.memory); }}, {"order_only", value.orderOnly}});
  return read && ((hasId && hasBytes) || reader.fail("a value must have 'id' and 'bytes'"));
}

bool ProblemReader::readOp() {
  Op &op = problem.ops.emplace_back();
  OpText &text = texts.emplace_back();
  bool hasId = false, hasReads = false, hasWrites = false;
  auto readOther = [&] { return readAlternative(op.alternatives.emplace_back()); };
  const bool read =
      members({{"id", [&] { return hasId = true, reader.integer(op.id); }},
               {"name", op.name},
               {"cost", op.cost},
               {"workspace", op.workspace},
               {"reads", [&] { return hasReads = true, ids(text.reads); }},
               {"writes", [&] { return hasWrites = true, ids(text.writes); }},
               {"recompute", op.recompute},
               {"in_place", [&] { return pairs(text.inPlace); }},
               {"block", [&] { return reader.integer(op.block.emplace()); }},
               {"phase", [&] { return phase(op.phase); }},
               {"micro_batch", [&] { return reader.integer(op.microBatch.emplace()); }}},
              {},
              {{"resource", [&] { return resource(op.resource); }},
               {"workspace_memory", [&] { return memory(op.workspaceMemory); }},
               {"optional", op.optional},
               {"alternatives", [&] { return reader.array(readOther); }}});
  return read && ((hasId && hasReads && hasWrites) ||
                  reader.fail("an op must have 'id', 'reads' and 'writes'"));
}

bool ProblemReader::ids(std::vector<int64_t> &list) {
  return reader.array([&] { return reader.integer(list.emplace_back()); });
}

bool ProblemReader::pairs(std::vector<std::pair<int64_t, int64_t>> &list) {
  return reader.array([&] {
    std::vector<int64_t> pair;
    if (!ids(pair))
      return false;
    if (pair.size() != 2)
      return reader.fail("expected a pair [written value, read value]");
    list.emplace_back(pair[0], pair[1]);
    return true;
  });
}

bool ProblemReader::phase(Phase &phase) {
  std::string name;
  if (!reader.string(name))
    return false;
  for (Phase candidate : {Phase::None, Phase::Forward, Phase::Backward, Phase::Update})
    if (name == phaseName(candidate)) {
      phase = candidate;
      return true;
    }
  return reader.fail("expected \"forward\", \"backward\" or \"update\"");
}

static void dropRepeats(std::vector<ValueIndex> &values) {
  llvm::DenseSet<ValueIndex> seen;
  llvm::erase_if(values, [&](ValueIndex value) { return !seen.insert(value).second; });
}

llvm::Error ProblemReader::resolve() {
  for (size_t i = 0; i < problem.values.size(); ++i)
    indexOf.try_emplace(problem.values[i].id, static_cast<ValueIndex>(i));
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::string at = "ops[" + std::to_string(i) + "]";
    Op &op = problem.ops[i];
    if (llvm::Error error = resolveList(texts[i].reads, op.reads, at + ".reads"))
      return error;
    dropRepeats(op.reads); // f(x, x) reads x
    if (llvm::Error error = resolveList(texts[i].writes, op.writes, at + ".writes"))
      return error;
    for (auto [write, read] : texts[i].inPlace) {
      std::vector<ValueIndex> pair;
      if (llvm::Error error = resolveList({write, read}, pair, at + ".in_place"))
        return error;
      op.inPlace.push_back({pair[0], pair[1]});
    }
  }
  if (llvm::Error error = resolveList(keep, problem.keep, "keep"))
    return error;
  dropRepeats(problem.keep);
  return llvm::Error::success();
}

llvm::Error ProblemReader::resolveList(llvm::ArrayRef<int64_t> list,
                                       std::vector<ValueIndex> &values, const std::string &place) {
  for (int64_t id : list) {
    auto found = indexOf.find(id);
    if (found == indexOf.end())
      return llvm::createStringError(place + ": no value has the id " + std::to_string(id) +
                                     "; add it to 'values'");
    values.push_back(found->second);
  }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Variants
//===----------------------------------------------------------------------===//

/// Returns the first tiling whose numbers the ops have. In a file that was edited by hand there may
/// be none.
static int32_t findTiling(const ProblemVariant &variant) {
  auto stands = [&](const OpTiling &entry) {
    const Op &op = variant.problem.ops[entry.op];
    return op.cost == entry.cost && op.workspace == entry.workspace;
  };
  auto found = llvm::find_if(variant.tilings,
                             [&](const Tiling &tiling) { return llvm::all_of(tiling, stands); });
  return found == variant.tilings.end() ? 0 : static_cast<int32_t>(found - variant.tilings.begin());
}

/// Resolves the variants. A file that lists none has one: the problem that it states.
llvm::Error ProblemReader::resolveVariants() {
  if (variantTexts.empty())
    variantTexts.push_back({});
  int32_t stated = -1;
  for (size_t i = 0; i < variantTexts.size(); ++i) {
    const std::string place = "forms[" + std::to_string(i) + "]";
    VariantText &text = variantTexts[i];
    if (!text.own && stated >= 0)
      return llvm::createStringError(place + ": two forms have no ops of their own; only the one "
                                             "that the file states may leave them out");
    if (!text.own)
      stated = static_cast<int32_t>(i);
    llvm::Expected<ProblemVariant> variant =
        text.own ? text.own->resolveStatedVariant(text, problem, place)
                 : resolveVariant(text, place);
    if (!variant)
      return variant.takeError();
    variants.alternatives.push_back(std::move(*variant));
  }
  if (stated < 0)
    return llvm::createStringError("forms: one must have no ops of its own: what the file states");
  variants.stated = {stated, findTiling(variants.alternatives[stated])};
  return llvm::Error::success();
}

/// Resolves a variant that has ops of its own. It has the memories of the variant that the file
/// states.
llvm::Expected<ProblemVariant> ProblemReader::resolveStatedVariant(const VariantText &text,
                                                                   const Problem &stated,
                                                                   const std::string &place) {
  problem.budget = stated.budget;
  problem.alignment = stated.alignment;
  problem.moreMemories = stated.moreMemories;
  if (llvm::Error error = resolve())
    return llvm::createStringError(place + ": " + llvm::toString(std::move(error)));
  if (std::optional<std::string> error = validateProblem(problem))
    return llvm::createStringError(place + ": " + *error);
  return resolveVariant(text, place);
}

llvm::Expected<ProblemVariant> ProblemReader::resolveVariant(const VariantText &text,
                                                             const std::string &place) {
  std::unordered_map<int64_t, OpIndex> opOf;
  for (size_t i = 0; i < problem.ops.size(); ++i)
    opOf.try_emplace(problem.ops[i].id, static_cast<OpIndex>(i));
  auto find = [&](int64_t id) -> llvm::Expected<OpIndex> {
    auto found = opOf.find(id);
    if (found == opOf.end())
      return llvm::createStringError(place + ": no op has the id " + std::to_string(id));
    return found->second;
  };
  ProblemVariant variant{problem, {}, {}};
  for (int64_t id : text.selected) {
    llvm::Expected<OpIndex> op = find(id);
    if (!op)
      return op.takeError();
    variant.selected.push_back(*op);
  }
  for (const std::vector<VariantText::Entry> &tiling : text.tilings) {
    variant.tilings.emplace_back();
    for (const VariantText::Entry &entry : tiling) {
      llvm::Expected<OpIndex> op = find(entry.op);
      if (!op)
        return op.takeError();
      variant.tilings.back().push_back({*op, entry.cost, entry.workspace});
    }
  }
  if (variant.tilings.empty())
    variant.tilings.emplace_back();
  if (std::optional<std::string> error = validateTilings(variant))
    return llvm::createStringError(place + ": " + *error);
  return variant;
}
