"""A graph that is one of several calls of a step, compiled once for each plan that its calls take."""

import contextlib
import dataclasses
import hashlib
import inspect
from types import FrameType
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Optional, Sequence

import torch
from torch import fx, nn

from .._errors import BudgetError
from .._model import Plan, Problem
from ._curve import least_of, plan_within
from ._higher_order import describe
from ._lifetimes import resident_bytes
from ._modules import copy_graph
from ._private import CompileContext, FakeTensor, TracingContext, compile_context, file_of, is_split_by_ddp, tracing
from ._report import Report
from ._step import Point
from ._steps import Graph

if TYPE_CHECKING:
    from ._backend import Backend


def is_part(module: fx.GraphModule, inputs: Sequence[Any]) -> bool:
    """Returns whether a graph that Dynamo hands over is evidently not all of its step: its frame goes on after a graph break, something
    before it wants a gradient, or the function that was to be compiled runs without Dynamo and calls this one. DDP's parts of a graph are
    planned where they are compiled."""
    reason, traced = getattr(module, "compile_subgraph_reason", None), TracingContext.try_get()
    if reason is None or traced is None or is_split_by_ddp(traced):
        return False
    wants_gradient = any(isinstance(value, torch.Tensor) and value.requires_grad and not value.is_leaf for value in inputs)
    return reason.graph_break or wants_gradient or not _is_outermost()


def _is_outermost() -> bool:
    """Returns whether the frame that is compiled is the one that torch.compile was given, which Dynamo's own wrapper calls, with nothing in
    between but a module that calls its forward. Dynamo compiles where a frame begins, so that the frame's caller stands below it on
    Python's stack."""
    frame: Optional[FrameType] = inspect.currentframe()
    while frame is not None and not _enters_dynamo(frame):
        frame = frame.f_back
    caller = frame.f_back if frame is not None else None
    while caller is not None and caller.f_code.co_filename == nn.modules.module.__file__:
        caller = caller.f_back
    return caller is None or caller.f_code.co_filename == file_of("eval_frame")


def _enters_dynamo(frame: FrameType) -> bool:
    caller = frame.f_back
    return frame.f_code.co_name == "__call__" and frame.f_code.co_filename == file_of("convert_frame") and (
        caller is None or caller.f_code.co_filename != file_of("convert_frame"))


def name_of(module: fx.GraphModule, inputs: Sequence[Any]) -> str:
    """Returns a text that is equal for graphs which differ in the names of their values alone."""
    numbers = {node: f"%{number}" for number, node in enumerate(module.graph.nodes)}
    lines = [str(torch.is_autocast_enabled("cpu"))]
    lines += [f"{name} {describe(child)}" for name, child in sorted(module.named_children()) if isinstance(child, fx.GraphModule)]
    for node in module.graph.nodes:
        target = "" if node.op in ("placeholder", "output") else str(node.target)
        operands = fx.node.map_arg((node.args, node.kwargs), numbers.__getitem__) if node.op != "placeholder" else ""
        lines.append(f"{node.op} {target} {operands}")
    for value in inputs:
        is_tensor = isinstance(value, torch.Tensor)
        lines.append(f"{value.dtype} {value.device} {tuple(value.shape)} {value.stride()} {value.requires_grad} {value.is_leaf}"
                     if is_tensor else str(value))
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


