"""`llmmem.torch.compile`: finds the calls of a training step by running it on tensors without bytes, plans them together, and compiles."""

import contextlib
import copy
import functools
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import torch
from torch import nn

from .._errors import BudgetError
from ._errors import UnsupportedGraphError, find_error
from ._in_backward import check_optimizers, state_of, twins_of, update_in_backward
from ._private import FakeTensorMode, pytree
from ._record import Recorder
from ._steps import Graph, Steps, least_of_step, make_plan
from ._step import Moment

if TYPE_CHECKING:
    from ._backend import Backend

Loss = Callable[..., torch.Tensor]

NO_GRAPH = ("no graph was planned: PyTorch has compiled none that has a backward, and what it runs itself is under no budget; "
            "TORCH_LOGS=graph_breaks shows why")


def compile_model(backend: "Backend", model: nn.Module, inputs: Any, loss: Optional[Loss], regions: Optional[Sequence[nn.Module]],
                  strict: bool, optimizers: Sequence[torch.optim.Optimizer] = ()) -> nn.Module:
    """See llmmem.torch.compile."""
    if backend.steps.budget is None and backend.partition.budget != "min":
        raise ValueError('llmmem.torch.compile: needs a budget: bytes, a text such as "20GB", or "min" for the least that is found')
    chosen = list(regions) if regions is not None else [model]
    missing = [region for region in chosen if not any(region is module for module in model.modules())]
    if missing:
        raise ValueError(f"regions: {type(missing[0]).__name__} is no module of the model")
    check_optimizers(optimizers, model)
    recorded = _record(backend, _Step(model, inputs, loss, chosen, optimizers))
    _adopt(backend, recorded, strict)
    update_in_backward(optimizers)
    return _apply(model, regions, backend)


def loss_of_results(results: Any) -> torch.Tensor:
    """Returns the loss among a model's results: what is called so, the result itself, or the first of several. A result that is no single
    number is summed."""
    found = results.get("loss") if isinstance(results, dict) else getattr(results, "loss", results)
    found = found[0] if isinstance(found, (tuple, list)) else found
    if not isinstance(found, torch.Tensor) or not found.requires_grad:
        raise ValueError(f"llmmem.torch: the model's result, a {type(results).__name__}, has no loss: give loss=, a function of "
                         "the model and its inputs that returns one")
    return found if found.dim() == 0 else found.sum()


def _apply(model: nn.Module, regions: Optional[Sequence[nn.Module]], backend: "Backend") -> nn.Module:
    if regions is None:
        return torch.compile(model, backend=backend)
    _compile_all(regions, backend)
    return model


class _Step(NamedTuple):
    """A training step: of a model, its inputs, its loss, and the modules that are compiled. loss: None where it is among the model's
    results. optimizers: those that step in the backward."""

    model: nn.Module
    inputs: Any
    loss: Optional[Loss]
    regions: Sequence[nn.Module]
    optimizers: Sequence[torch.optim.Optimizer]


# The backend that recorded, and the episodes.
_Recorded = Tuple["Backend", List[Tuple[List[Graph], List[Moment]]]]


def _record(backend: "Backend", step: _Step) -> _Recorded:
    """Runs the step on fake tensors, or on the model's own where a number is read out of one."""
    try:
        return _record_on(FakeTensorMode(allow_non_fake_inputs=True), backend, step)
    except Exception as error:
        # Dynamo wraps what a backend raises. A graph that is refused would be refused again.
        if find_error(error, (BudgetError, UnsupportedGraphError)):
            raise
        if step.optimizers:
            raise ValueError("optimizers_in_backward: the step could not run on tensors without bytes, and with the model's own the optimizers "
                             "would train it: give optimizers that read no number out of a tensor, such as those with fused=True or "
                             f"capturable=True ({type(error).__name__}: {error})") from error
        try:
            with _left_as_it_was(step.model):
                return _record_on(None, backend, step)
        except Exception as again:
            raise again from error


