"""`llmmem.torch.predict`: what a training step will hold, before it runs anywhere."""

import contextlib
import copy
import os
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import torch
from torch import nn

from .._caching_allocator import Event as Request
from .._caching_allocator import simulate
from .._errors import BudgetError
from . import _private, _taken
from ._backend import backend, run_in_order
from ._compile import Loss, _arguments, loss_of_results
from ._costs import get_device
from ._errors import UnsupportedGraphError, find_error
from ._machine import machine_of_table
from ._partition import Bytes
from ._private import READS_OF_A_NUMBER, FakeTensorMode, TorchDispatchMode, local_part, pytree
from ._prediction import Peak, Prediction, Strategy
from ._program import storage_bytes
from ._simulated import Shard, refuse_wrapped, simulate_rank, wrap_blocks
from ._trace import (BACKWARD, FORWARD, GRADIENT, HOST, INPUT, KINDS, OPTIMIZER, PARAMETER, PHASES, STATE, TRANSFER, Event, Tracer)

ALONE = ("eager", "checkpointed", "compiled", "planned")
AMONG_RANKS = ("ddp", "fsdp2", "fsdp2-checkpointed")
STRATEGIES = (*ALONE, *AMONG_RANKS)
# The first step makes the optimizer's state; the second is like all others.
STEPS = 2


def predict(model_or_config: Any, inputs: Any, *, optimizer: Optional[Callable[..., torch.optim.Optimizer]] = None, device: str = "cpu",
            strategies: Optional[Sequence[str]] = None, budget: Bytes = None, loss: Optional[Loss] = None, ranks: Optional[int] = None,
            shard: Optional[Shard] = None) -> Prediction:
    """Returns the bytes that training steps will hold at most, by phase and by kind, without a weight in memory.

    Two steps of each strategy run on tensors that have shapes and no bytes: forward, backward, optimizer, and gradients set to None.

    model_or_config: a module, which may be on the device "meta" and is left as it is; or the path to a config.json of transformers or its
        object, of which the causal language model is made.
    inputs: of the model: a tensor, a tuple of arguments, or a dictionary of named ones, read for their shapes; for a config also the two
        numbers (batch, tokens).
    optimizer: a function that makes one of an iterable of parameters, such as torch.optim.AdamW; None for no update.
    device: the table of a device, as for `backend`. On "cpu" each kind of op is run once to measure what it takes meanwhile. Of a GPU bytes
        are rounded as its allocator does, reserved bytes are those of that allocator simulated, and the kernels are taken to be those of
        the CPU, whose results have the same sizes. What kernels take while they run is then known from PyTorch's source; the report names
        the ops of which it is not.
    strategies: of "eager", "checkpointed" (torch.utils.checkpoint around each block), "compiled" (AOTAutograd's partition, kernels one by
        one) and "planned" (`backend(budget)`); and where `ranks` is given "ddp" (DistributedDataParallel), "fsdp2" (fully_shard of each
        block and of the model) and "fsdp2-checkpointed". By default all, "planned" where a budget is given.
    budget: of the planned step, with the optimizer's state.
    loss: a function of the model and its inputs that returns the loss, by default as for `compile`. Results are held until the backward
        has returned.
    ranks: how many hold the model. The bytes are those of the first, and the inputs those of one rank. None of them has to exist.
    shard: of "fsdp2", a function of the model and the mesh that calls fully_shard, for other settings than its own.

    Raises ValueError where an argument is wrong or the step cannot run without numbers, and BudgetError where no plan fits.
    """
    chosen = _check_strategies(strategies, budget, ranks)
    if isinstance(model_or_config, nn.Module):
        refuse_wrapped(model_or_config)
    step = Step(model_or_config, inputs, optimizer, device, budget, loss, ranks or 1, shard)
    found: Dict[str, Strategy] = {}
    for name in chosen:
        events, unknown = _trace(name, step)
        found[name] = Strategy(_peaks(events, step.alignment), unknown)
    return Prediction(device, optimizer is not None, found)


def _check_strategies(strategies: Optional[Sequence[str]], budget: Bytes, ranks: Optional[int]) -> Sequence[str]:
    if ranks is not None and (not isinstance(ranks, int) or ranks < 1):
        raise ValueError(f"ranks: is {ranks!r}; expected a number from 1 up")
    possible = STRATEGIES if ranks else ALONE
    chosen = tuple(strategies or [name for name in possible if name != "planned" or budget is not None])
    unknown = [name for name in chosen if name not in possible]
    if unknown:
        raise ValueError(f'strategies: "{unknown[0]}" needs ranks=' if unknown[0] in AMONG_RANKS else
                         f"strategies: {unknown[0]!r} is none; expected some of {', '.join(STRATEGIES)}")
    if "planned" in chosen and budget is None:
        raise ValueError('strategies: "planned" needs a budget')
    return chosen


