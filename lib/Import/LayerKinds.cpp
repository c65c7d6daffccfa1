//===- LayerKinds.cpp - Lists that say what each layer is ------------------===//

#include "LayerKinds.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/Twine.h"

using namespace llmmem::importer;
using llvm::StringRef;
using llvm::Twine;

std::vector<std::string> llmmem::importer::readKinds(ConfigReader &config, StringRef key,
                                                     llvm::ArrayRef<StringRef> known,
                                                     std::optional<int64_t> layers) {
  std::vector<std::string> kinds = config.optionalTexts(key).value_or(std::vector<std::string>());
  for (auto [layer, kind] : llvm::enumerate(kinds)) {
    kind = llvm::StringSwitch<std::string>(kind)
               .Case("mamba", "linear_attention")
               .Case("attention", "full_attention")
               .Case("deepseek_sparse_attention", "indexed_attention")
               .Default(kind);
    if (!llvm::is_contained(known, kind))
      config.fail("key " + config.quoted(key) + " says \"" + kind + "\" of layer " + Twine(layer) +
                  ", expected one of " + llvm::join(known, ", "));
  }
  if (layers && config.has(key) && static_cast<int64_t>(kinds.size()) != *layers)
    config.fail("key " + config.quoted(key) + " lists " + Twine(kinds.size()) +
                " layers, 'num_hidden_layers' is " + Twine(*layers));
  return kinds;
}
