"""Optimizers that update a parameter in the backward, as soon as its gradient is there, and free the gradient.

A compiled backward gives all of its gradients at once, so what this saves lies between the backwards of several compiled regions.
"""

import contextlib
import copy
import functools
from typing import Any, Callable, Dict, List, Sequence

import torch
from torch.optim import Optimizer

from ._private import pytree


def update_in_backward(optimizers: Sequence[Optimizer], is_recorded: bool = False) -> None:
    """Lets each optimizer step where its parameter's gradient is complete. is_recorded: whether that is on tensors without bytes, on which no
    update may run that the optimizer compiles itself."""
    for optimizer in optimizers:
        _parameter_of(optimizer).register_post_accumulate_grad_hook(functools.partial(_update, optimizer, is_recorded))


def check_optimizers(optimizers: Sequence[Optimizer], model: torch.nn.Module) -> None:
    """Raises ValueError where an optimizer cannot step by itself."""
    known = {id(parameter) for parameter in model.parameters()}
    for optimizer in optimizers:
        if id(_parameter_of(optimizer)) not in known:
            raise ValueError("optimizers_in_backward: an optimizer's parameter is none of the model's")


def state_of(optimizers: Sequence[Optimizer]) -> List[torch.Tensor]:
    """Returns the tensors of the optimizers' state, which live as long as the parameters. It is made in the first step."""
    return [leaf for optimizer in optimizers for leaf in pytree.tree_leaves(list(optimizer.state.values()))
            if isinstance(leaf, torch.Tensor)]


def twins_of(optimizers: Sequence[Optimizer], memo: Dict[int, Any], convert: Callable[[torch.Tensor], torch.Tensor]) -> List[Optimizer]:
    """Returns copies of the optimizers for a copy of the model. memo: what stands for each parameter there, by its identity."""
    memo.update((id(tensor), convert(tensor)) for tensor in state_of(optimizers))
    return [_twin_of(optimizer, memo) for optimizer in optimizers]


def _twin_of(optimizer: Optimizer, memo: Dict[int, Any]) -> Optimizer:
    """Returns a copy of an optimizer with the attributes of its class, which PyTorch's own copy leaves out."""
    twin = copy.deepcopy(optimizer, memo)
    for name, value in vars(optimizer).items():
        if name not in vars(twin):
            setattr(twin, name, copy.deepcopy(value, memo))
    return twin


def _parameter_of(optimizer: Optimizer) -> torch.Tensor:
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    if len(parameters) != 1:
        raise ValueError(f"optimizers_in_backward: an optimizer has {len(parameters)} parameters; expected one for each parameter, as in "
                         "[torch.optim.SGD([parameter]) for parameter in model.parameters()], since it steps when that gradient is complete")
    return parameters[0]


def _update(optimizer: Optimizer, is_recorded: bool, _: torch.Tensor) -> None:
    with torch.compiler.set_stance("force_eager") if is_recorded else contextlib.nullcontext():
        optimizer.step()
    optimizer.zero_grad(set_to_none=True)
