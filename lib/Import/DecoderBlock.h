//===- DecoderBlock.h - What builds a block of a decoder --------*- C++ -*-===//

#ifndef LLMMEM_LIB_IMPORT_DECODERBLOCK_H
#define LLMMEM_LIB_IMPORT_DECODERBLOCK_H

#include "DecoderParts.h"
#include "llmmem/Import/GraphBuilder.h"

namespace llmmem::importer {

/// Normalizes by the parameters of a module, whose name is whole.
mlir::Value normalize(GraphBuilder &graph, const NormStyle &norm, llvm::StringRef name,
                      mlir::Value x, const std::string &module);

/// Gives access to a block's parameters while the graph is built; modules are without its prefix.
struct BlockGraph {
  const DecoderParts &parts;
  GraphBuilder &graph;
  std::string prefix;
  int64_t layer;
  LayerParts own; ///< The parts of this layer.

  mlir::Value project(llvm::StringRef name, mlir::Value x, const Projection &projection) const {
    return graph.linear(name, x, prefix + projection.module);
  }
  mlir::Value normalize(llvm::StringRef name, mlir::Value x, const std::string &module) const {
    return importer::normalize(graph, parts.norm, name, x, prefix + module);
  }
  /// Returns `x` where the family has no such module.
  mlir::Value normalizeIfAny(llvm::StringRef name, mlir::Value x, const std::string &module) const {
    return module.empty() ? x : normalize(name, x, module);
  }
};

/// Returns what attention adds to the residual, from its normalised input `x`.
mlir::Value buildAttention(const BlockGraph &block, mlir::Value x);

/// Convolves rows by the weights of a module, and adds its bias if it has one. In a step with
/// caches rows of previous tokens come from a ring.
mlir::Value convolve(GraphBuilder &graph, mlir::Value x, const std::string &module);

/// Returns what a carried state adds to the residual, from its normalised input `x`.
mlir::Value buildState(const BlockGraph &block, mlir::Value x);

/// Returns what a short convolution adds to the residual, from its normalised input `x`.
mlir::Value buildConvolution(const BlockGraph &block, mlir::Value x);

} // namespace llmmem::importer

#endif // LLMMEM_LIB_IMPORT_DECODERBLOCK_H
