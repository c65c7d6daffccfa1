"""The plan inside Inductor, which fuses what it is given and reorders the fused kernels.

So the planned peak is not the one that its code will have. After fusion, and before any code is generated, Inductor's
own account of its buffers says what the order that it has found needs. Where that is above the budget the graph is planned
again for less, until it fits.
"""

import uuid
from typing import Any, Callable, Dict, List, Optional, Sequence

from torch import fx

from .._errors import BudgetError
from ._errors import find_error
from ._modules import copy_graph
from ._partition import Partition
from ._private import (CustomPartitionerFn, CustomSchedulerPass, OrderedSet, V, compile_fx, compiles_backward_at_once, elements_of,
                       inductor_config, memory)

ATTEMPTS = 8

# What a plan sets: Inductor reorders or pools nothing after the account was made. A buffer that waits for its next use is held by
# nobody, and was measured to raise the peak above the account. Layouts stay as planned: in place of a convolution's input and weight the
# backward would be given copies in another layout, under the names of inputs that take no bytes of their own.
PLANNED_SETTINGS = {"reorder_for_peak_memory": False,  # The pass calls it.
                    "layout_optimization": False,
                    "allow_buffer_reuse": False, "memory_planning": False, "combo_kernels": False,
                    "reorder_for_compute_comm_overlap": False}
PLANNED_PASSES = ("custom_partitioner_fn", "_post_fusion_custom_pass")


class _TooLarge(Exception):
    """Raised where Inductor's code of a plan needs `excess` bytes more than the budget."""

    def __init__(self, excess: int) -> None:
        super().__init__(f"{excess} bytes above the budget")
        self.excess = excess


class _FusedPeak(CustomSchedulerPass):
    """Orders the fused kernels by Inductor's own search, and sums what they hold."""

    def __init__(self, partition: Partition) -> None:
        self.partition = partition

    def uuid(self) -> None:
        """Returns None, so that compiled code is not cached."""
        return None

    def __call__(self, nodes: List[Any]) -> List[Any]:
        scheduler, partition = V.graph.scheduler, self.partition
        inputs, outputs = OrderedSet(V.graph.graph_inputs.keys()), OrderedSet(V.graph.get_output_names())
        nodes = memory.reorder_for_peak_memory(nodes, scheduler.name_to_buf, scheduler.name_to_fused_node, inputs, outputs)
        _, freeable = memory.prepare_planning_info(nodes, scheduler.name_to_buf, scheduler.name_to_fused_node, inputs,
                                                   outputs)
        for buffer in freeable.values():
            # Inductor counts the part that the last reader reads.
            whole = V.graph.graph_inputs[buffer.name]
            elements = elements_of(V.graph.sizevars, whole.get_numel())
            buffer.mpi_buffer.size_free = elements * whole.get_dtype().itemsize
        _, timeline = memory.estimate_peak_memory(nodes, freeable, outputs)
        live = max((size + self._workspace(node) for size, node in zip(_held(nodes, timeline), nodes)), default=0)
        # A graph without a backward has no plan: the last report is of another graph.
        if partition.reports and not V.graph.is_inference:
            partition.add_compiled_peak(live, bool(V.graph.is_backward))
            excess = partition.reports[-1].compiled_peak - partition.budget if isinstance(partition.budget, int) else 0
            if excess > 0:
                raise _TooLarge(excess)
        return nodes

    def _workspace(self, node: Any) -> int:
        """Returns the largest workspace that was measured for a kernel of the ops in `node`."""
        targets = {origin.target for part in node.get_nodes() if part.node is not None for origin in part.node.get_origins()}
        return max((self.partition.workspace_of.get(target, 0) for target in targets), default=0)


def _held(nodes: Sequence[Any], timeline: Sequence[int]) -> List[int]:
    """Returns the bytes that are live while each node runs. timeline: those where each node is a kernel of its own. On a CPU Inductor makes one
    kernel of all nodes between two calls of libraries: what they write is allocated before it, and what they read is freed after it."""
    found: List[int] = []
    for number, (node, size) in enumerate(zip(nodes, timeline)):
        if number and _is_in_loops(nodes[number - 1]) and _is_in_loops(node):
            size = found[-1] + sum(buffer.mpi_buffer.size_alloc for buffer in node.get_outputs())
        found.append(size)
    return found


