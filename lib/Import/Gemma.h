//===- Gemma.h - What the versions of Gemma share ---------------*- C++ -*-===//

#ifndef LLMMEM_LIB_IMPORT_GEMMA_H
#define LLMMEM_LIB_IMPORT_GEMMA_H

#include "DecoderConfig.h"

namespace llmmem::importer {

/// Adds norms with an offset of 1, embeddings times sqrt(width), and a tied head.
DecoderParts readGemmaKeys(ConfigReader &config, const ImportOptions &options, KeyNames names);

/// Adds what versions 2 and 3 have: norms after the branches as well, a scale of scores, caps, and
/// windows.
DecoderParts readGemma2Keys(ConfigReader &config, const ImportOptions &options,
                            KeyNames names = {});

} // namespace llmmem::importer

#endif // LLMMEM_LIB_IMPORT_GEMMA_H
