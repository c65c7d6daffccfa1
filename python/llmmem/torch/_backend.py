"""Entry points for users: a backend of torch.compile, and a partitioner for Inductor and for AOTAutograd."""

import functools
import uuid
from typing import Any, Callable, Dict, List, Optional

from torch import fx
from torch._dynamo.backends.common import aot_autograd
from torch._inductor.custom_graph_pass import CustomPartitionerFn
from torch.fx.graph import _BoxedCodeGen

from ._inductor import compile_with_inductor
from ._partition import Bytes, Partition
from ._report import Report


class Backend:
    """The result of `backend`, which torch.compile calls. `reports` has one Report for each graph that was planned."""

    def __init__(self, partition: Partition, compiler: str) -> None:
        self.partition = partition
        partition.compiler = compiler
        if compiler == "eager":
            self._compile = functools.partial(_compile_in_order, aot_autograd(fw_compiler=run_in_order, partition_fn=partition))
        elif compiler == "inductor":
            self._compile = functools.partial(compile_with_inductor, partition)
        else:
            raise ValueError(f"compiler: is {compiler!r}; expected 'eager' or 'inductor'")

    @property
    def reports(self) -> List[Report]:
        return self.partition.reports

    def __call__(self, module: fx.GraphModule, inputs: List[Any], **options: Any) -> Callable[..., Any]:
        planned = len(self.reports)
        run = self._compile(module, inputs, **options)
        # A graph without a backward has no plan.
        return self.partition.watch(run) if len(self.reports) > planned else run


class Partitioner(CustomPartitionerFn):
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
    costs: "table", or "measured": each kind of kernel is run and timed.
    workspaces: whether each kind of kernel is run once to see which bytes it takes in addition to its results.
    seconds: bounds the planner's search, as a count of work. progress: called with each activity.
    on_report: called with the Report of each graph, as print for example.

    Raises ValueError where an argument is wrong; compiling raises BudgetError and UnsupportedGraphError.
    """
    return Backend(Partition(budget, **options), compiler)


def partitioner(budget: Bytes = None, **options: Any) -> Partitioner:
    """Returns a partitioner; it takes the arguments of `backend` except `compiler`. The peak of its reports is that of kernels that run
    one by one in the planned order. Inductor fuses and reorders what it gets, and may need more; `backend(compiler="inductor")` keeps the
    budget there."""
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
    module.graph.set_codegen(_BoxedCodeGen())
    module.recompile()
    forward = module.forward

    def run(arguments: List[Any]) -> Any:
        return forward(arguments)

    run._boxed_call = True  # type: ignore[attr-defined]
    return run
