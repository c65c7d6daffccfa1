//===- Adapters.h - Low-rank adapters of projections ------------*- C++ -*-===//

#ifndef LLMMEM_LIB_IMPORT_ADAPTERS_H
#define LLMMEM_LIB_IMPORT_ADAPTERS_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace llmmem::importer {

/// Names the modules of an adapter as PEFT's adapter files do: for model.layers.0.mlp.up_proj they
/// are base_model.model.model.layers.0.mlp.up_proj.lora_A and .lora_B.
struct AdapterNames {
  std::string down; ///< From the input to the rank.
  std::string up;   ///< From the rank to the output.
};

AdapterNames adapterNames(llvm::StringRef module);

} // namespace llmmem::importer

#endif // LLMMEM_LIB_IMPORT_ADAPTERS_H
