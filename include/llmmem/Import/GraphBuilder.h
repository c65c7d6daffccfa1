//===- GraphBuilder.h - Writes the ops of a model ---------------*- C++ -*-===//
//
// Families say which op follows which. The builder chooses types, names, blocks, dropout streams
// and the form of attention. Names within a block get its prefix: `attn.out` becomes
// `h.3.attn.out`.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_IMPORT_GRAPHBUILDER_H
#define LLMMEM_IMPORT_GRAPHBUILDER_H

#include "llmmem/Dialect/FewerBits.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Dialect/RelativePositions.h"
#include "llmmem/Import/ImportOptions.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringMap.h"
#include <string>

namespace llmmem::importer {

struct AttentionShape {
  int64_t heads = 0;
  int64_t kvHeads = 0;
  int64_t headSize = 0;
  std::optional<int64_t> window = std::nullopt;
  double dropout = 0;
  std::optional<double> scale = std::nullopt;   ///< Multiplies the scores. None means 1 /
                                                ///< sqrt(headSize).
  std::optional<double> softcap = std::nullopt; ///< Limits the scores.
  std::string sinks = {};                       ///< Names a parameter with one score for each head.
                                                ///< Empty means none.
  bool bidirectional = false;                   ///< Queries attend to later keys, too.
  mlir::Value bias = {};                        ///< Added to scores, by head and distance.
  std::string name = "attn";                    ///< Begins the names of the ops.
};

/// Says how the first `elements` of each head are rotated by its position.
struct RotaryShape {
  double theta = 10000;
  int64_t elements = 0;
  llm::RopeScalingAttr scaling;
  bool interleaved = false; ///< The two elements of a pair are neighbours.
};

/// Heads that are adjacent in a row. Each multiplies by the rows of its own part of a weight,
/// starting at row `first`.
struct HeadProduct {
  int64_t heads = 0;
  int64_t first = 0;
  int64_t out = 0; ///< The number of elements of a head after the product.
  llm::WeightLayout layout = llm::WeightLayout::OutIn;
};

/// Says how a router chooses experts.
struct RouterShape {
  int64_t chosen = 0;
  bool normalized = false; ///< The weights of the chosen experts add up to 1.
  double factor = 1;       ///< Multiplies the weights.
  int64_t groups = 1;
  int64_t keptGroups = 1;
  int64_t groupBest = 1; ///< The number of experts whose scores represent their group.
  bool logistic = false; ///< Scores are the logistic of the logits; otherwise they are their
                         ///< softmax.
  std::string bias = {}; ///< Names a parameter that is added to scores when experts are chosen.
                         ///< Empty means none.
};

/// Holds what a router says of the tokens of a layer.
struct Routing {
  mlir::Value logits, weights, experts, lse, places, choices;
};

class CachedGraph;

class GraphBuilder {
public:
  GraphBuilder(mlir::OpBuilder builder, const ImportOptions &options, mlir::Type elementType)
      : builder(builder), options(options), elementType(elementType) {}

  void addParameter(llvm::StringRef name, mlir::Value value) { parameters[name] = value; }
  void setSeed(mlir::Value value) { seed = value; }
  /// Sets what the decoder of an encoder-decoder predicts or, in inference, the ids that it reads.
  void setLabels(mlir::Value value) { labels = value; }
  void setDecoderIds(mlir::Value value) { ofDecoder = value; }
  /// Sets the position of each token in its own sequence, for rows that pack several sequences.
  void setPositions(mlir::Value value) { positions = value; }

  /// Makes attention read and fill the caches of `graph`, which must outlive this object. Positions
  /// are then those of the new tokens.
  void setCaches(CachedGraph &graph);

  /// Ops that are created during its lifetime belong to block `index`.
  class BlockScope {
  public:
    BlockScope(GraphBuilder &graph, int64_t index) : graph(graph) { graph.block = index; }
    ~BlockScope() { graph.block.reset(); }
    BlockScope(const BlockScope &) = delete;
    BlockScope &operator=(const BlockScope &) = delete;

