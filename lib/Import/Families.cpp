//===- Families.cpp - The table of families --------------------------------===//

#include "DecoderParts.h"

using namespace llmmem::importer;

Model::~Model() = default;

void Model::nameAsTextPart(const TextNames &) {}

template <DecoderParts (*read)(ConfigReader &, const ImportOptions &)>
static std::unique_ptr<Model> readDecoder(ConfigReader &config, const ImportOptions &options) {
  return makeDecoder(read(config, options));
}

#define ROW(modelType, reader) {#modelType, read##reader},

llvm::ArrayRef<Family> llmmem::importer::families() {
  static const Family table[] = {
#define FAMILY(modelType, reader) ROW(modelType, reader)
#define DECODER(modelType, reader) {#modelType, readDecoder<read##reader>},
#define COUNTED(modelType, reader)
#include "llmmem/Import/Families.def"
  };
  return table;
}

llvm::ArrayRef<Family> llmmem::importer::countedFamilies() {
  static const Family table[] = {
#define FAMILY(modelType, reader)
#define DECODER(modelType, reader)
#define COUNTED(modelType, reader) ROW(modelType, reader)
#include "llmmem/Import/Families.def"
  };
  return table;
}
