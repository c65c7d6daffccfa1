#!/usr/bin/env python3
"""Times AdamW steps of GPT-2 or Llama in PyTorch, for cpu_step.py and gpu.py: prints one line of JSON.

  torch_step.py --config gpt2.json --batch 4 --seq 64 --mode eager|compiled|checkpointed|both [--device cpu|cuda] [--layers 2]

With --precision=f32, the default on a CPU, all is f32; with autocast, the default on a GPU, parameters are f32 and the step runs
under autocast to bf16, as people train there; with masters parameters and gradients are bf16, and AdamW works on f32 masters and
moments, as llmmem's steps do. Weights begin as transformers begins them.

`seconds` are of every step after the first two; `drift` is by how many times the last third of them takes what the first third
does, and where that is much, a note on stderr says so: a step whose work grows is no peer. `denormals_flushed` says whether
this process's threads take denormal numbers for zero, on which a CPU is many times slower. `saved` counts the bytes that the
backward keeps, parameters left out; `bytes` is the most that PyTorch has allocated on a GPU.
"""

import argparse
import json
import math
import platform
import statistics
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

MOST_DRIFT = 1.3


class GptBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, seq, width = x.shape
        heads = [part.view(batch, seq, self.heads, width // self.heads).transpose(1, 2)
                 for part in self.qkv(self.ln_1(x)).split(width, dim=2)]
        y = F.scaled_dot_product_attention(*heads, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(batch, seq, width))
        return x + self.down(F.gelu(self.up(self.ln_2(x)), approximate="tanh"))


class Gpt2(nn.Module):
    def __init__(self, config, layers, checkpointed):
        super().__init__()
        width = config["n_embd"]
        self.checkpointed = checkpointed
        self.wte = nn.Embedding(config["vocab_size"], width)
        self.wpe = nn.Embedding(config["n_positions"], width)
        self.blocks = nn.ModuleList(GptBlock(width, config["n_head"]) for _ in range(layers or config["n_layer"]))
        self.ln_f = nn.LayerNorm(width)

    def forward(self, ids, targets):
        x = self.wte(ids) + self.wpe(torch.arange(ids.shape[1], device=ids.device))
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.checkpointed else block(x)
        logits = self.ln_f(x) @ self.wte.weight.t()
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))


class LlamaBlock(nn.Module):
    def __init__(self, config):
        super().__init__()
        width, inner = config["hidden_size"], config["intermediate_size"]
        self.heads, self.groups = config["num_attention_heads"], config["num_key_value_heads"]
        self.head = config.get("head_dim") or width // self.heads
        linear = lambda inputs, outputs: nn.Linear(inputs, outputs, bias=False)
        self.q, self.o = linear(width, self.heads * self.head), linear(self.heads * self.head, width)
        self.k, self.v = linear(width, self.groups * self.head), linear(width, self.groups * self.head)
        self.gate, self.up, self.down = linear(width, inner), linear(width, inner), linear(inner, width)
        self.norm_1, self.norm_2 = (nn.RMSNorm(width, eps=config["rms_norm_eps"]) for _ in range(2))

    def forward(self, x, cosine, sine):
        batch, seq, _ = x.shape
        y = self.norm_1(x)
        split = lambda part, heads: part.view(batch, seq, heads, self.head).transpose(1, 2)
        q, k, v = split(self.q(y), self.heads), split(self.k(y), self.groups), split(self.v(y), self.groups)
        q, k = rotate(q, cosine, sine), rotate(k, cosine, sine)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        x = x + self.o(y.transpose(1, 2).reshape(batch, seq, -1))
        y = self.norm_2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


def rotate(x, cosine, sine):
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * cosine - second * sine, second * cosine + first * sine], dim=-1).to(x.dtype)


class Llama(nn.Module):
    def __init__(self, config, layers, checkpointed):
        super().__init__()
        width, self.checkpointed = config["hidden_size"], checkpointed
        self.embed = nn.Embedding(config["vocab_size"], width)
        self.blocks = nn.ModuleList(LlamaBlock(config) for _ in range(layers or config["num_hidden_layers"]))
        self.norm = nn.RMSNorm(width, eps=config["rms_norm_eps"])
        self.unembed = nn.Linear(width, config["vocab_size"], bias=False)
        if config.get("tie_word_embeddings"):
            self.unembed.weight = self.embed.weight
        self.half, self.base = self.blocks[0].head // 2, config.get("rope_theta", 10000.0)

    def forward(self, ids, targets):
        x = self.embed(ids)
        frequencies = self.base ** (-torch.arange(self.half, device=ids.device) / self.half)
        angles = torch.arange(ids.shape[1], device=ids.device)[:, None] * frequencies
        places = angles.cos(), angles.sin()
        for block in self.blocks:
            x = checkpoint(block, x, *places, use_reentrant=False) if self.checkpointed else block(x, *places)
        logits = self.unembed(self.norm(x))
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))


