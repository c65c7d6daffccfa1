//===- Bert.cpp - BERT with masked tokens to predict (Devlin et al. 2018) --===//

#include "llmmem/Import/GraphBuilder.h"
#include "llmmem/Import/Model.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::importer;

namespace {

/// Has attention in both directions, a norm after each sum, and a head that is a projection, a norm
/// and the embedding once more, with a bias. All tokens have the first type, as in a text of one
/// sentence.
class Bert final : public Model {
public:
  Bert(ConfigReader &config, const ImportOptions &options);
  std::vector<Parameter> parameters() const override;
  Value buildLogits(GraphBuilder &graph, Value ids) const override;

private:
  Value buildEmbedding(GraphBuilder &graph, Value ids) const;
  Value buildAttention(GraphBuilder &graph, const std::string &prefix, Value x) const;
  Value buildMlp(GraphBuilder &graph, const std::string &prefix, Value x) const;
  void addBlock(std::vector<Parameter> &list, const std::string &prefix) const;

  int64_t width, heads, inner, vocabulary, types;
  double eps, hiddenDropout, attentionDropout;
  bool exactGelu;
};

} // namespace

static std::string blockPrefix(int64_t layer) {
  return "bert.encoder.layer." + std::to_string(layer) + ".";
}

Bert::Bert(ConfigReader &config, const ImportOptions &options) {
  width = config.positive("hidden_size");
  heads = config.positive("num_attention_heads");
  inner = config.positive("intermediate_size");
  vocabulary = config.positive("vocab_size");
  types = config.optionalPositive("type_vocab_size").value_or(2);
  eps = config.positiveRealOr("layer_norm_eps", 1e-12);
  std::string activation =
      config.choice("hidden_act", {"gelu", "gelu_new", "gelu_pytorch_tanh", "gelu_fast"});
  exactGelu = activation == "gelu";
  config.onlyText("position_embedding_type", "absolute");
  config.onlyFlag("is_decoder", false);
  config.onlyFlag("add_cross_attention", false);
  config.onlyFlag("tie_word_embeddings", true);
  hiddenDropout = readDropout(config, options, "hidden_dropout_prob", 0.1);
  attentionDropout = readDropout(config, options, "attention_probs_dropout_prob", 0.1);

  facts.layers = config.positive("num_hidden_layers");
  facts.maxSeqKey = "max_position_embeddings";
  facts.maxSeq = config.positive(facts.maxSeqKey);
  facts.dropsOut = hiddenDropout > 0 || attentionDropout > 0;
  facts.predictsMasked = true;
  facts.whyNoCaches = "attention reads later tokens, too, so that no row of a cache stays as it is";
  if (width % heads != 0)
    config.fail("key " + config.quoted("num_attention_heads") + " is " + Twine(heads) +
                ", which does not divide 'hidden_size', " + Twine(width));
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

void Bert::addBlock(std::vector<Parameter> &list, const std::string &prefix) const {
  for (const char *module : {"query", "key", "value"})
    addProjection(list, prefix + "attention.self." + module, width, width);
  addProjection(list, prefix + "attention.output.dense", width, width);
  addLayerNorm(list, prefix + "attention.output.LayerNorm", width);
  addProjection(list, prefix + "intermediate.dense", inner, width);
  addProjection(list, prefix + "output.dense", width, inner);
  addLayerNorm(list, prefix + "output.LayerNorm", width);
}

std::vector<Parameter> Bert::parameters() const {
  std::vector<Parameter> list;
  list.push_back(tableOf("bert.embeddings.word_embeddings.weight", vocabulary, width));
  list.push_back(tableOf("bert.embeddings.position_embeddings.weight", facts.maxSeq, width));
  list.push_back(tableOf("bert.embeddings.token_type_embeddings.weight", types, width));
  addLayerNorm(list, "bert.embeddings.LayerNorm", width);
  for (int64_t layer = 0; layer < facts.layers; ++layer)
    addBlock(list, blockPrefix(layer));
  list.push_back({"cls.predictions.bias", {vocabulary}});
  addProjection(list, "cls.predictions.transform.dense", width, width);
  addLayerNorm(list, "cls.predictions.transform.LayerNorm", width);
  return list;
}

//===----------------------------------------------------------------------===//
// Graph
//===----------------------------------------------------------------------===//

Value Bert::buildEmbedding(GraphBuilder &graph, Value ids) const {
  Value x = graph.embedding("embed", ids, "bert.embeddings.word_embeddings");
  x = graph.addFirstRow("embed.types", x, "bert.embeddings.token_type_embeddings");
  x = graph.addPositions("embed.positions", x, "bert.embeddings.position_embeddings");
  x = graph.layerNorm("embed.norm", x, "bert.embeddings.LayerNorm", eps);
  return graph.dropout("embed.dropout", x, hiddenDropout);
}

Value Bert::buildAttention(GraphBuilder &graph, const std::string &prefix, Value x) const {
  Value q = graph.linear("attn.q", x, prefix + "attention.self.query");
  Value k = graph.linear("attn.k", x, prefix + "attention.self.key");
  Value v = graph.linear("attn.v", x, prefix + "attention.self.value");
  Value y = graph.attention.attend(q, k, v,
                                   {.heads = heads,
                                    .kvHeads = heads,
                                    .headSize = width / heads,
                                    .dropout = attentionDropout,
                                    .bidirectional = true});
  y = graph.linear("attn.proj", y, prefix + "attention.output.dense");
  y = graph.dropout("attn.dropout", y, hiddenDropout);
  y = graph.add("attn.residual", x, y);
  return graph.layerNorm("attn.norm", y, prefix + "attention.output.LayerNorm", eps);
}

Value Bert::buildMlp(GraphBuilder &graph, const std::string &prefix, Value x) const {
  Value y = graph.linear("mlp.up", x, prefix + "intermediate.dense");
  y = graph.linear("mlp.down", graph.gelu("mlp.act", y, exactGelu), prefix + "output.dense");
  y = graph.dropout("mlp.dropout", y, hiddenDropout);
  y = graph.add("mlp.residual", x, y);
  return graph.layerNorm("mlp.norm", y, prefix + "output.LayerNorm", eps);
}

Value Bert::buildLogits(GraphBuilder &graph, Value ids) const {
  Value x = buildEmbedding(graph, ids);
  for (int64_t layer = 0; layer < facts.layers; ++layer) {
    GraphBuilder::BlockScope scope(graph, layer);
    x = buildAttention(graph, blockPrefix(layer), x);
    x = buildMlp(graph, blockPrefix(layer), x);
  }
  x = graph.linear("head", x, "cls.predictions.transform.dense");
  x = graph.gelu("head.act", x, exactGelu);
  x = graph.layerNorm("norm", x, "cls.predictions.transform.LayerNorm", eps);
  return graph.linearBy("logits", x, "bert.embeddings.word_embeddings.weight",
                        "cls.predictions.bias");
}

std::unique_ptr<Model> llmmem::importer::readBert(ConfigReader &config,
                                                  const ImportOptions &options) {
  return std::make_unique<Bert>(config, options);
}