class Part:
    """Callable as the compiled graph. Its plans change between steps, and Dynamo's code, which calls it, stays."""

    def __init__(self, backend: "Backend", module: fx.GraphModule, inputs: List[Any], options: Dict[str, Any]) -> None:
        self.backend, self.options, self.name = backend, options, name_of(module, inputs)
        self.module, self.inputs = module, inputs
        self.graph: Optional[Graph] = None
        self.runs: Dict[Optional[Point], Callable[..., Any]] = {}
        self.reports: List[Report] = []
        self.context: Optional[Callable[[], Any]] = None
        steps = backend.steps
        self.known = steps.graphs.get(self.name)
        points = [point for plan in steps.plans for graph, point in zip(plan.graphs, plan.points) if graph is self.known]
        for wanted in dict.fromkeys(points) if points else [None]:
            self._compile(wanted)
            if self.graph is None:  # Nothing to plan: a graph without a backward.
                return
        self._remember_context()

    @property
    def is_planned(self) -> bool:
        return self.graph is not None

    def __call__(self, *arguments: Any) -> Any:
        steps = self.backend.steps
        if steps.recorder is None and any(isinstance(argument, FakeTensor) for argument in arguments):
            return next(iter(self.runs.values()))(*arguments)
        assert self.graph is not None
        point = steps.begin(self.graph, arguments)
        results = self._run_of(point)(*arguments)
        steps.end(self.graph, point, arguments, results)
        return results

    def serve(self, backend: "Backend") -> None:
        """Takes the plans of another backend from now on. Dynamo may call the code of a step that was recorded in the step that it was recorded
        for, where both have the same parameters."""
        if backend.partition.compiler != self.backend.partition.compiler:
            self.runs = {}
        self.backend = backend

    def _run_of(self, point: Point) -> Callable[..., Any]:
        key = point if point in self.runs or point != self.graph.least else None
        if key not in self.runs:
            with self.context():
                self._compile(key)
        return self.runs[key]

    def _compile(self, point: Optional[Point]) -> None:
        """Compiles the graph for a plan, or for the least bytes."""
        backend, steps = self.backend, self.backend.steps
        steps.has_garbage = True
        partition, before = backend.partition, len(backend.reports)
        limit = "min" if point is None else self._limit(point)
        # Inductor owns what it is given, and AOTAutograd may be given it again.
        copy = fx.GraphModule(self.module, copy_graph(self.module.graph))
        with partition.part_of_step(limit, lambda problem, budget: self._choose(problem, point, budget)):
            run = backend.compile_graph(copy, self.inputs, **self.options)
        if len(backend.reports) == before:
            self.runs[point] = run
            return
        report = dataclasses.replace(backend.reports[-1], budget=steps.budget, is_one_of_several=True, is_first_step=point is None)
        backend.reports[-1] = report
        if self.graph is None:
            self.graph = self.known
            self.graph.unknown_workspaces = report.unknown_workspaces
            partition.hold_sizes()
        if point is not None:
            # Those of the first step were of another plan.
            stale = [old for old in self.reports if old.is_first_step]
            backend.reports[:] = [old for old in backend.reports if not any(old is other for other in stale)]
            self.reports = [old for old in self.reports if not old.is_first_step]
        self.reports.append(report)
        self.runs[point] = run

    def _limit(self, point: Point) -> int:
        """Returns what code of this plan may need: what the step leaves for it where a compiler fuses it into another order."""
        assert self.known is not None and point.plan is not None
        rooms = [room for plan in self.backend.steps.plans if (room := plan.room_of(self.known, point)) is not None]
        if not self.backend.steps.is_symmetric or not rooms:
            return point.plan.peak
        return resident_bytes(self.known.problem) + min(rooms)

    def _choose(self, problem: Problem, point: Optional[Point], budget: Any) -> Plan:
        """Returns the plan for AOTAutograd's joint graph. Raises BudgetError where it is another graph than was planned, and needs more."""
        steps = self.backend.steps
        if self.known is None:
            # A step whose calls are not known leaves the host alone, which they share.
            alone = dataclasses.replace(problem, host=None)
            least = least_of(alone, steps.seconds, steps.is_symmetric)
            if least is None:
                raise BudgetError("llmmem.torch: no plan was found for a graph of the step, whatever the budget", steps.budget or 0,
                                  None, 0)
            self.known = steps.graphs.setdefault(self.name, Graph(self.name, alone, least, steps.seconds, steps.is_symmetric, host=problem.host))
        wanted = self.known.least if point is None else point
        assert wanted.plan is not None
        less = max(wanted.plan.peak - budget, 0) if isinstance(budget, int) else 0
        if not less and _is_same(problem, self.known.problem):
            return wanted.plan
        problem = dataclasses.replace(problem, host=self.known.problem.host)
        limits = (wanted.forward - less, wanted.held, wanted.backward - less)
        found = plan_within(problem, limits, steps.seconds, steps.is_symmetric)
        if found is None or found.plan is None:
            raise BudgetError(f"llmmem.torch: no plan of a graph of the step was found within {budget} bytes", steps.budget or 0, None,
                              0)
        return found.plan

    def _remember_context(self) -> None:
        """Remembers what compiling for another plan needs. AOTAutograd made fake tensors of the arguments, which hold no bytes; the
        arguments themselves are not held."""
        traced, compiled = TracingContext.get(), CompileContext.get()
        fakes = traced.fake_mode
        self.inputs = [fakes.from_tensor(value) if isinstance(value, torch.Tensor) and not isinstance(value, FakeTensor) else value
                       for value in self.inputs]

        @contextlib.contextmanager
        def context() -> Iterator[None]:
            with compile_context(compiled), tracing(traced):
                yield

        self.context = context


def _is_same(problem: Problem, known: Problem) -> bool:
    """Returns whether plans of `known` are plans of `problem` that take no more. Names do not matter, and workspaces are not measured below a
    profiler."""

    def facts(of: Problem) -> Any:
        return ([(value.bytes, value.resident) for value in of.values], list(of.keep),
                [(list(op.reads), list(op.writes), op.recompute) for op in of.ops])

    return facts(problem) == facts(known) and all(op.workspace <= other.workspace for op, other in zip(problem.ops, known.ops))
