//===- DeepseekV2.cpp - DeepSeek-V2 and V2-Lite (DeepSeek-AI 2024) ---------===//

#include "Deepseek.h"

using namespace llmmem::importer;

static void readRouter(ConfigReader &config, ExpertParts &experts) {
  experts.normalized = false;
  config.onlyFlag("norm_topk_prob", false);
  config.onlyText("scoring_func", "softmax");
  std::string method = config.optionalText("topk_method").value_or("greedy");
  if (method == "group_limited_greedy")
    readExpertGroups(config, experts);
  else if (method != "greedy")
    config.fail("key 'topk_method' is \"" + method +
                "\", expected one of greedy, group_limited_greedy");
}

std::unique_ptr<Model> llmmem::importer::readDeepseekV2(ConfigReader &config,
                                                        const ImportOptions &options) {
  DecoderParts parts =
      readDeepseekKeys(config, options, {.factor = 1.0, .denseLayers = 0, .sharedExperts = 2});
  readRouter(config, parts.experts);
  return makeDecoder(std::move(parts));
}
