//===- Quantized.h - Configs of quantized weights ---------------*- C++ -*-===//

#ifndef LLMMEM_LIB_IMPORT_QUANTIZED_H
#define LLMMEM_LIB_IMPORT_QUANTIZED_H

#include "llmmem/Import/Model.h"

namespace llmmem::importer {

/// Reads how the weights of a file are quantized, from `quantization_config`, from an
/// `hf_quant_config.json` next to the file, or else from a name that says so. Returns none where
/// nothing says that they are.
std::optional<Quantization> readQuantization(ConfigReader &config);

/// Refuses what cannot be done with quantized weights. Returns a sentence about what is done.
std::string judgeQuantization(ConfigReader &config, const Quantization &quantized,
                              const ImportOptions &options);

} // namespace llmmem::importer

#endif // LLMMEM_LIB_IMPORT_QUANTIZED_H
