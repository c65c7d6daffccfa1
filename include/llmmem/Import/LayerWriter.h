//===- LayerWriter.h - Layers of a model, without attention --------------===//
//
// Modules are named without `.weight` and `.bias`.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_IMPORT_LAYERWRITER_H
#define LLMMEM_IMPORT_LAYERWRITER_H

#include "llmmem/Dialect/RelativePositions.h"
#include "llmmem/Import/ShapeWriter.h"

namespace llmmem::importer {

/// Says how the first `elements` of each head are rotated by its position.
struct RotaryShape {
  double theta = 10000;
  int64_t elements = 0;
  llm::RopeScalingAttr scaling;
  bool interleaved = false; ///< pairs are neighbours
};

/// Heads that are adjacent in a row. Each multiplies by the rows of its own part of a weight,
/// starting at row `first`.
struct HeadProduct {
  int64_t heads = 0;
  int64_t first = 0;
  int64_t out = 0; ///< The number of elements of a head after the product.
  llm::WeightLayout layout = llm::WeightLayout::OutIn;
};

/// A factor of so many rows that follow each other.
struct RowFactor {
  int64_t rows;
  double factor;
};

/// Holds what layers read in addition to ids; null where the graph does not have it.
struct ModelInputs {
  mlir::Value seed;
  /// The position of each token in its own sequence: for rows that pack several sequences, or
  /// follow what caches hold.
  mlir::Value positions;
  /// What the decoder of an encoder-decoder predicts or, in inference, the ids that it reads.
  mlir::Value labels, decoderIds;
};

class LayerWriter : public ShapeWriter {
public:
  ModelInputs inputs;
  /// Returns the number of a stream of random numbers that nothing else samples.
  int64_t takeStream() { return dropouts++; }

  mlir::Value embedding(llvm::StringRef name, mlir::Value ids, llvm::StringRef module);
  mlir::Value addPositions(llvm::StringRef name, mlir::Value x, llvm::StringRef module);
  /// Returns the ids that a decoder reads: the given ones, or the labels shifted by one after the
  /// id `start`. Labels without a loss are replaced by `padding`.
  mlir::Value decoderIds(llvm::StringRef name, int64_t start, int64_t padding);
  /// Returns the bias of each head and distance between `queries` and `keys`, from a table of
  /// buckets.
  mlir::Value relativeBias(llvm::StringRef name, llvm::StringRef module,
                           const llm::RelativePositions &positions);
  /// Adds the first row of a table to each row of `x`.
  mlir::Value addFirstRow(llvm::StringRef name, mlir::Value x, llvm::StringRef module);
  /// Adds a bias where the module has one, and the output of its adapter (`LoraOptions`).
  mlir::Value linear(llvm::StringRef name, mlir::Value x, llvm::StringRef module,
                     llm::WeightLayout layout = llm::WeightLayout::OutIn);
  /// Takes the whole names of parameters, and adds a bias where one of that name exists.
  mlir::Value linearBy(llvm::StringRef name, mlir::Value x, const llvm::Twine &weight,
                       const llvm::Twine &bias,
                       llm::WeightLayout layout = llm::WeightLayout::OutIn);
  /// Multiplies each head of the rows of `x` by its own part of the parameter `weight`.
  mlir::Value headLinear(llvm::StringRef name, mlir::Value x, const llvm::Twine &weight,
                         const HeadProduct &product);
  mlir::Value layerNorm(llvm::StringRef name, mlir::Value x, llvm::StringRef module, double eps);
  /// The scale is `offset` plus the weight.
  mlir::Value rmsNorm(llvm::StringRef name, mlir::Value x, llvm::StringRef module, double eps,
                      double offset = 0);
  /// Normalises without a weight.
  mlir::Value plainRmsNorm(llvm::StringRef name, mlir::Value x, double eps);
  mlir::Value rope(llvm::StringRef name, mlir::Value x, int64_t heads, const RotaryShape &rotary);
  mlir::Value gelu(llvm::StringRef name, mlir::Value x, bool exact = false);
  /// Returns x times the logistic of alpha x.
  mlir::Value silu(llvm::StringRef name, mlir::Value x, double alpha = 1);
  mlir::Value clamp(llvm::StringRef name, mlir::Value x, std::optional<double> low,
                    std::optional<double> high);
  mlir::Value add(llvm::StringRef name, mlir::Value a, mlir::Value b);
  mlir::Value mul(llvm::StringRef name, mlir::Value a, mlir::Value b);
  /// Rounds the factor to the element type, as the public implementation does.
  mlir::Value scale(llvm::StringRef name, mlir::Value x, double factor);
  /// Multiplies the rows of each sequence by the factors of `parts`, which cover all rows.
  mlir::Value scaleRows(llvm::StringRef name, mlir::Value x, llvm::ArrayRef<RowFactor> parts);
  mlir::Value softcap(llvm::StringRef name, mlir::Value x, double cap);
  /// Writes nothing where p is 0.
  mlir::Value dropout(llvm::StringRef name, mlir::Value x, double p);
  mlir::Value crossEntropy(llvm::StringRef name, mlir::Value logits, mlir::Value targets);

protected:
  using ShapeWriter::ShapeWriter;

  mlir::Value plainLinear(llvm::StringRef name, mlir::Value x, llvm::StringRef module,
                          llm::WeightLayout layout) {
    return linearBy(name, x, module + ".weight", module + ".bias", layout);
  }

private:
  int64_t dropouts = 0; // Those so far.
};

} // namespace llmmem::importer

#endif // LLMMEM_IMPORT_LAYERWRITER_H
