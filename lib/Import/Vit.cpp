//===- Vit.cpp - ViT that sorts images into classes (Dosovitskiy et al. 2020) ===//

#include "llmmem/Import/GraphBuilder.h"
#include "llmmem/Import/Model.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::importer;

namespace {

/// An image is the rows of its patches after that of a class token. This token attends to all of
/// them, and the classifier reads it.
class Vit final : public Model {
public:
  Vit(ConfigReader &config, const ImportOptions &options);
  std::vector<Parameter> parameters() const override;
  Value buildLogits(GraphBuilder &graph, Value pixels) const override;

private:
  void readImage(ConfigReader &config);
  void readClasses(ConfigReader &config);
  Value buildEmbedding(GraphBuilder &graph, Value pixels) const;
  Value buildAttention(GraphBuilder &graph, const std::string &prefix, Value x) const;
  Value buildMlp(GraphBuilder &graph, const std::string &prefix, Value x) const;
  void addBlock(std::vector<Parameter> &list, const std::string &prefix) const;

  int64_t width, heads, inner, patch, patches, classes;
  double eps, hiddenDropout, attentionDropout;
  bool exactGelu, qkvBias;
};

} // namespace

static constexpr StringLiteral kEmbeddings = "vit.embeddings.";

static std::string blockPrefix(int64_t layer) {
  return "vit.encoder.layer." + std::to_string(layer) + ".";
}

//===----------------------------------------------------------------------===//
// Config
//===----------------------------------------------------------------------===//

/// Where a side of the image is no whole number of patches, the public library's convolution drops
/// the rest. The importer refuses it.
void Vit::readImage(ConfigReader &config) {
  int64_t size = config.optionalPositive("image_size").value_or(224);
  patch = config.optionalPositive("patch_size").value_or(16);
  int64_t channels = config.optionalPositive("num_channels").value_or(3);
  if (size % patch != 0)
    config.fail("key " + config.quoted("patch_size") + " is " + Twine(patch) +
                ", which does not divide 'image_size', " + Twine(size));
  facts.image = ImageShape{channels, size, size};
  int64_t side = std::max<int64_t>(size / patch, 1);
  patches = llvm::checkedMul(side, side).value_or(1);
}

/// The public library counts the names of classes, where there are any.
void Vit::readClasses(ConfigReader &config) {
  constexpr int64_t kPublicDefault = 2;
  const llvm::json::Object *names = config.optionalObject("id2label");
  std::optional<int64_t> given = config.optionalPositive("num_labels");
  auto named = names ? std::optional<int64_t>(names->size()) : std::nullopt;
  if (given && named && *given != *named)
    config.fail("key " + config.quoted("num_labels") + " is " + Twine(*given) +
                ", but 'id2label' names " + Twine(*named));
  classes = given.value_or(named.value_or(kPublicDefault));
  if (classes < 2)
    config.fail("the config has " + Twine(classes) +
                " labels, expected 2 or more: with fewer the public library fits numbers, which is "
                "not supported");
  config.onlyText("problem_type", "single_label_classification");
}

