"""From a joint graph to planned modules: read, price, plan, write, report."""

import contextlib
import dataclasses
import time
import weakref
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple, Union

from torch import fx

from .._model import Plan, Problem
from .._planner import _budget, plan
from ._calls import Calls
from ._costs import Device, Price, get_device, is_on_cuda, price
from .._errors import BudgetError
from ._collectives import is_collective
from ._errors import UnsupportedGraphError
from ._higher_order import has_graphs
from ._host_memory import HostMemory
from ._host_options import host_of, host_options
from ._host_plan import Layout, bytes_moved, lay_out
from ._machine import machine_of
from ._modules import write_modules
from ._pool import Served, allocations_of, serve
from ._pool_in_use import pool_in_use
from ._private import CompileContext
from ._problem import held_tangents, make_problem, storages_of
from ._program import Program, read
from ._ranks import Agreement, facts_of
from ._refusals import describe_held, refuse, suggest_reserve
from ._report import HostUse, Report
from ._reserved import Allocator, plan_within, with_usage
from ._sizes import describe_sizes, hold_sizes
from ._workspaces import kept_workspaces
from ._wrapped import Wrapped, find_wrapped, watch_wrapped

Bytes = Union[int, str, None]


@dataclasses.dataclass(frozen=True)
class _Held:
    """A graph that was planned: what it holds between its forward and its backward, its gradients, and its peak and the bound of its least
    peak without what was reserved for other graphs."""

    between: int
    resident: int
    gradients: int
    peak: int
    bound: int


