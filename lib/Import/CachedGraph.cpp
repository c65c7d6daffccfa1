//===- CachedGraph.cpp - The caches of a step of inference -----------------===//

#include "CachedGraph.h"
#include "llmmem/Import/GraphBuilder.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::importer;

//===----------------------------------------------------------------------===//
// Arguments and results
//===----------------------------------------------------------------------===//

SmallVector<CachedGraph::Input> CachedGraph::inputs(OpBuilder &builder,
                                                    const ImportOptions &options) {
  Type i32 = builder.getI32Type();
  auto row = RankedTensorType::get({options.batch}, i32);
  SmallVector<Input> inputs = {{"lengths", row}};
  if (options.mode == Mode::Prefill)
    inputs.push_back({"counts", row});
  if (options.page)
    inputs.push_back(
        {"pages", RankedTensorType::get({options.batch, *options.context / *options.page}, i32)});
  return inputs;
}

Value CachedGraph::input(StringRef name) {
  for (BlockArgument argument : function.getArguments()) {
    auto known =
        function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), llm::LlmDialect::kName);
    if (known && known.getValue() == name)
      return argument;
  }
  return Value();
}

Value CachedGraph::addCache(StringRef name, Value x, int64_t rows) {
  if (!options.page)
    return addState(name, x, rows);
  const int64_t pages = options.pages.value_or(options.batch * (rows / *options.page));
  return addArgument(name,
                     tensorType(x).clone({pages, *options.page, tensorType(x).getShape().back()}));
}

Value CachedGraph::addState(StringRef name, Value x, int64_t rows) {
  return addArgument(name,
                     tensorType(x).clone({options.batch, rows, tensorType(x).getShape().back()}));
}

Value CachedGraph::addArgument(StringRef name, RankedTensorType type) {
  OpBuilder builder(function.getContext());
  auto attributes = builder.getDictionaryAttr(
      {builder.getNamedAttr(llm::LlmDialect::kRole,
                            builder.getStringAttr(llm::stringifyRole(llm::Role::KvCache))),
       builder.getNamedAttr(llm::LlmDialect::kName, builder.getStringAttr(name))});
  unsigned number = function.getNumArguments();
  // The argument is the last one, so none moves and nothing can fail.
  (void)function.insertArgument(number, type, attributes,
                                NameLoc::get(builder.getStringAttr(name)));
  return function.getArgument(number);
}

