//===- TensorMaps.cpp - What launches say about tensor maps -----------------===//

#include "TensorMaps.h"
#include "llmmem/Codegen/Gpu/TensorMap.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace llmmem;

/// Returns the number of the kernel's argument that `value` is, or -1 if it is none.
static int64_t argumentOf(gpu::GPUFuncOp kernel, Value value) {
  auto argument = dyn_cast_if_present<BlockArgument>(value);
  bool isOne = argument && argument.getOwner() == &kernel.getBody().front() &&
               argument.getArgNumber() < kernel.getNumArguments();
  return isOne ? static_cast<int64_t>(argument.getArgNumber()) : -1;
}

FailureOr<SmallVector<llmmem_tensor_map>> llmmem::tensorMapsOf(gpu::GPUFuncOp kernel) {
  SmallVector<llmmem_tensor_map> maps;
  WalkResult walk = kernel.walk([&](Operation *op) {
    std::optional<TensorMap> map = TensorMap::match(op);
    if (!map)
      return WalkResult::advance();
    TensorMap::Shape shape = map->shape();
    llmmem_tensor_map said = {.argument = argumentOf(kernel, map->buffer()),
                              .begin = shape.begin,
                              .first_argument = -1,
                              .rows = shape.rows,
                              .columns = shape.columns,
                              .pitch = shape.pitch,
                              .box_rows = shape.boxRows,
                              .is_f16 = map->isF16()};
    Value first = map->first();
    IntegerAttr known;
    if (first && matchPattern(first, m_Constant(&known)))
      said.begin += known.getInt();
    else if (map->op().getArgs().size() > 1)
      said.first_argument = argumentOf(kernel, first);
    bool isKnown = map->op().getArgs().size() == 1 || known || said.first_argument >= 0;
    if (said.argument < 0 || !isKnown) {
      op->emitOpError("is of a matrix that does not begin at an argument of the kernel");
      return WalkResult::interrupt();
    }
    maps.push_back(said);
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return failure();
  return maps;
}
