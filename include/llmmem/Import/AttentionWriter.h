//===- AttentionWriter.h - Attention, and the caches that it reads -------===//
//
// This class chooses between the two variants of attention: fused, and written as separate ops.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_IMPORT_ATTENTIONWRITER_H
#define LLMMEM_IMPORT_ATTENTIONWRITER_H

#include "llmmem/Import/LayerWriter.h"

namespace llmmem::importer {

struct AttentionShape {
  int64_t heads = 0;
  int64_t kvHeads = 0;
  int64_t headSize = 0;
  std::optional<int64_t> window = std::nullopt;
  double dropout = 0;
  std::optional<double> scale = std::nullopt;   ///< Multiplies the scores. None means 1 /
                                                ///< sqrt(headSize).
  std::optional<double> softcap = std::nullopt; ///< of scores
  std::string sinks = {};                       ///< Names a parameter with one score for each head.
                                                ///< Empty means none.
  bool bidirectional = false;                   ///< Queries attend to later keys, too.
  mlir::Value bias = {};                        ///< Added to scores, by head and distance.
  std::string name = "attn";                    ///< Begins the names of the ops.
};

class CachedGraph;

class AttentionWriter {
public:
  explicit AttentionWriter(LayerWriter &graph)
      : graph(graph), builder(graph.getBuilder()), options(graph.getOptions()) {}

  /// Makes attention read and fill these caches, which must outlive this object. Positions are then
  /// those of the new tokens.
  void setCaches(CachedGraph &cached);
  /// Returns whether attention reads and fills caches.
  bool keepsCaches() const { return caches != nullptr; }
  /// Returns the caches, or null.
  CachedGraph *keptCaches() const { return caches; }

  /// Builds the core of attention, named `attn.out`, fused or as separate ops according to the
  /// options. It uses separate ops where there is a bias or where queries and keys have different
  /// numbers of rows, because no fused op supports these.
  mlir::Value attend(mlir::Value q, mlir::Value k, mlir::Value v, const AttentionShape &shape);
  /// Builds attention of a step with caches, named `attn.out`: queries [batch, seq, heads * width]
  /// attend to latent rows of `width` elements, of which the first `rank` are the values of all
  /// heads.
  mlir::Value attendToLatents(mlir::Value q, mlir::Value row, int64_t rank,
                              const AttentionShape &shape);
  /// Returns the row of each sequence's last token in a step that writes several tokens into
  /// caches; otherwise returns `x`.
  mlir::Value lastRows(llvm::StringRef name, mlir::Value x);

private:
  mlir::Value fusedAttention(mlir::Value q, mlir::Value k, mlir::Value v,
                             const AttentionShape &shape);
  mlir::Value unfusedAttention(mlir::Value q, mlir::Value k, mlir::Value v,
                               const AttentionShape &shape);
  mlir::Value cachedAttention(mlir::Value q, mlir::Value k, mlir::Value v,
                              const AttentionShape &shape);
  void appendRows(llvm::StringRef name, llvm::ArrayRef<mlir::Value> held,
                  llvm::ArrayRef<mlir::Value> rows, bool isRing);
  void appendRow(llvm::StringRef name, mlir::Value held, mlir::Value row);
  mlir::Value packHeads(llvm::StringRef name, mlir::Value &x, int64_t heads);
  mlir::FloatAttr scaleOf(const AttentionShape &shape);

  LayerWriter &graph;
  mlir::OpBuilder &builder;
  const ImportOptions &options;
  CachedGraph *caches = nullptr;
};

} // namespace llmmem::importer

#endif // LLMMEM_IMPORT_ATTENTIONWRITER_H
