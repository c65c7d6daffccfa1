"""Entry points for users: a backend of torch.compile, and a partitioner for Inductor and for AOTAutograd."""

import abc
import copy
import functools
import uuid
import weakref
from typing import Any, Callable, Dict, List, Optional, Sequence

import torch
from torch import fx, nn

from . import _private
from ._compile import NO_GRAPH, compile_model
from ._errors import UnsupportedGraphError
from ._higher_order import refuse_loops
from ._partition import Bytes, Partition
from ._parts import Part, is_part
from ._pool import served_run
from ._regions import inline_regions
from ._report import Report
from ._step_report import StepReport
from ._steps import StepPlan, Steps
from ._wrapped import find_wrapped


class Backend:
    """The result of `backend`, which torch.compile calls. `reports` has one Report for each graph that was planned, or of a graph that is a
    part of its step for each of its plans; `step_reports` has a StepReport for each kind of step whose calls were planned together. As a
    text it is all of these, or says that no graph was planned."""

    def __init__(self, partition: Partition, compiler: str) -> None:
        self.partition = partition
        # What Dynamo calls it in its errors.
        self.__name__ = "llmmem"
        partition.compiler = compiler
        if compiler == "eager":
            self.compile_graph = functools.partial(_compile_in_order, _private.aot_autograd(fw_compiler=run_in_order, partition_fn=partition))
        elif compiler == "inductor":
            if partition.host is not None:
                raise ValueError('host_budget: Inductor would reorder and fuse around copies to the host, whose bytes are not in its account; '
                                 'give compiler="eager", or leave host_budget out')
            if not _private.is_known_to_inductor():
                raise ValueError(f"compiler: is 'inductor', which needs PyTorch 2.13 or later, because earlier ones hold more than their account has, "
                                 f"and this is {torch.__version__}; expected 'eager'")
            from ._inductor import compile_with_inductor
            self.compile_graph = functools.partial(compile_with_inductor, partition)
        else:
            raise ValueError(f"compiler: is {compiler!r}; expected 'eager' or 'inductor'")
        budget = partition.budget if isinstance(partition.budget, int) else None
        self.steps = Steps(budget, partition.optimizer_state + partition.reserve, partition.seconds, self._note_plan)
        self.steps.finds_least, self.steps.outside = partition.budget == "min", partition.reserve
        self.steps.is_symmetric = compiler == "inductor"
        self.steps.memory = partition.memory
        self.step_reports: List[StepReport] = []
        # Whether every graph is a part of a step that is recorded.
        self.is_recorded = False
        self.parts: "weakref.WeakSet[Part]" = weakref.WeakSet()

    @property
    def reports(self) -> List[Report]:
        return self.partition.reports

    @property
    def most_on_host(self) -> int:
        """Returns the most bytes that tensors have had on the host at once so far, where `host_budget` was given."""
        return self.partition.memory.most if self.partition.memory else 0

    def __str__(self) -> str:
        return "\n".join(map(str, [*self.reports, *self.step_reports])) or f"llmmem: {NO_GRAPH}"

    def __call__(self, module: fx.GraphModule, inputs: List[Any], **options: Any) -> Callable[..., Any]:
        """Compiles a graph of Dynamo. Raises UnsupportedGraphError in place of the errors for which Dynamo would run a step without a plan, in
        silence unless fullgraph=True."""
        refuse_loops(module)
        inline_regions(module)
        try:
            return self._compile(module, inputs, options)
        except _private.fallback_errors() as error:
            if not torch.is_grad_enabled() or not any(isinstance(value, torch.Tensor) and value.requires_grad for value in inputs):
                raise  # It has no backward, and runs without a plan in any case.
            raise UnsupportedGraphError(
                "llmmem.torch: a graph cannot be traced together with its backward, and PyTorch would run it without a plan: "
                f"{type(error).__name__}: {error}: leave what is named outside of the compiled model by a graph break "
                "(torch._dynamo.disable)") from error

    def _compile(self, module: fx.GraphModule, inputs: List[Any], options: Dict[str, Any]) -> Callable[..., Any]:
        # What wrappers of several ranks hold is counted for one graph, and is no part of a recorded step. A graph that was planned alone has
        # counted those after it as graphs of its own.
        if not find_wrapped(inputs).bytes and (
                self.is_recorded or self.partition.budget is not None and (
                    self.steps.graphs or not self.partition.held and is_part(module, inputs))):
            part = Part(self, module, inputs, options)
            self.parts.add(part)
            return part if part.is_planned else next(iter(part.runs.values()))
        planned = len(self.reports)
        with self.partition.given(inputs):
            run = self.compile_graph(module, inputs, **options)
        # A graph without a backward has no plan.
        return self.partition.watch(run) if len(self.reports) > planned else run

    def compile(self, model: nn.Module, inputs: Any, *, loss: Optional[Callable[..., torch.Tensor]] = None,
                regions: Optional[Sequence[nn.Module]] = None, strict: bool = False,
                optimizers_in_backward: Sequence[torch.optim.Optimizer] = ()) -> nn.Module:
        """Returns `model` compiled, with one plan for all calls of its training step; llmmem.torch.compile says how."""
        return compile_model(self, model, inputs, loss, regions, strict, optimizers_in_backward)

    def twin(self) -> "Backend":
        """Returns a backend of the same prices that finds out what a step calls."""
        partition = copy.copy(self.partition)
        partition.budget, partition.on_report, partition.reports = "min", None, []
        partition.held, partition.calls = {}, {}
        twin = Backend(partition, "eager")
        twin.is_recorded, twin.steps.finds_least, twin.steps.is_symmetric = True, False, self.steps.is_symmetric
        return twin

    def _note_plan(self, plan: StepPlan) -> None:
        report = StepReport.of(plan, self.steps.sees_all, self.steps.unknown_workspaces)
        self.step_reports.append(report)
        if self.partition.on_report:
            self.partition.on_report(report)


