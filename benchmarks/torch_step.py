#!/usr/bin/env python3
"""Times AdamW steps of GPT-2 in PyTorch, for cpu_step.py: prints one line of JSON.

  torch_step.py --config gpt2.json --batch 4 --seq 64 --mode eager|compiled|checkpointed [--threads 2] [--steps 5]

`seconds` are of every step after the first two; `saved` counts the bytes that the backward keeps, parameters left out.
"""

import argparse
import json
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
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
    def __init__(self, config, checkpointed):
        super().__init__()
        width = config["n_embd"]
        self.checkpointed = checkpointed
        self.wte = nn.Embedding(config["vocab_size"], width)
        self.wpe = nn.Embedding(config["n_positions"], width)
        self.blocks = nn.ModuleList(Block(width, config["n_head"]) for _ in range(config["n_layer"]))
        self.ln_f = nn.LayerNorm(width)

    def forward(self, ids, targets):
        x = self.wte(ids) + self.wpe(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.checkpointed else block(x)
        logits = self.ln_f(x) @ self.wte.weight.t()
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))


def saved_bytes(model, ids, targets):
    parameters = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    storages = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in parameters:
            storages[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        loss = model(ids, targets)
    del loss
    return sum(storages.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--seq", type=int, required=True)
    parser.add_argument("--mode", choices=["eager", "compiled", "checkpointed"], required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=5)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(0)
    with open(arguments.config) as file:
        config = json.load(file)
    model = Gpt2(config, arguments.mode == "checkpointed")
    shape = (arguments.batch, arguments.seq)
    ids, targets = (torch.randint(0, config["vocab_size"], shape) for _ in range(2))
    saved = saved_bytes(model, ids, targets) if arguments.mode != "compiled" else None
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    run = torch.compile(model) if arguments.mode == "compiled" else model
    seconds = []
    for _ in range(arguments.steps + 2):
        start = time.perf_counter()
        optimizer.zero_grad()
        run(ids, targets).backward()
        optimizer.step()
        seconds.append(time.perf_counter() - start)
    print(json.dumps({"torch": torch.__version__, "seconds": seconds[2:], "saved": saved}))


if __name__ == "__main__":
    main()
