//===- Families.cpp - The table of families --------------------------------===//

#include "llmmem/Import/Model.h"

using namespace llmmem::importer;

Model::~Model() = default;

void Model::nameAsTextPart(const TextNames &) {}

#define ROW(modelType, reader) {#modelType, read##reader},

llvm::ArrayRef<Family> llmmem::importer::families() {
  static const Family table[] = {
#define FAMILY(modelType, reader) ROW(modelType, reader)
#define COUNTED(modelType, reader)
#include "llmmem/Import/Families.def"
  };
  return table;
}

llvm::ArrayRef<Family> llmmem::importer::countedFamilies() {
  static const Family table[] = {
#define FAMILY(modelType, reader)
#define COUNTED(modelType, reader) ROW(modelType, reader)
#include "llmmem/Import/Families.def"
  };
  return table;
}
