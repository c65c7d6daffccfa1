#!/usr/bin/env python3
"""Writes what transformers computes of a tiny model of each family, in float64.

  golden-families.py [NAME...]     writes test/EndToEnd/Inputs/families/NAME.*, by default of all
  golden-families.py --condition [NAME...]  prints by how much the losses change in float64 with parameters that differ by 1e-7
  golden-families.py --count       prints the number of parameters of each model in examples/configs

NAME.config.json is a config with published keys. NAME.safetensors holds `input_ids` (with `labels`, where tokens are predicted in
their own places; of images, `pixels` and `labels`), initial parameters (`param.`, f32; among
them the biases that experts are chosen by, which have no gradient), the losses before each of three AdamW steps, and the gradients of the first step (`grad.`), in float64. Conventions are
those of AdamW of PyTorch: lr 1e-3, betas 0.9 and 0.999, eps 1e-8, decay 0.1 on matrices alone; targets are the ids
shifted by one in each row. Where a config asks for the routers' logits, the loss has their auxiliary one. The model is transformers' own code, all of it in float64: where it asks for float32
(norms, rotary angles, softmax), that name means float64 here.
"""
import json
import math
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = os.path.join(ROOT, "test", "EndToEnd", "Inputs", "families")
BATCH, SEQ, STEPS = 2, 16, 3

COMMON = {"vocab_size": 61, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
          "max_position_embeddings": 32, "torch_dtype": "float32"}
GATED = {**COMMON, "intermediate_size": 20, "num_key_value_heads": 1, "hidden_act": "silu", "rms_norm_eps": 1e-5,
         "tie_word_embeddings": False}
LLAMA = {**GATED, "model_type": "llama", "rope_theta": 100.0}
LAYERED = {**COMMON, "intermediate_size": 20, "layer_norm_eps": 1e-5, "tie_word_embeddings": False}
GEMMA = {**COMMON, "intermediate_size": 20, "num_key_value_heads": 1, "head_dim": 8, "rms_norm_eps": 1e-6,
         "tie_word_embeddings": True, "rope_theta": 100.0}
FALCON = {**COMMON, "model_type": "falcon", "layer_norm_epsilon": 1e-5, "bias": False, "alibi": False,
          "ffn_hidden_size": 20}