  private:
    GraphBuilder &graph;
  };

  // Modules are named without `.weight` and `.bias`.
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
                     llm::WeightLayout layout);
  /// Takes the whole names of parameters, and adds a bias where one of that name exists.
  mlir::Value linearBy(llvm::StringRef name, mlir::Value x, const llvm::Twine &weight,
                       const llvm::Twine &bias, llm::WeightLayout layout);
  /// Multiplies each head of the rows of `x` by its own part of the parameter `weight`.
  mlir::Value headLinear(llvm::StringRef name, mlir::Value x, const llvm::Twine &weight,
                         const HeadProduct &product);
  mlir::Value layerNorm(llvm::StringRef name, mlir::Value x, llvm::StringRef module, double eps);
  /// The scale is `offset` plus the weight.
  mlir::Value rmsNorm(llvm::StringRef name, mlir::Value x, llvm::StringRef module, double eps,
                      double offset = 0);
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
  mlir::Value softcap(llvm::StringRef name, mlir::Value x, double cap);
  /// Returns `x` where p is 0.
  mlir::Value dropout(llvm::StringRef name, mlir::Value x, double p);
  llvm::SmallVector<mlir::Value> splitEvenly(llvm::StringRef name, mlir::Value x, int64_t parts);
  llvm::SmallVector<mlir::Value> split(llvm::StringRef name, mlir::Value x,
                                       llvm::ArrayRef<int64_t> widths);
  /// Convert between [..., width] and [..., heads, width / heads] by views.
  mlir::Value separateHeads(llvm::StringRef name, mlir::Value x, int64_t heads);
  mlir::Value joinHeads(llvm::StringRef name, mlir::Value x);
  /// Repeats one row for each of `heads`, as [..., heads, width].
  mlir::Value repeatHeads(llvm::StringRef name, mlir::Value x, int64_t heads);
  /// Pads the last dimension with zeros up to `width`.
  mlir::Value padWidth(llvm::StringRef name, mlir::Value x, int64_t width);
  /// Concatenates along the last dimension.
  mlir::Value concat(llvm::StringRef name, llvm::ArrayRef<mlir::Value> parts);
  /// Builds the core of attention, named `attn.out`, fused or as separate ops according to the
  /// options. It uses separate ops where there is a bias or where queries and keys have different
  /// numbers of rows, because no fused op supports these.
  mlir::Value attention(mlir::Value q, mlir::Value k, mlir::Value v, const AttentionShape &shape);
  /// Returns whether attention reads and fills caches.
  bool keepsCaches() const { return caches != nullptr; }
  /// Builds attention of a step with caches, named `attn.out`: queries [batch, seq, heads * width]
  /// attend to latent rows of `width` elements, of which the first `rank` are the values of all
  /// heads.
  mlir::Value latentAttention(mlir::Value q, mlir::Value row, int64_t rank,
                              const AttentionShape &shape);
  /// Returns the row of each sequence's last token in a step that writes several tokens into
  /// caches; otherwise returns `x`.
  mlir::Value lastRows(llvm::StringRef name, mlir::Value x);
  mlir::Value crossEntropy(llvm::StringRef name, mlir::Value logits, mlir::Value targets);

  // The next functions handle images and the rows that represent them.
  /// Cuts [batch, channels, height, width] into squares: [batch, patches, channels * size * size].
  /// The elements of a patch have the order of a convolution's weight.
  mlir::Value patches(llvm::StringRef name, mlir::Value pixels, int64_t size);
  /// Makes later reads of the parameter see [first dimension, all others]. A convolution of patches
  /// that do not overlap is then a projection.
  void viewAsMatrix(llvm::StringRef name);
  /// Adds rows of zeros before and after those of [batch, rows, width].
  mlir::Value padRows(llvm::StringRef name, mlir::Value x, int64_t before, int64_t behind);
  /// Returns the first row of each sequence of [batch, rows, width], as [batch, width].
  mlir::Value firstRow(llvm::StringRef name, mlir::Value x);
  /// Adds [1, rows, width] to each of [batch, rows, width].
  mlir::Value addTable(llvm::StringRef name, mlir::Value x, mlir::Value table);

