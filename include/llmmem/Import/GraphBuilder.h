//===- GraphBuilder.h - Writes the ops of a model ---------------*- C++ -*-===//
//
// Families say what follows what; types, names, blocks, dropout streams and the two forms of
// attention are chosen here. Names within a block get its prefix: `attn.out` becomes
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
  std::optional<double> scale = std::nullopt;   ///< of scores; none: 1 / sqrt(headSize)
  std::optional<double> softcap = std::nullopt; ///< of scores
  std::string sinks = {};                       ///< a parameter with a score for each head, or none
  bool bidirectional = false;                   ///< queries attend to later keys too
  mlir::Value bias = {};                        ///< of each head and distance, added to scores
  std::string name = "attn";                    ///< what its ops' names begin with
};

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

/// How a router chooses.
struct RouterShape {
  int64_t chosen = 0;
  bool normalized = false; ///< the weights of the chosen ones add up to 1
  double factor = 1;       ///< of the weights
  int64_t groups = 1;
  int64_t keptGroups = 1;
  int64_t groupBest = 1; ///< experts of a group that speak for it
  bool logistic = false; ///< scores are the logistic of logits, else their softmax
  std::string bias = {}; ///< a parameter that experts are chosen by beside their score, or none
};

/// What a router says of the tokens of a layer.
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
  /// What a decoder behind an encoder predicts, or, where it only runs, the ids that it reads.
  void setLabels(mlir::Value value) { labels = value; }
  void setDecoderIds(mlir::Value value) { ofDecoder = value; }
  /// Of each token in its own sequence, where rows have several packed into them.
  void setPositions(mlir::Value value) { positions = value; }

  /// Attention then reads and fills the caches of `graph`, which must outlive this object, and
  /// positions are those of new tokens.
  void setCaches(CachedGraph &graph);

  /// Ops that are made while this lives belong to block `index`.
  class BlockScope {
  public:
    BlockScope(GraphBuilder &graph, int64_t index) : graph(graph) { graph.block = index; }
    ~BlockScope() { graph.block.reset(); }
    BlockScope(const BlockScope &) = delete;
    BlockScope &operator=(const BlockScope &) = delete;

  private:
    GraphBuilder &graph;
  };

  // Parameters are named without their `.weight` and `.bias`.
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
  llvm::SmallVector<mlir::Value> splitEvenly(llvm::StringRef name, mlir::Value x, int64_t parts);
  llvm::SmallVector<mlir::Value> split(llvm::StringRef name, mlir::Value x,
                                       llvm::ArrayRef<int64_t> widths);
  /// Views of [..., width] as [..., heads, width / heads], and back.
  mlir::Value separateHeads(llvm::StringRef name, mlir::Value x, int64_t heads);
  mlir::Value joinHeads(llvm::StringRef name, mlir::Value x);
  /// One row for each of `heads`, as [..., heads, width].
  mlir::Value repeatHeads(llvm::StringRef name, mlir::Value x, int64_t heads);
  /// Zeros behind the last dimension, up to `width`.
  mlir::Value padWidth(llvm::StringRef name, mlir::Value x, int64_t width);
  /// Side by side along the last dimension.
  mlir::Value concat(llvm::StringRef name, llvm::ArrayRef<mlir::Value> parts);
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
  mlir::Value crossEntropy(llvm::StringRef name, mlir::Value logits, mlir::Value targets);

  // Images, and rows that stand for them.
  /// Cuts [batch, channels, height, width] into squares: [batch, patches, channels * size * size],
  /// a patch's elements in the order of a convolution's weight.
  mlir::Value patches(llvm::StringRef name, mlir::Value pixels, int64_t size);
  /// From now on the parameter is read as [first dimension, all others]: a convolution of patches
  /// that do not overlap is a projection.
  void viewAsMatrix(llvm::StringRef name);
  /// Rows of zeros before and behind those of [batch, rows, width].
  mlir::Value padRows(llvm::StringRef name, mlir::Value x, int64_t before, int64_t behind);
  /// The first row of each of [batch, rows, width], as [batch, width].
  mlir::Value firstRow(llvm::StringRef name, mlir::Value x);
  /// Adds [1, rows, width] to each of [batch, rows, width].
  mlir::Value addTable(llvm::StringRef name, mlir::Value x, mlir::Value table);

  // Mixtures of experts. Parameters of all experts are one, with a slice for each.
  /// The best experts of each token, by a projection of `x`.
  Routing route(mlir::Value x, llvm::StringRef module, const RouterShape &shape);
  mlir::Value dispatch(llvm::StringRef name, mlir::Value x, const Routing &routing);
  mlir::Value combine(llvm::StringRef name, mlir::Value x, const Routing &routing);
  /// The rows of each expert by its own weight, the parameter `weight`; with the parameter `bias`,
  /// an expert adds its own. Rows in places that `routing` left empty are zeros before and behind.
  mlir::Value groupedLinear(llvm::StringRef name, mlir::Value x, const Routing &routing,
                            const llvm::Twine &weight, llm::WeightLayout layout,
                            const llvm::Twine &bias = "");
  mlir::Value gateRows(llvm::StringRef name, mlir::Value x, mlir::Value gate);
  /// Of all layers together; null where no layer has routed.
  mlir::Value balanceLoss(llvm::StringRef name, double coefficient);
  /// Choices of all layers that found no place; null where each has one.
  mlir::Value countDropped(llvm::StringRef name);

  /// In the type that is computed in: rounded to it where the parameter has more bits. Null where
  /// there is none.
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
  /// Of a parameter in fewer bits; null where it has none.
  mlir::Value scalesOf(const llvm::Twine &name) const {
    return parameters.lookup((name + llm::kScalesSuffix).str());
  }
  mlir::Value zerosOf(const llvm::Twine &name) const {
    return parameters.lookup((name + llm::kZerosSuffix).str());
  }
  /// The type of `x` with its last dimension replaced.
  mlir::RankedTensorType withWidth(mlir::Value x, int64_t width) const;
  /// The type of a statistic of each row of `x`.
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
  mlir::Value labels, ofDecoder; // of a decoder behind an encoder
  mlir::Value positions;         // null where each row is one sequence and there are no caches
  CachedGraph *caches = nullptr;
  llvm::StringMap<mlir::Value> parameters;
  std::optional<int64_t> block;
  bool inCoreAttention = false;
  int64_t dropouts = 0;              // until now; each samples a stream of its own
  llvm::SmallVector<Routing> routed; // of the layers until now
};

} // namespace llmmem::importer

#endif // LLMMEM_IMPORT_GRAPHBUILDER_H
