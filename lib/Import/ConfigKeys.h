//===- ConfigKeys.h - What becomes of keys that no family reads -*- C++ -*-===//
//
// Every key of a config.json ends in one of four ways. A family reads it. It is known to mean
// nothing for the graph (ids of a tokenizer, defaults of generation). It is known to change the
// model, and the import is refused, because the result would be another model of the same name. Or
// it is unknown: then it is listed, unless a key that it resembles is missing, which is refused as
// a misspelling.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_IMPORT_CONFIGKEYS_H
#define LLMMEM_LIB_IMPORT_CONFIGKEYS_H

#include "llmmem/Import/ConfigReader.h"

namespace llmmem::importer {

/// Judges the keys that the family named `family` has not read. Complaints stay in the reader.
/// Returns the names of the keys that nothing is known of.
std::vector<std::string> judgeUnusedKeys(ConfigReader &config, llvm::StringRef family);

/// Says what can be done with a model of which no graph is built.
inline constexpr llvm::StringRef kTraced =
    "llmmem.torch plans any model that PyTorch traces, and llmmem-fit --as=all says what ways to "
    "train one of transformers hold (docs/Recipes/PredictInPyTorch.md)";

/// Names what models of this `model_type` have and no import can build; empty for others.
llvm::StringRef missingIdea(llvm::StringRef modelType);

/// Returns those of `names` that `name` resembles, the nearest first, at most three.
std::vector<llvm::StringRef> nearestNames(llvm::StringRef name,
                                          llvm::ArrayRef<llvm::StringRef> names);

} // namespace llmmem::importer

#endif // LLMMEM_LIB_IMPORT_CONFIGKEYS_H
