//===- LayerWriter.h - Layers of a model, without attention --------------===//
//
// Parameters are named without their `.weight` and `.bias`.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_IMPORT_LAYERWRITER_H
#define LLMMEM_IMPORT_LAYERWRITER_H

#include "llmmem/Dialect/RelativePositions.h"
#include "llmmem/Import/ShapeWriter.h"

namespace llmmem::importer {

/// How heads are turned by their position: the first `elements` of each.
struct RotaryShape {
  double theta = 10000;
  int64_t elements = 0;
  llm::RopeScalingAttr scaling;
  bool interleaved = false; ///< pairs are neighbours
};

/// Heads side by side, each with rows `first` and on of its own part of a weight.
struct HeadProduct {
  int64_t heads = 0;
  int64_t first = 0;
  int64_t out = 0; ///< elements of a head behind the product
  llm::WeightLayout layout = llm::WeightLayout::OutIn;
};

class LayerWriter : public ShapeWriter {
public:
  void setSeed(mlir::Value value) { seed = value; }
  /// What a decoder behind an encoder predicts, or, where it only runs, the ids that it reads.
  void setLabels(mlir::Value value) { labels = value; }
  void setDecoderIds(mlir::Value value) { ofDecoder = value; }

  /// Of each token in its own sequence, where rows have several packed into them.
  void setPositions(mlir::Value value) { positions = value; }

  mlir::Value embedding(llvm::StringRef name, mlir::Value ids, llvm::StringRef module);
  mlir::Value addPositions(llvm::StringRef name, mlir::Value x, llvm::StringRef module);
  /// What a decoder reads: given, or the labels that it predicts behind the id `start`, with
  /// `padding` in the place of those that have no loss.
  mlir::Value decoderIds(llvm::StringRef name, int64_t start, int64_t padding);
  /// The bias of each head and distance between `queries` and `keys`, by a table of buckets.
  mlir::Value relativeBias(llvm::StringRef name, llvm::StringRef module,
                           const llm::RelativePositions &positions);
  /// Adds the first row of a table to each row of `x`.
  mlir::Value addFirstRow(llvm::StringRef name, mlir::Value x, llvm::StringRef module);
  /// Adds a bias where the module has one, and what its adapter gives (`LoraOptions`).
  mlir::Value linear(llvm::StringRef name, mlir::Value x, llvm::StringRef module,
                     llm::WeightLayout layout);
  /// By whole names of parameters; adds a bias where there is one of that name.
  mlir::Value linearBy(llvm::StringRef name, mlir::Value x, const llvm::Twine &weight,
                       const llvm::Twine &bias, llm::WeightLayout layout);
  /// Each head of the rows of `x` by its own part of the parameter `weight`.
  mlir::Value headLinear(llvm::StringRef name, mlir::Value x, const llvm::Twine &weight,
                         const HeadProduct &product);
  mlir::Value layerNorm(llvm::StringRef name, mlir::Value x, llvm::StringRef module, double eps);
  /// The weight counts from `offset`.
  mlir::Value rmsNorm(llvm::StringRef name, mlir::Value x, llvm::StringRef module, double eps,
                      double offset = 0);
  mlir::Value rope(llvm::StringRef name, mlir::Value x, int64_t heads, const RotaryShape &rotary);
  mlir::Value gelu(llvm::StringRef name, mlir::Value x, bool exact = false);
  /// x times the logistic of alpha x.
  mlir::Value silu(llvm::StringRef name, mlir::Value x, double alpha = 1);
  mlir::Value clamp(llvm::StringRef name, mlir::Value x, std::optional<double> low,
                    std::optional<double> high);
  mlir::Value add(llvm::StringRef name, mlir::Value a, mlir::Value b);
  mlir::Value mul(llvm::StringRef name, mlir::Value a, mlir::Value b);
  /// The factor is rounded to the element type, as the public computation has it.
  mlir::Value scale(llvm::StringRef name, mlir::Value x, double factor);
  mlir::Value softcap(llvm::StringRef name, mlir::Value x, double cap);
  /// Nothing where p is 0.
  mlir::Value dropout(llvm::StringRef name, mlir::Value x, double p);
  mlir::Value crossEntropy(llvm::StringRef name, mlir::Value logits, mlir::Value targets);

protected:
  using ShapeWriter::ShapeWriter;

  mlir::Value plainLinear(llvm::StringRef name, mlir::Value x, llvm::StringRef module,
                          llm::WeightLayout layout) {
    return linearBy(name, x, module + ".weight", module + ".bias", layout);
  }

  mlir::Value seed;
  mlir::Value positions; // null where each row is one sequence and there are no caches
  int64_t dropouts = 0;  // until now; each samples a stream of its own

private:
  mlir::Value labels, ofDecoder; // of a decoder behind an encoder
};

} // namespace llmmem::importer

#endif // LLMMEM_IMPORT_LAYERWRITER_H
