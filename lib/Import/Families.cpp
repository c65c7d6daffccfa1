//===- Families.cpp - The table of families --------------------------------===//

#include "llmmem/Import/Model.h"

using namespace llmmem::importer;

Model::~Model() = default;

llvm::ArrayRef<Family> llmmem::importer::families() {
  static const Family table[] = {
#define FAMILY(modelType, reader) {#modelType, read##reader},
#include "llmmem/Import/Families.def"
  };
  return table;
}

double llmmem::importer::readDropout(ConfigReader &config, const ImportOptions &options,
                                     llvm::StringRef key, double fallback) {
  // Read in any case: a wrong value is an error whatever the flags say.
  double own = config.probabilityOr(key, fallback);
  return options.mode == Mode::Forward ? 0.0 : options.dropout.value_or(own);
}
