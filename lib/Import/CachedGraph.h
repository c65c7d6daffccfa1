//===- CachedGraph.h - The caches of a step of inference --------*- C++ -*-===//
//
// A graph of `Mode::Prefill` or `Mode::Decode` has more arguments than a forward: how many tokens
// each sequence has in its caches, how many are new (where a step takes several), and a table of
// pages (where there are pages). After the parameters each layer has a cache of keys and one of
// values (with latent rows one cache, `attn.cache.latents`), each donated to a result:
//
//   func.func @decode(%ids: [B, 1], %lengths: [B], parameters..., %h.0.attn.cache.keys: [B, C, W],
//                     %h.0.attn.cache.values, ...) -> (logits, caches...)
//
// A layer with a window shorter than the context has caches of as many rows as the window.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_IMPORT_CACHEDGRAPH_H
#define LLMMEM_LIB_IMPORT_CACHEDGRAPH_H

#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Import/ImportOptions.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace llmmem::importer {

class CachedGraph {
public:
  CachedGraph(mlir::func::FuncOp function, const ImportOptions &options)
      : function(function), options(options) {}

  struct Input {
    std::string name;
    mlir::RankedTensorType type;
  };
  /// Lists what the function reads in addition to the ids, in the order of its arguments.
  static llvm::SmallVector<Input> inputs(mlir::OpBuilder &builder, const ImportOptions &options);
  /// Returns the argument of this name; null where there is none.
  mlir::Value input(llvm::StringRef name);

  /// Adds an argument: a cache of `rows` rows a sequence, or of the pages, for rows like those of
  /// `x`.
  mlir::Value addCache(llvm::StringRef name, mlir::Value x, int64_t rows);
  /// Adds an argument of `rows` rows a sequence like those of `x`, which is never in pages.
  mlir::Value addState(llvm::StringRef name, mlir::Value x, int64_t rows);
  /// Adds an argument of this type, which is never in pages.
  mlir::Value addState(llvm::StringRef name, mlir::RankedTensorType type) {
    return addArgument(name, type);
  }
  /// Sets the cache of `argument` after the step.
  void setUpdated(mlir::Value argument, mlir::Value updated);
  /// Returns the results of the function after its first, each of which has a donated argument.
  llvm::ArrayRef<mlir::Value> updated() const { return results; }

  mlir::Value positions; ///< Those of the new tokens, [batch, seq].

private:
  mlir::Value addArgument(llvm::StringRef name, mlir::RankedTensorType type);

  mlir::func::FuncOp function;
  const ImportOptions &options;
  llvm::SmallVector<mlir::Value> results;
};

} // namespace llmmem::importer

#endif // LLMMEM_LIB_IMPORT_CACHEDGRAPH_H