CONFIGS = {
    "llama-linear": {**LLAMA, "rope_scaling": {"type": "linear", "factor": 2.5}},
    "llama-dynamic": {**LLAMA, "max_position_embeddings": 8, "rope_scaling": {"type": "dynamic", "factor": 4.0}},
    "llama-yarn": {**LLAMA, "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "beta_fast": 4.0, "beta_slow": 0.5,
                                             "original_max_position_embeddings": 8}},
    "llama-llama3": {**LLAMA, "rope_parameters": {
        "rope_type": "llama3", "rope_theta": 100.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 32}},
    "qwen2-layers": {**GATED, "model_type": "qwen2", "rope_theta": 100.0, "use_sliding_window": True,
                     "sliding_window": 4, "max_window_layers": 2,
                     "layer_types": ["sliding_attention", "full_attention"]},
    "qwen3": {**GATED, "model_type": "qwen3", "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 4,
              "rope_theta": 100.0, "attention_bias": False, "use_sliding_window": False},
    "phi3": {**GATED, "model_type": "phi3", "rope_theta": 100.0, "sliding_window": 6, "pad_token_id": 0,
             "original_max_position_embeddings": 8,
             "rope_scaling": {"type": "longrope", "short_factor": [1.0, 1.1, 1.2, 1.3],
                              "long_factor": [1.0, 1.5, 2.5, 4.0]}},
    "olmo2": {**GATED, "model_type": "olmo2", "rope_theta": 100.0, "attention_bias": False},
    "stablelm": {**LAYERED, "model_type": "stablelm", "num_key_value_heads": 1, "hidden_act": "silu",
                 "rope_theta": 100.0, "partial_rotary_factor": 0.5, "use_qkv_bias": True},
    "stablelm-parallel": {**LAYERED, "model_type": "stablelm", "num_key_value_heads": 1, "hidden_act": "silu",
                          "rope_theta": 100.0, "partial_rotary_factor": 0.25, "use_parallel_residual": True},
    "gpt_neox": {**LAYERED, "model_type": "gpt_neox", "hidden_act": "gelu", "rotary_pct": 0.5,
                 "rotary_emb_base": 100.0, "use_parallel_residual": True},
    "phi": {**LAYERED, "model_type": "phi", "hidden_act": "gelu_new", "rope_theta": 100.0,
            "partial_rotary_factor": 0.5},
    "falcon-7b": {**FALCON, "multi_query": True, "parallel_attn": True, "new_decoder_architecture": False,
                  "rope_theta": 100.0},
    "falcon-40b": {**FALCON, "num_attention_heads": 4, "num_kv_heads": 2, "new_decoder_architecture": True,
                   "rope_theta": 100.0},
    "gemma": {**GEMMA, "model_type": "gemma", "hidden_act": "gelu"},
    "gemma2": {**GEMMA, "model_type": "gemma2", "hidden_activation": "gelu_pytorch_tanh", "sliding_window": 4,
               "query_pre_attn_scalar": 6, "attn_logit_softcapping": 1.5, "final_logit_softcapping": 2.0},
    "gemma3": {**GEMMA, "model_type": "gemma3_text", "hidden_activation": "gelu_pytorch_tanh", "sliding_window": 4,
               "sliding_window_pattern": 2, "query_pre_attn_scalar": 6, "rope_theta": 1000.0,
               "rope_local_base_freq": 100.0, "rope_scaling": {"rope_type": "linear", "factor": 8.0}},
}
EXPERTS = {**GATED, "rope_theta": 100.0, "num_experts_per_tok": 2}
CONFIGS |= {
    "mixtral": {**EXPERTS, "model_type": "mixtral", "num_local_experts": 4, "sliding_window": None,
                "output_router_logits": True, "router_aux_loss_coef": 0.25},
    "qwen2_moe": {**EXPERTS, "model_type": "qwen2_moe", "num_experts": 5, "num_experts_per_tok": 3,
                  "moe_intermediate_size": 12, "shared_expert_intermediate_size": 10, "norm_topk_prob": False,
                  "mlp_only_layers": [0], "decoder_sparse_step": 1, "use_sliding_window": False},
    "qwen3_moe": {**EXPERTS, "model_type": "qwen3_moe", "num_experts": 4, "head_dim": 8, "moe_intermediate_size": 12,
                  "norm_topk_prob": True, "attention_bias": False, "use_sliding_window": False},
    "deepseek_v2": {**EXPERTS, "model_type": "deepseek_v2", "num_key_value_heads": 2, "q_lora_rank": 12, "kv_lora_rank": 8,
                    "qk_nope_head_dim": 6, "qk_rope_head_dim": 4, "v_head_dim": 5, "n_routed_experts": 6,
                    "topk_method": "group_limited_greedy", "n_group": 3, "topk_group": 2, "moe_intermediate_size": 12,
                    "n_shared_experts": 2, "first_k_dense_replace": 1, "routed_scaling_factor": 1.5,
                    "norm_topk_prob": False,
                    "rope_scaling": {"type": "yarn", "factor": 4.0, "beta_fast": 4.0, "beta_slow": 0.5, "mscale": 0.7,
                                     "mscale_all_dim": 0.9, "original_max_position_embeddings": 8}},
    "deepseek_v2-lite": {**EXPERTS, "model_type": "deepseek_v2", "num_key_value_heads": 2, "q_lora_rank": None,
                         "kv_lora_rank": 8, "qk_nope_head_dim": 4, "qk_rope_head_dim": 4, "v_head_dim": 8,
                         "n_routed_experts": 4, "topk_method": "greedy", "moe_intermediate_size": 12,
                         "n_shared_experts": 1, "first_k_dense_replace": 0, "norm_topk_prob": False},
    "deepseek_v3": {**EXPERTS, "model_type": "deepseek_v3", "num_key_value_heads": 2, "q_lora_rank": 12, "kv_lora_rank": 8,
                    "qk_nope_head_dim": 6, "qk_rope_head_dim": 4, "v_head_dim": 5, "n_routed_experts": 9,
                    "num_experts_per_tok": 3, "scoring_func": "sigmoid", "topk_method": "noaux_tc", "n_group": 3,
                    "topk_group": 2, "moe_intermediate_size": 10, "n_shared_experts": 1, "first_k_dense_replace": 1,
                    "routed_scaling_factor": 2.5, "norm_topk_prob": True, "num_nextn_predict_layers": 1,
                    "rope_scaling": {"type": "yarn", "factor": 4.0, "beta_fast": 4.0, "beta_slow": 0.5, "mscale": 1.0,
                                     "mscale_all_dim": 1.0, "original_max_position_embeddings": 8}},
}
CONFIGS["gpt_oss"] = {
    **EXPERTS, "model_type": "gpt_oss", "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8,
    "num_local_experts": 4, "attention_bias": True, "sliding_window": 4, "swiglu_limit": 0.5, "intermediate_size": 12,
    "layer_types": ["sliding_attention", "full_attention"],
    "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "beta_fast": 4.0, "beta_slow": 0.5, "truncate": False,
                     "original_max_position_embeddings": 8}}
SIGMOID = {**EXPERTS, "moe_intermediate_size": 10, "n_routed_experts": 6, "n_shared_experts": 1,
           "first_k_dense_replace": 1, "n_group": 1, "topk_group": 1, "norm_topk_prob": True}
