#!/usr/bin/env python3
"""Writes what transformers generates with tiny models of ten kinds, greedily and in float64.

  golden-generation.py [NAME...]     writes test/EndToEnd/Inputs/generation/NAME.*, by default of all

NAME.config.json is a config with published keys. NAME.safetensors holds the parameters under their public names (f32),
`tokens.I`, what follows prompt I, and `logits.I`, those of each of these tokens, in float64. The prompts are in PROMPTS, and
tests repeat them. GPT-2 and Phi have dropouts as public files do, which `eval()` leaves out. The model is transformers' own code
with its cache, all of it in float64, as in golden-families.py.
"""
import importlib.util
import json
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = os.path.join(ROOT, "test", "EndToEnd", "Inputs", "generation")
PROMPTS = [[3, 1, 4, 1, 5, 9, 2, 6, 5], [2, 7, 1]]
TOKENS = 12


def load_families():
    path = os.path.join(ROOT, "utils", "golden-families.py")
    spec = importlib.util.spec_from_file_location("golden_families", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


families = load_families()
CONFIGS = {
    "gpt2": {"model_type": "gpt2", "vocab_size": 61, "n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 32,
             "layer_norm_epsilon": 1e-5, "activation_function": "gelu_new", "embd_pdrop": 0.1, "attn_pdrop": 0.1,
             "resid_pdrop": 0.1},
    "llama": families.LLAMA,
    "qwen2": {**families.GATED, "model_type": "qwen2", "num_attention_heads": 4, "num_key_value_heads": 2,
              "rope_theta": 100.0, "use_sliding_window": False},
    "mistral": {**families.GATED, "model_type": "mistral", "rope_theta": 100.0, "sliding_window": 5},
    "phi": {**families.CONFIGS["phi"], "attention_dropout": 0.1, "embd_pdrop": 0.1, "resid_pdrop": 0.1},
    "gemma2": families.CONFIGS["gemma2"],
    "deepseek_v2": families.CONFIGS["deepseek_v2"],
    "deepseek_v2-lite": families.CONFIGS["deepseek_v2-lite"],
    "deepseek_v3": families.CONFIGS["deepseek_v3"],
    "gpt_oss": families.CONFIGS["gpt_oss"],
}


def write_model(name):
    import numpy as np
    import torch
    from safetensors.numpy import save_file
    config = CONFIGS[name]
    model = families.make_model(config).eval()
    tensors = {}
    for key, parameter in [*model.named_parameters(), *families.routing_biases(model)]:
        for name_of_part, part in families.public_views(config["model_type"], key, parameter.data):
            # Weights have twice the size, so that the most likely tokens differ.
            values = families.make_parameter(name_of_part, tuple(part.shape)) * np.float32(2 if part.ndim == 2 else 1)
            tensors[name_of_part] = values
            part.copy_(torch.from_numpy(values))
    for number, prompt in enumerate(PROMPTS):
        ids, past, chosen, rows = torch.tensor([prompt]), None, [], []
        for _ in range(TOKENS):
            with torch.no_grad():
                output = model(input_ids=ids, past_key_values=past, use_cache=True)
            past, logits = output.past_key_values, output.logits[0, -1]
            assert logits.dtype == torch.float64
            chosen.append(int(logits.argmax()))
            rows.append(logits.numpy())
            ids = torch.tensor([[chosen[-1]]])
        tensors[f"tokens.{number}"] = np.array(chosen)
        tensors[f"logits.{number}"] = np.stack(rows)
        print(f"{name}, prompt {number}: {chosen}")
    save_file(tensors, os.path.join(FOLDER, name + ".safetensors"))
    with open(os.path.join(FOLDER, name + ".config.json"), "w") as file:
        json.dump(config, file, indent=2)
        file.write("\n")


def main():
    try:
        import torch
    except ImportError:
        families.run_in_environment()
    torch.set_num_threads(1)
    torch.float32 = torch.float = torch.float64
    torch.Tensor.float = torch.Tensor.double
    torch.set_default_dtype(torch.float64)
    os.makedirs(FOLDER, exist_ok=True)
    for name in sys.argv[1:] or CONFIGS:
        write_model(name)


if __name__ == "__main__":
    main()
