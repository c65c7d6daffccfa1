"""From a joint graph to planned modules: read, price, plan, write, report."""

import time
from typing import Any, Callable, List, Optional, Sequence, Tuple, Union

import torch
from torch import fx

from .._model import Plan, Problem
from .._planner import _budget, parse_bytes, plan
from ._costs import Device, Price, get_device, price
from ._errors import BudgetError
from ._modules import write_modules
from ._problem import make_problem
from ._program import Program, read
from ._report import Report

Bytes = Union[int, str, None]


class Partition:
    """A `partition_fn` of AOTAutograd. `reports` has one entry for each graph that was planned."""

    def __init__(self, budget: Bytes, *, optimizer_state: Bytes = None, reserve: Bytes = None,
                 device: Union[str, Device, None] = None, costs: str = "table", workspaces: bool = True,
                 seconds: float = 10.0, progress: Optional[Callable[[str], None]] = None,
                 on_report: Optional[Callable[[Report], None]] = None) -> None:
        self.budget = budget if budget in (None, "min") else _budget(budget)
        self.reserved = sum(_budget(size, name) for name, size in
                            (("optimizer_state", optimizer_state), ("reserve", reserve)) if size not in (None, 0))
        if costs not in ("table", "measured"):
            raise ValueError(f"costs: is {costs!r}; expected 'table' or 'measured'")
        self.device, self.measured, self.workspaces = device, costs == "measured", workspaces
        get_device(device or "cpu", [])
        self.seconds, self.progress, self.on_report = seconds, progress, on_report
        self.reports: List[Report] = []

    def __call__(self, module: fx.GraphModule, joint_inputs: Sequence[Any], *, num_fwd_outputs: int,
                 static_lifetime_input_indices: Optional[List[int]] = None,
                 **unused: Any) -> Tuple[fx.GraphModule, fx.GraphModule]:
        start = time.perf_counter()
        module.graph.eliminate_dead_code()
        program = read(module, num_fwd_outputs)
        device = get_device(self.device, [kernel.node for kernel in program.kernels])
        after_read = time.perf_counter()
        prices = price(program.kernels, device, self.measured, self.workspaces)
        after_price = time.perf_counter()
        problem = make_problem(program, prices, device.alignment, self.reserved)
        made = self._plan(problem)
        after_plan = time.perf_counter()
        modules = write_modules(program, made.steps, static_lifetime_input_indices or [])
        seconds = (after_read - start, after_price - after_read, after_plan - after_price, time.perf_counter() - after_plan)
        report = _report(program, prices, problem, made, self.budget, seconds, self.workspaces)
        self.reports.append(report)
        if self.on_report:
            self.on_report(report)
        return modules

    def _plan(self, problem: Problem) -> Plan:
        made = plan(problem, self.budget, seconds=self.seconds, progress=self.progress)
        if made.is_feasible:
            return made
        # The planner also places values in one arena, whose end lies above the peak; PyTorch's allocator has none.
        least = plan(problem, "min", seconds=self.seconds, progress=self.progress)
        if least.is_feasible and least.peak <= self.budget:
            return least
        why = f"; {made.witness.why}" if made.witness else ""
        found = f"; the least that was found is {least.peak:,}" if least.is_feasible else ""
        raise BudgetError(f"llmmem.torch: no plan within {self.budget:,} bytes: every plan needs at least "
                          f"{made.peak_lower_bound:,}{found}{why}", self.budget,
                          least.peak if least.is_feasible else None, made.peak_lower_bound)


def _report(program: Program, prices: Sequence[Price], problem: Problem, made: Plan, budget: Bytes,
            seconds: Sequence[float], workspaces: bool) -> Report:
    boundary = program.boundary
    flops = [entry.flops for entry in prices]
    flops.insert(boundary, 0)
    again = list(made.steps)
    for step in set(made.steps):
        again.remove(step)
    return Report(
        budget if isinstance(budget, int) else None, sum(value.bytes for value in problem.values if value.resident),
        made.peak, made.peak_lower_bound, _saved_bytes(problem, made, boundary), made.cost, made.base_cost,
        made.cost_lower_bound, len(program.kernels), len(again), sum(flops[step] for step in again), sum(flops), *seconds,
        program.symbolic, workspaces, problem, made)


def _saved_bytes(problem: Problem, made: Plan, boundary: int) -> int:
    """Of the values that are written before the boundary and read behind it before they are written again."""
    cut = made.steps.index(boundary)
    known = {value for step in made.steps[:cut] for value in problem.ops[step].writes}
    saved, rewritten = set(), set()
    for step in made.steps[cut + 1:]:
        saved.update(value for value in problem.ops[step].reads if value in known and value not in rewritten)
        rewritten.update(problem.ops[step].writes)
    return sum(problem.values[value].bytes for value in saved)
