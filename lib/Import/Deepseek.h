//===- Deepseek.h - What the versions of DeepSeek share ---------*- C++ -*-===//

#ifndef LLMMEM_LIB_IMPORT_DEEPSEEK_H
#define LLMMEM_LIB_IMPORT_DEEPSEEK_H

#include "DecoderConfig.h"

namespace llmmem::importer {

/// What a key means that a version's file leaves out.
struct DeepseekDefaults {
  double factor; ///< of the weights of experts
  int64_t denseLayers, sharedExperts;
};

/// Latent attention; an MLP in the first layers, then experts beside shared ones. How experts are
/// chosen is left to the version.
DecoderParts readDeepseekKeys(ConfigReader &config, const ImportOptions &options,
                              const DeepseekDefaults &defaults);

/// The experts in `n_group` groups, of which a token keeps `topk_group`.
void readExpertGroups(ConfigReader &config, ExpertParts &experts);

} // namespace llmmem::importer

#endif // LLMMEM_LIB_IMPORT_DEEPSEEK_H
