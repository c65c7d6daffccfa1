//===- ConfigKeys.cpp - What becomes of keys that no family reads ----------===//

#include "ConfigKeys.h"
#include "llvm/ADT/STLExtras.h"

using namespace llmmem::importer;
using llvm::StringRef;
namespace json = llvm::json;

//===----------------------------------------------------------------------===//
// Keys that mean nothing for the graph
//===----------------------------------------------------------------------===//

/// Holds the keys of a tokenizer, of generation, of initial values, and of how a library runs a
/// model. A key that ends in one of `kMeaninglessEnds` is of this kind, too.
static constexpr StringRef kMeaningless[] = {"_attn_implementation",
                                             "_attn_implementation_autoset",
                                             "_commit_hash",
                                             "_name_or_path",
                                             "architectures",
                                             "auto_map",
                                             "aux_loss_alpha",
                                             "bad_words_ids",
                                             "bos_id",
                                             "cache_implementation",
                                             "chunk_size_feed_forward",
                                             "cross_attention_hidden_size",
                                             "diversity_penalty",
                                             "do_sample",
                                             "dtype",
                                             "early_stopping",
                                             "embd_initializer_range",
                                             "encoder_no_repeat_ngram_size",
                                             "eos_id",
                                             "encoder_stride",
                                             "ep_size",
                                             "experts_implementation",
                                             "exponential_decay_length_penalty",
                                             "finetuning_task",
                                             "forced_bos_token_id",
                                             "forced_eos_token_id",
                                             "freq_allocation",
                                             "gradient_checkpointing",
                                             "id2label",
                                             "ignore_index",
                                             "init_device",
                                             "init_method",
                                             "initializer_factor",
                                             "initializer_range",
                                             "initializer_cutoff_factor",
                                             "is_llama_config",
                                             "label2id",
                                             "language",
                                             "length_penalty",
                                             "max_length",
                                             "min_length",
                                             "model_type",
                                             "name_or_path",
                                             "no_repeat_ngram_size",
                                             "num_beam_groups",
                                             "n_ctx",
                                             "num_beams",
                                             "num_labels",
                                             "num_logits_to_keep",
                                             "num_return_sequences",
                                             "output_attentions",
                                             "output_hidden_states",
                                             "output_past",
                                             "output_scores",
                                             "prefix",
                                             "pretraining_tp",
                                             "problem_type",
                                             "remove_invalid_values",
                                             "repetition_penalty",
                                             "resid_mid_pdrop",
                                             "return_dict",
                                             "return_dict_in_generate",
                                             "seq_aux",
                                             "sep_token_id",
                                             "suppress_tokens",
                                             "begin_suppress_tokens",
                                             "summary_activation",
                                             "summary_first_dropout",
                                             "summary_proj_to_labels",
                                             "summary_type",
                                             "summary_use_proj",
                                             "task_specific_params",
                                             "temperature",
                                             "tf_legacy_loss",
                                             "tokenizer_class",
                                             "top_k",
                                             "top_p",
                                             "torch_dtype",
                                             "torchscript",
                                             "transformers.js_config",
                                             "transformers_version",
                                             "typical_p",
                                             "unsloth_fixed",
                                             "unsloth_version",
                                             "use_bfloat16",
                                             "use_cache",
                                             "use_mamba_kernels",
                                             "classifier_dropout",
                                             "mrope_interleaved",
                                             "mrope_section",
                                             "reorder_and_upcast_attn"};
static constexpr StringRef kMeaninglessEnds[] = {"_token_id", "_token_ids", "_token_index"};

static bool isMeaningless(StringRef key) {
  return llvm::is_contained(kMeaningless, key) ||
         llvm::any_of(kMeaninglessEnds, [&](StringRef end) { return key.ends_with(end); });
}

//===----------------------------------------------------------------------===//
// Keys that change the model
//===----------------------------------------------------------------------===//

namespace {
/// Says what a key asks for. A value that asks for nothing is false, 0, null, an empty text or
/// list, or `neutral`.
struct Meaning {
  StringRef key;
  StringRef idea;
  double neutral = 0;
  StringRef flag = ""; ///< Where the object has this key and it is false, the key means nothing.
};
} // namespace