def initialize(model, config):
    """Initializes the model as the published ones were, by transformers' rules: normal weights, biases of zero, and in GPT-2 what is added to
    the residual stream smaller by the root of how often that happens. With PyTorch's own embeddings, whose deviation is 1, a
    tied head's softmax saturates within five steps, and gradients become denormal numbers."""
    deviation = config.get("initializer_range", 0.02)
    for module in model.modules():
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=deviation)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)
    for block in model.blocks if isinstance(model, Gpt2) else ():
        for projection in (block.proj, block.down):
            nn.init.normal_(projection.weight, std=deviation / math.sqrt(2 * len(model.blocks)))


def saved_bytes(run, model, ids, targets):
    parameters = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    storages = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in parameters:
            storages[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        loss = run(ids, targets)
    del loss
    return sum(storages.values())


class Masters:
    """AdamW on f32 copies of bf16 parameters, which are their roundings. Gradients become f32 a group at a time: those of all
    would take as much as the masters."""

    MOST_ELEMENTS = 1 << 29

    def __init__(self, parameters, **flags):
        self.groups = [[]]
        for parameter in parameters:
            if sum(one.numel() for one in self.groups[-1]) + parameter.numel() > self.MOST_ELEMENTS and self.groups[-1]:
                self.groups.append([])
            self.groups[-1].append(parameter)
        self.masters = [[one.detach().float() for one in group] for group in self.groups]
        self.optimizers = [torch.optim.AdamW(group, **flags) for group in self.masters]

    def zero_grad(self):
        for parameter in (one for group in self.groups for one in group):
            parameter.grad = None

    @torch.no_grad()
    def step(self):
        for group, masters, optimizer in zip(self.groups, self.masters, self.optimizers):
            for master, parameter in zip(masters, group):
                master.grad, parameter.grad = parameter.grad.float(), None
            optimizer.step()
            torch._foreach_copy_(group, masters)
            for master in masters:
                master.grad = None


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--seq", type=int, required=True)
    parser.add_argument("--mode", choices=["eager", "compiled", "checkpointed", "both"], required=True)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--precision", choices=["f32", "autocast", "masters"], help="f32 on a CPU and autocast on a GPU by default")
    parser.add_argument("--layers", type=int)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=5)
    arguments = parser.parse_args()
    arguments.precision = arguments.precision or ("autocast" if arguments.device == "cuda" else "f32")
    return arguments


def processor():
    """Returns the processor's name, and which of the units for products of bf16 it has."""
    try:
        with open("/proc/cpuinfo") as file:
            facts = dict(line.split(":", 1) for line in file.read().split("\n\n")[0].splitlines() if ":" in line)
    except OSError:
        return platform.machine()
    facts = {key.strip(): value.strip() for key, value in facts.items()}
    units = [unit for unit in ("amx_bf16", "avx512_bf16") if unit in facts.get("flags", "").split()]
    return " ".join([facts.get("model name", platform.machine()), *units])


def are_denormals_flushed():
    """Returns whether half of the smallest normal number is 0, in more elements than one thread takes."""
    return not bool((torch.full((1 << 20,), 2.0 ** -126) * 0.5).any())


def drift_of(seconds):
    third = max(1, len(seconds) // 3)
    return statistics.median(seconds[-third:]) / statistics.median(seconds[:third])


def time_steps(run, optimizer, ids, targets, count, synchronize):
    seconds = []
    for _ in range(count + 2):
        synchronize()
        start = time.perf_counter()
        optimizer.zero_grad()
        run(ids, targets).backward()
        optimizer.step()
        synchronize()
        seconds.append(time.perf_counter() - start)
    return seconds[2:]


def main():
    arguments = parse()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(0)
    on_gpu = arguments.device == "cuda"
    with open(arguments.config) as file:
        config = json.load(file)
    with torch.device(arguments.device):
        family = Gpt2 if config["model_type"] == "gpt2" else Llama
        model = family(config, arguments.layers, arguments.mode in ("checkpointed", "both"))
        initialize(model, config)
        shape = (arguments.batch, arguments.seq)
        ids, targets = (torch.randint(0, config["vocab_size"], shape) for _ in range(2))
    has_masters, is_compiled = arguments.precision == "masters", arguments.mode in ("compiled", "both")
    model = model.bfloat16() if has_masters else model
    compiled = torch.compile(model) if is_compiled else model

    def run(*inputs):
        with torch.autocast(arguments.device, dtype=torch.bfloat16, enabled=arguments.precision == "autocast"):
            return compiled(*inputs)

    saved = saved_bytes(run, model, ids, targets) if not is_compiled else None
    optimizer = (Masters if has_masters else torch.optim.AdamW)(model.parameters(), lr=1e-4, fused=True)
    seconds = time_steps(run, optimizer, ids, targets, arguments.steps, torch.cuda.synchronize if on_gpu else lambda: None)
    drift = drift_of(seconds)
    if drift > MOST_DRIFT:
        print(f"the last steps take {drift:.2f} times what the first do, at most {MOST_DRIFT} is expected: these seconds are no peer's",
              file=sys.stderr)
    print(json.dumps({"torch": torch.__version__, "processor": processor(), "precision": arguments.precision, "seconds": seconds,
                      "drift": drift, "denormals_flushed": are_denormals_flushed(), "saved": saved,
                      "bytes": torch.cuda.max_memory_allocated() if on_gpu else None}))


if __name__ == "__main__":
    main()
