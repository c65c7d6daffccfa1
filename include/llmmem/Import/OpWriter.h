//===- OpWriter.h - Names, types and parameters of ops -------------------===//
//
// Names within a block get its prefix: `attn.out` becomes `h.3.attn.out`.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_IMPORT_OPWRITER_H
#define LLMMEM_IMPORT_OPWRITER_H

#include "llmmem/Dialect/FewerBits.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Import/ImportOptions.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringMap.h"
#include <string>

namespace llmmem::importer {

inline mlir::RankedTensorType tensorType(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}

class OpWriter {
public:
  void addParameter(llvm::StringRef name, mlir::Value value) { parameters[name] = value; }
  /// Ops that are created during its lifetime belong to block `index`.
  class BlockScope {
  public:
    BlockScope(OpWriter &graph, int64_t index) : graph(graph) { graph.block = index; }
    ~BlockScope() { graph.block.reset(); }
    BlockScope(const BlockScope &) = delete;
    BlockScope &operator=(const BlockScope &) = delete;

  private:
    OpWriter &graph;
  };

  /// Returns the parameter in the compute type, rounded where it has more bits. Returns null where
  /// there is none of that name.
  mlir::Value parameter(const llvm::Twine &name);

  mlir::MLIRContext *getContext() const { return builder.getContext(); }
  mlir::OpBuilder &getBuilder() { return builder; }
  const ImportOptions &getOptions() const { return options; }

  template <typename OpTy, typename... Args>
  OpTy create(llvm::StringRef name, Args &&...args) {
    auto op = OpTy::create(builder, locate(name), std::forward<Args>(args)...);
    annotate(op, name);
    return op;
  }

  std::string fullName(llvm::StringRef name) const;
  /// Returns a parameter as it is held, or null where there is none of that name.
  mlir::Value heldParameter(const llvm::Twine &name) const { return parameters.lookup(name.str()); }
  /// Returns the scales of a parameter in fewer bits, or null where it has none.
  mlir::Value scalesOf(const llvm::Twine &name) const {
    return heldParameter(name + llm::kScalesSuffix);
  }
  mlir::Value zerosOf(const llvm::Twine &name) const {
    return heldParameter(name + llm::kZerosSuffix);
  }
  /// Returns a type of compute elements.
  mlir::RankedTensorType typeOf(llvm::ArrayRef<int64_t> shape) const {
    return mlir::RankedTensorType::get(shape, elementType);
  }
  /// Returns the type of `x` with its last dimension replaced.
  mlir::RankedTensorType withWidth(mlir::Value x, int64_t width) const;
  /// Returns the type of a statistic of each row of `x`.
  mlir::RankedTensorType rowStatistic(mlir::Value x) const;
  mlir::RankedTensorType statisticType(llvm::ArrayRef<int64_t> shape) const;
  /// Says whether the ops that follow are the core of attention.
  void setCoreAttention(bool isCore) { inCoreAttention = isCore; }

protected:
  OpWriter(mlir::OpBuilder builder, const ImportOptions &options, mlir::Type elementType)
      : builder(builder), options(options), elementType(elementType) {}

  mlir::Location locate(llvm::StringRef name) const;
  void annotate(mlir::Operation *op, llvm::StringRef name);
  bool hasParameter(const llvm::Twine &name) const { return parameters.contains(name.str()); }

  mlir::OpBuilder builder;
  const ImportOptions &options;
  mlir::Type elementType;
  llvm::StringMap<mlir::Value> parameters;
  std::optional<int64_t> block;
  bool inCoreAttention = false;
};

} // namespace llmmem::importer

#endif // LLMMEM_IMPORT_OPWRITER_H