void CachedGraph::setUpdated(Value argument, Value updated) {
  OpBuilder builder(function.getContext());
  results.push_back(updated);
  function.setArgAttr(cast<BlockArgument>(argument).getArgNumber(), llm::LlmDialect::kDonated,
                      builder.getI64IntegerAttr(static_cast<int64_t>(results.size())));
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// Attention reads the caches before they change, and the new rows separately. So a ring holds its
/// window and no more, however many tokens arrive at a time.
Value AttentionWriter::cachedAttention(Value q, Value k, Value v, const AttentionShape &shape) {
  int64_t context = *options.context;
  bool isRing = shape.window && *shape.window < context;
  int64_t rows = isRing ? *shape.window : context;
  SmallVector<Value, 2> rowScales, scales;
  if (options.kvCache) {
    rowScales = {packHeads("attn.k", k, shape.kvHeads), packHeads("attn.v", v, shape.kvHeads)};
    scales = {caches->addCache(graph.fullName("attn.cache.keys.scales"), rowScales[0], rows),
              caches->addCache(graph.fullName("attn.cache.values.scales"), rowScales[1], rows)};
  }
  Value keys = caches->addCache(graph.fullName("attn.cache.keys"), k, rows),
        values = caches->addCache(graph.fullName("attn.cache.values"), v, rows);
  Value table = caches->input("pages");
  auto attention = graph.create<llm::CachedAttentionOp>(
      "attn.out", q.getType(), q, k, v, keys, values, caches->positions, table,
      shape.sinks.empty() ? Value() : graph.parameter(shape.sinks),
      llvm::to_vector(llvm::concat<Value>(rowScales, scales)),
      builder.getI64IntegerAttr(shape.heads), builder.getI64IntegerAttr(shape.kvHeads),
      scaleOf(shape), isRing ? builder.getI64IntegerAttr(rows) : IntegerAttr(),
      shape.softcap ? builder.getF64FloatAttr(*shape.softcap) : FloatAttr());
  graph.setCoreAttention(false);
  appendRows("attn.cache", {keys, values}, {k, v}, isRing);
  if (options.kvCache)
    appendRows("attn.cache.scales", scales, rowScales, isRing);
  return attention.getOut();
}

/// Appends new rows of keys and of values to their caches.
void AttentionWriter::appendRows(StringRef name, ArrayRef<Value> held, ArrayRef<Value> rows,
                                 bool isRing) {
  auto append = graph.create<llm::AppendCacheOp>(
      name, held[0].getType(), held[1].getType(), held[0], held[1], rows[0], rows[1],
      caches->positions, caches->input("pages"), isRing ? builder.getUnitAttr() : UnitAttr());
  caches->setUpdated(held[0], append.getNewKeys());
  caches->setUpdated(held[1], append.getNewValues());
}

/// Latent rows have no windows, so the cache is as long as the context.
Value AttentionWriter::attendToLatents(Value q, Value row, int64_t rank,
                                       const AttentionShape &shape) {
  graph.setCoreAttention(true);
  SmallVector<Value, 2> scales;
  if (options.kvCache) {
    scales = {packHeads("attn.kv.row", row, 1)};
    scales.push_back(
        caches->addCache(graph.fullName("attn.cache.latents.scales"), scales[0], *options.context));
  }
  Value rows = caches->addCache(graph.fullName("attn.cache.latents"), row, *options.context);
  auto attention = graph.create<llm::LatentAttentionOp>(
      "attn.out", graph.withWidth(q, shape.heads * rank), q, row, rows, caches->positions,
      caches->input("pages"), scales, builder.getI64IntegerAttr(shape.heads),
      builder.getI64IntegerAttr(rank), scaleOf(shape));
  graph.setCoreAttention(false);
  appendRow("attn.cache", rows, row);
  if (options.kvCache)
    appendRow("attn.cache.scales", scales[1], scales[0]);
  return attention.getOut();
}

/// Appends new rows to their cache.
void AttentionWriter::appendRow(StringRef name, Value held, Value row) {
  auto append = graph.create<llm::AppendRowsOp>(name, held.getType(), held, row, caches->positions,
                                                caches->input("pages"));
  caches->setUpdated(held, append.getNewRows());
}

/// Rounds the heads of `x` to the type of the caches, and returns their scales.
Value AttentionWriter::packHeads(StringRef name, Value &x, int64_t heads) {
  RankedTensorType type = tensorType(x);
  auto pack = graph.create<llm::PackOp>((name + ".packed").str(),
                                        type.clone(elementOf(builder, *options.kvCache)),
                                        graph.withWidth(x, heads), x);
  x = pack.getPacked();
  return pack.getScales();
}

void AttentionWriter::setCaches(CachedGraph &cached) {
  caches = &cached;
  auto type = RankedTensorType::get({options.batch, options.seq}, builder.getI32Type());
  caches->positions = graph.create<llm::PositionsOp>("positions", type, caches->input("lengths"),
                                                     caches->input("counts"),
                                                     builder.getI64IntegerAttr(*options.context));
  graph.inputs.positions = caches->positions;
}

Value AttentionWriter::lastRows(StringRef name, Value x) {
  Value counts = caches ? caches->input("counts") : Value();
  if (!counts)
    return x;
  SmallVector<int64_t> shape(tensorType(x).getShape());
  shape[1] = 1;
  return graph.create<llm::LastRowsOp>(name, tensorType(x).clone(shape), x, counts);
}