LATENT = {"num_key_value_heads": 2, "q_lora_rank": 12, "kv_lora_rank": 8, "qk_nope_head_dim": 6, "qk_rope_head_dim": 4}
MUP = {**EXPERTS, "attention_bias": False, "embedding_multiplier": 3.0, "residual_multiplier": 0.25,
       "attention_multiplier": 0.125, "logits_scaling": 4.0, "tie_word_embeddings": True}
DELTA = {"head_dim": 8, "num_attention_heads": 4, "num_key_value_heads": 2, "partial_rotary_factor": 0.5,
         "attention_bias": False, "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 6,
         "linear_value_head_dim": 5, "linear_conv_kernel_dim": 4}
CONFIGS |= {
    "smollm3": {**GATED, "model_type": "smollm3", "rope_theta": 100.0, "no_rope_layers": [1, 0],
                "no_rope_layer_interval": 4, "use_sliding_window": False, "max_window_layers": 28,
                "layer_types": ["full_attention", "full_attention"], "pad_token_id": 0},
    "seed_oss": {**GATED, "model_type": "seed_oss", "head_dim": 6, "rope_theta": 100.0, "attention_bias": True,
                 "attention_out_bias": False, "attention_dropout": 0.0, "residual_dropout": 0.0},
    "mimo": {**GATED, "model_type": "mimo", "head_dim": 8, "rope_theta": 100.0, "attention_bias": True,
             "use_sliding_window": False, "sliding_window": 32, "max_window_layers": 2, "use_mrope": False,
             "num_nextn_predict_layers": 1},
    "olmo3": {**GATED, "model_type": "olmo3", "num_hidden_layers": 4, "sliding_window": 4, "rope_theta": 500000.0,
              "attention_bias": False, "rope_scaling": {
                  "rope_type": "yarn", "factor": 4.0, "beta_fast": 4.0, "beta_slow": 0.5, "attention_factor": 1.1,
                  "original_max_position_embeddings": 8}},
    "exaone4": {**GATED, "model_type": "exaone4", "head_dim": 6, "num_hidden_layers": 3, "rope_theta": 100.0,
                "sliding_window": 4, "sliding_window_pattern": "LG",
                "layer_types": ["sliding_attention", "full_attention", "full_attention"]},
    "ernie4_5": {**GATED, "model_type": "ernie4_5", "head_dim": 6, "rope_theta": 100.0, "use_bias": True,
                 "tie_word_embeddings": True},
    "ernie4_5_moe": {**GATED, "model_type": "ernie4_5_moe", "rope_theta": 100.0, "use_bias": False, "moe_k": 2,
                     "moe_num_experts": 4, "moe_num_shared_experts": 2, "moe_intermediate_size": 10,
                     "moe_layer_start_index": 1, "moe_layer_end_index": -1, "moe_layer_interval": 1,
                     "tie_word_embeddings": True},
    "glm4_moe": {**SIGMOID, "model_type": "glm4_moe", "head_dim": 8, "num_attention_heads": 4, "num_key_value_heads": 2,
                 "attention_bias": True, "use_qk_norm": True, "partial_rotary_factor": 0.5,
                 "routed_scaling_factor": 1.5, "num_nextn_predict_layers": 1},
    "glm4_moe_lite": {**SIGMOID, **LATENT, "model_type": "glm4_moe_lite", "v_head_dim": 10, "head_dim": 4,
                      "routed_scaling_factor": 1.8, "mlp_layer_types": ["dense", "sparse"]},
    "kimi_k2": {**SIGMOID, **LATENT, "model_type": "kimi_k2", "v_head_dim": 5, "scoring_func": "sigmoid",
                "topk_method": "noaux_tc", "routed_scaling_factor": 2.827, "num_nextn_predict_layers": 0},
    "minimax_m2": {**EXPERTS, "model_type": "minimax_m2", "head_dim": 8, "num_local_experts": 4, "intermediate_size": 10,
                   "rotary_dim": 4, "use_qk_norm": True, "qk_norm_type": "per_layer", "use_routing_bias": True,
                   "scoring_func": "sigmoid", "use_mtp": True, "num_mtp_modules": 3, "mtp_transformer_layers": 1},
    "granite": {**MUP, "model_type": "granite"},
    "granitemoe": {**MUP, "model_type": "granitemoe", "num_local_experts": 4, "intermediate_size": 10},
    "granitemoeshared": {**MUP, "model_type": "granitemoeshared", "num_local_experts": 4, "intermediate_size": 10,
                         "shared_intermediate_size": 6},
    "llama4_text": {**EXPERTS, "model_type": "llama4_text", "head_dim": 6, "num_hidden_layers": 4, "num_local_experts": 3,
                    "num_experts_per_tok": 1, "intermediate_size": 10, "intermediate_size_mlp": 12,
                    "interleave_moe_layer_step": 2, "use_qk_norm": False, "attention_chunk_size": 32,
                    "floor_scale": 64, "no_rope_layer_interval": 4},
    "llama4_text-chunks": {**EXPERTS, "model_type": "llama4_text", "head_dim": 6, "num_hidden_layers": 4,
                           "num_local_experts": 3, "num_experts_per_tok": 1, "intermediate_size": 10,
                           "intermediate_size_mlp": 12, "interleave_moe_layer_step": 2, "use_qk_norm": True,
                           "attention_chunk_size": 6, "attn_temperature_tuning": True, "floor_scale": 5, "attn_scale": 0.3,
                           "no_rope_layer_interval": 4},
    "lfm2": {**{key: GATED[key] for key in GATED if key != "rms_norm_eps"}, "model_type": "lfm2", "num_hidden_layers": 3, "num_attention_heads": 2, "num_key_value_heads": 1,
             "norm_eps": 1e-5, "block_multiple_of": 4, "block_ffn_dim_multiplier": 1.0, "block_auto_adjust_ff_dim": True,
             "intermediate_size": 28, "conv_L_cache": 3, "conv_bias": True, "tie_word_embeddings": True,
             "rope_parameters": {"rope_type": "default", "rope_theta": 100.0},
             "layer_types": ["conv", "conv", "full_attention"]},
    "deepseek_v32": {**SIGMOID, **LATENT, "model_type": "deepseek_v32", "v_head_dim": 5, "scoring_func": "sigmoid",
                     "topk_method": "noaux_tc", "n_group": 2, "index_topk": 16, "index_head_dim": 6, "index_n_heads": 2,
                     "routed_scaling_factor": 2.5},
    "glm_moe_dsa": {**SIGMOID, **LATENT, "model_type": "glm_moe_dsa", "v_head_dim": 10, "routed_scaling_factor": 2.5,
                    "index_topk": 16, "index_head_dim": 6, "index_n_heads": 2, "indexer_types": ["full", "shared"],
                    "rope_interleave": True, "mlp_layer_types": ["dense", "sparse"]},
    "mimo_v2_flash": {**SIGMOID, "model_type": "mimo_v2_flash", "num_hidden_layers": 3, "num_attention_heads": 4,
                      "num_key_value_heads": 1, "head_dim": 8, "v_head_dim": 6, "attention_bias": False,
                      "sliding_window": 5, "layer_types": ["full_attention", "sliding_attention", "full_attention"],
                      "mlp_layer_types": ["dense", "sparse", "sparse"], "n_shared_experts": None, "rope_parameters": {
                          "full_attention": {"rope_type": "default", "rope_theta": 1000.0, "partial_rotary_factor": 0.5},
                          "sliding_attention": {"rope_type": "default", "rope_theta": 100.0, "partial_rotary_factor": 0.25}}},
    "nemotron-nas": {**LLAMA, "model_type": "nemotron-nas", "num_hidden_layers": 4, "num_attention_heads": 4,
                     "intermediate_size": None, "num_key_value_heads": None, "block_configs": [
                         {"attention": {"no_op": False, "n_heads_in_group": 2}, "ffn": {"no_op": False, "ffn_mult": 1.25}},
                         {"attention": {"no_op": True, "n_heads_in_group": None}, "ffn": {"no_op": False, "ffn_mult": 26.0}},
                         {"attention": {"no_op": False, "n_heads_in_group": 4}, "ffn": {"no_op": True, "ffn_mult": None}},
                         {"attention": {"no_op": False, "n_heads_in_group": 1}, "ffn": {"no_op": False, "ffn_mult": 0.5}}]},
    "qwen3_next": {**EXPERTS, **DELTA, "model_type": "qwen3_next", "num_hidden_layers": 3, "num_experts": 4,
                   "moe_intermediate_size": 12, "shared_expert_intermediate_size": 10, "norm_topk_prob": True,
                   "mlp_only_layers": [0], "decoder_sparse_step": 1, "use_sliding_window": False, "layer_types": [
                       "linear_attention", "full_attention", "linear_attention"]},
    "qwen3_5": {**GATED, **DELTA, "model_type": "qwen3_5_text", "rms_norm_eps": 1e-6, "attn_output_gate": True,
                "mtp_num_hidden_layers": 1, "rope_parameters": {
                    "rope_type": "default", "rope_theta": 100.0, "partial_rotary_factor": 0.5,
                    "mrope_interleaved": True, "mrope_section": [1, 1, 0]},
                "layer_types": ["linear_attention", "full_attention"]},
    "qwen3_5_moe": {**EXPERTS, **DELTA, "model_type": "qwen3_5_moe_text", "num_experts": 4,
                    "moe_intermediate_size": 12, "shared_expert_intermediate_size": 10, "rope_parameters": {
                        "rope_type": "default", "rope_theta": 100.0, "partial_rotary_factor": 0.5,
                        "mrope_interleaved": True, "mrope_section": [1, 1, 0]},
                    "layer_types": ["full_attention", "linear_attention"]},
    "nemotron_h": {**{key: GATED[key] for key in GATED if key not in ("hidden_act", "rms_norm_eps", "num_hidden_layers")},
                   "model_type": "nemotron_h", "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 6,
                   "layer_norm_epsilon": 1e-5, "mlp_hidden_act": "relu2", "mamba_num_heads": 4, "mamba_head_dim": 5,
                   "n_groups": 2, "ssm_state_size": 6, "conv_kernel": 4, "chunk_size": 8, "use_conv_bias": True,
                   "time_step_min": 0.7, "n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 12,
                   "moe_shared_expert_intermediate_size": 10, "moe_latent_size": 8, "routed_scaling_factor": 2.5,
                   "norm_topk_prob": True, "n_group": 1, "topk_group": 1, "layers_block_type": [
                       "linear_attention", "full_attention", "mlp", "moe", "linear_attention"]},
    "granitemoehybrid": {**MUP, "model_type": "granitemoehybrid", "num_local_experts": 4, "intermediate_size": 10,
                         "shared_intermediate_size": 6, "position_embedding_type": "nope", "mamba_n_heads": 4,
                         "mamba_d_head": 8, "mamba_n_groups": 1, "mamba_d_state": 6, "mamba_d_conv": 4,
                         "mamba_expand": 2, "mamba_chunk_size": 8, "mamba_conv_bias": True, "mamba_proj_bias": False,
                         "num_hidden_layers": 3, "layer_types": ["full_attention", "linear_attention", "linear_attention"]},
    "qwen3_vl": {"model_type": "qwen3_vl", "torch_dtype": "float32", "tie_word_embeddings": False,
                 "text_config": {**GATED, "model_type": "qwen3_vl_text", "num_attention_heads": 4,
                                 "num_key_value_heads": 2, "head_dim": 8, "attention_bias": False, "rope_scaling": {
                                     "mrope_interleaved": True, "mrope_section": [2, 1, 1], "rope_type": "default"},
                                 "rope_theta": 100.0},
                 "vision_config": {"depth": 1, "hidden_size": 8, "intermediate_size": 8, "num_heads": 2, "patch_size": 2,
                                   "out_hidden_size": 16, "num_position_embeddings": 4, "deepstack_visual_indexes": []}},
}
CONFIGS["bert"] = {
    **COMMON, "model_type": "bert", "intermediate_size": 20, "hidden_act": "gelu", "type_vocab_size": 2,
    "layer_norm_eps": 1e-12, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "pad_token_id": 0}
