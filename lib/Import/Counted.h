//===- Counted.h - Models whose parameters are counted alone ----*- C++ -*-===//
//
// The checkpoint of such a model is known, and no graph is built, because an op is missing. A
// family's reader lists the parameters, and `makeCounted` says what is missing to whoever asks for
// a graph.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_LIB_IMPORT_COUNTED_H
#define LLMMEM_LIB_IMPORT_COUNTED_H

#include "llmmem/Import/Model.h"
#include "llvm/ADT/Twine.h"

namespace llmmem::importer {

/// Lists parameters of modules whose names begin with `prefix`.
class ShapeList {
public:
  /// Sets what precedes the names of the modules that follow, such as "model.layers.3.".
  void setPrefix(const llvm::Twine &text) { prefix = text.str(); }
  void add(const llvm::Twine &name, llvm::ArrayRef<int64_t> shape) {
    list.push_back({(prefix + name).str(), llvm::to_vector_of<int64_t, 2>(shape)});
  }
  void linear(llvm::StringRef module, int64_t out, int64_t in, bool bias = false) {
    add(module + ".weight", {out, in});
    if (bias)
      add(module + ".bias", {out});
  }
  void norm(llvm::StringRef module, int64_t width, bool bias = false) {
    add(module + ".weight", {width});
    if (bias)
      add(module + ".bias", {width});
  }
  std::vector<Parameter> take() { return std::move(list); }

private:
  std::string prefix;
  std::vector<Parameter> list;
};

/// This is far beyond any model. A typing error must not fill the memory.
constexpr int64_t kMostLayers = 65536;

/// Reads a number of layers, whose parameters are listed at once.
int64_t readLayers(ConfigReader &config, llvm::StringRef key = "num_hidden_layers");

/// Returns a model with these parameters, which has `idea` and therefore no graph.
std::unique_ptr<Model> makeCounted(ShapeList shapes, int64_t layers, llvm::StringRef idea);

} // namespace llmmem::importer

#endif // LLMMEM_LIB_IMPORT_COUNTED_H