def _is_in_loops(node: Any) -> bool:
    """Returns whether a node is a part of a kernel that Inductor writes for a CPU."""
    device = node.get_device()
    return not node.is_extern() and not node.is_template() and (device is None or device.type == "cpu")


class _Partitioner(CustomPartitionerFn):
    def __init__(self, partition: Partition) -> None:
        self.partition = partition

    def __call__(self, gm: fx.GraphModule, joint_inputs: Any, **options: Any) -> Any:
        return self.partition(gm, joint_inputs, **options)

    def uuid(self) -> str:
        """Returns a new identity each time, so that no compiled code comes from a cache (see Partitioner)."""
        return uuid.uuid4().hex


def compile_with_inductor(partition: Partition, module: fx.GraphModule, inputs: List[Any], *, mode: Optional[str] = None,
                          options: Optional[Dict[str, Any]] = None, name: Optional[str] = None) -> Callable[..., Any]:
    """Returns Inductor's code for `module`, whose forward and backward `partition` cuts, so that Inductor's own account keeps its budget.
    mode, options and name are those of torch.compile. Raises BudgetError where no plan leads there, and ValueError where an option
    takes what the plan sets."""
    settings = inductor_settings(mode, options)
    first, planned = len(partition.reports), partition.budget
    least: Optional[int] = None
    nothing_fits: Optional[BudgetError] = None
    is_last = False
    for attempt in range(ATTEMPTS):
        partition.plans_again = attempt > 0
        try:
            run = _compile(partition, planned, module, inputs, settings)
            partition.announce(first)
            return run
        except Exception as error:  # Inductor wraps what a pass raises.
            too_large, no_plan = find_error(error, _TooLarge), find_error(error, BudgetError)
            if too_large is None and (no_plan is None or is_last or not (no_plan.least_bytes or no_plan.proved_bytes)):
                raise
        finally:
            partition.plans_again = False
        reports = partition.reports[first:]
        del partition.reports[first:]
        if is_last:
            break
        if too_large is not None:
            least = min(least or reports[-1].compiled_peak, reports[-1].compiled_peak)
            planned = min(reports[-1].peak, planned) - too_large.excess
        else:
            # What is fused is never written, so that Inductor's code may need less than the plan.
            is_last, planned = True, no_plan.least_bytes or no_plan.proved_bytes
            nothing_fits = no_plan if least is None else None
    why = str(nothing_fits) if nothing_fits else f"llmmem.torch: plans within {partition.budget:,} bytes exist"
    raise BudgetError(f"{why}, but Inductor's fused order of none that was tried fits; the least that was found needs {least:,} by its own "
                      "account", partition.budget, least, 0)


def inductor_settings(mode: Optional[str], options: Optional[Dict[str, Any]]) -> Dict[str, Any]:
    """Inductor's settings for `mode` and `options` of torch.compile, which Inductor checks as it does without llmmem."""
    settings = inductor_config(mode, options)
    taken = [key for key in settings if key in PLANNED_PASSES or settings[key] != PLANNED_SETTINGS.get(key, settings[key])]
    if taken:
        raise ValueError(f"llmmem.torch: options: {', '.join(map(repr, sorted(taken)))} would reorder or pool what the plan has placed, "
                         "after its bytes were counted; leave it out, or compile without llmmem")
    return settings


def _compile(partition: Partition, planned: Any, module: fx.GraphModule, inputs: List[Any],
             settings: Dict[str, Any]) -> Callable[..., Any]:
    patches: Dict[str, Any] = {**settings, **PLANNED_SETTINGS, "custom_partitioner_fn": _Partitioner(partition),
                               "_post_fusion_custom_pass": _FusedPeak(partition)}
    # Inductor owns what it is given; parameters stay shared.
    copy = fx.GraphModule(module, copy_graph(module.graph))
    partition.planned_budget = planned
    try:
        # The backward is compiled at once, not when it first runs, so that its account comes in time.
        with compiles_backward_at_once():
            return compile_fx(copy, inputs, config_patches=patches)
    finally:
        partition.planned_budget = None