CONFIGS["vit"] = {
    "model_type": "vit", "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 20,
    "hidden_act": "gelu", "layer_norm_eps": 1e-12, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0,
    "image_size": 12, "patch_size": 4, "num_channels": 3, "qkv_bias": True, "torch_dtype": "float32",
    "id2label": {str(number): f"LABEL_{number}" for number in range(5)}}
T5 = {"model_type": "t5", "vocab_size": 61, "d_model": 16, "d_kv": 6, "d_ff": 20, "num_layers": 2, "num_heads": 2,
      "relative_attention_num_buckets": 8, "relative_attention_max_distance": 11, "dropout_rate": 0.0,
      "layer_norm_epsilon": 1e-6, "torch_dtype": "float32"}
CONFIGS["t5"] = {**T5, "feed_forward_proj": "relu", "tie_word_embeddings": True}
CONFIGS["t5-gated"] = {**T5, "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False, "num_decoder_layers": 1,
                       "pad_token_id": 3, "decoder_start_token_id": 5}
# Where the public files name a module in another way than the library does.
PUBLIC_NAMES = {"gpt_neox": {"lm_head.weight": "embed_out.weight"}}


# What the public files call the matrices of an expert, where not gate_proj, up_proj and down_proj.
EXPERT_NAMES = {"mixtral": ("w1", "w3", "w2"), "minimax_m2": ("w1", "w3", "w2")}
# Models that the library has under another name.
LIBRARY_TYPES = {"mimo": "qwen2", "kimi_k2": "deepseek_v3", "nemotron-nas": "llama"}
TEXT_PARTS = ("qwen3_vl",)  # of whose several parts the text alone is trained
ENCODED = ("t5",)   # that predict a sequence from another one
DECODER_SEQ = 12
MASKED = ("bert",)  # that predict tokens in their own places
IMAGES = ("vit",)   # that sort images into classes
# What the library calls the modules of a layer that public files call as the first library did.
VIT_MODULES = {"vit.layers.": "vit.encoder.layer.", "attention.q_proj": "attention.attention.query",
               "attention.k_proj": "attention.attention.key", "attention.v_proj": "attention.attention.value",
               "attention.o_proj": "attention.output.dense", "mlp.fc1": "intermediate.dense", "mlp.fc2": "output.dense"}