class Partitioner:
    """The result of `partitioner`, for `torch._inductor.config.custom_partitioner_fn` and `partition_fn=`."""

    def __init__(self, partition: Partition) -> None:
        self.partition = partition

    @property
    def reports(self) -> List[Report]:
        return self.partition.reports

    def __call__(self, gm: fx.GraphModule, joint_inputs: Any, **options: Any) -> Any:
        return self.partition(gm, joint_inputs, **options)

    def uuid(self) -> str:
        """Returns a new identity each time, so that no compiled code comes from a cache: a plan that was not made here keeps no promise.
        PyTorch 2.15 takes None, which should bypass its caches, for the key of having no partitioner."""
        return uuid.uuid4().hex


def backend(budget: Bytes = None, *, compiler: str = "eager", **options: Any) -> Backend:
    """Returns a backend of torch.compile that keeps training steps under a budget.

    compiler: "eager" runs kernels one by one in the planned order. "inductor" generates code; where its fused order
        needs more than the budget by its own account, the plan is repeated for less, until it fits.

    budget: bytes ("20GB", "37.25GiB", a whole number) that parameters, buffers, inputs, gradients, saved tensors,
        temporaries, and what is reserved must not exceed; "min" for the least that is found; None to recompute nothing.
    optimizer_state, reserve: bytes that are held in addition to the graph.
    device: the table of costs, as a name of DEVICES, a file that ends in .json, or a Device. The default is that of the tensors' device.
    costs: "table", or "measured": each kind of kernel is run and timed, once for each device and version of PyTorch (_known_costs.py).
    workspaces: whether each kind of kernel is run once to see which bytes it takes in addition to its results.
    budget_of: which bytes of CUDA the budget is of: "allocated", or "reserved", those of PyTorch's caching allocator, simulated.
    host_budget: bytes of the host's memory, to which tensors that the forward saves may be copied until the backward reads them; page-locked
        on CUDA. compiler="eager" alone copies.
    link: what the way to the host moves, "25GB/s", or "25GB/s,20GB/s" to the host and back; by default that of the device's table.
    seconds: bounds the planner's search, as a count of work. progress: called with each activity.
    on_report: called with the Report of each graph, as print for example.

    Raises ValueError where an argument is wrong; compiling raises BudgetError and UnsupportedGraphError.
    """
    return Backend(Partition(budget, **options), compiler)