@dataclass(frozen=True)
class Step:
    """What is predicted: the arguments of `predict`."""

    model_or_config: Any
    inputs: Any
    optimizer: Optional[Callable[..., torch.optim.Optimizer]]
    device: str
    budget: Bytes
    loss: Optional[Loss]
    ranks: int = 1
    shard: Optional[Shard] = None

    @property
    def alignment(self) -> int:
        return get_device(self.device, []).alignment

    @property
    def is_on_gpu(self) -> bool:
        return self.alignment > 1


def _trace(strategy: str, of: Step) -> Tuple[List[Event], Sequence[str]]:
    """Runs the steps of one strategy on fake tensors. Returns what they allocate and free, and the ops of which it is not known what they take
    meanwhile."""
    fakes = FakeTensorMode(allow_non_fake_inputs=True)
    model, inputs, run = fake_step(of, fakes)
    with contextlib.ExitStack() as stack:
        rank = stack.enter_context(simulate_rank(strategy, of.ranks, of.shard, not of.is_on_gpu))
        _prepare(strategy, model, run, of, fakes)
        tracer = Tracer(rank.resized, rank.staging, has_host=of.is_on_gpu)
        try:
            stack.enter_context(fakes)
            rank.wrap(model)
            if strategy in AMONG_RANKS:
                # DTensor finds the shapes of results by ops of its own, when it sees an op for the first time.
                rehearse_update(model, of)
            stack.enter_context(tracer)
            tracer.adopt([*model.parameters(), *model.buffers()], PARAMETER)
            tracer.adopt(inputs, INPUT)
            tracer.hold(rank.buckets(model), TRANSFER)
            update = of.optimizer([parameter for parameter in model.parameters() if parameter.requires_grad]) if of.optimizer else None
            if update is not None and of.is_on_gpu:
                _take_lists(update)
            for number in range(STEPS):
                _run_step(tracer, number, model, run, update, of.is_on_gpu)
        except (RuntimeError, NotImplementedError) as error:
            if find_error(error, (BudgetError, UnsupportedGraphError)):
                raise
            raise ValueError(f"llmmem.torch.predict: the {strategy} step cannot run on tensors without bytes: {error}") from error
    taken = _taken.of_gpu(tracer.nodes, machine_of_table(of.device)) if of.is_on_gpu else _taken.measured(tracer.nodes)
    return tracer.events(taken.blocks, taken.libraries, taken.users), taken.unknown


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


def _compiler_of(strategy: str, budget: Bytes, device: str, state: int = 0) -> Optional[Callable[..., Any]]:
    """Returns the backend of torch.compile for a strategy, None where it compiles nothing. state: the bytes of the optimizer's state."""
    if strategy == "planned":
        return backend(budget, device=device, optimizer_state=state)
    if strategy == "compiled":
        return _private.aot_autograd(fw_compiler=run_in_order, partition_fn=_private.partitioners.min_cut_rematerialization_partition)
    return None


def fake_step(of: Step, fakes: FakeTensorMode) -> Tuple[nn.Module, List[torch.Tensor], Callable[[], Any]]:
    """Returns a copy of the model without bytes, its inputs, and its forward, which returns the model's results or the loss."""
    model = _fake_model(of.model_or_config, fakes)
    args, kwargs = _arguments(_fake_inputs(of.inputs, fakes))

    def run() -> Any:
        return of.loss(model, *args, **kwargs) if of.loss else model(*args, **kwargs)

    return model, [leaf for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)], run


def _prepare(strategy: str, model: nn.Module, run: Callable[[], Any], of: Step, fakes: FakeTensorMode) -> None:
    """Makes the model that of a strategy. What compiles is compiled here, by a step that is not traced."""
    if strategy.endswith("checkpointed"):
        wrap_blocks(model)
    with fakes:
        state = rehearse_update(model, of) if strategy == "planned" and of.budget != "min" else 0
        compiler = _compiler_of(strategy, of.budget, of.device, state)
        if compiler is not None:
            model.compile(backend=compiler)
            loss_of_results(run()).backward()
            model.zero_grad(set_to_none=True)


class _WithoutNumbers(TorchDispatchMode):
    """Gives an optimizer that reads its count of steps a number."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Optional[Dict[str, Any]] = None) -> Any:
        return 1.0 if func in READS_OF_A_NUMBER else func(*args, **(kwargs or {}))


def rehearse_update(model: nn.Module, of: Step) -> int:
    """Lets an optimizer that nobody keeps take a step. Returns the bytes of the state that it has made."""
    if of.optimizer is None:
        return 0
    with _WithoutNumbers():
        trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
        update = of.optimizer(trained)
        if of.is_on_gpu:
            _take_lists(update)
        for parameter in trained:
            parameter.grad = torch.empty_like(parameter)
        update.step()
    model.zero_grad(set_to_none=True)
    state = _state_of(update, is_count=False)
    if not of.is_on_gpu or _counts_on_device(update):
        state += _state_of(update, is_count=True)
    return sum(-(-storage_bytes(local_part(tensor)) // of.alignment) * of.alignment for tensor in state)


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
    requests = [Request(id(event.allocation), event.allocation.bytes if event.is_begin else None, event.allocation.stream) for event in events]
    return [reserved for _, reserved in simulate(requests, timeline=True).timeline]
