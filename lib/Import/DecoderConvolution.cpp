//===- DecoderConvolution.cpp - A short convolution between two gates -----===//

#include "CachedGraph.h"
#include "DecoderBlock.h"
#include "llmmem/Dialect/ConvolutionOps.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::importer;

/// Returns the weight of the checkpoint, [channels, 1, taps], as [taps, channels].
static Value makeTaps(GraphBuilder &graph, Value weight) {
  ArrayRef<int64_t> shape = tensorType(weight).getShape();
  Value matrix =
      graph.create<llm::ReshapeOp>("conv.matrix", graph.typeOf({shape[0], shape[2]}), weight);
  return graph.create<llm::TransposeOp>("conv.taps", graph.typeOf({shape[2], shape[0]}), matrix,
                                        graph.getBuilder().getDenseI64ArrayAttr({1, 0}));
}

/// In a step with caches, rows of previous tokens come from a ring.
static Value convolveByTaps(GraphBuilder &graph, Value x, Value taps) {
  CachedGraph *caches = graph.attention.keptCaches();
  if (!caches)
    return graph.create<llm::CausalConvOp>("conv.out", x.getType(), x, taps,
                                           /*inverse=*/UnitAttr());
  const int64_t rows = std::max<int64_t>(1, tensorType(taps).getDimSize(0) - 1);
  Value state = caches->addState(graph.fullName("conv.state"), x, rows);
  Value y =
      graph.create<llm::CachedConvOp>("conv.out", x.getType(), x, taps, state, caches->positions);
  caches->setUpdated(state, graph.create<llm::AppendStateOp>("conv.append", state.getType(), state,
                                                             x, caches->positions));
  return y;
}

Value llmmem::importer::convolve(GraphBuilder &graph, Value x, const std::string &module) {
  Value y = convolveByTaps(graph, x, makeTaps(graph, graph.parameter(module + ".weight")));
  if (Value bias = graph.parameter(module + ".bias"))
    y = graph.create<llm::AddBiasOp>("conv.biased", y.getType(), y, bias);
  return y;
}

Value llmmem::importer::buildConvolution(const BlockGraph &block, Value x) {
  const ConvolutionParts &parts = *block.own.convolution;
  GraphBuilder &graph = block.graph;
  SmallVector<Value> apart =
      graph.splitEvenly("conv.split", block.project("conv.in", x, parts.input), 3);
  Value gated = graph.mul("conv.gated", apart[0], apart[2]);
  Value y = convolve(graph, gated, block.prefix + parts.module);
  return block.project("conv.proj", graph.mul("conv.opened", apart[1], y), parts.output);
}
