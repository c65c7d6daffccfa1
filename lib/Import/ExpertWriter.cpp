//===- ExpertWriter.cpp - Mixtures of experts ------------------------------===//

#include "llmmem/Import/ExpertWriter.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::importer;

Routing ExpertWriter::route(Value x, StringRef module, const RouterShape &router) {
  OpBuilder &builder = graph.getBuilder();
  Routing routing;
  routing.logits = graph.linear("mlp.router", x, module);
  ArrayRef<int64_t> shape = tensorType(routing.logits).getShape();
  int64_t batch = shape[0], seq = shape[1], experts = shape[2];
  auto choices = RankedTensorType::get({batch, seq, router.chosen}, builder.getI32Type());
  auto route = graph.create<llm::RouteOp>(
      "mlp.route", graph.withWidth(routing.logits, router.chosen), choices,
      graph.rowStatistic(routing.logits), routing.logits,
      router.bias.empty() ? Value() : graph.heldParameter(router.bias),
      router.logistic ? builder.getUnitAttr() : UnitAttr(),
      router.normalized ? builder.getUnitAttr() : UnitAttr(),
      builder.getF64FloatAttr(router.factor), builder.getI64IntegerAttr(router.groups),
      builder.getI64IntegerAttr(router.keptGroups), builder.getI64IntegerAttr(router.groupBest));
  routing.weights = route.getWeights();
  routing.experts = route.getExperts();
  routing.lse = route.getLse();
  auto table = RankedTensorType::get(
      {experts, batch, graph.getOptions().expertCapacity.value_or(seq)}, builder.getI32Type());
  auto places = graph.create<llm::AssignPlacesOp>("mlp.places", choices, table, routing.experts);
  routing.places = places.getPlaces();
  routing.choices = places.getChoices();
  routed.push_back(routing);
  return routing;
}

Value ExpertWriter::dispatch(StringRef name, Value x, const Routing &routing, bool weighs) {
  SmallVector<int64_t> shape(tensorType(routing.choices).getShape());
  shape.push_back(tensorType(x).getShape().back());
  return graph.create<llm::DispatchOp>(name, graph.typeOf(shape), x, routing.places,
                                       routing.choices, weighs ? routing.weights : Value());
}

Value ExpertWriter::combine(StringRef name, Value x, const Routing &routing, bool weighs) {
  SmallVector<int64_t> shape(tensorType(routing.places).getShape());
  shape.back() = tensorType(x).getShape().back();
  return graph.create<llm::CombineOp>(name, graph.typeOf(shape), x, routing.places, routing.choices,
                                      weighs ? routing.weights : Value());
}

Value ExpertWriter::groupedLinear(StringRef name, Value x, const Routing &routing,
                                  const Twine &weight, llm::WeightLayout layout,
                                  const Twine &bias) {
  Value matrices = graph.parameter(weight), added = graph.parameter(bias);
  int64_t out = tensorType(matrices).getDimSize(layout == llm::WeightLayout::InOut ? 2 : 1);
  Value y = graph.create<llm::GroupedLinearOp>(
      added ? (name + ".product").str() : name.str(), graph.withWidth(x, out), x, matrices,
      graph.scalesOf(weight), graph.zerosOf(weight), routing.choices, layout);
  return added ? graph.create<llm::AddGroupBiasOp>(name, y.getType(), y, added, routing.choices)
               : y;
}

Value ExpertWriter::gateRows(StringRef name, Value x, Value gate) {
  return graph.create<llm::GateRowsOp>(name, x.getType(), x, gate);
}

Value ExpertWriter::balanceLoss(StringRef name, double coefficient) {
  Value counts, sums;
  int64_t tokens = 0;
  for (const Routing &routing : routed) {
    RankedTensorType type = graph.statisticType({tensorType(routing.logits).getShape().back()});
    auto load = graph.create<llm::RouterLoadOp>((name + ".load").str(), type, type, routing.logits,
                                                routing.experts, routing.lse);
    counts =
        counts ? graph.add((name + ".counts").str(), counts, load.getCounts()) : load.getCounts();
    sums = sums ? graph.add((name + ".sums").str(), sums, load.getSums()) : load.getSums();
    tokens += tensorType(routing.lse).getNumElements();
  }
  if (!counts)
    return Value();
  OpBuilder &builder = graph.getBuilder();
  return graph.create<llm::BalanceLossOp>(name, graph.statisticType({}), counts, sums,
                                          builder.getF64FloatAttr(coefficient),
                                          builder.getI64IntegerAttr(tokens));
}

Value ExpertWriter::countDropped(StringRef name) {
  SmallVector<Value> places;
  for (const Routing &routing : routed)
    if (tensorType(routing.choices).getShape().back() < tensorType(routing.places).getDimSize(1))
      places.push_back(routing.places);
  if (places.empty())
    return Value();
  return graph.create<llm::CountDroppedOp>(
      name, RankedTensorType::get({}, graph.getBuilder().getI32Type()), places);
}