/// Many families share these keys; whichever reads one of them is not asked here.
static constexpr Meaning kMeanings[] = {
    // Attention.
    {"use_qk_norm", "norms of queries and keys"},
    {"qk_layernorm", "norms of queries and keys"},
    {"attention_bias", "biases of attention's projections"},
    {"qkv_bias", "biases of attention's projections"},
    {"attention_out_bias", "a bias of attention's last projection"},
    {"attention_multiplier", "a factor of its own for attention's scores"},
    {"query_pre_attn_scalar", "a factor of its own for attention's scores"},
    {"attention_value_scale", "a factor of attention's values", 1},
    {"attn_logit_softcapping", "capped scores of attention"},
    {"attn_output_gate", "a gate after attention"},
    {"attention_output_gate", "a gate after attention"},
    {"attn_temperature_tuning", "a temperature of attention that grows with the position"},
    {"attention_chunk_size", "attention within chunks of the sequence"},
    {"attention_sink_size", "tokens that all later ones attend to"},
    {"add_swa_attention_sink_bias", "sinks in attention"},
    {"add_full_attention_sink_bias", "sinks in attention"},
    {"attention_k_eq_v", "keys that are values, too"},
    {"clip_qkv", "queries, keys and values within bounds"},
    {"global_head_dim", "heads of two sizes"},
    {"swa_head_dim", "heads of their own in layers with a window"},
    {"num_global_key_value_heads", "layers with different numbers of key/value heads"},
    {"swa_num_key_value_heads", "layers with different numbers of key/value heads"},
    {"num_kv_shared_layers", "layers that share the keys and values of another one"},
    {"cla_share_factor", "layers that share the keys and values of another one", 1},
    {"use_cla", "layers that share the keys and values of another one"},
    {"kv_lora_rank", "latent attention"},
    {"q_lora_rank", "latent attention"},
    {"index_topk", "sparse attention, whose indexer chooses the keys"},
    {"sparse_attention_config", "sparse attention, which chooses blocks of keys"},
    {"sliding_window", "a window of attention", 0, "use_sliding_window"},
    {"use_sliding_window", "a window of attention"},
    {"sliding_window_pattern", "a window of attention in some layers", 0, "use_sliding_window"},
    {"layer_types", "layers of several kinds"},
    {"use_bidirectional_attention", "attention in both directions"},
    {"add_cross_attention", "attention to a second sequence"},
    {"is_encoder_decoder", "an encoder and a decoder"},
    {"tie_encoder_decoder", "an encoder and a decoder that share their weights"},
    {"pruned_heads", "layers with different numbers of heads"},
    // Positions.
    {"no_rope_layers", "layers without positions"},
    {"no_rope_layer_interval", "layers without positions"},
    {"rope_interleaved", "rotary positions of neighbouring elements"},
    {"rotary_dim", "rotary positions on a part of each head"},
    {"partial_rotary_factor", "rotary positions on a part of each head", 1},
    {"rotary_pct", "rotary positions on a part of each head", 1},
    {"rope_local_base_freq", "rotary positions of their own in layers with a window"},
    {"alibi", "biases of attention by distance"},
    {"use_alibi", "biases of attention by distance"},
    // Mixtures.
    {"num_local_experts", "a mixture of experts", 1},
    {"num_experts", "a mixture of experts", 1},
    {"n_routed_experts", "a mixture of experts", 1},
    {"moe_num_experts", "a mixture of experts", 1},
    {"enable_moe_block", "a mixture of experts"},
    {"n_shared_experts", "experts that every token goes through"},
    {"num_shared_experts", "experts that every token goes through"},
    {"shared_intermediate_size", "experts that every token goes through"},
    {"shared_expert_intermediate_size", "experts that every token goes through"},
    {"moe_latent_size", "experts on a narrower row"},
    {"use_routing_bias", "a bias by which experts are chosen"},
    {"use_moe_router_bias", "a bias by which experts are chosen"},
    {"routed_scaling_factor", "a factor of the weights of experts", 1},
    {"moe_router_scaling_factor", "a factor of the weights of experts", 1},
    {"swiglu_limit", "bounds of the gate of the MLP"},
    {"swiglu_limits", "bounds of the gate of the MLP"},
    // Factors, norms and biases.
    {"embedding_multiplier", "a factor of the embedding", 1},
    {"scale_emb", "a factor of the embedding", 1},
    {"residual_multiplier", "a factor of what each branch adds to the residual", 1},
    {"scale_depth", "a factor of what each branch adds to the residual"},
    {"logits_scaling", "a factor of the logits", 1},
    {"logit_scale", "a factor of the logits", 1},
    {"dim_model_base", "a factor of the logits"},
    {"lm_head_multiplier", "a factor of the logits", 1},
    {"final_logit_softcapping", "capped logits"},
    {"use_gemma_norm", "weights of norms from 1"},
    {"apply_residual_connection_post_layernorm", "residuals taken after the norm"},
    {"use_parallel_residual", "attention parallel to the MLP"},
    {"parallel_attn", "attention parallel to the MLP"},
    {"hc_mult", "several residual streams (hyper-connections)", 1},
    {"altup_num_inputs", "several residual streams (AltUp)", 1},
    {"attn_res_block_size", "attention over the residuals of earlier layers"},
    {"laurel_rank", "low-rank branches next to the layers"},
    {"hidden_size_per_layer_input", "embeddings of each layer"},
    {"mlp_bias", "biases of the MLP"},
    {"use_bias", "biases of projections"},
    {"lm_head_bias", "a bias of the head"},
    {"block_configs", "layers of different sizes"},
    {"num_hash_layers", "experts chosen by a hash of the token"},
    // Layers with a state.
    {"hybrid_override_pattern", "layers with a state (Mamba-2)"},
    {"layers_block_type", "layers with a state (Mamba)"},
    {"attn_layer_period", "layers with a state (Mamba)"},
    {"mamba_d_state", "layers with a state (Mamba)"},
    {"ssm_state_size", "layers with a state (Mamba)"},
    {"full_attention_interval", "layers of linear attention (gated DeltaNet)"},
    {"linear_num_value_heads", "layers of linear attention (gated DeltaNet)"},
    {"linear_attn_config", "layers of linear attention"},
    {"conv_L_cache", "layers of short convolutions"},
    // Dropouts that the family does not have.
    {"embd_pdrop", "a dropout after the embedding"},
    {"resid_pdrop", "dropouts before the residuals"},
    {"residual_dropout", "dropouts before the residuals"},
    {"hidden_dropout", "dropouts before the residuals"},
};

