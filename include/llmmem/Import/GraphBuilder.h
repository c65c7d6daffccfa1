//===- GraphBuilder.h - Writes the ops of a model ------------------------===//
//
// Families say which op follows which. The builder chooses types, names, blocks, dropout streams
// and the variant of attention. Ops, shapes and layers are functions of the builder, each in the
// header of a base class; attention and experts, which keep something of the layers before, are
// objects that it has.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_IMPORT_GRAPHBUILDER_H
#define LLMMEM_IMPORT_GRAPHBUILDER_H

#include "llmmem/Import/AttentionWriter.h"
#include "llmmem/Import/ExpertWriter.h"

namespace llmmem::importer {

class GraphBuilder : public LayerWriter {
public:
  GraphBuilder(mlir::OpBuilder builder, const ImportOptions &options, mlir::Type elementType)
      : LayerWriter(builder, options, elementType), attention(*this), experts(*this) {}
  GraphBuilder(const GraphBuilder &) = delete;
  GraphBuilder &operator=(const GraphBuilder &) = delete;

  AttentionWriter attention;
  ExpertWriter experts;
};

} // namespace llmmem::importer

#endif // LLMMEM_IMPORT_GRAPHBUILDER_H