# Those whose public files have all experts in one tensor too.
JOINED_EXPERTS = ("gpt_oss", "llama4_text", "granitemoe", "granitemoeshared", "granitemoehybrid",
                  "qwen3_5_moe_text")
GRANITE = {"router.": "router.layer.", "experts.gate_up_proj": "input_linear.weight",
           "experts.down_proj": "output_linear.weight"}
EXPERT_MODULES = {"mixtral": {"mlp.": "block_sparse_moe."}, "minimax_m2": {"mlp.": "block_sparse_moe."},
                  "granitemoe": GRANITE, "granitemoeshared": GRANITE, "granitemoehybrid": GRANITE,
                  "ernie4_5_moe": {"gate.moe_statics.": "moe_statics."}}


def public_views(model_type, key, tensor):
    """Returns the public names of a parameter of the library's, each with its part of `tensor`: the library has the matrices of all
    experts in one, and a gate's next to the other."""
    if model_type in IMAGES:
        for module, public in VIT_MODULES.items():
            key = key.replace(module, public)
    for module, public in EXPERT_MODULES.get(model_type, {}).items():
        key = key.replace(module, public)
    if model_type == "mimo_v2_flash":
        key = key.replace("self_attn.sinks", "self_attn.attention_sink_bias")
    if key.endswith("correction_bias"):
        tensor = tensor.flatten()
    if model_type == "nemotron_h":
        key = key.replace("model.", "backbone.", 1)
    if model_type in JOINED_EXPERTS:
        return [(key, tensor)]
    gate, up, down = EXPERT_NAMES.get(model_type, ("gate_proj", "up_proj", "down_proj"))
    if key.endswith((".experts.down_proj", ".experts.up_proj")):
        name = down if key.endswith("down_proj") else up
        return [(f"{key.rpartition('.')[0]}.{number}.{name}.weight", part) for number, part in enumerate(tensor)]
    if key.endswith(".experts.gate_up_proj"):
        halves = [(number, *part.chunk(2)) for number, part in enumerate(tensor)]
        return [(f"{key.rpartition('.')[0]}.{number}.{name}.weight", part)
                for number, *parts in halves for name, part in zip((gate, up), parts)]
    return [(PUBLIC_NAMES.get(model_type, {}).get(key, key), tensor)]


