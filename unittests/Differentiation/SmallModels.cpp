//===- SmallModels.cpp - Models of each family, as small as they can be ----===//

#include "SmallModels.h"
#include "ExecutionContext.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::test;

static std::string configOf(const std::string &family) {
  if (family == "gpt2-wide")
    return R"({"model_type": "gpt2", "activation_function": "gelu_new", "attn_pdrop": 0.0, "embd_pdrop": 0.0,
      "resid_pdrop": 0.0, "layer_norm_epsilon": 1e-2, "n_embd": 16, "n_head": 4, "n_inner": 24, "n_layer": 2,
      "n_positions": 6, "torch_dtype": "float32", "vocab_size": 11})";
  if (family == "llama-wide")
    return R"({"hidden_act": "silu", "hidden_size": 16, "intermediate_size": 24,
      "max_position_embeddings": 6, "num_attention_heads": 8, "num_hidden_layers": 2, "num_key_value_heads": 4,
      "rms_norm_eps": 1e-2, "rope_theta": 100.0, "torch_dtype": "float32", "vocab_size": 11, "attention_dropout": 0.0,
      "model_type": "llama", "attention_bias": true, "mlp_bias": true, "rope_scaling": null, "tie_word_embeddings": false})";
  if (family == "mixtral-wide")
    return R"({"hidden_act": "silu", "hidden_size": 16, "intermediate_size": 24, "model_type": "mixtral",
      "max_position_embeddings": 6, "num_attention_heads": 4, "num_hidden_layers": 2, "num_key_value_heads": 2,
      "rms_norm_eps": 1e-2, "rope_theta": 100.0, "torch_dtype": "float32", "vocab_size": 11, "attention_dropout": 0.0,
      "num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": null, "output_router_logits": true,
      "router_aux_loss_coef": 0.1, "tie_word_embeddings": false})";
  if (family == "mistral-wide")
    return R"({"hidden_act": "silu", "hidden_size": 16, "intermediate_size": 24,
      "max_position_embeddings": 8, "num_attention_heads": 8, "num_hidden_layers": 2, "num_key_value_heads": 4,
      "rms_norm_eps": 1e-2, "rope_theta": 100.0, "torch_dtype": "float32", "vocab_size": 11, "attention_dropout": 0.0,
      "model_type": "mistral", "sliding_window": 3, "tie_word_embeddings": false})";
  if (family == "gpt2")
    return R"({"model_type": "gpt2", "activation_function": "gelu_new", "attn_pdrop": 0.0, "embd_pdrop": 0.0,
      "resid_pdrop": 0.0, "layer_norm_epsilon": 1e-2, "n_embd": 8, "n_head": 2, "n_inner": 12, "n_layer": 2,
      "n_positions": 6, "torch_dtype": "float32", "vocab_size": 11})";
  std::string common = R"("hidden_act": "silu", "hidden_size": 8, "intermediate_size": 12,
      "max_position_embeddings": 6, "num_attention_heads": 2, "num_hidden_layers": 2, "num_key_value_heads": 1,
      "rms_norm_eps": 1e-2, "rope_theta": 100.0, "torch_dtype": "float32", "vocab_size": 11, "attention_dropout": 0.0, )";
  if (family == "llama")
    return "{" + common +
           R"("model_type": "llama", "attention_bias": false, "mlp_bias": false, "rope_scaling": null,
      "tie_word_embeddings": false})";
  if (family == "mixtral")
    return "{" + common +
           R"("model_type": "mixtral", "num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": null,
      "output_router_logits": true, "router_aux_loss_coef": 0.1, "tie_word_embeddings": false})";
  if (family == "qwen3-moe")
    return "{" + common +
           R"("model_type": "qwen3_moe", "num_experts": 4, "num_experts_per_tok": 2, "head_dim": 4, "moe_intermediate_size": 6,
      "norm_topk_prob": true, "attention_bias": false, "use_sliding_window": false, "tie_word_embeddings": false})";
  if (family == "deepseek")
    return R"({"model_type": "deepseek_v2", "hidden_act": "silu", "hidden_size": 8, "intermediate_size": 12,
      "max_position_embeddings": 6, "num_attention_heads": 2, "num_hidden_layers": 2, "num_key_value_heads": 2,
      "rms_norm_eps": 1e-2, "rope_theta": 100.0, "torch_dtype": "float32", "vocab_size": 11, "tie_word_embeddings": false,
      "q_lora_rank": null, "kv_lora_rank": 4, "qk_nope_head_dim": 4, "qk_rope_head_dim": 2, "v_head_dim": 4,
      "n_routed_experts": 4, "num_experts_per_tok": 2, "topk_method": "greedy", "n_group": 1, "topk_group": 1,
      "moe_intermediate_size": 6, "n_shared_experts": 1, "first_k_dense_replace": 1, "routed_scaling_factor": 1.0,
      "norm_topk_prob": false, "rope_scaling": null})";
  if (family == "mistral")
    return "{" + common +
           R"("model_type": "mistral", "sliding_window": 3, "tie_word_embeddings": false})";
  return "{" + common +
         R"("model_type": "qwen2", "use_sliding_window": false, "tie_word_embeddings": true})";
}

OwningOpRef<ModuleOp> test::importSmallModel(const std::string &family,
                                             const importer::ImportOptions &options) {
  llvm::Expected<std::unique_ptr<importer::Model>> model =
      importer::readModel(configOf(family), family + ".json", options);
  if (!model) {
    ADD_FAILURE() << llvm::toString(model.takeError());
    return nullptr;
  }
  llvm::Expected<OwningOpRef<ModuleOp>> module =
      importer::buildModule(executionContext(), **model, options);
  if (!module) {
    ADD_FAILURE() << llvm::toString(module.takeError());
    return nullptr;
  }
  return std::move(*module);
}

static Numbers numbersFor(const StepArgument &info, unsigned number, double learningRate) {
  int64_t count = info.type.getNumElements();
  Numbers numbers = someNumbers(count, number);
  if (info.name == "learning_rate")
    return {learningRate};
  if (info.name == "step")
    return {1};
  if (info.role == llm::Role::Seed)
    return {17, 4};
  if (info.role == llm::Role::OptimizerState)
    return Numbers(count, 0.0);
  if (info.role == llm::Role::Input)
    for (int64_t i = 0; i < count; ++i)
      numbers[i] =
          info.name == "targets" && i % 5 == 4 ? -100 : (3 * i + 1 + count % 7) * (i + 2) % 11;
  bool scales = info.role == llm::Role::Param && info.type.getRank() == 1 &&
                StringRef(info.name).ends_with(".weight");
  if (info.role == llm::Role::Param)
    for (double &x : numbers)
      x = x / 2 + (scales ? 1.0 : 0.0);
  return numbers;
}

std::vector<Numbers> test::argumentsOf(const Program &step, double learningRate) {
  std::vector<Numbers> arguments;
  for (auto [number, info] : llvm::enumerate(step.step().arguments()))
    arguments.push_back(numbersFor(info, number, learningRate));
  // A master copy starts as its parameter.
  for (auto [number, info] : llvm::enumerate(step.step().arguments()))
    if (StringRef name = info.name; name.consume_back(".master"))
      arguments[number] = arguments[step.argument(name)];
  return arguments;
}
