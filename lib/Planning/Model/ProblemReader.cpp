//===- ProblemReader.cpp - The reader of a llmmem-problem -------------------===//

#include "ProblemReader.h"
#include "llmmem/Planning/Model/ValidateTilings.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

using namespace llmmem;
using namespace llmmem::planning;

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

bool ProblemReader::readMemory() {
  const int64_t number = numMemories++;
  int64_t id = -1, alignment = 1;
  std::string name;
  std::optional<int64_t> budget;
  const bool read = reader.members(
      {{required("id"),
        [&] {
          return reader.integer(id) &&
                 (id == number || reader.fail("memories are numbered from 0, the device first; "
                                              "expected " +
                                              llvm::Twine(number)));
        }},
       {required("name"),
        [&] { return reader.string(name) && (!name.empty() || reader.fail("expected a name")); }},
       {"budget", [&] { return reader.integer(budget.emplace()); }},
       {"alignment", alignment, 1}},
      "a memory");
  if (!read)
    return false;
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

bool ProblemReader::readAlternative(Alternative &alternative) {
  return reader.members(
      {{required("cost"), alternative.cost}, {"workspace", alternative.workspace}},
      "an alternative");
}

bool ProblemReader::readProblem() {
  return versions.members(
      "a llmmem-problem",
      {{required("format"), [&] { return reader.format("llmmem-problem"); }},
       {required("version"), [&] { return reader.version(versions.version, 2); }},
       {required("values"), [&] { return readValues(); }},
       {required("ops"), [&] { return readOps(); }},
       {"keep", [&] { return ids(keep); }},
       {"forms", [&] { return reader.array([&] { return readVariant(); }); }},
       {"choice", [&] { return reader.word(variants.choice, selectionWords); }},
       {"guessed_phases", variants.guessedPhases}},
      {{"budget", [&] { return reader.integer(problem.budget.emplace()); }},
       {"alignment", problem.alignment, 1}},
      {{"memories", [&] { return reader.array([&] { return readMemory(); }); }}});
}

bool ProblemReader::readValues() {
  return hasValues = true, reader.array([&] { return readValue(); });
}

bool ProblemReader::readOps() {
  return hasOps = true, reader.array([&] { return readOp(); });
}

bool ProblemReader::readVariant() {
  VariantText &variant = variantTexts.emplace_back();
  auto own = [&]() -> ProblemReader & {
    if (!variant.own) {
      variant.own = std::make_unique<ProblemReader>(reader);
      variant.own->versions.version = versions.version;
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
    return reader.members({{required("op"), entry.op},
                           {required("cost"), entry.cost},
                           {"workspace", entry.workspace}},
                          "an op of a tiling");
  });
}

bool ProblemReader::readValue() {
  Value &value = problem.values.emplace_back();
  return versions.members(
      "a value",
      {{required("id"), value.id},
       {required("bytes"), value.bytes},
       {"name", value.name},
       {"resident", value.resident}},
      {}, {{"memory", [&] { return memory(value.memory); }}, {"order_only", value.orderOnly}});
}

bool ProblemReader::readOp() {
  Op &op = problem.ops.emplace_back();
  OpText &text = texts.emplace_back();
  auto readOther = [&] { return readAlternative(op.alternatives.emplace_back()); };
  return versions.members(
      "an op",
      {{required("id"), op.id},
       {"name", op.name},
       {"cost", op.cost},
       {"workspace", op.workspace},
       {required("reads"), [&] { return ids(text.reads); }},
       {required("writes"), [&] { return ids(text.writes); }},
       {"recompute", op.recompute},
       {"in_place", [&] { return pairs(text.inPlace); }},
       {"block", [&] { return reader.integer(op.block.emplace()); }},
       {"phase", [&] { return reader.word(op.phase, phaseWords); }},
       {"micro_batch", [&] { return reader.integer(op.microBatch.emplace()); }}},
      {},
      {{"resource", [&] { return reader.word(op.resource, resourceWords); }},
       {"workspace_memory", [&] { return memory(op.workspaceMemory); }},
       {"optional", op.optional},
       {"alternatives", [&] { return reader.array(readOther); }}});
}

bool ProblemReader::ids(std::vector<int64_t> &list) {
  return reader.array([&] { return reader.integer(list.emplace_back()); });
}

bool ProblemReader::pairs(std::vector<std::pair<int64_t, int64_t>> &list) {
  return reader.array([&] {
    auto &[written, read] = list.emplace_back();
    return reader.elements(
        "a pair [written value, read value]",
        {[&] { return reader.integer(written); }, [&] { return reader.integer(read); }});
  });
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
