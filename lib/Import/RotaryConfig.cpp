//===- RotaryConfig.cpp - The keys of a scaling of rotary positions --------===//

#include "DecoderConfig.h"
#include <cmath>

using namespace llmmem::importer;
using llvm::StringRef;
using llvm::Twine;

static RopeScaling readYarn(ConfigReader &rope, const RotaryContext &context,
                            const Rotary &rotary) {
  YarnNumbers numbers;
  numbers.factor = rope.positiveReal("factor");
  numbers.originalMaxSeq = rope.optionalPositive("original_max_position_embeddings")
                               .value_or(context.originalMaxSeq.value_or(context.maxSeq));
  numbers.fastTurns = rope.positiveRealOr("beta_fast", numbers.fastTurns);
  numbers.slowTurns = rope.positiveRealOr("beta_slow", numbers.slowTurns);
  numbers.wholeBounds = rope.flagOr("truncate", true);
  RopeScaling scaling = yarnScaling(rotary.theta, rotary.elements, numbers);
  if (rope.has("mscale") && rope.has("mscale_all_dim"))
    scaling.magnitude = yarnMagnitude(numbers.factor, rope.positiveReal("mscale")) /
                        yarnMagnitude(numbers.factor, rope.positiveReal("mscale_all_dim"));
  scaling.magnitude = rope.positiveRealOr("attention_factor", scaling.magnitude);
  return scaling;
}

static RopeScaling readLlama3(ConfigReader &rope, const Rotary &rotary) {
  Llama3Numbers numbers;
  numbers.factor = rope.positiveReal("factor");
  numbers.lowFrequency = rope.positiveReal("low_freq_factor");
  numbers.highFrequency = rope.positiveReal("high_freq_factor");
  numbers.originalMaxSeq = rope.positive("original_max_position_embeddings");
  if (numbers.highFrequency < numbers.lowFrequency)
    rope.fail("key " + rope.quoted("high_freq_factor") + " must be at least 'low_freq_factor'");
  return llama3Scaling(rotary.theta, rotary.elements, numbers);
}

/// Reads the list for sequences of the imported length.
static RopeScaling readLongRope(ConfigReader &rope, const RotaryContext &context,
                                const Rotary &rotary) {
  int64_t original = context.originalMaxSeq ? *context.originalMaxSeq
                                            : rope.positive("original_max_position_embeddings");
  RopeScaling scaling;
  for (StringRef key : {"short_factor", "long_factor"}) {
    std::vector<double> list = rope.positiveReals(key);
    if (static_cast<int64_t>(list.size()) != rotary.elements / 2)
      rope.fail("key " + rope.quoted(key) + " lists " + Twine(list.size()) +
                " numbers, expected one for each of the " + Twine(rotary.elements / 2) +
                " pairs of a head");
    if ((key == "long_factor") == (context.seq > original))
      scaling.divisors.assign(list.begin(), list.end());
  }
  double stretch = static_cast<double>(context.maxSeq) / static_cast<double>(original);
  double factor = rope.positiveRealOr("factor", stretch);
  scaling.magnitude = rope.positiveRealOr("attention_factor", longRopeMagnitude(factor, original));
  return scaling;
}

/// Beyond the config's positions theta grows with the sequence, up to `factor` times as many.
static void readDynamic(ConfigReader &rope, RotaryContext &context, Rotary &rotary) {
  double factor = rope.positiveReal("factor");
  if (rotary.elements <= 2)
    rope.fail("a dynamic scaling needs more than one pair of elements of a head that turn");
  context.longestSeq = std::max(
      context.maxSeq,
      static_cast<int64_t>(std::min(factor * static_cast<double>(context.maxSeq), 2147483647.0)));
  rotary.theta = dynamicTheta(rotary.theta, rotary.elements, factor, context.seq, context.maxSeq);
}

void llmmem::importer::readRotaryObject(ConfigReader &rope, RotaryContext &context,
                                        Rotary &rotary) {
  rotary.theta = rope.positiveRealOr("rope_theta", rotary.theta);
  if (rope.has("partial_rotary_factor"))
    rotary.elements = static_cast<int64_t>(static_cast<double>(context.headSize) *
                                           rope.positiveReal("partial_rotary_factor"));
  // Published files name the kind by either key.
  StringRef key = rope.has("rope_type") || !rope.has("type") ? "rope_type" : "type";
  std::string kind =
      rope.choice(key, {"default", "linear", "dynamic", "yarn", "llama3", "longrope", "su"});
  if (kind == "linear")
    rotary.scaling = linearScaling(rotary.elements, rope.positiveReal("factor"));
  else if (kind == "dynamic")
    readDynamic(rope, context, rotary);
  else if (kind == "yarn")
    rotary.scaling = readYarn(rope, context, rotary);
  else if (kind == "llama3")
    rotary.scaling = readLlama3(rope, rotary);
  else if (kind == "longrope" || kind == "su") // This is its older name.
    rotary.scaling = readLongRope(rope, context, rotary);
}

void llmmem::importer::readRotaryByLayerType(ConfigReader &config, const ImportOptions &options,
                                             DecoderParts &parts, double thetaOr,
                                             std::optional<double> windowTheta) {
  AttentionParts &attention = parts.attention;
  attention.rotary = {config.positiveRealOr("rope_theta", thetaOr), attention.headSize, {}};
  attention.windowRotary =
      Rotary{windowTheta.value_or(attention.rotary.theta), attention.headSize, {}};
  RotaryContext context{attention.headSize, options.longest(), parts.maxSeq, {}};
  auto readObject = [&](const llvm::json::Object *object, StringRef where, Rotary &rotary) {
    if (!object)
      return;
    ConfigReader nested(*object, config.getFile(), where);
    readRotaryObject(nested, context, rotary);
    config.absorb(nested);
  };
  readObject(config.optionalObject("rope_scaling"), "rope_scaling", attention.rotary);
  if (const llvm::json::Object *all = config.optionalObject("rope_parameters")) {
    ConfigReader kinds(*all, config.getFile(), "rope_parameters");
    for (StringRef key : {"rope_theta", "rope_type", "factor"})
      if (kinds.mentions(key))
        kinds.fail("key " + kinds.quoted(key) + " is of no kind of layer, expected an object " +
                   "for each: full_attention, sliding_attention");
    readObject(kinds.optionalObject("full_attention"), "rope_parameters.full_attention",
               attention.rotary);
    readObject(kinds.optionalObject("sliding_attention"), "rope_parameters.sliding_attention",
               *attention.windowRotary);
    config.absorb(kinds);
  }
}
