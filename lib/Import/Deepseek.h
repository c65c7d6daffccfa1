//===- Deepseek.h - What the versions of DeepSeek share ---------*- C++ -*-===//

#ifndef LLMMEM_LIB_IMPORT_DEEPSEEK_H
#define LLMMEM_LIB_IMPORT_DEEPSEEK_H

#include "DecoderConfig.h"

namespace llmmem::importer {

/// Says what the missing keys of a version mean.
struct DeepseekDefaults {
  double factor; ///< Multiplies the weights of experts.
  int64_t denseLayers, sharedExperts;
};

/// Describes latent attention, and an MLP in the first layers, then experts with shared ones. The
/// version says how experts are chosen.
DecoderParts readDeepseekKeys(ConfigReader &config, const ImportOptions &options,
                              const DeepseekDefaults &defaults);

/// Reads the experts in `n_group` groups, of which a token keeps `topk_group`.
void readExpertGroups(ConfigReader &config, ExpertParts &experts);

} // namespace llmmem::importer

#endif // LLMMEM_LIB_IMPORT_DEEPSEEK_H
