//===- GraphBuilder.cpp - Writes the ops of a model ------------------------===//

#include "llmmem/Import/GraphBuilder.h"
#include "Adapters.h"
#include "CachedGraph.h"
#include <cmath>

using namespace mlir;
using namespace llmmem;
using namespace llmmem::importer;

//===----------------------------------------------------------------------===//
// Names and types
//===----------------------------------------------------------------------===//

std::string OpWriter::fullName(StringRef name) const {
  return block ? ("h." + Twine(*block) + "." + name).str() : name.str();
}

Location OpWriter::locate(StringRef name) const {
  return NameLoc::get(StringAttr::get(getContext(), fullName(name)));
}

void OpWriter::annotate(Operation *op, StringRef name) {
  op->setAttr(llm::LlmDialect::kName, builder.getStringAttr(fullName(name)));
  if (block)
    op->setAttr(llm::LlmDialect::kBlock, builder.getI64IntegerAttr(*block));
  if (inCoreAttention)
    op->setAttr(llm::LlmDialect::kCoreAttention, builder.getUnitAttr());
}

Value OpWriter::parameter(const Twine &name) {
  Value value = parameters.lookup(name.str());
  Type element = value ? tensorType(value).getElementType() : Type();
  if (!value || element == elementType || llm::isPacked(element))
    return value;
  std::string rounded = (name + ".rounded").str();
  auto op = llm::CastOp::create(builder, NameLoc::get(builder.getStringAttr(rounded)),
                                tensorType(value).clone(elementType), value);
  annotate(op, "");
  op->setAttr(llm::LlmDialect::kName, builder.getStringAttr(rounded));
  return op;
}

RankedTensorType OpWriter::withWidth(Value x, int64_t width) const {
  SmallVector<int64_t> shape(tensorType(x).getShape());
  shape.back() = width;
  return RankedTensorType::get(shape, elementType);
}

RankedTensorType OpWriter::statisticType(ArrayRef<int64_t> shape) const {
  return RankedTensorType::get(shape, llm::wideTypeFor(elementType));
}

RankedTensorType OpWriter::rowStatistic(Value x) const {
  return statisticType(tensorType(x).getShape().drop_back());
}

//===----------------------------------------------------------------------===//
// Tables, matmuls and norms
//===----------------------------------------------------------------------===//

Value LayerWriter::embedding(StringRef name, Value ids, StringRef module) {
  // The rows are rounded, not the table.
  Value table = parameters.lookup((module + ".weight").str());
  SmallVector<int64_t> shape(tensorType(ids).getShape());
  shape.push_back(tensorType(table).getDimSize(1));
  Type element = tensorType(table).getElementType();
  if (Value scales = scalesOf(module + ".weight"))
    return create<llm::EmbeddingOp>(name, RankedTensorType::get(shape, elementType), ids, table,
                                    scales, zerosOf(module + ".weight"), llm::VocabularyAttr());
  auto type = RankedTensorType::get(shape, element);
  if (element == elementType)
    return create<llm::EmbeddingOp>(name, type, ids, table, llm::VocabularyAttr());
  Value rows =
      create<llm::EmbeddingOp>((name + ".rows").str(), type, ids, table, llm::VocabularyAttr());
  return create<llm::CastOp>(name, type.clone(elementType), rows);
}

Value LayerWriter::addPositions(StringRef name, Value x, StringRef module) {
  if (inputs.positions)
    return add(name, x, embedding((name + ".rows").str(), inputs.positions, module));
  return create<llm::AddPositionsOp>(name, x.getType(), x, parameter(module + ".weight"),
                                     ArrayAttr());
}

/// The position is that of rows that are sequences of one.
Value LayerWriter::decoderIds(StringRef name, int64_t start, int64_t padding) {
  if (inputs.decoderIds)
    return inputs.decoderIds;
  return create<llm::ShiftTokensOp>(name, inputs.labels.getType(), inputs.labels,
                                    builder.getI64IntegerAttr(start),
                                    builder.getI64IntegerAttr(padding));
}

Value LayerWriter::relativeBias(StringRef name, StringRef module,
                                const llm::RelativePositions &positions) {
  Value table = parameter(module + ".weight");
  auto type =
      RankedTensorType::get({tensorType(table).getDimSize(1), positions.distances()}, elementType);
  return create<llm::RelativeBiasOp>(
      name, type, table, builder.getI64IntegerAttr(positions.queries),
      builder.getI64IntegerAttr(positions.keys), builder.getI64IntegerAttr(positions.maxDistance),
      positions.bidirectional ? builder.getUnitAttr() : UnitAttr());
}

