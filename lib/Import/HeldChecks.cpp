//===- HeldChecks.cpp - What an import in fewer bits refuses ---------------===//

#include "ImportChecks.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::importer;

/// A training step has the head's logits in chunks, never as a whole, which an unrounded weight
/// serves; as in QLoRA (Dettmers et al. 2023), tables then stay unrounded, too. Routers always stay
/// unrounded: they are small, and rounded ones would choose other experts.
bool importer::isHeldInFewerBits(const Parameter &parameter, const ImportOptions &options) {
  const bool isTable = parameter.lookup == Lookup::Token;
  const bool isRead = parameter.layout.has_value() || isTable || parameter.ofExperts;
  const bool isTrained = options.trains() && (!parameter.frozen || isTable || parameter.head);
  return options.weights && isRead && !isTrained && !parameter.wide;
}

/// Names the largest smaller group that divides a row. The format of a quantized file cannot be
/// left out.
static std::string mendOf(const HeldFormat &format, int64_t width, bool isOfFile) {
  for (int64_t group = llvm::alignDown(width, llm::kGroupStep); group > 0; group -= llm::kGroupStep)
    if (width % group == 0 && group <= format.group)
      return "; " + HeldFormat{format.kind, group}.text() + " divides it";
  return "; no multiple of " + std::to_string(llm::kGroupStep) + " divides it" +
         (isOfFile ? ", so steps with caches cannot hold it as the file does"
                   : ", so leave --weights out");
}

static llvm::Error checkWeights(ArrayRef<Parameter> parameters, const ImportOptions &options,
                                const ModelFacts &facts) {
  if (options.trains() && !options.lora && options.freeze.empty())
    return llvm::createStringError("--weights holds what is not trained in fewer bits, and every "
                                   "weight is trained; add --lora-rank and --lora-targets, or "
                                   "--mode decode");
  // A training run would have to save them by slices.
  if (facts.experts > 0 && options.trains())
    return llvm::createStringError(facts.file + ": the weights of experts are held in --dtype "
                                                "where a model trains; leave --weights out");
  for (const Parameter &parameter : parameters)
    if (isHeldInFewerBits(parameter, options) &&
        parameter.shape.back() % options.weights->group != 0)
      return llvm::createStringError(
          "--weights is " + options.weights->text() + ", but '" + parameter.name +
          "' has rows of " + Twine(parameter.shape.back()) + " elements, which groups of " +
          Twine(options.weights->group) + " do not divide" +
          mendOf(*options.weights, parameter.shape.back(), facts.quantized.has_value()));
  return llvm::Error::success();
}

/// Groups lie along a product's sum: rows of a weight [in, out], and groups of a weight [out, in].
static llvm::Error checkActivations(ArrayRef<Parameter> parameters, const ImportOptions &options) {
  const bool isOfIntegers = options.weights && (options.weights->kind == HeldKind::Int4 ||
                                                options.weights->kind == HeldKind::Int8);
  if (!isOfIntegers || !options.keepsCaches())
    return llvm::createStringError("--activations rounds what multiplies integers, and has no "
                                   "gradient; add --weights int4 or int8, and --mode prefill or "
                                   "--mode decode");
  for (const Parameter &parameter : parameters) {
    if (!isHeldInFewerBits(parameter, options))
      continue;
    const bool isInOut = parameter.layout == llm::WeightLayout::InOut;
    int64_t divided = isInOut ? parameter.shape.front() : options.weights->group;
    std::string what =
        isInOut
            ? ("the " + Twine(divided) + " terms of a sum of '" + parameter.name + "'").str()
            : ("groups of " + Twine(divided) + " of '" + parameter.name + "' (--weights)").str();
    if (divided % *options.activationGroup != 0)
      return llvm::createStringError("--activations has groups of " +
                                     Twine(*options.activationGroup) + ", which do not divide " +
                                     what + "; expected a divisor that is a multiple of " +
                                     Twine(llm::kActivationStep) + ", or leave --activations out");
  }
  return llvm::Error::success();
}

llvm::Error importer::checkHeld(ArrayRef<Parameter> parameters, const ImportOptions &options,
                                const ModelFacts &facts) {
  if ((options.weights || options.kvCache) && facts.dtype == ElementKind::F64)
    return llvm::createStringError(StringRef(options.weights ? "--weights" : "--kv-cache") +
                                   " is unpacked to f32; use --dtype f32 or bf16 with it");
  if (options.kvCache && !options.keepsCaches())
    return llvm::createStringError("--kv-cache is of steps with caches; add --mode prefill or "
                                   "--mode decode");
  if (options.weights)
    if (llvm::Error error = checkWeights(parameters, options, facts))
      return error;
  return options.activationGroup ? checkActivations(parameters, options) : llvm::Error::success();
}
