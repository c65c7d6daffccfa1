//===- Model.h - One family of models ---------------------------*- C++ -*-===//
//
// A family is a reader of its config.json that yields a Model: the parameters under their public
// names, and the way from ids to logits. Everything else (arguments, loss, overflow) is shared.
//
// A new family is one file in lib/Import with its reader, and one line in Families.def.
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

/// What rows of a parameter are looked up by.
enum class Lookup { None, Token, Position };

struct Parameter {
  std::string name; ///< as in the public checkpoint
  llvm::SmallVector<int64_t, 2> shape;
  /// Of a projection's weight: which dimension its input is contracted with.
  std::optional<llm::WeightLayout> layout = std::nullopt;
  bool frozen = false; ///< read and never trained
  /// The public checkpoint has [in, out] where the shape is [out, in].
  bool transposed = false;
  bool wide = false;      ///< never of fewer bits than f32
  bool head = false;      ///< which gives the logits
  bool ofExperts = false; ///< [expert, ...], which llm.grouped_linear multiplies by
  Lookup lookup = Lookup::None;
  std::optional<double> weightDecay = std::nullopt; ///< none: by its shape
};

/// A table whose rows are looked up.
inline Parameter tableOf(std::string name, int64_t rows, int64_t width,
                         Lookup lookup = Lookup::Token) {
  Parameter table{std::move(name), {rows, width}};
  table.lookup = lookup;
  return table;
}

/// Of images that a step reads in the place of ids.
struct ImageShape {
  int64_t channels = 0, height = 0, width = 0;
};

/// A projection's weight, [out, in], and the bias that it may have.
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

/// What the shared code needs to know of any model.
struct ModelFacts {
  std::string file; ///< the config's, for messages
  int64_t layers = 0;
  int64_t maxSeq = 0;    ///< the longest sequence
  std::string maxSeqKey; ///< the key that says so
  bool dropsOut = false; ///< some dropout has a probability above 0
  ElementKind dtype = ElementKind::F32;
  /// Tokens are predicted in their own place and not from those before them: who feeds the step
  /// says which (`labels`).
  bool predictsMasked = false;
  /// Images are sorted into classes, a label for each; the rows of a sequence follow from the
  /// config (`maxSeq`).
  std::optional<ImageShape> image;
  /// An encoder reads the ids, and a decoder predicts the labels, a sequence of their own.
  bool encodes = false;
  bool hasSinks = false;  ///< attention's rows have a score that no value belongs to
  int64_t experts = 0;    ///< of a mixture
  double balanceLoss = 0; ///< the coefficient of what unequally chosen experts cost
  /// Why its attention cannot read what caches hold; empty where it can.
  std::string whyNoCaches;
  /// Of the layers that have one; none where all see every token.
  std::optional<int64_t> window;
};

class Model {
public:
  virtual ~Model();

  /// In the order of the public state_dict; a tied head is not listed.
  virtual std::vector<Parameter> parameters() const = 0;
  virtual mlir::Value buildLogits(GraphBuilder &graph, mlir::Value ids) const = 0;

  ModelFacts facts;
};

/// Complaints stay in the reader; the result counts only where there are none.
using ReadModel = std::unique_ptr<Model> (*)(ConfigReader &config, const ImportOptions &options);

struct Family {
  llvm::StringRef modelType;
  ReadModel read;
};

llvm::ArrayRef<Family> families();

#define FAMILY(modelType, reader)                                                                  \
  std::unique_ptr<Model> read##reader(ConfigReader &config, const ImportOptions &options);
#include "llmmem/Import/Families.def"

/// The probability of a dropout: 0 outside training, else what the options say, else the key's.
double readDropout(ConfigReader &config, const ImportOptions &options, llvm::StringRef key,
                   double fallback);

/// A key of noise that is for training alone, and of which training supports nothing but 0. In a
/// program for inference it has no meaning, whatever its value.
void expectNoNoise(ConfigReader &config, const ImportOptions &options, llvm::StringRef key);

} // namespace llmmem::importer

#endif // LLMMEM_IMPORT_MODEL_H
