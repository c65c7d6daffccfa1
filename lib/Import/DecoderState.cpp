//===- DecoderState.cpp - A state that is carried along the sequence ------===//
//
// Gated DeltaNet (Yang, Kautz and Hatamizadeh 2024) and Mamba-2 (Dao and Gu 2024) have the same
// parts: a projection, a short convolution over queries, keys and values, a scan whose decay and
// strength depend on the token, a norm and a gate.
//
//===----------------------------------------------------------------------===//

#include "CachedGraph.h"
#include "DecoderBlock.h"
#include "llmmem/Dialect/RecurrentOps.h"
#include "llmmem/Dialect/StateScan.h"
#include <cmath>

using namespace mlir;
using namespace llmmem;
using namespace llmmem::importer;
using Inputs = StateParts::Inputs;

namespace {

/// Holds what a scan reads, as rows: `mixed` has what is convolved, `gate` what multiplies the
/// result, `step` what the decay depends on and `strength`, if any, what the strength does.
struct StateRows {
  Value mixed, gate, step, strength;
};

class StateMixer {
public:
  explicit StateMixer(const BlockGraph &block)
      : graph(block.graph), state(*block.own.state), module(block.prefix + state.module) {}
  Value build(Value x) const;

private:
  Value project(StringRef name, Value x, StringRef part) const {
    return graph.linear(name, x, (module + "." + part).str());
  }
  SmallVector<Value> splitGroups(StringRef name, Value x, ArrayRef<int64_t> widths) const;
  StateRows project(Value x) const;
  Value wide(StringRef name, Value x) const;
  Value wideParameter(StringRef name) const;
  Value makeStep(Value x) const;
  Value makeDecay(Value step) const;
  Value normalizeLength(StringRef name, Value x) const;
  Value scan(Value q, Value k, Value v, const StateRows &rows) const;
  Value addSkipped(Value y, Value v) const;
  Value normalize(Value y) const;

  GraphBuilder &graph;
  const StateParts &state;
  const std::string module;
};

} // namespace

/// Splits what a projection computes for each group of heads, and returns each part as a row.
SmallVector<Value> StateMixer::splitGroups(StringRef name, Value x,
                                           ArrayRef<int64_t> widths) const {
  Value groups = graph.separateHeads((name + ".groups").str(), x, state.groups);
  SmallVector<Value> apart = graph.split((name + ".split").str(), groups, widths);
  for (Value &part : apart)
    part = graph.joinHeads((name + ".part").str(), part);
  return apart;
}

StateRows StateMixer::project(Value x) const {
  const int64_t heads = state.heads / state.groups;
  if (state.inputs == Inputs::ByGroup) {
    SmallVector<Value> rows =
        splitGroups("state.in", project("state.in", x, "in_proj_qkvz"),
                    {state.key, state.key, heads * state.value, heads * state.value});
    SmallVector<Value> gates =
        splitGroups("state.gates", project("state.gates", x, "in_proj_ba"), {heads, heads});
    return {graph.concat("state.mixed", {rows[0], rows[1], rows[2]}), rows[3], gates[1], gates[0]};
  }
  if (state.inputs == Inputs::Apart)
    return {project("state.in", x, "in_proj_qkv"), project("state.z", x, "in_proj_z"),
            project("state.a", x, "in_proj_a"), project("state.b", x, "in_proj_b")};
  SmallVector<Value> rows =
      graph.split("state.split", project("state.in", x, "in_proj"),
                  {state.valueWidth(), state.valueWidth() + 2 * state.keyWidth(), state.heads});
  return {rows[1], rows[0], rows[2], Value()};
}

/// Returns numbers of gates in the type of statistics: their exponentials multiply along the
/// sequence.
Value StateMixer::wide(StringRef name, Value x) const {
  RankedTensorType type = graph.statisticType(tensorType(x).getShape());
  return x.getType() == type ? x : graph.create<llm::CastOp>(name, type, x);
}

Value StateMixer::wideParameter(StringRef name) const {
  return wide(("state." + name + ".wide").str(), graph.heldParameter(module + "." + name));
}

/// Returns softplus(x + bias), within the limits of a step.
Value StateMixer::makeStep(Value x) const {
  Value row = wide("state.step.wide", x);
  row = graph.create<llm::AddBiasOp>("state.step.biased", row.getType(), row,
                                     wideParameter("dt_bias"));
  Value step = graph.create<llm::SoftplusOp>("state.step", row.getType(), row);
  const bool hasMost = std::isfinite(state.mostStep);
  if (state.leastStep <= 0 && !hasMost)
    return step;
  return graph.clamp("state.step.clamped", step, state.leastStep,
                     hasMost ? std::optional(state.mostStep) : std::nullopt);
}

/// Returns the logarithm of what is left of the state, -exp(A) step.
Value StateMixer::makeDecay(Value step) const {
  Value rate = wideParameter("A_log");
  rate = graph.create<llm::ExpOp>("state.rate", rate.getType(), rate);
  rate = graph.create<llm::ScaleOp>("state.rate.negative", rate.getType(), rate,
                                    graph.getBuilder().getF64FloatAttr(-1.0));
  return graph.create<llm::ScaleColumnsOp>("state.decay", step.getType(), step, rate);
}

