//===- ExpertWriter.h - Mixtures of experts ------------------------------===//
//
// The parameters of all experts are one tensor with a slice for each.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_IMPORT_EXPERTWRITER_H
#define LLMMEM_IMPORT_EXPERTWRITER_H

#include "llmmem/Import/LayerWriter.h"

namespace llmmem::importer {

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

/// Holds what a router says about the tokens of a layer.
struct Routing {
  mlir::Value logits, weights, experts, lse, places, choices;
};

class ExpertWriter {
public:
  explicit ExpertWriter(LayerWriter &graph) : graph(graph) {}

  /// Chooses the best experts of each token by a projection of `x`.
  Routing route(mlir::Value x, llvm::StringRef module, const RouterShape &shape);
  /// Copies tokens to the places of their experts and, `weighs`, multiplies them by their weights.
  mlir::Value dispatch(llvm::StringRef name, mlir::Value x, const Routing &routing, bool weighs);
  /// Adds up what experts say of a token and, `weighs`, multiplies it by their weights.
  mlir::Value combine(llvm::StringRef name, mlir::Value x, const Routing &routing, bool weighs);
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

private:
  LayerWriter &graph;
  llvm::SmallVector<Routing> routed; // of the layers until now
};

} // namespace llmmem::importer

#endif // LLMMEM_IMPORT_EXPERTWRITER_H