  // The next functions build mixtures of experts. The parameters of all experts are one tensor with
  // a slice for each.
  /// Chooses the best experts of each token by a projection of `x`.
  Routing route(mlir::Value x, llvm::StringRef module, const RouterShape &shape);
  mlir::Value dispatch(llvm::StringRef name, mlir::Value x, const Routing &routing);
  mlir::Value combine(llvm::StringRef name, mlir::Value x, const Routing &routing);
  /// Multiplies the rows of each expert by its own slice of the parameter `weight` and adds its
  /// slice of the parameter `bias` where that is given. Rows in places that `routing` leaves empty
  /// are zero in input and output.
  mlir::Value groupedLinear(llvm::StringRef name, mlir::Value x, const Routing &routing,
                            const llvm::Twine &weight, llm::WeightLayout layout,
                            const llvm::Twine &bias = "");
  mlir::Value gateRows(llvm::StringRef name, mlir::Value x, mlir::Value gate);
  /// Returns the loss of all layers together, or null where no layer has routed.
  mlir::Value balanceLoss(llvm::StringRef name, double coefficient);
  /// Counts the choices of all layers that found no place. Returns null where each has one.
  mlir::Value countDropped(llvm::StringRef name);

  /// Returns the parameter in the compute type, rounded where it has more bits. Returns null where
  /// there is none of that name.
  mlir::Value parameter(const llvm::Twine &name);

  mlir::MLIRContext *getContext() const { return builder.getContext(); }

private:
  template <typename OpTy, typename... Args>
  OpTy create(llvm::StringRef name, Args &&...args) {
    auto op = OpTy::create(builder, locate(name), std::forward<Args>(args)...);
    annotate(op, name);
    return op;
  }

  mlir::Value plainLinear(llvm::StringRef name, mlir::Value x, llvm::StringRef module,
                          llm::WeightLayout layout) {
    return linearBy(name, x, module + ".weight", module + ".bias", layout);
  }
  std::string fullName(llvm::StringRef name) const;
  mlir::Location locate(llvm::StringRef name) const;
  void annotate(mlir::Operation *op, llvm::StringRef name);
  bool hasParameter(const llvm::Twine &name) const { return parameters.contains(name.str()); }
  mlir::Value view(llvm::StringRef name, mlir::Value x, llvm::ArrayRef<int64_t> shape);
  /// Returns the scales of a parameter in fewer bits, or null where it has none.
  mlir::Value scalesOf(const llvm::Twine &name) const {
    return parameters.lookup((name + llm::kScalesSuffix).str());
  }
  mlir::Value zerosOf(const llvm::Twine &name) const {
    return parameters.lookup((name + llm::kZerosSuffix).str());
  }
  /// Returns the type of `x` with its last dimension replaced.
  mlir::RankedTensorType withWidth(mlir::Value x, int64_t width) const;
  /// Returns the type of a statistic of each row of `x`.
  mlir::RankedTensorType rowStatistic(mlir::Value x) const;
  mlir::RankedTensorType statisticType(llvm::ArrayRef<int64_t> shape) const;

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

  mlir::OpBuilder builder;
  const ImportOptions &options;
  mlir::Type elementType;
  mlir::Value seed;
  mlir::Value labels, ofDecoder; // Belong to the decoder of an encoder-decoder.
  mlir::Value positions;         // Null where each row is one sequence and there are no caches.
  CachedGraph *caches = nullptr;
  llvm::StringMap<mlir::Value> parameters;
  std::optional<int64_t> block;
  bool inCoreAttention = false;
  int64_t dropouts = 0;              // Counts the dropouts built so far. Each samples a stream of
                                     // its own.
  llvm::SmallVector<Routing> routed; // Holds the routings of the layers built so far.
};

} // namespace llmmem::importer

#endif // LLMMEM_IMPORT_GRAPHBUILDER_H