class Partition:
    """A `partition_fn` of AOTAutograd. `reports` has one entry for each graph that was planned.

    compiler: what makes code of the plan: "eager", "inductor", or None where that is not known.

    After graph breaks several graphs share the budget. While one runs, those before it hold their saved tensors; while its
    backward runs, those after it hold their gradients. A graph is known when it is compiled, so the first are planned
    with `reserve`, and each later one is checked against those before it.
    """

    def __init__(self, budget: Bytes, *, optimizer_state: Bytes = None, reserve: Bytes = None,
                 device: Union[str, Device, None] = None, costs: str = "table", workspaces: bool = True,
                 seconds: float = 10.0, budget_of: str = "allocated", host_budget: Bytes = None, link: Optional[str] = None,
                 progress: Optional[Callable[[str], None]] = None, on_report: Optional[Callable[[Report], None]] = None) -> None:
        self.budget = budget if budget in (None, "min") else _budget(budget)
        self.optimizer_state, self.reserve = (0 if size in (None, 0) else _budget(size, name) for name, size in
                                              (("optimizer_state", optimizer_state), ("reserve", reserve)))
        # Bytes that are held in addition to the graph that was planned last, whatever else is compiled.
        self.fixed, self.wrapped = self.optimizer_state, Wrapped()
        # Of the graph that is compiled, where they are known.
        self.inputs: Sequence[Any] = ()
        self.held: Dict[Any, _Held] = {}
        self.calls: Dict[Any, Calls] = {}
        self.key: Any = None  # of the graph that was planned last
        self.compilation: Optional["weakref.ref[CompileContext]"] = None
        self.attempt, self.part = 0, 0
        self.compiler: Optional[str] = None
        self.symbolic_bytes: List[Any] = []
        if budget_of not in ("allocated", "reserved"):
            raise ValueError(f"budget_of: is {budget_of!r}; expected 'allocated' or 'reserved'")
        self.budget_of = budget_of
        self.host = host_options(host_budget, link, budget, budget_of)
        self.memory = None if self.host is None else HostMemory(self.host.budget)
        if costs not in ("table", "measured"):
            raise ValueError(f"costs: is {costs!r}; expected 'table' or 'measured'")
        self.device, self.measured, self.workspaces = device, costs == "measured", workspaces
        get_device(device or "cpu", [])
        self.seconds, self.progress, self.on_report = seconds, progress, on_report
        self.reports: List[Report] = []
        # What to plan for instead of the budget, for a compiler whose code needs more than the plan.
        self.planned_budget: Bytes = None
        # Whether the graph that was planned last is planned once more.
        self.plans_again = False
        self.workspace_of: Dict[Any, int] = {}
        # Where a step chose the plan of each of its calls: (problem, budget) to the plan.
        self.chosen: Optional[Callable[[Problem, Bytes], Plan]] = None

    def __call__(self, module: fx.GraphModule, joint_inputs: Sequence[Any], *, num_fwd_outputs: int,
                 static_lifetime_input_indices: Optional[List[int]] = None,
                 **unused: Any) -> Tuple[fx.GraphModule, fx.GraphModule]:
        start = time.perf_counter()
        module.graph.eliminate_dead_code()
        program = read(module, num_fwd_outputs)
        program.is_part = self.chosen is not None
        nodes = [kernel.node for kernel in program.kernels]
        device, is_cuda = get_device(self.device, nodes), any(map(is_on_cuda, nodes))
        machine = machine_of(self.device) if is_cuda else None
        after_read = time.perf_counter()
        prices = price(program.kernels, device, self.measured, self.workspaces, machine)
        if self.compiler == "inductor":
            # It makes code of their graphs, which was not run.
            prices = [dataclasses.replace(entry, knows_workspace=entry.knows_workspace and not has_graphs(kernel.node))
                      for kernel, entry in zip(program.kernels, prices)]
        kept = kept_workspaces(nodes, machine) if self.workspaces else ()
        after_price = time.perf_counter()
        key = self.key = self._next_key()
        others = [held for other, held in self.held.items() if other != key and not self.chosen]
        beside = max(self.reserve, sum(held.between for held in others))
        wrapped = self.wrapped = Wrapped() if self.chosen else find_wrapped(self.inputs)
        of_graph = program.lingering + sum(kept) + wrapped.bytes
        self.fixed = self.optimizer_state + of_graph
        # A step counts what is held in addition to its calls.
        problem = make_problem(program, prices, device.alignment, of_graph if self.chosen else self.fixed + beside)
        if self.host is not None:
            problem.host = host_of(self.host, program, device, self.compiler or unused.get("compiler"))
        static_inputs = static_lifetime_input_indices or []
        allocator = Allocator(problem, prices, kept, is_cuda)
        made = self._agree(program, problem, lambda: self._plan_for(allocator, lambda budget, made, least: refuse(
            budget, made, least, describe_held(program, problem, static_inputs, self.optimizer_state + beside, of_graph),
            self._describe_others(budget, least, beside, others), describe_sizes(program.symbolic_bytes))))
        after_plan = time.perf_counter()
        for kernel, entry in zip(program.kernels, prices):
            target = kernel.node.target
            self.workspace_of[target] = max(self.workspace_of.get(target, 0), entry.workspace)
        layout = lay_out(problem, made, self.budget if isinstance(self.budget, int) and not self.chosen else None)
        modules = write_modules(program, layout, static_inputs, self.memory)
        pool = pool_in_use()
        if pool is not None and is_cuda and self.compiler == "eager" and not self.chosen:
            serve(modules, Served(pool, allocations_of(problem, made, prices)))
        seconds = (after_read - start, after_price - after_read, after_plan - after_price, time.perf_counter() - after_plan)
        report = with_usage(_report(program, prices, problem, made, layout, self.budget, seconds), allocator, made, layout,
                            [str(node.target) for node, entry in zip(nodes, prices) if not entry.knows_workspace], self.chosen is not None)
        if not self.chosen:
            self._hold(key, report, others, beside, program)
        self.symbolic_bytes = program.symbolic_bytes
        self.reports.append(dataclasses.replace(report, runs_in_order=self.compiler == "eager",
                                                is_sharded=wrapped.is_sharded))
        if others:
            self.reports[:] = [dataclasses.replace(each, is_one_of_several=True) for each in self.reports]
        if self.compiler != "inductor":
            self.announce(len(self.reports) - 1)
        return modules

    def __deepcopy__(self, memo: Any) -> "Partition":
        """Returns itself. Inductor copies its settings, whose passes refer to this object, and weak references to storages cannot be
        copied."""
        return self

    def announce(self, first: int) -> None:
        """Passes the reports from `first` on to `on_report`."""
        for report in self.reports[first:] if self.on_report else ():
            self.on_report(report)

    def watch(self, run: Callable[..., Any]) -> Callable[..., Any]:
        """Returns the compiled graph that was planned last, with its sizes and calls watched: the plan is for one call, at the hints."""
        if self.budget is None:
            return run
        self.hold_sizes()
        calls = self.calls.setdefault(self.key, Calls(self.memory))
        run = watch_wrapped(run, self.wrapped, self.reports[-1].budget)
        return calls.watch(run, self.reports[-1], self.reserve, self._has_other_graphs)

    def hold_sizes(self) -> None:
        """Guards the sizes of the graph that was planned last: the last thing to add, for a plan that is used."""
        hold_sizes(self.symbolic_bytes)
        self.symbolic_bytes = []

    @contextlib.contextmanager
    def given(self, inputs: Sequence[Any]) -> Iterator[None]:
        """Tells which inputs the graph has that is compiled meanwhile. Afterwards nothing holds them."""
        self.inputs = inputs
        try:
            yield
        finally:
            self.inputs = ()

    @contextlib.contextmanager
    def part_of_step(self, budget: Bytes, chosen: Callable[[Problem, Bytes], Plan]) -> Iterator[None]:
        """Takes the plans of the graphs compiled meanwhile from `chosen`. budget: of what their code may need, where a compiler tells."""
        before = self.budget
        self.budget, self.chosen = budget, chosen
        try:
            yield
        finally:
            self.budget, self.chosen = before, None

    def _has_other_graphs(self) -> bool:
        """Returns whether there is another graph than the one that is called, of a model that still exists."""
        return sum(key not in self.calls or not self.calls[key].is_gone() for key in self.held) > 1

    def _next_key(self) -> Any:
        """Returns a key that is equal for a graph that is compiled again, for example for other sizes. DDP splits a graph into several,
        which one compilation of Dynamo hands over one after the other: their numbers tell them apart."""
        context = CompileContext.try_get()
        if self.plans_again:
            return self.key
        if context is None or context.compile_id is None:
            return len(self.held)
        is_same = self.compilation is not None and self.compilation() is context and self.attempt == context.attempt
        self.compilation, self.attempt, self.part = weakref.ref(context), context.attempt, self.part + 1 if is_same else 0
        return context.compile_id.frame_id, context.compile_id.compiled_autograd_id, self.part

    def _hold(self, key: Any, report: Report, others: List[_Held], beside: int, program: Program) -> None:
        """Remembers a graph. Those before it must also fit together with its parameters and gradients."""
        resident = report.resident - self.fixed - beside
        values = report.problem.values
        gradients = sum(values[number].bytes for number in storages_of(program, program.backward_outputs)
                        if not values[number].resident)
        for held in others:
            needed = held.peak + resident + gradients
            if isinstance(self.budget, int) and needed > self.budget:
                raise BudgetError(
                    f"llmmem.torch: a graph after a graph break holds {resident + gradients:,} bytes of parameters, inputs "
                    f"and gradients; with them a graph before it, planned for {held.peak:,}, needs {needed:,} of "
                    f"{self.budget:,} bytes: give reserve={max(self.reserve, resident + gradients)}, or compile with "
                    "fullgraph=True", self.budget, None, 0)
        self.held[key] = _Held(resident + report.saved_bytes + report.results, resident, gradients, report.peak - beside,
                               report.least_bytes_proved - beside)

    def _agree(self, program: Program, problem: Problem, make: Callable[[], Plan]) -> Plan:
        """Returns the plan that `make` makes, once all ranks of the graph's collectives have made the same."""
        nodes = [kernel.node for kernel in program.kernels]
        collective = next(filter(is_collective, nodes), None)
        if collective is not None and self.compiler == "inductor":
            raise UnsupportedGraphError(f"llmmem.torch: {collective.name} ({collective.target}): what transfers hold in Inductor's order is "
                                        'not counted: give compiler="eager"')
        if collective is not None and self.chosen:
            raise UnsupportedGraphError(f"llmmem.torch: {collective.name} ({collective.target}): ranks do not compare which plan each call of a "
                                        "step takes: compile the whole model as one graph (fullgraph=True) with llmmem.torch.backend")
        agreement = Agreement(nodes)
        try:
            made = make()
        except BudgetError as error:
            agreement.refuse(error)
            raise
        agreement.compare(facts_of(self.budget, problem, made, nodes))
        return made

    def _plan_for(self, allocator: Allocator, refuse_budget: Callable[[int, Plan, Plan], BudgetError]) -> Plan:
        budget = self.budget if self.planned_budget is None else self.planned_budget
        if self.budget_of == "allocated" and (self.chosen or not allocator.is_served) or not isinstance(budget, int):
            return self._plan(allocator.problem, budget, refuse_budget)
        if self.chosen:
            raise ValueError('budget_of: "reserved" is of one graph; the calls of a step that are planned together have no reserved bytes')
        return plan_within(budget, lambda asked: self._plan(allocator.problem, asked, refuse_budget), allocator.reserved)

    def _plan(self, problem: Problem, budget: Bytes, refuse_budget: Callable[[int, Plan, Plan], BudgetError]) -> Plan:
        """refuse_budget: makes the error of a budget, its plan, and the plan of the least bytes."""
        if self.chosen:
            return self.chosen(problem, budget)
        made = self._search(problem, budget)
        if not isinstance(budget, int) or made.is_feasible and not 0 < made.recompute_cost < made.base_cost // 100:
            return made
        # The planner places values in one arena, whose end may lie above the peak. PyTorch's allocator has none, so where
        # little is recomputed it may be for the arena's sake alone, and a plan that fits as no arena may fit here.
        kept = self._search(problem, None)
        if kept.peak <= budget:
            return kept
        if made.is_feasible:
            return made
        least = self._search(problem, "min")
        if least.is_feasible and least.peak <= budget:
            return least
        raise refuse_budget(budget, made, least)

    def _search(self, problem: Problem, budget: Bytes) -> Plan:
        """Returns the planner's plan; with a host the one that leaves it alone where that needs fewer bytes, or alone is found."""
        made = plan(problem, budget, seconds=self.seconds, progress=self.progress)
        if problem.host is None or made.is_feasible and budget != "min":
            return made
        alone = plan(dataclasses.replace(problem, host=None), budget, seconds=self.seconds, progress=self.progress)
        return alone if alone.is_feasible and (not made.is_feasible or alone.peak < made.peak) else made

    def _describe_others(self, budget: int, least: Plan, beside: int, others: List[_Held]) -> List[str]:
        """Says what graphs before a graph break hold, and what to reserve for this one when they are planned."""
        if not others:
            return []
        instead = suggest_reserve(budget, least.peak, beside, max(held.peak for held in others), max(held.bound for held in others))
        return [f"graphs before a graph break hold {sum(held.between for held in others):,} of it meanwhile: give {instead}, "
                "or compile with fullgraph=True"]

    def add_compiled_peak(self, live: int, is_backward: bool) -> None:
        """Notes in the last report what a compiler says that its code holds at most in addition to the resident bytes."""
        report = self.reports[-1]
        # The caller holds them through the backward.
        held = report.results if is_backward else 0
        self.reports[-1] = dataclasses.replace(
            report, compiled_peak=max(report.compiled_peak or 0, report.resident + held + live))


