"""`llmmem.torch.predict`: what a training step will hold, before it runs anywhere."""

import copy
import functools
import os
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from .._caching_allocator import Event as Request
from .._caching_allocator import simulate
from .._errors import BudgetError
from . import _private
from ._backend import backend, run_in_order
from ._compile import Loss, _arguments, loss_of_results
from ._costs import get_device
from ._errors import UnsupportedGraphError, find_error
from ._partition import Bytes
from ._private import FakeTensorMode, pytree
from ._prediction import Peak, Prediction, Strategy
from ._trace import BACKWARD, FORWARD, GRADIENT, HOST, INPUT, KINDS, OPTIMIZER, PARAMETER, PHASES, STATE, Event, Tracer

STRATEGIES = ("eager", "checkpointed", "compiled", "planned")
# The first step makes the optimizer's state; the second is like all others.
STEPS = 2


def predict(model_or_config: Any, inputs: Any, *, optimizer: Optional[Callable[..., torch.optim.Optimizer]] = None, device: str = "cpu",
            strategies: Optional[Sequence[str]] = None, budget: Bytes = None, loss: Optional[Loss] = None) -> Prediction:
    """Returns the bytes that training steps will hold at most, by phase and by kind, without a weight in memory.

    Two steps of each strategy run on tensors that have shapes and no bytes: forward, backward, optimizer, and gradients set to None.

    model_or_config: a module, which may be on the device "meta" and is left as it is; or the path to a config.json of transformers or its
        object, of which the causal language model is made.
    inputs: of the model: a tensor, a tuple of arguments, or a dictionary of named ones, read for their shapes; for a config also the two
        numbers (batch, tokens).
    optimizer: a function that makes one of an iterable of parameters, such as torch.optim.AdamW; None for no update.
    device: the table of a device, as for `backend`. On "cpu" each kind of op is run once to measure what it takes meanwhile. Of a GPU bytes
        are rounded as its allocator does, reserved bytes are those of that allocator simulated, and the kernels are taken to be those of
        the CPU, whose results have the same sizes; the report says what is not known of them.
    strategies: of "eager", "checkpointed" (torch.utils.checkpoint around each block), "compiled" (AOTAutograd's partition, kernels one by
        one) and "planned" (`backend(budget)`); by default all, "planned" where a budget is given.
    loss: a function of the model and its inputs that returns the loss, by default as for `compile`. Results are held until the backward
        has returned.

    Raises ValueError where an argument is wrong or the step cannot run without numbers, and BudgetError where no plan fits.
    """
    chosen = tuple(strategies or [name for name in STRATEGIES if name != "planned" or budget is not None])
    unknown = [name for name in chosen if name not in STRATEGIES]
    if unknown or "planned" in chosen and budget is None:
        raise ValueError(f"strategies: {unknown[0]!r} is none; expected some of {', '.join(STRATEGIES)}" if unknown else
                         'strategies: "planned" needs a budget')
    alignment = get_device(device, []).alignment
    found: Dict[str, Strategy] = {}
    for name in chosen:
        events, unmeasured = _trace(name, model_or_config, inputs, optimizer, device, budget, loss)
        found[name] = Strategy(_peaks(events, alignment), unmeasured)
    return Prediction(device, optimizer is not None, found)


def _trace(strategy: str, model_or_config: Any, inputs: Any, optimizer: Optional[Callable[..., torch.optim.Optimizer]], device: str,
           budget: Bytes, loss: Optional[Loss]) -> Tuple[List[Event], int]:
    """Runs the steps of one strategy on fake tensors."""
    fakes = FakeTensorMode(allow_non_fake_inputs=True)
    model = _fake_model(model_or_config, fakes)
    args, kwargs = _arguments(_fake_inputs(inputs, fakes))
    measures = get_device(device, []).alignment == 1
    compiler = _compiler_of(strategy, budget, device)
    step = _prepare(strategy, model, compiler, lambda: (args, kwargs), loss, fakes)
    tracer = Tracer()
    try:
        with fakes, tracer:
            tracer.adopt([*model.parameters(), *model.buffers()], PARAMETER)
            tracer.adopt([leaf for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)], INPUT)
            update = optimizer([parameter for parameter in model.parameters() if parameter.requires_grad]) if optimizer else None
            if update is not None and not measures:
                _take_lists(update)
            for number in range(STEPS):
                _run_step(tracer, number, model, step, update, not measures)
    except (RuntimeError, NotImplementedError) as error:
        if find_error(error, (BudgetError, UnsupportedGraphError)):
            raise
        raise ValueError(f"llmmem.torch.predict: the {strategy} step cannot run on tensors without bytes: {error}") from error
    return tracer.events(measures)


def _run_step(tracer: Tracer, number: int, model: nn.Module, step: Callable[[], Any],
              update: Optional[torch.optim.Optimizer], on_gpu: bool) -> None:
    with tracer.during(number, FORWARD):
        results = step()
    with tracer.during(number, BACKWARD):
        loss_of_results(results).backward()
        del results
    tracer.adopt([parameter.grad for parameter in model.parameters() if parameter.grad is not None], GRADIENT)
    with tracer.during(number, OPTIMIZER):
        if update is not None:
            update.step()
            tracer.adopt(_state_of(update, is_count=False), STATE)
            tracer.adopt(_state_of(update, is_count=True), HOST if on_gpu and not _counts_on_device(update) else STATE)
        model.zero_grad(set_to_none=True)


def _state_of(update: torch.optim.Optimizer, is_count: bool) -> List[torch.Tensor]:
    """Returns the tensors of an optimizer's state, its counts of steps or the others."""
    leaves = pytree.tree_leaves(list(update.state.values()))
    return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor) and (leaf.dim() == 0) == is_count]


