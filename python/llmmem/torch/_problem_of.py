"""A training step of PyTorch as the planner's problem, traced without a weight in memory."""

from typing import Any, Callable, Optional

from .._model import Problem
from ._backend import backend
from ._compile import loss_of_results
from ._predict import Step, fake_step, rehearse_update
from ._private import FakeTensorMode
from ._source import Source


def problem_of(source: Source, optimizer: Optional[Callable[..., Any]], device: str, graph: Optional[int] = None) -> Problem:
    """Returns the problem of a step, in which the optimizer's state is held throughout. graph: which graph, from 1 up, of a step that
    PyTorch cuts into several, each of which is a problem of its own. Raises ValueError where that is not said, or is none."""
    step = Step(source.model, source.inputs, optimizer, device, None, source.loss)
    fakes = FakeTensorMode(allow_non_fake_inputs=True)
    model, _, run = fake_step(step, fakes)
    with fakes:
        made = backend(None, device=device, optimizer_state=rehearse_update(model, step))
        model.compile(backend=made)
        loss_of_results(run()).backward()
    problems = [report.problem for report in made.reports]
    if not problems:
        raise ValueError("PyTorch has compiled no graph of the model that has a backward; TORCH_LOGS=graph_breaks shows why")
    if graph is None and len(problems) > 1:
        raise ValueError(f"PyTorch cuts the step into {len(problems)} graphs, of {', '.join(str(len(each.ops)) for each in problems)} ops: choose one "
                         "with --graph, or see TORCH_LOGS=graph_breaks")
    if graph is not None and graph > len(problems):
        raise ValueError(f"--graph: is {graph}; the step has {len(problems)} graphs")
    return problems[(graph or 1) - 1]