Vit::Vit(ConfigReader &config, const ImportOptions &options) {
  width = config.positive("hidden_size");
  heads = config.positive("num_attention_heads");
  inner = config.positive("intermediate_size");
  eps = config.positiveRealOr("layer_norm_eps", 1e-12);
  std::string activation =
      config.choice("hidden_act", {"gelu", "gelu_new", "gelu_pytorch_tanh", "gelu_fast"});
  exactGelu = activation == "gelu";
  qkvBias = config.flagOr("qkv_bias", true);
  hiddenDropout = readDropout(config, options, "hidden_dropout_prob", 0.0);
  attentionDropout = readDropout(config, options, "attention_probs_dropout_prob", 0.0);
  readImage(config);
  readClasses(config);

  facts.layers = config.positive("num_hidden_layers");
  facts.maxSeqKey = "image_size";
  facts.maxSeq = patches + 1;
  facts.dropsOut = hiddenDropout > 0 || attentionDropout > 0;
  facts.whyNoCaches = "an image has no tokens that come one after another";
  if (width % heads != 0)
    config.fail("key " + config.quoted("num_attention_heads") + " is " + Twine(heads) +
                ", which does not divide 'hidden_size', " + Twine(width));
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

void Vit::addBlock(std::vector<Parameter> &list, const std::string &prefix) const {
  for (const char *module : {"query", "key", "value"})
    addProjection(list, prefix + "attention.attention." + module, width, width, qkvBias);
  addProjection(list, prefix + "attention.output.dense", width, width);
  addProjection(list, prefix + "intermediate.dense", inner, width);
  addProjection(list, prefix + "output.dense", width, inner);
  addLayerNorm(list, prefix + "layernorm_before", width);
  addLayerNorm(list, prefix + "layernorm_after", width);
}

std::vector<Parameter> Vit::parameters() const {
  std::string prefix = kEmbeddings.str(), module = prefix + "patch_embeddings.projection";
  std::vector<Parameter> list;
  list.push_back({prefix + "cls_token", {1, 1, width}});
  list.push_back({prefix + "position_embeddings", {1, patches + 1, width}});
  list.back().lookup = Lookup::Position;
  list.push_back({module + ".weight", {width, facts.image->channels, patch, patch}});
  list.push_back({module + ".bias", {width}});
  for (int64_t layer = 0; layer < facts.layers; ++layer)
    addBlock(list, blockPrefix(layer));
  addLayerNorm(list, "vit.layernorm", width);
  addProjection(list, "classifier", classes, width);
  return list;
}

//===----------------------------------------------------------------------===//
// Graph
//===----------------------------------------------------------------------===//

/// The class token is added where its row's position is added, so each image needs no copy of it.
Value Vit::buildEmbedding(GraphBuilder &graph, Value pixels) const {
  std::string prefix = kEmbeddings.str(), module = prefix + "patch_embeddings.projection";
  graph.viewAsMatrix(module + ".weight");
  Value x = graph.patches("embed.patches", pixels, patch);
  x = graph.linear("embed", x, module);
  x = graph.padRows("embed.rows", x, /*before=*/1, /*after=*/0);
  Value token = graph.padRows("embed.token", graph.parameter(prefix + "cls_token"), 0, patches);
  Value table = graph.add("embed.table", graph.parameter(prefix + "position_embeddings"), token);
  return graph.dropout("embed.dropout", graph.addTable("embed.positions", x, table), hiddenDropout);
}

Value Vit::buildAttention(GraphBuilder &graph, const std::string &prefix, Value x) const {
  Value y = graph.layerNorm("attn.norm", x, prefix + "layernorm_before", eps);
  Value q = graph.linear("attn.q", y, prefix + "attention.attention.query");
  Value k = graph.linear("attn.k", y, prefix + "attention.attention.key");
  Value v = graph.linear("attn.v", y, prefix + "attention.attention.value");
  y = graph.attention.attend(q, k, v,
                             {.heads = heads,
                              .kvHeads = heads,
                              .headSize = width / heads,
                              .dropout = attentionDropout,
                              .bidirectional = true});
  y = graph.linear("attn.proj", y, prefix + "attention.output.dense");
  return graph.add("attn.residual", x, graph.dropout("attn.dropout", y, hiddenDropout));
}

Value Vit::buildMlp(GraphBuilder &graph, const std::string &prefix, Value x) const {
  Value y = graph.layerNorm("mlp.norm", x, prefix + "layernorm_after", eps);
  y = graph.linear("mlp.up", y, prefix + "intermediate.dense");
  y = graph.linear("mlp.down", graph.gelu("mlp.act", y, exactGelu), prefix + "output.dense");
  return graph.add("mlp.residual", x, graph.dropout("mlp.dropout", y, hiddenDropout));
}

/// The last norm reads the class token alone, because nothing reads its other rows.
Value Vit::buildLogits(GraphBuilder &graph, Value pixels) const {
  Value x = buildEmbedding(graph, pixels);
  for (int64_t layer = 0; layer < facts.layers; ++layer) {
    GraphBuilder::BlockScope scope(graph, layer);
    x = buildAttention(graph, blockPrefix(layer), x);
    x = buildMlp(graph, blockPrefix(layer), x);
  }
  x = graph.layerNorm("norm", graph.firstRow("class", x), "vit.layernorm", eps);
  return graph.linear("logits", x, "classifier");
}

std::unique_ptr<Model> llmmem::importer::readVit(ConfigReader &config,
                                                 const ImportOptions &options) {
  return std::make_unique<Vit>(config, options);
}
