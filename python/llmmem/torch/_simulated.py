"""One of several ranks, none of which exists: what wrappers make of a model there, and what they hold.

FSDP2 runs itself: its hooks shard, gather and scatter fake tensors, over PyTorch's group of simulated ranks, which transfers nothing. Of
DistributedDataParallel, whose reducer cannot run on fake tensors, the buckets are counted: a second copy of all gradients.
"""

import contextlib
import functools
import gc
from dataclasses import dataclass
from typing import Any, Callable, Iterable, Iterator, List, Optional, Sequence

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from . import _private

# A function of a model and the mesh of the ranks, which gives the model's parts to fully_shard.
Shard = Callable[[nn.Module, Any], None]


@dataclass(frozen=True)
class Rank:
    """What is of a rank. wrap: wraps the model. resized, staging: those of Tracer. buckets: the bytes of DDP's buckets for a model."""

    wrap: Callable[[nn.Module], None] = lambda model: None
    resized: Callable[[], Iterable[torch.Tensor]] = tuple
    staging: Callable[[Any, Sequence[torch.Tensor]], int] = lambda func, tensors: 0
    buckets: Callable[[nn.Module], int] = lambda model: 0


@contextlib.contextmanager
def simulate_rank(strategy: str, ranks: int, shard: Optional[Shard], is_gloo: bool) -> Iterator[Rank]:
    """Gives the rank of a strategy. is_gloo: whether transfers are gloo's. Raises ValueError where this process is a rank already."""
    if strategy == "ddp":
        yield Rank(buckets=_bucket_bytes)
    elif not strategy.startswith("fsdp2"):
        yield Rank()
    else:
        import torch.distributed as distributed
        from torch.distributed.device_mesh import init_device_mesh
        if not distributed.is_available():
            raise ValueError(f"ranks: this PyTorch, {torch.__version__}, was built without torch.distributed")
        if distributed.is_initialized():
            raise ValueError("ranks: this process is a rank of a group already (torch.distributed is initialized): predict in another process, "
                             "or before init_process_group")
        with _private.simulated_group(ranks):
            mesh = init_device_mesh("cpu", (ranks,))
            yield Rank(lambda model: (shard or shard_blocks)(model, mesh), _private.resized_by_groups, _gloo_bytes if is_gloo else Rank.staging)
        # Groups of modules refer to each other, and wrappers that are gone must not be found by others.
        gc.collect()


def shard_blocks(model: nn.Module, mesh: Any) -> None:
    """Gives each block that a model repeats to fully_shard, and then the model."""
    from torch.distributed.fsdp import fully_shard
    for block in blocks_of(model, "which would be sharded one by one; give shard="):
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)


def wrap_blocks(model: nn.Module) -> None:
    """Puts a checkpoint around each block that a model repeats."""
    for block in blocks_of(model, "around each of which a checkpoint could stand"):
        # States of random numbers, which a checkpoint may keep, are the host's.
        block.forward = functools.partial(checkpoint, block.forward, use_reentrant=False, preserve_rng_state=False)


def blocks_of(model: nn.Module, why: str) -> List[nn.Module]:
    """Returns the blocks that a model repeats: the members of its longest list of modules of one class. Raises ValueError where there is
    none, and says `why` it is needed."""
    lists = [list(module) for module in model.modules() if isinstance(module, nn.ModuleList) and len({type(member) for member in module}) == 1]
    if not lists:
        raise ValueError(f"llmmem.torch.predict: the model has no list of equal blocks (torch.nn.ModuleList), {why}")
    return max(lists, key=len)


def refuse_wrapped(model: nn.Module) -> None:
    """Raises ValueError for a model whose wrappers belong to ranks that exist."""
    wrapped = any(_private.is_wrapper(type(parameter)) and hasattr(parameter, "device_mesh") for parameter in model.parameters())
    if wrapped or any(isinstance(module, nn.parallel.DistributedDataParallel) for module in model.modules()):
        raise ValueError("llmmem.torch.predict: the model is wrapped already (fully_shard or DistributedDataParallel): give the model itself and "
                         "ranks=, and a function that shards it as shard=")


def _bucket_bytes(model: nn.Module) -> int:
    return sum(parameter.numel() * parameter.itemsize for parameter in model.parameters() if parameter.requires_grad)


def _gloo_bytes(func: Any, tensors: Sequence[torch.Tensor]) -> int:
    """Returns what gloo takes during a transfer: it gathers into a buffer of its own, and scatters a clone (_collectives.py). NCCL's buffers
    are outside of PyTorch's allocator."""
    if _private.op_name(func) in ("_allgather_base_", "_reduce_scatter_base_"):
        return max(tensor.numel() * tensor.itemsize for tensor in tensors)
    return 0
