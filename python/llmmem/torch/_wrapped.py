"""What the wrappers of several ranks hold in addition to a compiled graph: FSDP2 (`fully_shard`) and DistributedDataParallel.

Both work in hooks around the graph, where no plan sees them. Their buffers are read from the wrapped modules, as the most that may be
held at once.

FSDP2, for groups of parameters that are gathered together (torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py):

- of every group its shard, and the gradient of that;
- of a group that stays gathered (reshard_after_forward=False, and the root), or inside of which other groups run, the gathered
  parameters and their gradients; of all other groups those of the largest, since one is gathered at a time;
- the buffer of each gather that runs ahead: one, or as many as were asked for (set_modules_to_forward_prefetch and ..._backward_...);
- the input of each reduce-scatter that is kept until the next: one, or set_reduce_scatter_max_input_buffers; one output in the type
  that is reduced where that is not the shard's.
"""

from dataclasses import dataclass
from typing import Any, Callable, FrozenSet, List, Optional, Sequence, Set

import torch

from .._errors import BudgetError
from . import _private
from ._collectives import GLOO_WORKERS
from ._errors import UnsupportedGraphError
from ._live import key_of, tensors_in


@dataclass(frozen=True)
class Wrapped:
    """What wrappers hold. bytes: at most, in addition to what a graph is given and makes. is_sharded: whether modules were given to
    fully_shard."""

    bytes: int = 0
    is_sharded: bool = False


def find_wrapped(inputs: Sequence[Any] = ()) -> Wrapped:
    """Returns what the wrappers of this process hold while a graph with these inputs runs; of DDP the one whose forward runs."""
    groups = _groups()
    given = {_key(value) for value in tensors_in(inputs)} if groups else set()
    groups = _of_one_model(groups, given) or [group for group in groups if _private.is_in_forward(group)]
    alone = [group for group in groups if not _stays_gathered(group)]
    shards = sum(_shard_bytes(group) for group in groups)
    kept = sum(2 * _gathered_bytes(group) for group in groups if group not in alone)
    # A graph counts the parameters that it is given, and their gradients.
    is_own = any(not given.isdisjoint(_keys(group)) for group in alone)
    largest = 0 if is_own else max((2 * _gathered_bytes(group) for group in alone), default=0)
    buffers = max(map(_transfer_bytes, groups), default=0)
    return Wrapped(shards + kept + largest + buffers + _bucket_bytes(), bool(groups))


def _of_one_model(groups: List[Any], given: Set[int]) -> List[Any]:
    """Returns the groups of the model whose parameters are given. What other models hold is to be reserved."""
    contexts = {id(group.comm_ctx) for group in groups if not given.isdisjoint(_keys(group))}
    return [group for group in groups if id(group.comm_ctx) in contexts]


def watch_wrapped(run: Callable[..., Any], planned: Wrapped, budget: Optional[int]) -> Callable[..., Any]:
    """Wraps a compiled graph, so that a call raises BudgetError where fully_shard would hold more than was planned."""
    if not planned.is_sharded or budget is None:
        return run

    def check_and_run(*arguments: Any) -> Any:
        now = find_wrapped(arguments).bytes
        if now > planned.bytes:
            raise BudgetError(f"llmmem.torch: fully_shard holds up to {now:,} bytes in addition to the graph, and {planned.bytes:,} were "
                              "planned: settings of the wrapped modules (set_requires_gradient_sync, reshard, prefetching) must be made "
                              f"before the model is compiled, or give reserve={now - planned.bytes}", budget, None, 0)
        return run(*arguments)

    return check_and_run


def storages_of_groups() -> FrozenSet[int]:
    """Returns the identities of the storages of gathered parameters. They have no bytes while their group is sharded."""
    return frozenset(key for group in _groups() for key in _keys(group))


def _groups() -> List[Any]:
    """Returns the groups of all modules that were given to fully_shard and still exist."""
    groups = _private.sharded_groups()
    for group in groups:
        _refuse(group)
    return groups