def run_in_environment():
    """Restarts with a python that has PyTorch and transformers."""
    import guests
    python = guests.make_environment("families", os.path.join(ROOT, "utils", "golden-families.txt"))
    if not python:
        sys.exit(1)
    os.execv(python, [python, os.path.abspath(sys.argv[0]), *sys.argv[1:]])


def samples(name, count):
    """Returns words of splitmix64, seeded by the name's FNV-1a hash. They use integers alone, so they are the same everywhere."""
    import numpy as np
    seed = 0xCBF29CE484222325
    for byte in name.encode():
        seed = ((seed ^ byte) * 0x100000001B3) % 2**64
    with np.errstate(over="ignore"):
        z = np.uint64(seed) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def make_parameter(name, shape):
    """Makes scales about 1, small biases, sinks below 1, and matrices and routing biases below 1/2 in size. All are exact in
    float32."""
    import numpy as np
    u = ((samples(name, math.prod(shape)) >> np.uint64(48)).astype(np.int64) - 32768) / 32768.0
    if name.endswith(("sinks", "sink_bias")):
        values = u
    elif len(shape) >= 2 or name.endswith("correction_bias"):
        values = u / 2
    else:
        values = 1 + u / 8 if name.endswith(".weight") else u / 16
    return values.astype(np.float32).reshape(shape)


def routing_biases(model):
    """Returns what experts are chosen by and no gradient trains: buffers of the library, and parameters of the files."""
    return [(key, buffer) for key, buffer in model.named_buffers() if key.endswith("e_score_correction_bias")]


def make_nothing(result):
    """Returns what stands in place of a branch, or of its norm, that a layer does not have."""
    import torch

    class Nothing(torch.nn.Module):
        def forward(self, x=None, **others):
            return result(others.get("hidden_states", x))

    return Nothing()