Value LayerWriter::addFirstRow(StringRef name, Value x, StringRef module) {
  RankedTensorType type = tensorType(x);
  int64_t width = type.getShape().back();
  auto rows = RankedTensorType::get({type.getNumElements() / width, 1, width}, elementType);
  Value apart = create<llm::ReshapeOp>((name + ".rows").str(), rows, x);
  Value sums = addPositions((name + ".sums").str(), apart, module);
  return create<llm::ReshapeOp>(name, type, sums);
}

/// The factor alpha / rank multiplies the few columns between the two products.
Value LayerWriter::linear(StringRef name, Value x, StringRef module, llm::WeightLayout layout) {
  AdapterNames adapter = adapterNames(module);
  if (!hasParameter(adapter.down + ".weight"))
    return plainLinear(name, x, module, layout);
  constexpr auto outIn = llm::WeightLayout::OutIn;
  Value y = plainLinear((name + ".base").str(), x, module, layout);
  Value low = plainLinear((name + ".lora_a").str(), x, adapter.down, outIn);
  if (double factor = options.lora->alpha / static_cast<double>(options.lora->rank); factor != 1)
    low = scale((name + ".lora_scaled").str(), low, factor);
  return add(name, y, plainLinear((name + ".lora_b").str(), low, adapter.up, outIn));
}

Value LayerWriter::linearBy(StringRef name, Value x, const Twine &weight, const Twine &bias,
                            llm::WeightLayout layout) {
  Value matrix = parameter(weight), added = parameter(bias);
  int64_t out = tensorType(matrix).getDimSize(layout == llm::WeightLayout::InOut ? 1 : 0);
  Value scales = scalesOf(weight);
  IntegerAttr rounded = scales && options.activationGroup
                            ? builder.getI64IntegerAttr(*options.activationGroup)
                            : IntegerAttr();
  return create<llm::LinearOp>(name, withWidth(x, out), x, matrix, added, scales, zerosOf(weight),
                               layout, rounded);
}

Value LayerWriter::headLinear(StringRef name, Value x, const Twine &weight,
                              const HeadProduct &product) {
  return create<llm::HeadLinearOp>(name, withWidth(x, product.heads * product.out), x,
                                   parameter(weight), scalesOf(weight), zerosOf(weight),
                                   product.layout, product.heads, product.first);
}

Value LayerWriter::layerNorm(StringRef name, Value x, StringRef module, double eps) {
  Value weight = parameter(module + ".weight"), bias = parameter(module + ".bias");
  auto op = create<llm::LayerNormOp>(name, x.getType(), rowStatistic(x), rowStatistic(x), x, weight,
                                     bias, builder.getF64FloatAttr(eps));
  return op.getY();
}

Value LayerWriter::rmsNorm(StringRef name, Value x, StringRef module, double eps, double offset) {
  auto op =
      create<llm::RmsNormOp>(name, x.getType(), rowStatistic(x), x, parameter(module + ".weight"),
                             builder.getF64FloatAttr(eps), builder.getF64FloatAttr(offset));
  return op.getY();
}

