//===- Gemma.h - What the versions of Gemma share ---------------*- C++ -*-===//

#ifndef LLMMEM_LIB_IMPORT_GEMMA_H
#define LLMMEM_LIB_IMPORT_GEMMA_H

#include "DecoderConfig.h"

namespace llmmem::importer {

/// Norms whose weights count from 1, embeddings times sqrt(width), a tied head.
DecoderParts readGemmaKeys(ConfigReader &config, const ImportOptions &options, KeyNames names);

/// What versions 2 and 3 add: norms behind the branches too, a scale of scores and caps of their
/// own, windows.
DecoderParts readGemma2Keys(ConfigReader &config, const ImportOptions &options,
                            KeyNames names = {});

} // namespace llmmem::importer

#endif // LLMMEM_LIB_IMPORT_GEMMA_H
