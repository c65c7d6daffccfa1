//===- Model.h - One family of models ---------------------------*- C++ -*-===//
//
// A family reads its config.json and yields a Model: the parameters under their public names, and
// the computation from ids to logits. Everything else (arguments, loss, overflow checks) is shared.
//
// A new family needs one file in lib/Import with its reader, and one line in Families.def.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_IMPORT_MODEL_H
#define LLMMEM_IMPORT_MODEL_H

#include "llmmem/Import/ConfigReader.h"
#include "llmmem/Import/ImportOptions.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"
#include <memory>
#include <string>
#include <vector>

namespace llmmem::importer {

class GraphBuilder;

/// Says which index selects the rows of a parameter.
enum class Lookup { None, Token, Position };

struct Parameter {
  std::string name; ///< The name in the public checkpoint.
  llvm::SmallVector<int64_t, 2> shape;
  /// Says, for a projection's weight, which dimension is contracted with the input.
  std::optional<llm::WeightLayout> layout = std::nullopt;
  bool frozen = false; ///< Read and never trained.
  /// The public checkpoint stores [in, out] where the shape is [out, in].
  bool transposed = false;
  bool wide = false;      ///< Always has at least the bits of f32.
  bool head = false;      ///< The projection to the logits.
  bool ofExperts = false; ///< [expert, ...], an operand of llm.grouped_linear.
  Lookup lookup = Lookup::None;
  std::optional<double> weightDecay = std::nullopt; ///< None means that the shape decides.
};

/// Returns a table whose rows are looked up.
inline Parameter tableOf(std::string name, int64_t rows, int64_t width,
                         Lookup lookup = Lookup::Token) {
  Parameter table{std::move(name), {rows, width}};
  table.lookup = lookup;
  return table;
}

/// Describes images that a step reads instead of ids.
struct ImageShape {
  int64_t channels = 0, height = 0, width = 0;
};

/// Adds the weight of a projection, [out, in], and its optional bias.
inline void addProjection(std::vector<Parameter> &list, const std::string &module, int64_t out,
                          int64_t in, bool hasBias = true) {
  list.push_back({module + ".weight", {out, in}, llm::WeightLayout::OutIn});
  if (hasBias)
    list.push_back({module + ".bias", {out}});
}

inline void addLayerNorm(std::vector<Parameter> &list, const std::string &module, int64_t width) {
  list.push_back({module + ".weight", {width}});
  list.push_back({module + ".bias", {width}});
}

/// Says how a checkpoint of several parts names those of its text part: what stands in place of the
/// leading `model.`, and before the head's name.
struct TextNames {
  std::string decoder, head;
};

/// Describes the weights of a quantized file.
struct Quantization {
  std::string words;                ///< Such as "fp8 in blocks of 128 x 128".
  std::optional<HeldFormat> format; ///< How `--weights` says it; none where no type is equal.
  std::string missing;              ///< Names what is missing where there is no format.
  std::string source = {};          ///< Says where it was read, for messages.
};

/// Holds what the shared code needs to know of any model. Many fields: each is one such fact.
struct ModelFacts {
  std::string file; ///< The path of the config, for messages.
  int64_t layers = 0;
  int64_t maxSeq = 0;    ///< The length of the longest sequence.
  std::string maxSeqKey; ///< The key that sets `maxSeq`.
  /// Names what longer sequences need and is not supported, where the model has that.
  std::string whyNotLonger;
  /// Names what the model has and no graph can express: its parameters are counted alone.
  std::string countedAlone;
  /// The longest sequence of rows that pack several, or of steps with caches, where the model has
  /// attention within chunks or queries that grow with their position: neither is built for these.
  std::optional<int64_t> longestApart;
  bool dropsOut = false; ///< Some dropout has a probability above 0.
  ElementKind dtype = ElementKind::F32;
  /// Tokens are predicted at their own positions, not from the previous ones. The caller says which
  /// ones (`labels`).
  bool predictsMasked = false;
  /// The model classifies images, with a label for each. The rows of a sequence follow from the
  /// config (`maxSeq`).
  std::optional<ImageShape> image;
  /// An encoder reads the ids, and a decoder predicts the labels, which are a sequence of their
  /// own.
  bool encodes = false;
  bool hasSinks = false;     ///< Rows of attention have a score that no value belongs to.
  int64_t experts = 0;       ///< The number of experts of a mixture.
  int64_t chosenExperts = 0; ///< The number of them that a token goes through.
  double balanceLoss = 0;    ///< The coefficient of the loss for unequally chosen experts.
  /// Says why attention cannot read caches. Empty means that it can.
  std::string whyNoCaches;
  /// Says how the file holds the weights, where it is quantized.
  std::optional<Quantization> quantized;
  /// Says why rows cannot pack several sequences. Empty means that they can.
  std::string whyNotPacked;
  /// Lists sentences about the import that a user should read: keys without use, parts left out.
  std::vector<std::string> notes;
  /// Gives the window of the layers that have one; none means that all layers see every token.
  std::optional<int64_t> window;
};

class Model {
public:
  virtual ~Model();

  /// Lists the parameters in the order of the public state_dict, without a tied head.
  virtual std::vector<Parameter> parameters() const = 0;
  virtual mlir::Value buildLogits(GraphBuilder &graph, mlir::Value ids) const = 0;
  /// Makes this the text part of a larger model, in whose checkpoint the modules of the decoder and
  /// its head have other names.
  virtual void nameAsTextPart(const TextNames &names);

  ModelFacts facts;
};

/// The reader keeps complaints. The result is valid only where there are none.
using ReadModel = std::unique_ptr<Model> (*)(ConfigReader &config, const ImportOptions &options);

struct Family {
  llvm::StringRef modelType;
  ReadModel read;
};

llvm::ArrayRef<Family> families();
/// Lists the families whose parameters are counted and of which no graph is built.
llvm::ArrayRef<Family> countedFamilies();

struct DecoderParts;

#define FAMILY(modelType, reader)                                                                  \
  std::unique_ptr<Model> read##reader(ConfigReader &config, const ImportOptions &options);
#define DECODER(modelType, reader)                                                                 \
  DecoderParts read##reader(ConfigReader &config, const ImportOptions &options);
#include "llmmem/Import/Families.def"

/// Returns the probability of a dropout: 0 outside training; otherwise the option's or, without
/// one, the key's.
double readDropout(ConfigReader &config, const ImportOptions &options, llvm::StringRef key,
                   double fallback);

/// Reads a key of noise that only training uses and that must be 0 there. A program for inference
/// ignores the key.
void expectNoNoise(ConfigReader &config, const ImportOptions &options, llvm::StringRef key);

} // namespace llmmem::importer

#endif // LLMMEM_IMPORT_MODEL_H
