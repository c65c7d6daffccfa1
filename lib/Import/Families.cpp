//===- Families.cpp - The table of families --------------------------------===//

#include "llmmem/Import/Model.h"

using namespace llmmem::importer;

Model::~Model() = default;

void Model::nameAsTextPart(const TextNames &) {}

llvm::ArrayRef<Family> llmmem::importer::families() {
  static const Family table[] = {
#define FAMILY(modelType, reader) {#modelType, read##reader},
#include "llmmem/Import/Families.def"
  };
  return table;
}
