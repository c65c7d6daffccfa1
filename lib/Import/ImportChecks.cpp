//===- ImportChecks.cpp - What an import refuses ---------------------------===//

#include "ImportChecks.h"
#include "ConfigKeys.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Support/Count.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/Format.h"
#include <cmath>
#include <limits>
#include <tuple>

using namespace mlir;
using namespace llmmem;
using namespace llmmem::importer;

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

static llvm::Error refuse(const Twine &flag, double value, StringRef expected) {
  std::string text;
  llvm::raw_string_ostream(text) << flag << " is " << llvm::format("%g", value) << ", expected "
                                 << expected;
  return llvm::createStringError(text);
}

/// Checks flags of other optimizers, which an import without them would ignore.
static llvm::Error checkFlagsOfOptimizer(const TrainingOptions &training) {
  const DefaultTraining &defaults = defaultsOf(training.optimizer);
  using Kind = llm::OptimizerKind;
  const Kind kind = training.optimizer;
  const bool isAdamW = kind == Kind::AdamW, isPartly = isAdamW || kind == Kind::Muon;
  const bool hasBetas = isPartly || kind == Kind::Lion,
             hasEps = isPartly || kind == Kind::Adafactor;
  const std::tuple<StringRef, bool, bool, StringRef> flags[] = {
      {"--beta1", training.beta1.has_value(), hasBetas, "adamw, lion and muon"},
      {"--beta2", training.beta2.has_value(), hasBetas, "adamw, lion and muon"},
      {"--eps", training.eps.has_value(), hasEps, "adamw, adafactor and muon"},
      {"--momentum", training.momentum.has_value(), defaults.momentum.has_value(), "sgd and muon"},
      {"--nesterov", training.nesterov.has_value(), defaults.nesterov.has_value(), "sgd and muon"},
      {"--beta2-decay", training.beta2Decay.has_value(), defaults.beta2Decay.has_value(),
       "adafactor"},
      {"--optimizer-state", training.state != StateType::Wide, isAdamW, "adamw"}};
  for (auto [flag, isGiven, isKnown, of] : flags)
    if (isGiven && !isKnown)
      return llvm::createStringError(flag + " is of the optimizers " + of + ", not of " +
                                     llm::stringifyOptimizerKind(training.optimizer) +
                                     "; leave it out");
  if (training.nesterov.value_or(false) &&
      !(training.momentum.value_or(defaults.momentum.value_or(0)) > 0))
    return llvm::createStringError("--nesterov looks ahead by the momentum; give it a --momentum "
                                   "above 0");
  return llvm::Error::success();
}

static llvm::Error checkLossScale(const TrainingOptions &training) {
  double scale = 1;
  const std::string given = training.lossScale.value_or("none");
  StringRef text = given;
  if (text != "none" && text != "dynamic" &&
      (text.getAsDouble(scale) || !std::isfinite(scale) || !(scale > 0)))
    return llvm::createStringError("--loss-scale is '" + text +
                                   "', expected dynamic, none or a number above 0");
  if (!(std::isfinite(training.lossScaleInitial) && training.lossScaleInitial > 0))
    return refuse("--loss-scale-initial", training.lossScaleInitial, "a number above 0");
  if (training.lossScaleInterval < 1)
    return refuse("--loss-scale-interval", static_cast<double>(training.lossScaleInterval),
                  "a number of steps from 1 up");
  return llvm::Error::success();
}

static llvm::Error checkTraining(const TrainingOptions &training) {
  auto isNumber = [](double x) { return std::isfinite(x) && x >= 0; };
  for (auto [flag, part] : {std::pair("--beta1", training.beta1),
                            {"--beta2", training.beta2},
                            {"--momentum", training.momentum}})
    if (part && !(*part >= 0 && *part < 1))
      return refuse(flag, *part, "a number x with 0 <= x < 1");
  const bool divides = training.optimizer == llm::OptimizerKind::Adafactor;
  if (training.eps && (!isNumber(*training.eps) || (divides && *training.eps == 0)))
    return refuse("--eps", *training.eps, divides ? "a number above 0" : "a number from 0 up");
  if (training.weightDecay && !isNumber(*training.weightDecay))
    return refuse("--weight-decay", *training.weightDecay, "a number from 0 up");
  if (!isNumber(training.clipNorm))
    return refuse("--clip-norm", training.clipNorm, "a number from 0 up (0 clips nothing)");
  if (llvm::Error error = checkLossScale(training))
    return error;
  if (training.beta2Decay && !(std::isfinite(*training.beta2Decay) && *training.beta2Decay < 0))
    return refuse("--beta2-decay", *training.beta2Decay, "a number below 0");
  if (!(training.labelSmoothing >= 0 && training.labelSmoothing < 1))
    return refuse("--label-smoothing", training.labelSmoothing, "a number x with 0 <= x < 1");
  if (!isNumber(training.zLoss))
    return refuse("--z-loss", training.zLoss, "a number from 0 up");
  for (const DecayGroup &group : training.decayGroups)
    if (!isNumber(group.decay))
      return refuse("--decay-groups: the weight decay of " + group.parameters, group.decay,
                    "a number from 0 up");
  return checkFlagsOfOptimizer(training);
}