def _counts_on_device(update: torch.optim.Optimizer) -> bool:
    """Returns whether counts of steps are on the device, as PyTorch's optimizers put them where a kernel reads them."""
    return any(group.get("fused") or group.get("capturable") for group in update.param_groups)


def _take_lists(update: torch.optim.Optimizer) -> None:
    """Has the optimizer update lists of parameters, as PyTorch does on a GPU where nothing else was asked for; of fake tensors it does not
    know that they are there."""
    for group in update.param_groups:
        if group.get("foreach", False) is None and not group.get("fused"):
            group["foreach"] = True


def _compiler_of(strategy: str, budget: Bytes, device: str) -> Optional[Callable[..., Any]]:
    """Returns the backend of torch.compile for a strategy, None where it compiles nothing."""
    if strategy == "planned":
        return backend(budget, device=device)
    if strategy == "compiled":
        return _private.aot_autograd(fw_compiler=run_in_order, partition_fn=_private.partitioners.min_cut_rematerialization_partition)
    return None


def _prepare(strategy: str, model: nn.Module, compiler: Optional[Callable[..., Any]], inputs: Callable[[], Any],
             loss: Optional[Loss], fakes: FakeTensorMode) -> Callable[[], Any]:
    """Returns the forward of a strategy, which returns the model's results or the loss. What compiles is compiled here, by a step that is not
    traced."""
    def run() -> Any:
        args, kwargs = inputs()
        return loss(model, *args, **kwargs) if loss else model(*args, **kwargs)

    if strategy == "checkpointed":
        wrap_blocks(model)
    elif compiler is not None:
        model.compile(backend=compiler)
        with fakes:
            loss_of_results(run()).backward()
            model.zero_grad(set_to_none=True)
    return run


def wrap_blocks(model: nn.Module) -> None:
    """Puts a checkpoint around each block that a model repeats: the members of its longest list of modules of one class. Raises ValueError
    where there is none."""
    lists = [list(module) for module in model.modules() if isinstance(module, nn.ModuleList) and len({type(member) for member in module}) == 1]
    if not lists:
        raise ValueError("llmmem.torch.predict: the model has no list of equal blocks (torch.nn.ModuleList), around each of which a checkpoint "
                         "could stand")
    for block in max(lists, key=len):
        # States of random numbers, which a checkpoint may keep, are the host's.
        block.forward = functools.partial(checkpoint, block.forward, use_reentrant=False, preserve_rng_state=False)


def _fake_model(model_or_config: Any, fakes: FakeTensorMode) -> nn.Module:
    if not isinstance(model_or_config, nn.Module):
        with fakes:
            return _from_config(model_or_config).train()
    tensors = [*model_or_config.parameters(), *model_or_config.buffers()]
    memo: Dict[int, Any] = {id(tensor): _fake(tensor, fakes) for tensor in tensors}
    for parameter in model_or_config.parameters():
        if parameter.grad is not None:
            memo[id(parameter.grad)] = None
    return copy.deepcopy(model_or_config, memo)


def _from_config(config: Any) -> nn.Module:
    try:
        from transformers import AutoConfig, AutoModelForCausalLM
    except ImportError as error:
        raise ValueError("llmmem.torch.predict: a config needs transformers (pip install transformers); a module does not") from error
    if isinstance(config, (str, os.PathLike)):
        path = os.fspath(config)
        config = AutoConfig.from_pretrained(os.path.dirname(path) if path.endswith(".json") else path)
    return AutoModelForCausalLM.from_config(config)


def _fake(tensor: torch.Tensor, fakes: FakeTensorMode) -> torch.Tensor:
    """Returns a tensor without bytes in place of one that may be on the device "meta"."""
    if tensor.device.type != "meta":
        return fakes.from_tensor(tensor)
    with fakes:
        made = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="cpu")
        return nn.Parameter(made, tensor.requires_grad) if isinstance(tensor, nn.Parameter) else made


def _fake_inputs(inputs: Any, fakes: FakeTensorMode) -> Any:
    if isinstance(inputs, (tuple, list)) and len(inputs) == 2 and all(isinstance(size, int) for size in inputs):
        with fakes:
            ids = torch.empty(inputs, dtype=torch.int64)
            return {"input_ids": ids, "labels": torch.empty_like(ids)}
    return pytree.tree_map_only(torch.Tensor, lambda tensor: _fake(tensor, fakes), inputs)


def _peaks(events: Sequence[Event], alignment: int) -> List[Dict[str, Peak]]:
    """Returns for each step the peak of each phase."""
    timeline = _reserved(events) if alignment > 1 else None
    held: Dict[str, int] = dict.fromkeys(KINDS, 0)
    peaks: List[Dict[str, Peak]] = [{} for _ in range(STEPS)]
    for number, event in enumerate(events):
        size = -(-event.allocation.bytes // alignment) * alignment
        held[event.allocation.kind or ""] += size if event.is_begin else -size
        if event.phase is not None:
            known = peaks[event.step].get(event.phase)
            total, reserved = sum(held.values()), None if timeline is None else timeline[number]
            if known is None or total > known.allocated:
                peaks[event.step][event.phase] = Peak(total, reserved, dict(held))
            elif reserved is not None and known.reserved is not None and reserved > known.reserved:
                peaks[event.step][event.phase] = Peak(known.allocated, reserved, known.by_kind)
    return [{phase: step[phase] for phase in PHASES if phase in step} for step in peaks]


def _reserved(events: Sequence[Event]) -> List[int]:
    """Returns what the allocator of a GPU has reserved after each event."""
    requests = [Request(id(event.allocation), event.allocation.bytes if event.is_begin else None) for event in events]
    return [reserved for _, reserved in simulate(requests, timeline=True).timeline]
