"""torchtitan's Llama-3.1-8B, as its benchmark of December 2024 trains it on one of 8 ranks: parameters in f32 that FSDP2 shards, gathers in bf16 and
reduces in f32, and blocks of which every second product and all of attention are kept ("selective" checkpoints by op).

The model follows torchtitan/models/llama/model.py, what is kept and what is sharded torchtitan/parallelisms/parallelize_llama.py.
"""

import functools

import torch
from torch import nn
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.nn import functional
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

DIM, LAYERS, HEADS, KEYS, INNER, VOCABULARY = 4096, 32, 32, 8, 14336, 128256
aten = torch.ops.aten
# On a CPU attention has another name.
KEPT = (aten._scaled_dot_product_flash_attention_for_cpu.default, aten._scaled_dot_product_flash_attention.default,
        aten._scaled_dot_product_efficient_attention.default)


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(DIM))

    def forward(self, x):
        wide = x.float()
        return (wide * torch.rsqrt((wide * wide).mean(-1, keepdim=True) + 1e-5)).type_as(x) * self.weight


def rotate(x, angles):
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * angles[: x.shape[1]].view(1, x.shape[1], 1, -1)).flatten(3).type_as(x)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.width = DIM // HEADS
        self.wq, self.wo = nn.Linear(DIM, DIM, bias=False), nn.Linear(DIM, DIM, bias=False)
        self.wk, self.wv = nn.Linear(DIM, KEYS * self.width, bias=False), nn.Linear(DIM, KEYS * self.width, bias=False)

    def forward(self, x, angles):
        batch, tokens, _ = x.shape
        q, k, v = (product(x).view(batch, tokens, -1, self.width) for product in (self.wq, self.wk, self.wv))
        q, k = rotate(q, angles), rotate(k, angles)
        k, v = (each[:, :, :, None, :].expand(-1, -1, -1, HEADS // KEYS, -1).reshape(batch, tokens, HEADS, self.width) for each in (k, v))
        output = functional.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), is_causal=True)
        return self.wo(output.transpose(1, 2).contiguous().view(batch, tokens, -1))


class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.w1, self.w3 = nn.Linear(DIM, INNER, bias=False), nn.Linear(DIM, INNER, bias=False)
        self.w2 = nn.Linear(INNER, DIM, bias=False)

    def forward(self, x):
        return self.w2(functional.silu(self.w1(x)) * self.w3(x))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention, self.feed_forward, self.attention_norm, self.ffn_norm = Attention(), FeedForward(), Norm(), Norm()

    def forward(self, x, angles):
        h = x + self.attention(self.attention_norm(x), angles)
        return h + self.feed_forward(self.ffn_norm(h))


class Titan(nn.Module):
    def __init__(self, tokens):
        super().__init__()
        self.tok_embeddings = nn.Embedding(VOCABULARY, DIM)
        self.register_buffer("angles", torch.empty(tokens, DIM // HEADS // 2, dtype=torch.complex64))
        self.layers = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm, self.output = Norm(), nn.Linear(DIM, VOCABULARY, bias=False)

    def forward(self, tokens):
        h = self.tok_embeddings(tokens)
        for layer in self.layers:
            h = layer(h, self.angles)
        return self.output(self.norm(h))


def loss(model, tokens, labels):
    return functional.cross_entropy(model(tokens).flatten(0, 1).float(), labels.flatten(0, 1))


def contexts():
    products = {False: 0, True: 0}

    def choose(context, op, *args, **kwargs):
        if op is aten.mm.default:
            products[context.is_recompute] += 1
        is_kept = op in KEPT or op is aten.mm.default and products[context.is_recompute] % 2
        return CheckpointPolicy.MUST_SAVE if is_kept else CheckpointPolicy.PREFER_RECOMPUTE

    return create_selective_checkpoint_contexts(choose)


def shard(model, mesh):
    settings = dict(mesh=mesh, mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32))
    for number, block in enumerate(model.layers):
        block.forward = functools.partial(checkpoint, block.forward, use_reentrant=False, preserve_rng_state=False, context_fn=contexts)
        fully_shard(block, reshard_after_forward=number < LAYERS - 1, **settings)
    fully_shard(model, **settings)
