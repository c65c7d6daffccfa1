"""Optimizers that update a parameter in the backward, as soon as its gradient is there, and free the gradient.

A compiled backward gives all of its gradients at once, so what this saves lies between the backwards of several compiled regions.
"""

import copy
import functools
from typing import Any, Callable, Dict, List, Sequence

import torch
from torch.optim import Optimizer

from ._private import pytree


def update_in_backward(optimizers: Sequence[Optimizer]) -> None:
    """Lets each optimizer step where its parameter's gradient is complete."""
    for optimizer in optimizers:
        _parameter_of(optimizer).register_post_accumulate_grad_hook(functools.partial(_update, optimizer))


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
    return [copy.deepcopy(optimizer, memo) for optimizer in optimizers]


def _parameter_of(optimizer: Optimizer) -> torch.Tensor:
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    if len(parameters) != 1:
        raise ValueError(f"optimizers_in_backward: an optimizer has {len(parameters)} parameters; expected one for each parameter, as in "
                         "[torch.optim.SGD([parameter]) for parameter in model.parameters()], since it steps when that gradient is complete")
    return parameters[0]


def _update(optimizer: Optimizer, _: torch.Tensor) -> None:
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
