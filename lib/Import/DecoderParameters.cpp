//===- DecoderParameters.cpp - The parameters of a decoder by its parts ----===//

#include "DecoderParts.h"
#include "llvm/ADT/STLExtras.h"

using namespace llmmem;
using namespace llmmem::importer;
using llvm::StringRef;
using Fusion = AttentionParts::Fusion;

namespace {
class ParameterList {
public:
  explicit ParameterList(const DecoderParts &parts) : parts(parts), experts(parts.experts) {}
  std::vector<Parameter> make(int64_t layers) &&;

private:
  void addProjection(const Projection &projection, int64_t out, int64_t in);
  void addNorm(const std::string &module, int64_t width);
  void addLatentAttention(const AttentionParts &attention, const LatentParts &latent);
  void addAttention(const AttentionParts &attention);
  void addConvolution(const ConvolutionParts &convolution);
  void addState(const StateParts &state);
  void addMlp(const MlpParts &mlp);
  void addExpertWeights();
  void addExperts();
  void addNorms(const LayerParts &own);
  void addBlock(int64_t layer);

  const DecoderParts &parts;
  const ExpertParts &experts;
  std::vector<Parameter> list;
};
} // namespace

void ParameterList::addProjection(const Projection &projection, int64_t out, int64_t in) {
  if (projection.module.empty())
    return;
  list.push_back({projection.module + ".weight", {out, in}, llm::WeightLayout::OutIn});
  if (projection.bias)
    list.push_back({projection.module + ".bias", {out}});
}

void ParameterList::addNorm(const std::string &module, int64_t width) {
  if (module.empty())
    return;
  list.push_back({module + ".weight", {width}});
  if (parts.norm.kind == NormStyle::Kind::Layer)
    list.push_back({module + ".bias", {width}});
}

void ParameterList::addLatentAttention(const AttentionParts &attention, const LatentParts &latent) {
  if (latent.queryRank) {
    addProjection(latent.queryDown, latent.queryRank, parts.width);
    addNorm(latent.queryNorm, latent.queryRank);
    addProjection(latent.queryUp, attention.queryWidth(), latent.queryRank);
  } else {
    addProjection(attention.query, attention.queryWidth(), parts.width);
  }
  addProjection(latent.down, latent.rank + latent.turning, parts.width);
  addNorm(latent.norm, latent.rank);
  addProjection(latent.up, attention.heads * (latent.plain + latent.value), latent.rank);
  addProjection(attention.output, parts.width, attention.heads * latent.value);
}

void ParameterList::addAttention(const AttentionParts &attention) {
  if (attention.latent)
    return addLatentAttention(attention, *attention.latent);
  bool isFused = attention.fusion != Fusion::Apart;
  if (!attention.sinks.empty())
    list.push_back({attention.sinks, {attention.heads}});
  addProjection(attention.query,
                attention.queryWidth() * (attention.gated ? 2 : 1) +
                    (isFused ? 2 * attention.kvWidth() : 0),
                parts.width);
  if (!isFused) {
    addProjection(attention.key, attention.kvWidth(), parts.width);
    addProjection(attention.value, attention.kvHeads * attention.valueElements(), parts.width);
  }
  addProjection(attention.output, parts.width, attention.heads * attention.valueElements());
  addNorm(attention.queryNorm, attention.normsHeads ? attention.headSize : attention.queryWidth());
  addNorm(attention.keyNorm, attention.normsHeads ? attention.headSize : attention.kvWidth());
}

void ParameterList::addConvolution(const ConvolutionParts &convolution) {
  list.push_back({convolution.module + ".weight", {parts.width, 1, convolution.taps}});
  if (convolution.bias)
    list.push_back({convolution.module + ".bias", {parts.width}});
  addProjection(convolution.input, 3 * parts.width, parts.width);
  addProjection(convolution.output, parts.width, parts.width);
}

void ParameterList::addState(const StateParts &state) {
  using Inputs = StateParts::Inputs;
  const int64_t values = state.valueWidth(), mixed = 2 * state.keyWidth() + values;
  auto project = [&](StringRef name, int64_t out) {
    addProjection({(state.module + "." + name).str(), state.bias}, out, parts.width);
  };
  list.push_back({state.module + ".dt_bias", {state.heads}});
  list.push_back({state.module + ".A_log", {state.heads}});
  if (!state.delta)
    list.push_back({state.module + ".D", {state.heads}});
  list.push_back({state.module + ".conv1d.weight", {mixed, 1, state.taps}});
  if (state.convBias)
    list.push_back({state.module + ".conv1d.bias", {mixed}});
  if (state.inputs == Inputs::ByGroup) {
    project("in_proj_qkvz", mixed + values);
    project("in_proj_ba", 2 * state.heads);
  } else if (state.inputs == Inputs::Apart) {
    project("in_proj_qkv", mixed);
    project("in_proj_z", values);
    project("in_proj_b", state.heads);
    project("in_proj_a", state.heads);
  } else {
    project("in_proj", mixed + values + state.heads);
  }
  list.push_back({state.module + ".norm.weight", {state.delta ? state.value : values}});
  addProjection({state.module + ".out_proj", state.bias}, parts.width, values);
}