def _report(program: Program, prices: Sequence[Price], problem: Problem, made: Plan, layout: Layout, budget: Bytes,
            seconds: Sequence[float]) -> Report:
    boundary = program.boundary
    flops = [entry.flops for entry in prices]
    flops.insert(boundary, 0)
    again = [step for step in made.steps if step < len(problem.ops)]
    for step in set(again):
        again.remove(step)
    results = {*storages_of(program, program.forward_outputs), *held_tangents(program)}
    host = made.host
    return Report(
        budget=budget if isinstance(budget, int) else None,
        resident=sum(value.bytes for value in problem.values if value.resident),
        peak=made.peak if host is None else max(layout.peaks),
        least_bytes_proved=made.peak_lower_bound,
        saved_bytes=_saved_bytes(layout, boundary),
        results=sum(problem.values[number].bytes for number in results if not problem.values[number].resident),
        cost=host.time if host else made.cost, base_cost=host.base_time if host else made.base_cost,
        cost_lower_bound=host.time_lower_bound if host else made.cost_lower_bound,
        kernels=len(program.kernels), recomputed=len(again),
        recomputed_flops=sum(flops[step] for step in again), flops=sum(flops),
        seconds_read=seconds[0], seconds_priced=seconds[1], seconds_planned=seconds[2], seconds_written=seconds[3],
        symbolic=program.symbolic, unknown_workspaces=sum(not entry.knows_workspace for entry in prices),
        problem=problem, plan=made, has_collectives=any(is_collective(kernel.node) for kernel in program.kernels),
        host=None if problem.host is None else HostUse(problem.host.budget, layout.host_peak, *bytes_moved(problem, made)))


def _saved_bytes(layout: Layout, boundary: int) -> int:
    """Returns the bytes of the values that are written before the boundary and read after it before they are written again."""
    ops, cut = layout.problem.ops, layout.steps.index(boundary)
    known = {value for step in layout.steps[:cut] for value in ops[step].writes}
    saved, rewritten = set(), set()
    for step in layout.steps[cut + 1:]:
        saved.update(value for value in ops[step].reads if value in known and value not in rewritten)
        rewritten.update(ops[step].writes)
    return sum(layout.problem.values[value].bytes for value in saved)
