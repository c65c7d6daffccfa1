//===- Adapters.h - Low-rank adapters beside projections --------*- C++ -*-===//

#ifndef LLMMEM_LIB_IMPORT_ADAPTERS_H
#define LLMMEM_LIB_IMPORT_ADAPTERS_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace llmmem::importer {

/// The modules of an adapter, as PEFT names them in the file of an adapter: of
/// model.layers.0.mlp.up_proj they are base_model.model.model.layers.0.mlp.up_proj.lora_A and
/// .lora_B.
struct AdapterNames {
  std::string down; ///< from the input to the rank
  std::string up;   ///< from the rank to the output
};

AdapterNames adapterNames(llvm::StringRef module);

} // namespace llmmem::importer

#endif // LLMMEM_LIB_IMPORT_ADAPTERS_H