def _record_on(fakes: Optional[FakeTensorMode], backend: "Backend", step: _Step) -> _Recorded:
    """Runs the step of a copy of the model: its parameters are fake ones, which have no bytes, or without `fakes` the model's own. Returns
    what was seen without gradients, and with those of an earlier backward."""

    def convert(tensor: torch.Tensor) -> torch.Tensor:
        return fakes.from_tensor(tensor) if fakes else tensor

    model = step.model
    tensors = [*model.parameters(), *model.buffers()]
    with contextlib.ExitStack() as stack:
        stack.enter_context(_without_gradients(model))
        memo: Dict[int, Any] = {id(tensor): convert(tensor) for tensor in tensors}
        twin = copy.deepcopy(model, memo)
        run = functools.partial(step.loss, twin) if step.loss else twin
        args, kwargs = _arguments(pytree.tree_map_only(torch.Tensor, convert, step.inputs))
        optimizers = twins_of(step.optimizers, memo, convert)
        update_in_backward(optimizers, is_recorded=True)
        dry = backend.twin()
        _compile_all([memo[id(region)] for region in step.regions], dry)
        recorder = Recorder(dry.steps)
        known = [*twin.parameters(), *twin.buffers(), *(leaf for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor))]
        for mode in (fakes, recorder):
            stack.enter_context(mode or contextlib.nullcontext())
        episodes = list(_run(dry.steps, recorder, lambda: [*known, *state_of(optimizers)], lambda: run(*args, **kwargs), twin,
                             3 if optimizers else 4))
    if not dry.reports:
        raise UnsupportedGraphError(f"llmmem.torch.compile: {NO_GRAPH}")
    return dry, episodes


@contextlib.contextmanager
def _without_gradients(model: nn.Module) -> Iterator[None]:
    """Takes the parameters' gradients away meanwhile."""
    gradients = [(parameter, parameter.grad) for parameter in model.parameters()]
    model.zero_grad(set_to_none=True)
    try:
        yield
    finally:
        for parameter, gradient in gradients:
            parameter.grad = gradient


@contextlib.contextmanager
def _left_as_it_was(model: nn.Module) -> Iterator[None]:
    """Restores buffers, such as running means, and the state of random numbers."""
    buffers = [(buffer, buffer.clone()) for buffer in model.buffers()]
    with torch.random.fork_rng():
        try:
            yield
        finally:
            with torch.no_grad():
                for buffer, before in buffers:
                    buffer.copy_(before)


def _arguments(inputs: Any) -> Tuple[Tuple[Any, ...], Dict[str, Any]]:
    if isinstance(inputs, dict):
        return (), dict(inputs)
    return (tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)), {}


def _compile_all(regions: Sequence[nn.Module], backend: "Backend") -> None:
    for region in regions:
        region.compile(backend=backend)


def _run(steps: Steps, recorder: Recorder, known: Callable[[], Sequence[torch.Tensor]], step: Callable[[], Any], model: nn.Module,
         times: int) -> Iterator[Tuple[List[Graph], List[Moment]]]:
    """Runs the step to compile it, to meet each op, without gradients, and, the fourth time, with those of the last. known: returns the
    tensors that live throughout. What `step` returns is held until its backward has returned, as callers do with a model's results."""
    steps.recorder = recorder
    for number in range(times):
        if number < 3:
            model.zero_grad(set_to_none=True)
        # Compiling makes tensors of its own, which are no part of the step.
        steps.forget(storages=number < 2)
        recorder.forget(storages=number < 2)
        recorder.live.add(known())
        recorder.open()
        results = step()
        loss_of_results(results).backward()
        del results
        steps.close_segment()
        if number == 1:
            steps.unknown_workspaces = recorder.measure_workspaces()
        if number >= 2:
            yield list(steps.started), list(steps.moments)


def _adopt(backend: "Backend", recorded: _Recorded, strict: bool) -> None:
    """Plans what was recorded, and hands it to the backend that will compile for it."""
    dry, episodes = recorded
    steps = backend.steps
    steps.graphs, steps.sees_all, steps.is_strict = dict(dry.steps.graphs), True, strict
    steps.unknown_workspaces = dry.steps.unknown_workspaces
    for part in dry.parts:
        part.serve(backend)
    for number, (graphs, moments) in enumerate(episodes if episodes[0][0] else []):
        if steps.budget is None:
            steps.budget = backend.partition.budget = least_of_step(graphs, moments)
        try:
            made = make_plan(graphs, moments, steps.budget, steps.seconds)
        except BudgetError:
            if number == 0:
                raise
            continue  # A step to whose gradients a further one adds may never run.
        steps.plans.append(made)
        backend._note_plan(made)
    backend.is_recorded = True
