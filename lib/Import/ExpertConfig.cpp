//===- ExpertConfig.cpp - Keys that configs of mixtures of experts share ---===//

#include "DecoderConfig.h"
#include "LayerKinds.h"
#include "llvm/ADT/STLExtras.h"

using namespace llmmem::importer;
using llvm::Twine;

ExpertParts llmmem::importer::readExperts(ConfigReader &config, const ExpertKeys &keys) {
  ExpertParts experts;
  experts.count = config.positive(keys.count);
  experts.chosen = config.positive(keys.chosen);
  experts.inner = config.positive(keys.inner);
  if (experts.chosen > experts.count)
    config.fail("key " + config.quoted(keys.chosen) + " is " + Twine(experts.chosen) +
                ", more than '" + keys.count + "', " + Twine(experts.count));
  if (!keys.hasBalance)
    return experts;
  // The public library adds the loss where the file requests the routers' logits.
  double coefficient = config.realFromZeroOr("router_aux_loss_coef", 0.001);
  if (config.flagOr("output_router_logits", false))
    experts.balanceLoss = coefficient;
  return experts;
}

void llmmem::importer::readLayersWithExperts(ConfigReader &config, DecoderParts &parts,
                                             int64_t dense) {
  parts.experts.hasExperts = [dense](int64_t layer) { return layer >= dense; };
  std::vector<bool> sparse;
  for (const std::string &kind :
       readKinds(config, "mlp_layer_types", {"dense", "sparse"}, parts.layers))
    sparse.push_back(kind == "sparse");
  if (sparse.empty())
    return;
  parts.experts.hasExperts = [sparse](int64_t layer) { return sparse[layer % sparse.size()]; };
}

void llmmem::importer::readSharedExpert(ConfigReader &config, DecoderParts &parts) {
  MlpParts shared = parts.mlp;
  shared.inner = config.positive("shared_expert_intermediate_size");
  shared.gate.module = "mlp.shared_expert.gate_proj";
  shared.up.module = "mlp.shared_expert.up_proj";
  shared.down.module = "mlp.shared_expert.down_proj";
  parts.experts.shared = shared;
  parts.experts.sharedGate = "mlp.shared_expert_gate";
}

void llmmem::importer::readQwenExperts(ConfigReader &config, DecoderParts &parts) {
  parts.experts = readExperts(config);
  parts.experts.normalized = config.flagOr("norm_topk_prob", false);
  int64_t every = config.optionalPositive("decoder_sparse_step").value_or(1);
  std::vector<int64_t> dense = config.counts("mlp_only_layers");
  parts.experts.hasExperts = [every, dense](int64_t layer) {
    return !llvm::is_contained(dense, layer) && (layer + 1) % every == 0;
  };
}
