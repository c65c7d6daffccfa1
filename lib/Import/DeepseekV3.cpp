//===- DeepseekV3.cpp - DeepSeek-V3 and R1 (DeepSeek-AI 2024) --------------===//

#include "Deepseek.h"

using namespace llmmem::importer;
using llvm::Twine;

/// Scores are logistic. Experts are chosen by score and a bias that a rule and no gradient trains,
/// in the groups whose two best experts have the largest sum.
static void readRouter(ConfigReader &config, ExpertParts &experts) {
  experts.logistic = true;
  experts.biasOfChoice = "mlp.gate.e_score_correction_bias";
  experts.normalized = config.flagOr("norm_topk_prob", true);
  config.onlyText("scoring_func", "sigmoid");
  config.onlyText("topk_method", "noaux_tc");
  readExpertGroups(config, experts);
  experts.groupBest = 2;
  if (experts.count / experts.groups < experts.groupBest)
    config.fail("key 'n_group' is " + Twine(experts.groups) + " for " + Twine(experts.count) +
                " experts, expected groups of two or more: the two best speak for theirs");
}

/// This is DeepSeek-V2 with another router. The layers after the last one that predict further
/// tokens (`num_nextn_predict_layers`) are left out, as the public library leaves them out of
/// training.
std::unique_ptr<Model> llmmem::importer::readDeepseekV3(ConfigReader &config,
                                                        const ImportOptions &options) {
  DecoderParts parts =
      readDeepseekKeys(config, options, {.factor = 2.5, .denseLayers = 3, .sharedExperts = 1});
  parts.attention.rotary.interleaved = config.flagOr("rope_interleave", true);
  readRouter(config, parts.experts);
  config.countOr("num_nextn_predict_layers", 0);
  return makeDecoder(std::move(parts));
}