/// A list asks for nothing where none of its elements does: layers of full attention, or with
/// positions in all of them.
static bool asksForNothing(const Meaning &meaning, const json::Value &value) {
  if (const json::Array *list = value.getAsArray())
    return llvm::all_of(*list, [&](const json::Value &element) {
      if (meaning.key == "no_rope_layers") // A 1 says that the layer has positions.
        return element == json::Value(1);
      return element.getAsString() == StringRef("full_attention") ||
             asksForNothing(meaning, element);
    });
  if (std::optional<bool> flag = value.getAsBoolean())
    return !*flag;
  if (std::optional<double> number = value.getAsNumber())
    return *number == 0 || *number == meaning.neutral;
  if (std::optional<StringRef> text = value.getAsString())
    return text->empty();
  const json::Object *object = value.getAsObject();
  return !object || object->empty();
}

/// Says whether another key of the object switches this one off.
static bool isSwitchedOff(const Meaning &meaning, const json::Object &object) {
  return !meaning.flag.empty() && object.getBoolean(meaning.flag) == false;
}

static const Meaning *findMeaning(const UnusedKey &unused) {
  const Meaning *meaning =
      llvm::find_if(kMeanings, [&](const Meaning &known) { return known.key == unused.key; });
  return meaning == std::end(kMeanings) ? nullptr : meaning;
}

//===----------------------------------------------------------------------===//
// Names that resemble others
//===----------------------------------------------------------------------===//

/// Names of up to five letters are all near each other.
static bool resemble(StringRef a, StringRef b, unsigned most) {
  return std::min(a.size(), b.size()) > 5 && a.edit_distance(b, true, most) <= most;
}

std::vector<StringRef> llmmem::importer::nearestNames(StringRef name,
                                                      llvm::ArrayRef<StringRef> names) {
  if (name.empty())
    return {};
  constexpr size_t kMost = 3;
  std::vector<std::pair<unsigned, StringRef>> found;
  const unsigned most = std::max<unsigned>(1, static_cast<unsigned>(name.size()) / 3);
  for (StringRef other : names)
    if (unsigned distance = name.edit_distance(other, true, most);
        distance <= most || other.starts_with(name) || name.starts_with(other))
      found.push_back({distance, other});
  llvm::stable_sort(found, llvm::less_first());
  found.resize(std::min(found.size(), kMost));
  auto nearest = llvm::make_second_range(found);
  return {nearest.begin(), nearest.end()};
}

std::vector<std::string> llmmem::importer::judgeUnusedKeys(ConfigReader &config, StringRef family) {
  constexpr unsigned kMostWrongLetters = 2;
  std::vector<std::string> unknown;
  for (const UnusedKey &unused : config.unusedKeys()) {
    if (isMeaningless(unused.key))
      continue;
    if (const Meaning *meaning = findMeaning(unused)) {
      if (!asksForNothing(*meaning, *unused.value) && !isSwitchedOff(*meaning, *unused.object))
        config.fail("key '" + unused.name + "' is " + shortText(*unused.value) +
                    ", which asks for " + meaning->idea + "; this is not supported for '" + family +
                    "'");
      continue;
    }
    const auto meant = llvm::find_if(*unused.missing, [&](StringRef missing) {
      return resemble(unused.key, missing, kMostWrongLetters);
    });
    if (meant != unused.missing->end())
      config.fail("unknown key '" + unused.name + "'; '" + *meant +
                  "' is meant, or the key must go: it changes nothing");
    unknown.push_back(unused.name);
  }
  return unknown;
}
