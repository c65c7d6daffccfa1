//===- Counted.cpp - Models whose parameters are counted alone -------------===//

#include "Counted.h"

using namespace llmmem::importer;
using llvm::StringRef;
using llvm::Twine;

namespace {
class CountedModel final : public Model {
public:
  CountedModel(std::vector<Parameter> list, int64_t layers, StringRef idea)
      : list(std::move(list)) {
    facts.layers = layers;
    facts.countedAlone = idea.str();
  }
  std::vector<Parameter> parameters() const override { return list; }
  /// Is not called: options for a graph are refused before.
  mlir::Value buildLogits(GraphBuilder &, mlir::Value) const override { return {}; }

private:
  std::vector<Parameter> list;
};
} // namespace

int64_t llmmem::importer::readLayers(ConfigReader &config, StringRef key) {
  const int64_t layers = config.positive(key);
  if (layers <= kMostLayers)
    return layers;
  config.fail("key " + config.quoted(key) + " is " + Twine(layers) + ", expected 1 to " +
              Twine(kMostLayers) + " layers");
  return 1;
}

std::unique_ptr<Model> llmmem::importer::makeCounted(ShapeList shapes, int64_t layers,
                                                     StringRef idea) {
  return std::make_unique<CountedModel>(shapes.take(), layers, idea);
}
