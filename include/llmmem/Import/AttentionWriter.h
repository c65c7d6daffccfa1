//===- AttentionWriter.h - Attention, and the caches that it reads -------===//
//
// The two forms of attention, fused and written out, are chosen here.
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
  std::optional<double> scale = std::nullopt;   ///< of scores; none: 1 / sqrt(headSize)
  std::optional<double> softcap = std::nullopt; ///< of scores
  std::string sinks = {};                       ///< a parameter with a score for each head, or none
  bool bidirectional = false;                   ///< queries attend to later keys too
  mlir::Value bias = {};                        ///< of each head and distance, added to scores
  std::string name = "attn";                    ///< what its ops' names begin with
};

class CachedGraph;

class AttentionWriter : public LayerWriter {
public:
  /// Attention then reads and fills the caches of `graph`, which must outlive this object, and
  /// positions are those of new tokens.
  void setCaches(CachedGraph &graph);

  /// The core of attention, named `attn.out`, fused or written out as the options say; written out
  /// where it has a bias, or other rows of keys than of queries, which no fused one reads.
  mlir::Value attention(mlir::Value q, mlir::Value k, mlir::Value v, const AttentionShape &shape);
  /// Whether attention reads and fills caches.
  bool keepsCaches() const { return caches != nullptr; }
  /// Of a step with caches: attention named `attn.out` of [batch, seq, heads * width] queries to
  /// latent rows of `width` elements, of which the first `rank` are the values of all heads.
  mlir::Value latentAttention(mlir::Value q, mlir::Value row, int64_t rank,
                              const AttentionShape &shape);
  /// Of a step that takes several tokens of each sequence into caches, the last one's row; else
  /// `x`.
  mlir::Value lastRows(llvm::StringRef name, mlir::Value x);

protected:
  using LayerWriter::LayerWriter;

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

  CachedGraph *caches = nullptr;
};

} // namespace llmmem::importer

#endif // LLMMEM_IMPORT_ATTENTIONWRITER_H
