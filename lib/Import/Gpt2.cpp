//===- Gpt2.cpp - GPT-2 (Radford et al. 2019) ------------------------------===//

#include "llmmem/Import/GraphBuilder.h"
#include "llmmem/Import/Model.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::importer;

namespace {

/// Has layer norms before attention and MLP, learned positions, one projection for q, k and v, and
/// a head that is tied to the embedding. Projections are Conv1D: [in, out] in checkpoints.
class Gpt2 final : public Model {
public:
  Gpt2(ConfigReader &config, const ImportOptions &options);
  std::vector<Parameter> parameters() const override;
  Value buildLogits(GraphBuilder &graph, Value ids) const override;

private:
  Value buildAttention(GraphBuilder &graph, const Twine &prefix, Value x) const;
  Value buildMlp(GraphBuilder &graph, const Twine &prefix, Value x) const;
  void addBlock(std::vector<Parameter> &list, const std::string &prefix) const;
  Value project(GraphBuilder &graph, StringRef name, Value x, const Twine &module) const {
    return graph.linear(name, x, module.str(), layout);
  }

  llm::WeightLayout layout;
  int64_t width, heads, inner, vocabulary;
  double eps, embeddingDropout, attentionDropout, residualDropout;
  bool tied;
};

} // namespace

static std::string blockPrefix(int64_t layer) {
  return "transformer.h." + std::to_string(layer) + ".";
}

/// With caches the layout is [out, in]. A step of decoding reads each weight once, in long streams;
/// and where activations are rounded their groups lie along the sum, so that they are rounded once
/// and not for each group of outputs. Otherwise the layout is that of the checkpoint and, with
/// adapters, the one that their training saved.
static llm::WeightLayout layoutFor(const ImportOptions &options) {
  return options.keepsCaches() && !options.lora ? llm::WeightLayout::OutIn
                                                : llm::WeightLayout::InOut;
}

Gpt2::Gpt2(ConfigReader &config, const ImportOptions &options) : layout(layoutFor(options)) {
  width = config.positive("n_embd");
  heads = config.positive("n_head");
  vocabulary = config.positive("vocab_size");
  inner = config.optionalPositive("n_inner").value_or(4 * width);
  eps = config.positiveReal("layer_norm_epsilon");
  // These are three public names of one function; "gelu" alone is the exact function.
  config.choice("activation_function", {"gelu_new", "gelu_pytorch_tanh", "gelu_fast"});
  config.onlyFlag("scale_attn_weights", true);
  config.onlyFlag("scale_attn_by_inverse_layer_idx", false);
  config.onlyFlag("add_cross_attention", false);
  tied = config.flagOr("tie_word_embeddings", true);
  embeddingDropout = readDropout(config, options, "embd_pdrop", 0.1);
  attentionDropout = readDropout(config, options, "attn_pdrop", 0.1);
  residualDropout = readDropout(config, options, "resid_pdrop", 0.1);

  facts.layers = config.positive("n_layer");
  facts.maxSeqKey = "n_positions";
  facts.maxSeq = config.positive(facts.maxSeqKey);
  facts.dropsOut = embeddingDropout > 0 || attentionDropout > 0 || residualDropout > 0;
  if (width % heads != 0)
    config.fail("key " + config.quoted("n_head") + " is " + Twine(heads) +
                ", which does not divide 'n_embd', " + Twine(width));
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

void Gpt2::addBlock(std::vector<Parameter> &list, const std::string &prefix) const {
  auto norm = [&](StringRef module) {
    list.push_back({(prefix + module + ".weight").str(), {width}});
    list.push_back({(prefix + module + ".bias").str(), {width}});
  };
  auto projection = [&](StringRef module, int64_t in, int64_t out) {
    const bool transposed = layout == llm::WeightLayout::OutIn;
    Parameter weight{(prefix + module + ".weight").str(), {in, out}, layout};
    if (transposed)
      std::swap(weight.shape[0], weight.shape[1]);
    weight.transposed = transposed;
    list.push_back(std::move(weight));
    list.push_back({(prefix + module + ".bias").str(), {out}});
  };
  norm("ln_1");
  projection("attn.c_attn", width, 3 * width);
  projection("attn.c_proj", width, width);
  norm("ln_2");
  projection("mlp.c_fc", width, inner);
  projection("mlp.c_proj", inner, width);
}

std::vector<Parameter> Gpt2::parameters() const {
  std::vector<Parameter> list;
  list.push_back(tableOf("transformer.wte.weight", vocabulary, width));
  list.back().head = tied;
  list.push_back(tableOf("transformer.wpe.weight", facts.maxSeq, width, Lookup::Position));
  for (int64_t layer = 0; layer < facts.layers; ++layer)
    addBlock(list, blockPrefix(layer));
  list.push_back({"transformer.ln_f.weight", {width}});
  list.push_back({"transformer.ln_f.bias", {width}});
  if (!tied)
    list.push_back({.name = "lm_head.weight",
                    .shape = {vocabulary, width},
                    .layout = llm::WeightLayout::OutIn,
                    .head = true});
  return list;
}

//===----------------------------------------------------------------------===//
// Graph
//===----------------------------------------------------------------------===//

Value Gpt2::buildAttention(GraphBuilder &graph, const Twine &prefix, Value x) const {
  Value y = graph.layerNorm("attn.norm", x, (prefix + "ln_1").str(), eps);
  y = project(graph, "attn.qkv", y, prefix + "attn.c_attn");
  SmallVector<Value> qkv = graph.splitEvenly("attn.split", y, 3);
  y = graph.attention.attend(qkv[0], qkv[1], qkv[2],
                             {heads, heads, width / heads, std::nullopt, attentionDropout});
  y = project(graph, "attn.proj", y, prefix + "attn.c_proj");
  y = graph.dropout("attn.dropout", y, residualDropout);
  return graph.add("attn.residual", x, y);
}

Value Gpt2::buildMlp(GraphBuilder &graph, const Twine &prefix, Value x) const {
  Value y = graph.layerNorm("mlp.norm", x, (prefix + "ln_2").str(), eps);
  y = project(graph, "mlp.up", y, prefix + "mlp.c_fc");
  y = graph.gelu("mlp.act", y);
  y = project(graph, "mlp.down", y, prefix + "mlp.c_proj");
  y = graph.dropout("mlp.dropout", y, residualDropout);
  return graph.add("mlp.residual", x, y);
}

Value Gpt2::buildLogits(GraphBuilder &graph, Value ids) const {
  Value x = graph.embedding("embed", ids, "transformer.wte");
  x = graph.addPositions("embed.positions", x, "transformer.wpe");
  x = graph.dropout("embed.dropout", x, embeddingDropout);
  for (int64_t layer = 0; layer < facts.layers; ++layer) {
    GraphBuilder::BlockScope scope(graph, layer);
    std::string prefix = blockPrefix(layer);
    x = buildAttention(graph, prefix, x);
    x = buildMlp(graph, prefix, x);
  }
  x = graph.layerNorm("norm", graph.attention.lastRows("last", x), "transformer.ln_f", eps);
  return graph.linear("logits", x, tied ? "transformer.wte" : "lm_head", llm::WeightLayout::OutIn);
}

std::unique_ptr<Model> llmmem::importer::readGpt2(ConfigReader &config,
                                                  const ImportOptions &options) {
  return std::make_unique<Gpt2>(config, options);
}