def _refuse(group: Any) -> None:
    for parameter in group.fsdp_params:
        why = ("offload_policy=CPUOffloadPolicy() keeps shards in the host's memory" if parameter.offload_to_cpu and
               group.device.type != "cpu" else
               "a tensor subclass with fsdp_pre_all_gather gathers what it likes" if
               _private.is_gathered_by_itself(parameter) else None)
        if why:
            name = _private.full_name(parameter) or "a parameter"
            raise UnsupportedGraphError(f"llmmem.torch: fully_shard of {name}: {why}, whose bytes are not counted: leave that out, or put "
                                        "the gathers into the graph (parameters that are DTensors, as SimpleFSDP has them)")


def _shard_bytes(group: Any) -> int:
    """Returns the bytes of the shards and of their gradients, which keep the type of the shard."""
    return sum((1 + parameter.sharded_param.requires_grad) * _bytes(_private.shard_of(parameter)) for parameter in group.fsdp_params)


def _gathered_bytes(group: Any) -> int:
    return sum(_elements(parameter) * (parameter.param_dtype or parameter.orig_dtype).itemsize for parameter in group.fsdp_params)


def _elements(parameter: Any) -> int:
    """Returns the elements of all ranks' shards, with what fills the last of them."""
    return _private.shard_of(parameter).numel() * parameter.mesh_info.shard_mesh_size


def _transfer_bytes(group: Any) -> int:
    """Returns the bytes of the buffers of the largest transfers, if this were the largest group."""
    gathered, parameters = _gathered_bytes(group), group.fsdp_params
    reduced = sum(_elements(parameter) * (parameter.reduce_dtype or parameter.orig_dtype).itemsize for parameter in parameters)
    cast = sum(_bytes(_private.shard_of(parameter)) * parameter.param_dtype.itemsize // parameter.orig_dtype.itemsize
               for parameter in parameters if parameter.param_dtype not in (None, parameter.orig_dtype))
    output = 0 if all(parameter.reduce_dtype in (None, parameter.orig_dtype) for parameter in parameters) else reduced
    # A shard of another dimension than the first is put into order in a copy.
    gathers = max([1, *map(_private.prefetched, group.modules)]) + any(parameter.fsdp_placement.dim != 0 for parameter in parameters)
    scatters = max(1, _private.max_reduce_scatter_buffers(group))
    # gloo gathers into a buffer of its own and scatters a clone, and its workers let go of both late (_collectives.py).
    gloo = (1 + 2 * GLOO_WORKERS) * max(gathered, reduced) if group.device.type == "cpu" else 0
    return gathers * gathered + scatters * reduced + cast + output + gloo


def _stays_gathered(group: Any) -> bool:
    """Returns whether a group stays gathered while others run, or keeps the gradients of its gathered parameters."""
    inner = any(_private.is_sharded_module(module) for outer in group.modules for module in outer.modules() if module not in group.modules)
    return inner or group.post_forward_mesh_info is None or not group.reduce_grads or not group.reshard_after_backward


def _bucket_bytes() -> int:
    """Returns the bytes of DDP's buckets, which hold a second copy of all gradients. Raises UnsupportedGraphError where DDP holds more."""
    active = _private.active_ddp()
    if active is None:
        return 0
    why = ("mixed_precision keeps copies of parameters in another type" if active.mixed_precision is not None else
           "a hook of register_comm_hook makes buffers of its own" if _private.has_communication_hooks(active) else None)
    if why:
        raise UnsupportedGraphError(f"llmmem.torch: DistributedDataParallel: {why}, whose bytes are not counted: leave that out")
    trained = [parameter for parameter in active.module.parameters() if parameter.requires_grad]
    # Which parameters were used is noted twice, in 4 bytes for each.
    return sum(map(_bytes, trained)) + (8 * len(trained) if active.find_unused_parameters else 0)


def _keys(group: Any) -> List[int]:
    return [_key(tensor) for tensor in _private.gathered(group)]


def _key(tensor: torch.Tensor) -> int:
    return key_of(_private.local_part(tensor))


def _bytes(tensor: torch.Tensor) -> int:
    return tensor.numel() * tensor.itemsize