static llvm::Error checkExperts(const ImportOptions &options, const ModelFacts &facts) {
  for (auto [flag, isGiven] : {std::pair("--expert-capacity", options.expertCapacity.has_value()),
                               {"--balance-loss", options.balanceLoss.has_value()}})
    if (isGiven && facts.experts == 0)
      return llvm::createStringError(Twine(facts.file) + ": " + flag +
                                     " is for mixtures of experts, and this model has none; leave "
                                     "it out");
  if (options.balanceLoss && !(std::isfinite(*options.balanceLoss) && *options.balanceLoss >= 0))
    return refuse("--balance-loss", *options.balanceLoss, "a number from 0 up (0 costs nothing)");
  if (options.expertCapacity &&
      (*options.expertCapacity < 1 || *options.expertCapacity > options.seq))
    return llvm::createStringError(
        "--expert-capacity is " + Twine(*options.expertCapacity) +
        ", expected the places of an expert in a sequence, from 1 to --seq, " + Twine(options.seq) +
        " (where nothing can be dropped)");
  return llvm::Error::success();
}

static std::string longerNeeds(const ModelFacts &facts) {
  return facts.whyNotLonger.empty()
             ? ""
             : "; longer sequences need " + facts.whyNotLonger + ", which is not supported";
}

/// Checks a step with caches: what a sequence, a page and a step may be.
static llvm::Error checkCaches(const ImportOptions &options, const ModelFacts &facts) {
  constexpr int64_t kLargest = std::numeric_limits<int32_t>::max();
  int64_t context = options.context.value_or(0);
  for (auto [flag, value] : {std::pair("--context", options.context),
                             {"--page", options.page},
                             {"--pages", options.pages}})
    if (value && (*value < 1 || *value > kLargest))
      return llvm::createStringError(Twine(flag) + " is " + Twine(*value) +
                                     ", expected an integer from 1 to " + Twine(kLargest));
  if (!options.context)
    return llvm::createStringError(
        "--context is missing: the most tokens that a sequence may have");
  if (!facts.whyNoCaches.empty())
    return llvm::createStringError(facts.file + ": " + facts.whyNoCaches +
                                   "; --mode forward runs the model without");
  if (context > facts.maxSeq)
    return llvm::createStringError(Twine(facts.file) + ": --context is " + Twine(context) +
                                   ", but key '" + facts.maxSeqKey + "' allows " +
                                   Twine(facts.maxSeq) + longerNeeds(facts));
  if (options.seq > context)
    return llvm::createStringError("--seq is " + Twine(options.seq) +
                                   ", but a sequence has at most " + Twine(context) +
                                   " tokens (--context)");
  if (options.mode == Mode::Decode && options.seq != 1)
    return llvm::createStringError("--seq is " + Twine(options.seq) +
                                   ", but a step of decoding takes one token of each sequence; "
                                   "leave it out, or use --mode prefill");
  if (options.pages && !options.page)
    return llvm::createStringError("--pages counts pages; say how long one is by --page");
  if (!options.page)
    return llvm::Error::success();
  if (context % *options.page != 0)
    return llvm::createStringError("--page is " + Twine(*options.page) +
                                   ", which does not divide --context, " + Twine(context) +
                                   "; the next context that it divides is " +
                                   Twine(llvm::alignTo(context, *options.page)));
  if (facts.window && *facts.window < context)
    return llvm::createStringError(
        Twine(facts.file) + ": layers with a window of " + Twine(*facts.window) +
        " tokens have rings of as many rows, which have no pages; leave --page out");
  return llvm::Error::success();
}

/// Checks rows that pack several sequences.
static llvm::Error checkPacked(const ImportOptions &options, const ModelFacts &facts) {
  if (!options.packed)
    return llvm::Error::success();
  if (!options.trains())
    return llvm::createStringError("--packed says how to train; leave it out of a step of "
                                   "inference");
  if (!facts.whyNotPacked.empty())
    return llvm::createStringError(Twine(facts.file) + ": " + facts.whyNotPacked +
                                   " in packed rows; leave --packed out");
  if (options.attention == AttentionForm::Unfused)
    return llvm::createStringError("--packed keeps sequences apart in the fused form of attention "
                                   "alone; leave --attention=unfused out");
  if (facts.predictsMasked || facts.image || facts.encodes)
    return llvm::createStringError(Twine(facts.file) +
                                   ": --packed is for models that predict the next token, whose "
                                   "queries attend to none after them; leave it out");
  return llvm::Error::success();
}