void ParameterList::addMlp(const MlpParts &mlp) {
  addProjection(mlp.gate, mlp.isFused() ? 2 * mlp.inner : mlp.inner, parts.width);
  addProjection(mlp.up, mlp.inner, parts.width);
  addProjection(mlp.down, parts.width, mlp.inner);
}

void ParameterList::addExpertWeights() {
  int64_t count = experts.count, inner = experts.inner,
          width = experts.latent ? experts.latent : parts.width;
  auto matrices = [&](std::string name, int64_t rows, int64_t columns) {
    list.push_back({std::move(name), {count, rows, columns}});
    list.back().ofExperts = true;
  };
  if (!experts.joined) {
    if (!experts.gate.empty())
      matrices(experts.gate + ".weight", inner, width);
    matrices(experts.up + ".weight", inner, width);
    matrices(experts.down + ".weight", width, inner);
    return;
  }
  auto joined = [&](const std::string &name, int64_t in, int64_t out) {
    const bool isInOut = experts.joined->layout == llm::WeightLayout::InOut;
    matrices(name, isInOut ? in : out, isInOut ? out : in);
    if (experts.joined->clamped)
      list.push_back({name + "_bias", {count, out}});
  };
  joined(experts.joined->gateUp, width, 2 * inner);
  joined(experts.joined->down, inner, width);
}

void ParameterList::addExperts() {
  int64_t count = experts.count;
  list.push_back({experts.router.module + ".weight", {count, parts.width}});
  if (experts.router.bias)
    list.push_back({experts.router.module + ".bias", {count}});
  if (!experts.biasOfChoice.empty())
    list.push_back({.name = experts.biasOfChoice, .shape = {count}, .frozen = true, .wide = true});
  if (experts.latent) {
    addProjection(experts.latentDown, experts.latent, parts.width);
    addProjection(experts.latentUp, parts.width, experts.latent);
  }
  addExpertWeights();
  if (experts.shared)
    addMlp(*experts.shared);
  if (!experts.sharedGate.empty())
    list.push_back({experts.sharedGate + ".weight", {1, parts.width}});
}

void ParameterList::addNorms(const LayerParts &own) {
  if (own.attends || own.convolution || own.state)
    for (const std::string *module : {&parts.block.attentionNorm, &parts.block.attentionPostNorm})
      addNorm(*module, parts.width);
  if (own.hasMlp)
    for (const std::string *module : {&parts.block.mlpNorm, &parts.block.mlpPostNorm})
      addNorm(*module, parts.width);
}

void ParameterList::addBlock(int64_t layer) {
  const size_t first = list.size();
  const LayerParts own = parts.ofLayer(layer);
  if (own.attends)
    addAttention(own.attention);
  if (own.convolution)
    addConvolution(*own.convolution);
  if (own.state)
    addState(*own.state);
  llvm::append_range(list, own.unread);
  if (own.hasMlp)
    experts.isIn(layer) ? addExperts() : addMlp(own.mlp);
  addNorms(own);
  std::stable_partition(list.begin() + first, list.end(), [&](const Parameter &parameter) {
    StringRef module = StringRef(parameter.name).rsplit('.').first;
    return llvm::is_contained(parts.block.listedFirst, module);
  });
  for (Parameter &parameter : llvm::MutableArrayRef(list).drop_front(first))
    parameter.name = parts.block.prefix + std::to_string(layer) + "." + parameter.name;
}

std::vector<Parameter> ParameterList::make(int64_t layers) && {
  list.push_back(tableOf(parts.embedding + ".weight", parts.vocabulary, parts.width));
  for (int64_t layer = 0; layer < layers; ++layer)
    addBlock(layer);
  addNorm(parts.finalNorm, parts.width);
  if (!parts.tied)
    addProjection(parts.head, parts.vocabulary, parts.width);
  const std::string head = (parts.tied ? parts.embedding : parts.head.module) + ".weight";
  for (Parameter &parameter : list)
    parameter.head = parameter.name == head;
  return std::move(list);
}

LayerParts DecoderParts::ofLayer(int64_t layer) const {
  LayerParts own;
  own.attention = attention;
  own.mlp = mlp;
  if (vary)
    vary(layer, own);
  return own;
}

std::vector<Parameter> llmmem::importer::parametersOf(const DecoderParts &parts, int64_t layers) {
  return ParameterList(parts).make(layers);
}