def size_layers(model, config):
    """Gives each layer of a Llama the heads and the width that a search found, as the published code of these models does."""
    import copy
    for layer, sizes in zip(model.model.layers, config["block_configs"]):
        attention, mlp = sizes["attention"], sizes["ffn"]
        own = copy.deepcopy(model.config)
        if attention["no_op"]:
            layer.self_attn, layer.input_layernorm = make_nothing(lambda x: (0 * x, None)), make_nothing(lambda x: x)
        else:
            own.num_key_value_heads = own.num_attention_heads // attention["n_heads_in_group"]
            layer.self_attn = type(layer.self_attn)(own, layer.self_attn.layer_idx)
        if mlp["no_op"]:
            layer.mlp, layer.post_attention_layernorm = make_nothing(lambda x: 0 * x), make_nothing(lambda x: x)
        else:
            own.intermediate_size = -(-int(2 * mlp["ffn_mult"] * own.hidden_size / 3) // 256) * 256
            layer.mlp = type(layer.mlp)(own)


def make_model(config):
    import torch
    from transformers import (AutoConfig, AutoModelForCausalLM, AutoModelForImageClassification,
                              AutoModelForImageTextToText, AutoModelForMaskedLM, AutoModelForSeq2SeqLM)
    keys = dict(config)
    auto = AutoModelForMaskedLM if config["model_type"] in MASKED else AutoModelForCausalLM
    if config["model_type"] in ENCODED:
        auto = AutoModelForSeq2SeqLM
    if config["model_type"] in TEXT_PARTS:
        auto = AutoModelForImageTextToText
    if config["model_type"] in IMAGES:
        auto = AutoModelForImageClassification
        if "id2label" in keys:
            keys["id2label"] = {int(number): name for number, name in keys["id2label"].items()}
    model_type = keys.pop("model_type")
    sizes = keys.pop("block_configs", None)
    if sizes:
        keys.update(intermediate_size=256, num_key_value_heads=keys["num_attention_heads"])
    model = auto.from_config(AutoConfig.for_model(LIBRARY_TYPES.get(model_type, model_type), **keys),
                             attn_implementation="eager", experts_implementation="eager")
    if config["model_type"] in ENCODED and not config.get("tie_word_embeddings", True):
        # Newer libraries tie the head in memory whatever the config says; files have one of its own.
        model.lm_head.weight = torch.nn.Parameter(torch.empty_like(model.shared.weight))
    if sizes:
        size_layers(model, config)
    return model.to(torch.float64)


def make_sequences(config):
    """Returns what is predicted, the end of each row without a loss, and what the decoder reads."""
    import numpy as np
    import torch
    numbers = (samples("labels", BATCH * DECODER_SEQ) >> np.uint64(33)) % np.uint64(config["vocab_size"])
    labels = torch.from_numpy(numbers.astype(np.int64).reshape(BATCH, DECODER_SEQ))
    labels[:, -2:] = -100
    labels[0, 4] = -100
    padding, start = config.get("pad_token_id", 0), config.get("decoder_start_token_id", 0)
    read = torch.cat([torch.full((BATCH, 1), start), labels[:, :-1].masked_fill(labels[:, :-1] == -100, padding)], 1)
    return labels, read


def make_labels(ids):
    """Returns a label at every third id, in its place; -100 elsewhere."""
    import numpy as np
    import torch
    numbers = samples("labels", ids.numel())
    labels = np.where(numbers % np.uint64(3) == 0, (numbers >> np.uint64(33)) % np.uint64(COMMON["vocab_size"]), -100 % 2**64)
    return torch.from_numpy(labels.astype(np.int64).reshape(BATCH, SEQ))


def make_images(config):
    """Returns pixels from -1 to 1, exact in float32, and a class for each image."""
    import numpy as np
    import torch
    shape = (BATCH, config["num_channels"], config["image_size"], config["image_size"])
    pixels = ((samples("pixels", math.prod(shape)) >> np.uint64(48)).astype(np.int64) - 32768) / 32768.0
    classes = (samples("labels", BATCH) >> np.uint64(33)) % np.uint64(len(config["id2label"]))
    return torch.from_numpy(pixels.reshape(shape)), torch.from_numpy(classes.astype(np.int64))


def make_batch(config):
    """Returns what the model is called with, what a file has of it, and the loss of its logits."""
    import numpy as np
    import torch
    cross_entropy = torch.nn.functional.cross_entropy
    if config["model_type"] in IMAGES:
        pixels, classes = make_images(config)
        kept = {"pixels": pixels.numpy().astype(np.float32), "labels": classes.numpy()}
        return {"pixel_values": pixels}, kept, lambda logits: cross_entropy(logits, classes)
    vocabulary = config.get("text_config", config)["vocab_size"]
    numbers = (samples("input_ids", BATCH * SEQ) >> np.uint64(33)) % np.uint64(vocabulary)
    if config["model_type"] in ENCODED:
        ids = torch.from_numpy(numbers.astype(np.int64).reshape(BATCH, SEQ))
        labels, read = make_sequences(config)
        kept = {"input_ids": ids.numpy(), "labels": labels.numpy()}
        loss = lambda logits: cross_entropy(logits.flatten(0, 1), labels.flatten())
        return {"input_ids": ids, "decoder_input_ids": read}, kept, loss
    if config["model_type"] not in MASKED:
        ids = torch.from_numpy(numbers.astype(np.int64).reshape(BATCH, SEQ))
        loss = lambda logits: cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
        return {"input_ids": ids}, {"input_ids": ids.numpy()}, loss
    numbers = np.maximum(numbers, np.uint64(1))  # the library trains no row of padding, which is 0
    ids = torch.from_numpy(numbers.astype(np.int64).reshape(BATCH, SEQ))
    labels = make_labels(ids)
    kept = {"input_ids": ids.numpy(), "labels": labels.numpy()}
    return {"input_ids": ids}, kept, lambda logits: cross_entropy(logits.flatten(0, 1), labels.flatten())


def set_parameters(name, model, relative=0.0):
    """Gives the model its initial parameters, each changed by up to `relative` of itself, and returns them by their public names."""
    import numpy as np
    import torch
    tensors = {}
    for key, parameter in [*trained_parameters(model), *routing_biases(model)]:
        for public, part in public_views(CONFIGS[name]["model_type"], key, parameter.data):
            tensors["param." + public] = make_parameter(public, tuple(part.shape))
            part.copy_(torch.from_numpy(tensors["param." + public]))
            if relative:
                change = make_parameter("change of " + public, (part.numel(), 1)).reshape(part.shape)
                part.mul_(1 + 2 * relative * torch.from_numpy(change.astype(np.float64)))
    return tensors


def trained_parameters(model):
    return [(key, p) for key, p in model.named_parameters() if ".visual." not in key]


def train(config, model, inputs, loss_of, after_first=lambda: None):
    """Runs the steps of AdamW, and returns the loss before each of them."""
    import torch
    groups = [{"params": [p for p in model.parameters() if p.ndim >= 2], "weight_decay": 0.1},
              {"params": [p for p in model.parameters() if p.ndim < 2], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.999), eps=1e-8)
    losses = []
    for step in range(STEPS):
        optimizer.zero_grad()
        output = model(**inputs)
        logits = output.logits
        assert logits.dtype == torch.float64
        loss = loss_of(logits)
        if config.get("output_router_logits"):
            loss = loss + config["router_aux_loss_coef"] * output.aux_loss
        loss.backward()
        losses.append(loss.item())
        if step == 0:
            after_first()
        optimizer.step()
    return losses


def write_family(name):
    import numpy as np
    from safetensors.numpy import save_file
    config = CONFIGS[name]
    model = make_model(config)
    tensors = set_parameters(name, model)
    inputs, kept, loss_of = make_batch(config)
    tensors.update(kept)

    def keep_gradients():
        trained = [(key, p) for key, p in trained_parameters(model) if p.grad is not None]  # indexers have no gradient
        tensors.update(("grad." + public, part.numpy().copy()) for key, p in trained
                       for public, part in public_views(config["model_type"], key, p.grad))

    losses = train(config, model, inputs, loss_of, keep_gradients)
    tensors["losses"] = np.array(losses)
    save_file(tensors, os.path.join(FOLDER, name + ".safetensors"))
    with open(os.path.join(FOLDER, name + ".config.json"), "w") as file:
        json.dump(config, file, indent=2)
        file.write("\n")
    print(f"{name}: {sum(p.numel() for p in model.parameters())} parameters, losses {losses}")


def print_condition(name):
    """Prints how far each loss moves in float64 where parameters move by up to 1e-7 of themselves, as they do in float32."""
    losses = []
    for relative in (0.0, 1e-7):
        model = make_model(CONFIGS[name])
        set_parameters(name, model, relative)
        inputs, _, loss_of = make_batch(CONFIGS[name])
        losses.append(train(CONFIGS[name], model, inputs, loss_of))
    print(f"{name}:", *("%.1e" % abs(a - b) for a, b in zip(*losses)))


def count_parameters():
    import torch
    folder = os.path.join(ROOT, "examples", "configs")
    for file in sorted(os.listdir(folder)):
        with open(os.path.join(folder, file)) as text, torch.device("meta"):
            model = make_model(json.load(text))
            print(file, sum(p.numel() for p in [*model.parameters(), *dict(routing_biases(model)).values()]))


def main():
    try:
        import torch
    except ImportError:
        run_in_environment()
    torch.set_num_threads(1)
    if "--count" in sys.argv:
        return count_parameters()
    torch.float32 = torch.float = torch.float64
    torch.Tensor.float = torch.Tensor.double
    torch.set_default_dtype(torch.float64)
    os.makedirs(FOLDER, exist_ok=True)
    conditions = sys.argv[1:2] == ["--condition"]
    for name in sys.argv[2 if conditions else 1:] or CONFIGS:
        (print_condition if conditions else write_family)(name)


if __name__ == "__main__":
    main()
