"""Small transformers, and one measured training step of them. Not a test."""

import gc
from dataclasses import dataclass
from typing import Any, Callable, List, Sequence

import torch
import torch.nn.functional as F
from torch import nn
from torch.profiler import ProfilerActivity, profile

import llmmem.torch


class GptBlock(nn.Module):
    def __init__(self, hidden: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.dropout = heads, nn.Dropout(dropout)
        self.norm1, self.norm2 = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.qkv, self.out = nn.Linear(hidden, 3 * hidden), nn.Linear(hidden, hidden)
        self.up, self.down = nn.Linear(hidden, 4 * hidden), nn.Linear(4 * hidden, hidden)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, tokens, hidden = x.shape
        q, k, v = (part.view(batch, tokens, self.heads, -1).transpose(1, 2)
                   for part in self.qkv(self.norm1(x)).split(hidden, 2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(batch, tokens, hidden)
        x = x + self.dropout(self.out(y))
        return x + self.dropout(self.down(F.gelu(self.up(self.norm2(x)))))


class RmsNorm(nn.Module):
    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-5)).to(x.dtype) * self.weight


def rotate(x: torch.Tensor) -> torch.Tensor:
    tokens, width = x.shape[-2], x.shape[-1] // 2
    angles = torch.outer(torch.arange(tokens, device=x.device).float(),
                         10000.0 ** (-torch.arange(width, device=x.device).float() / width))
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    a, b = x[..., :width], x[..., width:]
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


class LlamaBlock(nn.Module):
    def __init__(self, hidden: int, heads: int, kv_heads: int, feed_forward: int) -> None:
        super().__init__()
        self.heads, self.kv_heads, width = heads, kv_heads, hidden // heads
        self.norm1, self.norm2 = RmsNorm(hidden), RmsNorm(hidden)
        self.q, self.o = nn.Linear(hidden, hidden, bias=False), nn.Linear(hidden, hidden, bias=False)
        self.k, self.v = (nn.Linear(hidden, kv_heads * width, bias=False) for _ in range(2))
        self.gate, self.up = (nn.Linear(hidden, feed_forward, bias=False) for _ in range(2))
        self.down = nn.Linear(feed_forward, hidden, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, tokens, hidden = x.shape
        y = self.norm1(x)
        q, k, v = (part.view(batch, tokens, -1, hidden // self.heads).transpose(1, 2)
                   for part in (self.q(y), self.k(y), self.v(y)))
        q, k, groups = rotate(q), rotate(k), self.heads // self.kv_heads
        k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(batch, tokens, hidden)
        x = x + self.o(y)
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Transformer(nn.Module):
    """blocks: from the hidden size. checkpoint: torch.utils.checkpoint around each of them."""

    def __init__(self, layers: int, hidden: int, vocabulary: int, tokens: int, block: Callable[[], nn.Module],
                 positions: bool = True, checkpoint: bool = False) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, hidden)
        self.positions = nn.Embedding(tokens, hidden) if positions else None
        self.blocks, self.norm = nn.ModuleList(block() for _ in range(layers)), RmsNorm(hidden)
        self.head = nn.Linear(hidden, vocabulary, bias=False)
        self.checkpoint = checkpoint

    def logits(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.embedding(ids)
        if self.positions is not None:
            x = x + self.positions(torch.arange(ids.shape[1], device=ids.device))
        for block in self.blocks:
            x = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False) if self.checkpoint else block(x)
        return self.head(self.norm(x))

    def forward(self, ids: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return cross_entropy(self.logits(ids), targets)


def cross_entropy(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())


def gpt(layers: int = 3, hidden: int = 64, heads: int = 4, vocabulary: int = 256, tokens: int = 64, dropout: float = 0.0,
        checkpoint: bool = False) -> Transformer:
    return Transformer(layers, hidden, vocabulary, tokens, lambda: GptBlock(hidden, heads, dropout), True, checkpoint)


def llama(layers: int = 3, hidden: int = 64, heads: int = 4, kv_heads: int = 2, feed_forward: int = 160,
          vocabulary: int = 256, tokens: int = 64, checkpoint: bool = False) -> Transformer:
    return Transformer(layers, hidden, vocabulary, tokens, lambda: LlamaBlock(hidden, heads, kv_heads, feed_forward), False,
                       checkpoint)


@dataclass
class Step:
    """peak: bytes by the profiler's memory events, on top of parameters, buffers and inputs, which are added."""

    peak: int
    loss: torch.Tensor
    gradients: List[torch.Tensor]


def run_step(model: nn.Module, backend: Any, *inputs: torch.Tensor, seed: int = 7) -> Step:
    """Compiles `model` again, runs a step to compile, and measures the next one."""
    torch._dynamo.reset()
    return measure_step(model, torch.compile(model, backend=backend), *inputs, seed=seed)


def loss_of(results: Any) -> torch.Tensor:
    """Returns the loss itself, the first of a tuple, or what a dictionary calls so."""
    return results["loss"] if isinstance(results, dict) else results[0] if isinstance(results, tuple) else results


def measure_step(model: nn.Module, compiled: Callable[..., Any], *inputs: torch.Tensor, seed: int = 7) -> Step:
    """The caller holds all results until the backward has returned."""
    loss_of(compiled(*inputs)).backward()
    model.zero_grad(set_to_none=True)
    gc.collect()
    torch.manual_seed(seed)
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        results = compiled(*inputs)
        loss_of(results).backward()
    gradients = [parameter.grad for parameter in model.parameters()]
    model.zero_grad(set_to_none=True)
    return Step(resident_bytes(model, *inputs) + llmmem.torch.peak_bytes(profiler), loss_of(results).detach(), gradients)


def measure_updates(model: nn.Module, step: Callable[[], Any], inputs: Sequence[torch.Tensor], optimizer: Any) -> List[int]:
    """Returns the peaks of two steps of `step`, a forward whose results are held until the backward has returned, each with what is held before
    it. optimizer: makes one of the parameters, or None."""
    update = optimizer(model.parameters()) if optimizer else None
    resident, peaks = resident_bytes(model, *inputs), []
    for _ in range(2):
        gc.collect()
        state = 0 if update is None else sum(tensor.untyped_storage().nbytes() for values in update.state.values()
                                             for tensor in values.values() if isinstance(tensor, torch.Tensor))
        with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
            results = step()
            getattr(results, "loss", results).backward()
            del results
            if update is not None:
                update.step()
            model.zero_grad(set_to_none=True)
        peaks.append(resident + state + llmmem.torch.peak_bytes(profiler))
    return peaks


def resident_bytes(model: nn.Module, *inputs: torch.Tensor) -> int:
    storages = {tensor.untyped_storage().data_ptr(): tensor.untyped_storage().nbytes()
                for tensor in [*model.parameters(), *model.buffers(), *inputs]}
    return sum(storages.values())


def is_equal(step: Step, other: Step) -> bool:
    """Returns whether loss and all gradients are equal bit by bit."""
    pairs = zip([step.loss, *step.gradients], [other.loss, *other.gradients])
    return all((a is None and b is None) or torch.equal(a, b) for a, b in pairs)
