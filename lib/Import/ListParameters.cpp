//===- ListParameters.cpp - Adapters, and what is frozen -------------------===//

#include "Adapters.h"
#include "llmmem/Import/Import.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/GlobPattern.h"
#include <cmath>
#include <functional>
#include <limits>

using namespace llmmem;
using namespace llmmem::importer;
using llvm::StringRef;
using llvm::Twine;

AdapterNames importer::adapterNames(StringRef module) {
  std::string prefix = ("base_model.model." + module + ".").str();
  return {prefix + "lora_A", prefix + "lora_B"};
}

//===----------------------------------------------------------------------===//
// Adapters
//===----------------------------------------------------------------------===//

/// As in PEFT, a target is the whole name of a module, or its last parts.
static bool isTarget(StringRef module, StringRef target) {
  return module == target ||
         (module.ends_with(target) && module.drop_back(target.size()).ends_with("."));
}

static llvm::Error checkLora(const LoraOptions &lora) {
  constexpr int64_t kLargest = std::numeric_limits<int32_t>::max();
  if (lora.rank < 1 || lora.rank > kLargest)
    return llvm::createStringError("--lora-rank is " + Twine(lora.rank) +
                                   ", expected an integer from 1 to " + Twine(kLargest));
  if (!(std::isfinite(lora.alpha) && lora.alpha > 0))
    return llvm::createStringError(
        llvm::formatv("--lora-alpha is {0}, expected a number above 0", lora.alpha));
  if (lora.targets.empty())
    return llvm::createStringError("--lora-rank needs --lora-targets, the projections that get an "
                                   "adapter: --lora-targets=q_proj,v_proj");
  return llvm::Error::success();
}

static StringRef lastPart(StringRef module) { return module.substr(module.rfind('.') + 1); }

static llvm::Error checkTargets(llvm::ArrayRef<Parameter> parameters, const LoraOptions &lora) {
  llvm::SetVector<StringRef> known;
  for (const Parameter &parameter : parameters)
    if (parameter.layout)
      known.insert(lastPart(StringRef(parameter.name).rsplit('.').first));
  for (const std::string &target : lora.targets)
    if (llvm::none_of(parameters, [&](const Parameter &parameter) {
          return parameter.layout && isTarget(StringRef(parameter.name).rsplit('.').first, target);
        }))
      return llvm::createStringError("--lora-targets names '" + Twine(target) +
                                     "', which is no projection of this model; it has " +
                                     llvm::join(known, ", "));
  return llvm::Error::success();
}

/// Returns the two weights that accompany that of a projection.
static llvm::SmallVector<Parameter, 2> adapterOf(const Parameter &weight, int64_t rank) {
  auto [in, out] = std::pair(weight.shape[0], weight.shape[1]);
  if (weight.layout == llm::WeightLayout::OutIn)
    std::swap(in, out);
  AdapterNames names = adapterNames(StringRef(weight.name).rsplit('.').first);
  return {{names.down + ".weight", {rank, in}, llm::WeightLayout::OutIn},
          {names.up + ".weight", {out, rank}, llm::WeightLayout::OutIn}};
}

/// Adapters follow their weights directly; all else is frozen.
static std::vector<Parameter> addAdapters(std::vector<Parameter> base, const LoraOptions &lora) {
  std::vector<Parameter> list;
  for (Parameter &parameter : base) {
    parameter.frozen = true;
    list.push_back(parameter);
    StringRef module = StringRef(parameter.name).rsplit('.').first;
    if (parameter.layout &&
        llvm::any_of(lora.targets, [&](StringRef target) { return isTarget(module, target); }))
      llvm::append_range(list, adapterOf(parameter, lora.rank));
  }
  return list;
}

//===----------------------------------------------------------------------===//
// Freezing
//===----------------------------------------------------------------------===//

static llvm::Error freeze(std::vector<Parameter> &parameters, StringRef pattern) {
  llvm::Expected<llvm::GlobPattern> glob = llvm::GlobPattern::create(pattern);
  if (!glob)
    return llvm::createStringError("--freeze: '" + pattern +
                                   "' is no pattern: " + llvm::toString(glob.takeError()));
  bool matches = false;
  for (Parameter &parameter : parameters)
    if (glob->match(parameter.name))
      matches = parameter.frozen = true;
  if (matches)
    return llvm::Error::success();
  return llvm::createStringError("--freeze: '" + pattern +
                                 "' matches the name of no parameter; the first is '" +
                                 parameters.front().name + "', * stands for any part of a name");
}

//===----------------------------------------------------------------------===//
// Weight decay
//===----------------------------------------------------------------------===//

using IsMember = std::function<bool(const Parameter &)>;

/// Returns the members of the group of this name.
static llvm::Expected<IsMember> memberOf(const std::string &group) {
  auto isBias = [](const Parameter &parameter) {
    return StringRef(parameter.name).ends_with("bias");
  };
  if (group == "biases")
    return IsMember(isBias);
  if (group == "norms")
    return IsMember([isBias](const Parameter &parameter) {
      return parameter.shape.size() == 1 && !isBias(parameter);
    });
  if (group == "embeddings")
    return IsMember([](const Parameter &parameter) { return parameter.lookup != Lookup::None; });
  llvm::Expected<llvm::GlobPattern> glob = llvm::GlobPattern::create(group);
  if (!glob)
    return llvm::createStringError("a group of weight decay, '" + group +
                                   "', is no pattern: " + llvm::toString(glob.takeError()));
  return IsMember(
      [glob = *glob](const Parameter &parameter) { return glob.match(parameter.name); });
}

static llvm::Error setDecay(std::vector<Parameter> &parameters, const DecayGroup &group) {
  llvm::Expected<IsMember> isMember = memberOf(group.parameters);
  if (!isMember)
    return isMember.takeError();
  bool found = false;
  for (Parameter &parameter : parameters)
    if ((*isMember)(parameter)) {
      found = true;
      parameter.weightDecay = group.decay;
    }
  if (found)
    return llvm::Error::success();
  return llvm::createStringError("a group of weight decay, '" + group.parameters +
                                 "', has no parameter in it; expected norms, biases, embeddings or "
                                 "a pattern of names such as '" +
                                 parameters.front().name + "', * stands for any part of a name");
}

llvm::Expected<std::vector<Parameter>> importer::listParameters(const Model &model,
                                                                const ImportOptions &options) {
  std::vector<Parameter> parameters = model.parameters();
  if (options.lora) {
    if (llvm::Error error = checkLora(*options.lora))
      return std::move(error);
    if (llvm::Error error = checkTargets(parameters, *options.lora))
      return std::move(error);
    parameters = addAdapters(std::move(parameters), *options.lora);
  }
  for (const std::string &pattern : options.freeze)
    if (llvm::Error error = freeze(parameters, pattern))
      return std::move(error);
  if (llvm::all_of(parameters, [](const Parameter &parameter) { return parameter.frozen; }))
    return llvm::createStringError(
        "--freeze freezes every parameter, so there is nothing to train");
  for (const DecayGroup &group : options.training.decayGroups)
    if (llvm::Error error = setDecay(parameters, group))
      return std::move(error);
  return parameters;
}
