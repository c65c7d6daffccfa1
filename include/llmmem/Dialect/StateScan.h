//===- StateScan.h - The sizes of carried states and of their backward ---===//
//
// The cost of llm.state_scan_grad and its kernels agree on these. Example: 2 heads of a key of 64
// and a value of 128, over 100 tokens in chunks of 64, have 2 chunks of 64 and 36 tokens.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_DIALECT_STATESCAN_H
#define LLMMEM_DIALECT_STATESCAN_H

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace llmmem::llm {

/// Holds the sizes of queries, [batch, seq, groups, key], and values, [batch, seq, heads, value].
struct StateScan {
  template <typename Scan>
  explicit StateScan(Scan op) : StateScan(op.getQ().getType(), op.getV().getType()) {}
  StateScan(mlir::RankedTensorType q, mlir::RankedTensorType v)
      : batch(q.getDimSize(0)), seq(q.getDimSize(1)), groups(q.getDimSize(2)), key(q.getDimSize(3)),
        heads(v.getDimSize(2)), value(v.getDimSize(3)) {}

  /// Counts tokens of all heads.
  int64_t tokens() const { return batch * seq * heads; }
  int64_t stateElements() const { return key * value; }
  int64_t chunks(int64_t chunk) const { return llvm::divideCeil(seq, chunk); }

  int64_t batch, seq, groups, key, heads, value;
};

/// Places what the backward of a head holds, as elements from the start of the head's part. It has
/// many fields because each is one place.
struct ScanWorkspace {
  ScanWorkspace(const StateScan &scan, int64_t chunk) {
    const int64_t keys = chunk * scan.key, values = chunk * scan.value, pairs = chunk * chunk;
    int64_t *const places[] = {&stateGradient, &updates,    &updateGradients, &ofQueries,
                               &ofKeys,        &byQuery,    &asRow,           &asColumn,
                               &sums,          &leftBefore, &leftAfter,       &slopes};
    const int64_t sizes[] = {scan.stateElements(),
                             values,
                             values,
                             pairs,
                             pairs,
                             keys,
                             keys,
                             keys,
                             chunk,
                             chunk,
                             chunk,
                             chunk};
    for (auto [place, count] : llvm::zip_equal(places, sizes)) {
      *place = size;
      size += llvm::alignTo(count, 16); // Vectors do not cross cache lines.
    }
  }

  int64_t stateGradient = 0;   ///< [key, value].
  int64_t updates = 0;         ///< [chunk, value]: u of each token without its strength.
  int64_t updateGradients = 0; ///< [chunk, value]: the gradient of u.
  int64_t ofQueries = 0;  ///< [chunk, chunk]: products of queries with keys, then their gradients.
  int64_t ofKeys = 0;     ///< [chunk, chunk]: products of keys with keys, then their gradients.
  int64_t byQuery = 0;    ///< [chunk, key]: the gradient of the query.
  int64_t asRow = 0;      ///< [chunk, key]: that of the key where it reads the state.
  int64_t asColumn = 0;   ///< [chunk, key]: that of the key where it adds to the state.
  int64_t sums = 0;       ///< [chunk]: the logarithm of what is left of the state before the chunk.
  int64_t leftBefore = 0; ///< [chunk]: what is left.
  int64_t leftAfter = 0;  ///< [chunk]: what is left of the token after the chunk.
  int64_t slopes = 0;     ///< [chunk]: the gradient of the sum.
  int64_t size = 0;
};

} // namespace llmmem::llm

#endif // LLMMEM_DIALECT_STATESCAN_H
