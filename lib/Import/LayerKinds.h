//===- LayerKinds.h - Lists that say what each layer is ---------*- C++ -*-===//

#ifndef LLMMEM_LIB_IMPORT_LAYERKINDS_H
#define LLMMEM_LIB_IMPORT_LAYERKINDS_H

#include "llmmem/Import/ConfigReader.h"

namespace llmmem::importer {

/// Reads an optional list of the kind of each layer, each one of `known`: `layers` of them, where
/// that is given. The names are those of newer files; older ones say "mamba", "attention" and
/// "deepseek_sparse_attention" for "linear_attention", "full_attention" and "indexed_attention".
std::vector<std::string> readKinds(ConfigReader &config, llvm::StringRef key,
                                   llvm::ArrayRef<llvm::StringRef> known,
                                   std::optional<int64_t> layers);

} // namespace llmmem::importer

#endif // LLMMEM_LIB_IMPORT_LAYERKINDS_H