Value LayerWriter::plainRmsNorm(StringRef name, Value x, double eps) {
  Value ones =
      create<llm::FillOp>((name + ".ones").str(), typeOf({tensorType(x).getShape().back()}),
                          builder.getF64FloatAttr(1.0));
  auto op = create<llm::RmsNormOp>(name, x.getType(), rowStatistic(x), x, ones,
                                   builder.getF64FloatAttr(eps), builder.getF64FloatAttr(0.0));
  return op.getY();
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

Value LayerWriter::rope(StringRef name, Value x, int64_t heads, const RotaryShape &rotary) {
  bool turnsWhole = rotary.elements == tensorType(x).getShape().back() / heads;
  return create<llm::RopeOp>(
      name, x.getType(), x, inputs.positions, builder.getI64IntegerAttr(heads),
      builder.getF64FloatAttr(rotary.theta), rotary.scaling, /*inverse=*/UnitAttr(),
      turnsWhole ? IntegerAttr() : builder.getI64IntegerAttr(rotary.elements),
      rotary.interleaved ? builder.getUnitAttr() : UnitAttr());
}

Value LayerWriter::gelu(StringRef name, Value x, bool exact) {
  return create<llm::GeluOp>(name, x.getType(), x, exact ? builder.getUnitAttr() : UnitAttr());
}

Value LayerWriter::scale(StringRef name, Value x, double factor) {
  llvm::APFloat rounded(factor);
  bool losesInfo = false;
  rounded.convert(cast<FloatType>(elementType).getFloatSemantics(),
                  llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return create<llm::ScaleOp>(name, x.getType(), x,
                              builder.getF64FloatAttr(rounded.convertToDouble()));
}

Value LayerWriter::scaleRows(StringRef name, Value x, ArrayRef<RowFactor> parts) {
  ArrayRef<int64_t> shape = tensorType(x).getShape();
  const int64_t width = shape[2];
  Value flat = view((name + ".flat").str(), x, {shape[0], shape[1] * width});
  auto widths =
      llvm::map_to_vector(parts, [&](const RowFactor &part) { return part.rows * width; });
  SmallVector<Value> apart = split((name + ".parts").str(), flat, widths);
  for (auto [value, part] : llvm::zip_equal(apart, parts))
    if (part.factor != 1)
      value = scale((name + ".part").str(), value, part.factor);
  return view(name, concat((name + ".both").str(), apart), shape);
}

Value LayerWriter::softcap(StringRef name, Value x, double cap) {
  return create<llm::SoftcapOp>(name, x.getType(), x, builder.getF64FloatAttr(cap));
}

Value LayerWriter::silu(StringRef name, Value x, double alpha) {
  return create<llm::SiluOp>(name, x.getType(), x, builder.getF64FloatAttr(alpha));
}

Value LayerWriter::clamp(StringRef name, Value x, std::optional<double> low,
                         std::optional<double> high) {
  return create<llm::ClampOp>(name, x.getType(), x,
                              low ? builder.getF64FloatAttr(*low) : FloatAttr(),
                              high ? builder.getF64FloatAttr(*high) : FloatAttr());
}

Value LayerWriter::add(StringRef name, Value a, Value b) {
  return create<llm::AddOp>(name, a.getType(), a, b);
}

Value LayerWriter::mul(StringRef name, Value a, Value b) {
  return create<llm::MulOp>(name, a.getType(), a, b);
}

Value LayerWriter::dropout(StringRef name, Value x, double p) {
  if (p == 0)
    return x;
  FloatAttr probability = builder.getF64FloatAttr(p);
  IntegerAttr key = builder.getI64IntegerAttr(takeStream());
  if (options.masks == MaskForm::Seeded)
    return create<llm::DropoutOp>(name, x.getType(), x, inputs.seed, probability, key,
                                  llm::ShardingAttr());
  auto mask = RankedTensorType::get(tensorType(x).getShape(), builder.getI8Type());
  return create<llm::StoredDropoutOp>(name, x.getType(), mask, x, inputs.seed, probability, key,
                                      llm::ShardingAttr())
      .getY();
}

SmallVector<Value> ShapeWriter::splitEvenly(StringRef name, Value x, int64_t parts) {
  int64_t width = tensorType(x).getShape().back() / parts;
  return split(name, x, SmallVector<int64_t>(parts, width));
}

SmallVector<Value> ShapeWriter::split(StringRef name, Value x, ArrayRef<int64_t> widths) {
  auto types =
      llvm::map_to_vector(widths, [&](int64_t width) -> Type { return withWidth(x, width); });
  return llvm::to_vector_of<Value>(create<llm::SplitOp>(name, TypeRange(types), x).getParts());
}

Value ShapeWriter::separateHeads(StringRef name, Value x, int64_t heads) {
  SmallVector<int64_t> shape(tensorType(x).getShape());
  shape.back() /= heads;
  shape.insert(std::prev(shape.end()), heads);
  return create<llm::ReshapeOp>(name, RankedTensorType::get(shape, elementType), x);
}

Value ShapeWriter::joinHeads(StringRef name, Value x) {
  SmallVector<int64_t> shape(tensorType(x).getShape());
  int64_t size = shape.pop_back_val();
  shape.back() *= size;
  return create<llm::ReshapeOp>(name, RankedTensorType::get(shape, elementType), x);
}

Value ShapeWriter::repeatHeads(StringRef name, Value x, int64_t heads) {
  SmallVector<int64_t> shape(tensorType(x).getShape());
  shape.insert(std::prev(shape.end()), heads);
  return create<llm::RepeatHeadsOp>(name, RankedTensorType::get(shape, elementType), x);
}

Value ShapeWriter::concat(StringRef name, ArrayRef<Value> parts) {
  int64_t width = 0;
  for (Value part : parts)
    width += tensorType(part).getShape().back();
  return create<llm::ConcatOp>(name, withWidth(parts.front(), width), parts);
}

Value ShapeWriter::padWidth(StringRef name, Value x, int64_t width) {
  int64_t own = tensorType(x).getShape().back();
  if (own == width)
    return x;
  Value zeros = create<llm::FillOp>((name + ".zeros").str(), withWidth(x, width - own),
                                    builder.getF64FloatAttr(0.0));
  return concat(name, {x, zeros});
}

Value LayerWriter::crossEntropy(StringRef name, Value logits, Value targets) {
  auto op = create<llm::CrossEntropyOp>(name, statisticType({}), rowStatistic(logits), logits,
                                        targets, /*count=*/Value(), builder.getI64IntegerAttr(-100),
                                        builder.getF64FloatAttr(options.training.labelSmoothing),
                                        builder.getF64FloatAttr(options.training.zLoss));
  return op.getLoss();
}

//===----------------------------------------------------------------------===//
// Images
//===----------------------------------------------------------------------===//

Value ShapeWriter::view(StringRef name, Value x, ArrayRef<int64_t> shape) {
  return create<llm::ReshapeOp>(name, RankedTensorType::get(shape, tensorType(x).getElementType()),
                                x);
}

Value ShapeWriter::patches(StringRef name, Value pixels, int64_t size) {
  ArrayRef<int64_t> image = tensorType(pixels).getShape();
  int64_t batch = image[0], channels = image[1], down = image[2] / size, across = image[3] / size;
  if (tensorType(pixels).getElementType() != elementType)
    pixels = create<llm::CastOp>((name + ".rounded").str(), tensorType(pixels).clone(elementType),
                                 pixels);
  Value x = view((name + ".pixels").str(), pixels, {batch, channels, down, size, across, size});
  auto cut = RankedTensorType::get({batch, down, across, channels, size, size}, elementType);
  x = create<llm::TransposeOp>((name + ".cut").str(), cut, x,
                               builder.getDenseI64ArrayAttr({0, 2, 4, 1, 3, 5}));
  return view(name, x, {batch, down * across, channels * size * size});
}

void ShapeWriter::viewAsMatrix(StringRef name) {
  Value &value = parameters[name];
  RankedTensorType type = tensorType(value);
  int64_t rows = type.getDimSize(0);
  value = view((name + ".matrix").str(), value, {rows, type.getNumElements() / rows});
}

/// Pads a view whose last dimension is all rows.
Value ShapeWriter::padRows(StringRef name, Value x, int64_t before, int64_t after) {
  ArrayRef<int64_t> shape = tensorType(x).getShape();
  int64_t batch = shape[0], width = shape[2], rows = before + shape[1] + after;
  Value flat = view((name + ".flat").str(), x, {batch, shape[1] * width});
  Value padded = create<llm::PadOp>((name + ".padded").str(), withWidth(flat, rows * width), flat,
                                    builder.getI64IntegerAttr(before * width));
  return view(name, padded, {batch, rows, width});
}

Value ShapeWriter::cutRows(StringRef name, Value x, int64_t chunk) {
  ArrayRef<int64_t> shape = tensorType(x).getShape();
  const int64_t chunks = llvm::divideCeil(shape[1], chunk), padding = chunks * chunk - shape[1];
  if (padding > 0)
    x = padRows(name, x, 0, padding);
  return view(name, x, {shape[0] * chunks, chunk, shape[2]});
}

Value ShapeWriter::joinRows(StringRef name, Value x, int64_t batch, int64_t rows) {
  ArrayRef<int64_t> shape = tensorType(x).getShape();
  const int64_t width = shape[2], all = shape[0] / batch * shape[1];
  if (all == rows)
    return view(name, x, {batch, rows, width});
  Value flat = view((name + ".flat").str(), x, {batch, all * width});
  Value kept = split((name + ".kept").str(), flat, {rows * width, (all - rows) * width}).front();
  return view(name, kept, {batch, rows, width});
}

Value ShapeWriter::firstRow(StringRef name, Value x) {
  ArrayRef<int64_t> shape = tensorType(x).getShape();
  Value flat = view((name + ".flat").str(), x, {shape[0], shape[1] * shape[2]});
  return create<llm::SliceOp>(name, withWidth(flat, shape[2]), flat, builder.getI64IntegerAttr(0));
}

Value ShapeWriter::addTable(StringRef name, Value x, Value table) {
  Value rows = view((name + ".rows").str(), table, tensorType(table).getShape().drop_front());
  return create<llm::AddPositionsOp>(name, x.getType(), x, rows, ArrayAttr());
}