/// Returns x / sqrt(x . x + 1e-6) for each head, times the root of its size.
Value StateMixer::normalizeLength(StringRef name, Value x) const {
  return graph.plainRmsNorm(name, x, 1e-6 / static_cast<double>(state.key));
}

/// In a step with caches the state is an argument.
Value StateMixer::scan(Value q, Value k, Value v, const StateRows &rows) const {
  Builder &builder = graph.getBuilder();
  const double size = static_cast<double>(state.key);
  Value step = makeStep(rows.step), decay = makeDecay(step), strength = step;
  if (state.delta) {
    q = normalizeLength("state.q", q);
    k = normalizeLength("state.k", k);
    k = graph.create<llm::ScaleOp>("state.k.unit", k.getType(), k,
                                   builder.getF64FloatAttr(1.0 / std::sqrt(size)));
    Value row = wide("state.strength.wide", rows.strength);
    strength = graph.create<llm::LogisticOp>("state.strength", row.getType(), row);
  }
  UnitAttr delta = state.delta ? builder.getUnitAttr() : UnitAttr();
  FloatAttr scale = builder.getF64FloatAttr(state.delta ? 1.0 / size : 1.0);
  const int64_t batch = tensorType(v).getDimSize(0);
  CachedGraph *caches = graph.attention.keptCaches();
  if (!caches) {
    constexpr int64_t kChunk = 64; // As in the public library.
    const int64_t chunks = llm::StateScan(tensorType(q), tensorType(v)).chunks(kChunk);
    RankedTensorType states =
        graph.statisticType({batch, chunks, state.heads, state.key, state.value});
    auto op =
        graph.create<llm::StateScanOp>("state.out", v.getType(), states, q, k, v, decay, strength,
                                       delta, scale, builder.getI64IntegerAttr(kChunk));
    return op.getY();
  }
  Value held = caches->addState(graph.fullName("state.held"),
                                graph.statisticType({batch, state.heads, state.key, state.value}));
  auto op = graph.create<llm::CachedScanOp>("state.out", v.getType(), held.getType(), q, k, v,
                                            decay, strength, held, caches->positions, delta, scale);
  caches->setUpdated(held, op.getNewState());
  return op.getY();
}

/// Adds each head's share of its values, which go past the state.
Value StateMixer::addSkipped(Value y, Value v) const {
  Value share = graph.parameter(module + ".D");
  share = graph.separateHeads("state.share.heads", share, state.heads);
  share = graph.repeatHeads("state.share.repeated", share, state.value);
  share = graph.joinHeads("state.share", graph.joinHeads("state.share.columns", share));
  Value skipped = graph.create<llm::ScaleColumnsOp>("state.skipped", v.getType(), v, share);
  return graph.add("state.sum", y, skipped);
}

/// Normalises a row, in as many parts as there are groups.
Value StateMixer::normalize(Value y) const {
  const std::string norm = module + ".norm";
  if (state.groups == 1)
    return graph.rmsNorm("state.normal", y, norm, state.eps);
  Value parts = graph.separateHeads("state.parts", y, state.groups);
  parts = graph.plainRmsNorm("state.parts.normal", parts, state.eps);
  Value row = graph.joinHeads("state.parts.row", parts);
  return graph.create<llm::ScaleColumnsOp>("state.normal", row.getType(), row,
                                           graph.parameter(norm + ".weight"));
}

Value StateMixer::build(Value x) const {
  StateRows rows = project(x);
  Value mixed = graph.silu("state.act", convolve(graph, rows.mixed, module + ".conv1d"));
  const int64_t keys = state.keyWidth(), values = state.valueWidth();
  SmallVector<Value> apart = graph.split("state.apart", mixed,
                                         state.delta ? ArrayRef<int64_t>{keys, keys, values}
                                                     : ArrayRef<int64_t>{values, keys, keys});
  if (!state.delta) // The checkpoint has values, keys and queries.
    std::swap(apart[0], apart[2]);
  Value q = graph.separateHeads("state.q.heads", apart[0], state.groups);
  Value k = graph.separateHeads("state.k.heads", apart[1], state.groups);
  Value v = graph.separateHeads("state.v.heads", apart[2], state.heads);
  Value y = scan(q, k, v, rows);
  Value gated;
  if (state.delta) {
    y = graph.rmsNorm("state.normal", y, module + ".norm", state.eps);
    Value gate = graph.silu("state.gate", rows.gate);
    gated = graph.mul("state.gated", graph.joinHeads("state.row", y), gate);
  } else {
    y = addSkipped(graph.joinHeads("state.row", y), apart[2]);
    gated = graph.mul("state.gated", y, graph.silu("state.gate", rows.gate));
    gated = normalize(gated);
  }
  return project("state.proj", gated, "out_proj");
}

Value llmmem::importer::buildState(const BlockGraph &block, Value x) {
  return StateMixer(block).build(x);
}