/// For images --seq may stay 0, because the config sets it.
static llvm::Error checkSequence(const ImportOptions &options, const ModelFacts &facts) {
  if (facts.image && !options.keepsCaches() && options.seq != 0 && options.seq != facts.maxSeq)
    return llvm::createStringError(Twine(facts.file) + ": --seq is " + Twine(options.seq) +
                                   ", but an image of 'image_size' has " + Twine(facts.maxSeq - 1) +
                                   " patches of 'patch_size' and the class token; leave it out");
  if (options.decoderSeq && !facts.encodes)
    return llvm::createStringError(Twine(facts.file) +
                                   ": --decoder-seq is for models with an encoder and a decoder; "
                                   "leave it out");
  if (options.decoderSeq && (*options.decoderSeq < 1 || *options.decoderSeq > facts.maxSeq))
    return llvm::createStringError("--decoder-seq is " + Twine(*options.decoderSeq) +
                                   ", expected an integer from 1 to " + Twine(facts.maxSeq));
  if (options.seq > facts.maxSeq)
    return llvm::createStringError(Twine(facts.file) + ": --seq is " + Twine(options.seq) +
                                   ", but key '" + facts.maxSeqKey + "' allows " +
                                   Twine(facts.maxSeq) + longerNeeds(facts));
  return llvm::Error::success();
}

/// Checks rows whose positions are not those of the tensor, where the model needs them to be.
static llvm::Error checkPositions(const ImportOptions &options, const ModelFacts &facts) {
  const int64_t rows = options.keepsCaches() ? options.context.value_or(0) : options.seq;
  if (!facts.longestApart || rows <= *facts.longestApart ||
      (!options.packed && !options.keepsCaches()))
    return llvm::Error::success();
  return llvm::createStringError(
      Twine(facts.file) + ": " +
      (options.packed ? "--packed takes rows" : "caches take sequences") + " of up to " +
      Twine(*facts.longestApart) + " tokens of this model, not " + Twine(rows) +
      ": longer ones need attention within chunks, or a temperature that grows with the position, "
      "which " +
      (options.packed ? "packed rows" : "steps with caches") + " do not support");
}

llvm::Error importer::checkOptions(const ImportOptions &options, const ModelFacts &facts) {
  constexpr int64_t kLargest = std::numeric_limits<int32_t>::max();
  if (!facts.countedAlone.empty())
    return llvm::createStringError(Twine(facts.file) + ": this model has " + facts.countedAlone +
                                   ", whose parameters are counted alone (--count-parameters); a "
                                   "graph of this model is not supported; " +
                                   kTraced);
  const bool seqFollows = facts.image && options.seq == 0;
  for (auto [flag, value] :
       {std::pair("--batch", options.batch), {"--seq", seqFollows ? facts.maxSeq : options.seq}})
    if (value < 1 || value > kLargest)
      return llvm::createStringError(Twine(flag) + " is " + Twine(value) +
                                     ", expected an integer from 1 to " + Twine(kLargest));
  if (llvm::Error error = checkSequence(options, facts))
    return error;
  if (facts.hasSinks && options.attention == AttentionForm::Unfused)
    return llvm::createStringError(Twine(facts.file) +
                                   ": this model's attention has sinks, which only the fused form "
                                   "has; leave --attention=unfused out");
  if (options.dropout && !(*options.dropout >= 0 && *options.dropout < 1))
    return refuse("--dropout", *options.dropout, "a probability p with 0 <= p < 1");
  if (options.paramDtype && *options.paramDtype != facts.dtype &&
      (*options.paramDtype != ElementKind::F32 || facts.dtype == ElementKind::F64))
    return llvm::createStringError(
        "--param-dtype differs from the compute type; only f32 may, with "
        "--dtype bf16 or f16");
  if (llvm::Error error = checkPacked(options, facts))
    return error;
  if (llvm::Error error = checkPositions(options, facts))
    return error;
  if (llvm::Error error = checkExperts(options, facts))
    return error;
  if (options.keepsCaches())
    return checkCaches(options, facts);
  return options.trains() ? checkTraining(options.training) : llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Graph
//===----------------------------------------------------------------------===//

/// Adds the bytes of `value` to `sum`.
static llvm::Error addBytes(Value value, int64_t &sum, const ModelFacts &facts) {
  const Count bytes = bytesOfType(value.getType());
  if (Count total = sum + bytes; !total.isTooMany()) {
    sum = total;
    return llvm::Error::success();
  }
  std::string text;
  llvm::raw_string_ostream os(text);
  os << facts.file << ": ";
  if (auto name = dyn_cast<NameLoc>(value.getLoc()))
    os << "value '" << name.getName().getValue() << "', ";
  os << value.getType() << ", " << (bytes.isTooMany() ? "needs" : "and all before it need")
     << " 2^63 bytes or more; lower --batch, --seq or --layers";
  return llvm::createStringError(text);
}

llvm::Error importer::checkBytes(func::FuncOp function, const ModelFacts &facts) {
  int64_t sum = 0;
  Block &body = function.getBody().front();
  for (Value argument : body.getArguments())
    if (llvm::Error error = addBytes(argument, sum, facts))
      return error;
  for (Operation &op : body)
    for (Value result : op.getResults())
      if (llvm::Error error = addBytes(result, sum, facts))
        return error;
  return llvm::Error::success();
}

llvm::Error importer::checkGraph(ModuleOp module, const ModelFacts &facts) {
  std::string text;
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &diagnostic) {
    llvm::raw_string_ostream(text) << ": " << diagnostic.str();
    return success();
  });
  if (succeeded(verify(module)))
    return llvm::Error::success();
  return llvm::createStringError(facts.file + ": the imported graph is not valid" + text);
}