def compile(model: nn.Module, *, budget: Bytes, inputs: Any, compiler: str = "eager", loss: Optional[Callable[..., torch.Tensor]] = None,
            regions: Optional[Sequence[nn.Module]] = None, strict: bool = False,
            optimizers_in_backward: Sequence[torch.optim.Optimizer] = (), **options: Any) -> nn.Module:
    """Returns `model` compiled, so that its whole training step keeps the budget: all graphs, all calls of them, and what PyTorch runs
    between them.

    One step runs first, on tensors that have shapes and no bytes. It shows which graphs there are, in which order they are called, and
    what is held meanwhile. Then all calls are planned together: equal blocks may take different plans.

    inputs: of the model: a tensor, a tuple of arguments, or a dictionary of named ones. They are read for their shapes.
    loss: a function of the model and its inputs that returns the loss; the default calls the model and finds the loss among its results.
    regions: modules of the model that are compiled one by one (regional compilation), in place; the default is the model as a whole.
    strict: whether a call that no plan knows is refused though it fits at the least bytes. Such a step is planned after it has run.
    optimizers_in_backward: optimizers of one parameter each. Every one steps in the backward, as soon as its gradient is complete, and frees
        the gradient; their state counts, and reserve or optimizer_state need not name it. A compiled backward gives all its
        gradients at once, so give regions for this to save bytes.
    budget, compiler, options: those of `backend`. on_report gets a StepReport for each kind of step, in addition to each graph's Report.

    Raises ValueError where an argument is wrong, BudgetError where no plan fits, and UnsupportedGraphError.
    """
    return Backend(Partition(budget, **options), compiler).compile(model, inputs, loss=loss, regions=regions, strict=strict,
                                                                optimizers_in_backward=optimizers_in_backward)


def partitioner(budget: Bytes = None, **options: Any) -> Partitioner:
    """Returns a partitioner; it takes the arguments of `backend` except `compiler`. The peak of its reports is that of kernels that run
    one by one in the planned order. Inductor fuses and reorders what it gets, and may need more; `backend(compiler="inductor")` keeps the
    budget there."""
    # Inductor takes those that its class knows, of which this one needs nothing.
    if issubclass(type(_private.CustomPartitionerFn), abc.ABCMeta):
        _private.CustomPartitionerFn.register(Partitioner)
    return Partitioner(Partition(budget, **options))


def _compile_in_order(compile_graph: Callable[..., Any], module: fx.GraphModule, inputs: List[Any], *, mode: Optional[str] = None,
                      options: Optional[Dict[str, Any]] = None, name: Optional[str] = None) -> Callable[..., Any]:
    """Refuses what it would ignore. `name` is a label for logs alone."""
    ignored = " and ".join(f"{key}={value!r}" for key, value in (("mode", mode), ("options", options)) if value)
    if ignored:
        raise ValueError(f"llmmem.torch: {ignored}: compiler=\"eager\" runs the planned kernels one by one and generates no code, so "
                         "it would ignore this; give compiler=\"inductor\", or leave it out")
    return compile_graph(module, inputs)


def run_in_order(module: fx.GraphModule, inputs: List[Any]) -> Callable[[List[Any]], Any]:
    """Returns a function that takes its arguments in a list, empties it, and frees each value after its last use."""
    module.graph.set_codegen(_private.BoxedCodeGen())
    module.recompile()
    forward = module.forward

    def run(arguments: List[Any]) -> Any:
        return forward(arguments)

    return served_run(module, _private.takes_a_list(run))
