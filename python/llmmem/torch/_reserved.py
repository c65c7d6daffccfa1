"""What PyTorch's caching allocator allocates and reserves for a planned graph of CUDA, and plans whose reserved bytes keep the budget."""

import dataclasses
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence

from .._allocator_settings import Settings, parse_settings
from .._caching_allocator import Event, Usage, allocate, free, simulate
from .._errors import BudgetError
from .._model import Plan, Problem
from ._costs import Price
from ._host_plan import Layout
from ._lifetimes import boundary_of, freed_after, resident_bytes
from ._machine import setting
from ._pool_in_use import pool_in_use

ATTEMPTS = 8


def current_settings() -> Settings:
    """Returns the settings of this process's environment. Raises ValueError where their bytes are not known."""
    return parse_settings(setting("PYTORCH_ALLOC_CONF") or setting("PYTORCH_CUDA_ALLOC_CONF") or "")


class Allocator:
    """What the caching allocator takes for plans of one graph; None for a graph that is not on CUDA, or one whose settings are not known."""

    def __init__(self, problem: Problem, prices: Sequence[Price], kept: Sequence[int], is_cuda: bool) -> None:
        self.problem, self.prices, self.kept, self.why = problem, prices, kept, ""
        self.settings: Optional[Settings] = None
        # Then the caching allocator has no part in it.
        self.is_served = is_cuda and pool_in_use() is not None
        try:
            self.settings = current_settings() if is_cuda and not self.is_served else None
        except ValueError as error:
            self.why = str(error)

    def usage(self, made: Plan, layout: Optional[Layout] = None) -> Optional[Usage]:
        """layout: of a plan with copies to a host, which take what the allocator gives them as kernels do."""
        if self.settings is None:
            return None
        if layout is None:
            return usage_of(self.problem, made, self.prices, self.kept, self.settings)
        prices = [*self.prices, *[Price(0, 0, 0, True)] * (2 * len(layout.copies))]
        return usage_of(layout.problem, dataclasses.replace(made, steps=layout.steps), prices, self.kept, self.settings)

    def reserved(self, made: Plan) -> int:
        """Returns what is reserved for the plan; with a pool, its arena and what is resident. Raises ValueError where that is not known."""
        if self.is_served:
            return resident_bytes(self.problem) + made.arena
        usage = self.usage(made)
        if usage is None:
            raise ValueError(self.why or 'budget_of: "reserved" is a figure of CUDA, and the graph is on another device')
        return usage.reserved


def usage_of(problem: Problem, made: Plan, prices: Sequence[Price], kept: Sequence[int], settings: Settings) -> Usage:
    """Returns what the allocator takes for a plan, in the plan's order, beginning empty. kept: blocks of libraries that stay allocated.

    Resident values come first, each with a block of its own, in the order of the problem. While a kernel runs, its results are
    allocated and then its workspace; what was read for the last time is freed when it has run.
    """
    return simulate(_events(problem, made, prices, kept), settings)


def _events(problem: Problem, made: Plan, prices: Sequence[Price], kept: Sequence[int]) -> Iterator[Event]:
    values, boundary = problem.values, boundary_of(problem)
    for number, value in enumerate(values):
        if value.resident:
            # What is held in addition to the graph has the library's blocks in its sum.
            yield allocate(("resident", number), value.bytes - (sum(kept) if value.name == "reserved" else 0))
    for number, size in enumerate(kept):
        yield allocate(("library", number), size)
    freed = freed_after(problem, made.steps)
    holders: Dict[int, Any] = {}
    for number, step in enumerate(made.steps):
        op = problem.ops[step]
        passed_on = {read: written for written, read in op.in_place if read in holders and read in freed[number]}
        for written in op.writes:
            if written not in holders and written not in passed_on.values() and not values[written].resident:
                holders[written] = number, written
                yield allocate(holders[written], values[written].bytes)
        if step != boundary:
            blocks = prices[step if step < boundary else step - 1].blocks
            yield from (allocate(("workspace", place), size) for place, size in enumerate(blocks))
            yield from (free(("workspace", place)) for place in range(len(blocks)))
        for read, written in passed_on.items():
            holders[written] = holders.pop(read)
        for value in freed[number]:
            if value in holders:
                yield free(holders.pop(value))


def plan_within(budget: int, make: Callable[[int], Plan], reserved_by: Callable[[Plan], int]) -> Plan:
    """Returns a plan of `make`, which gets the bytes to plan for, whose reserved bytes are at most `budget`: it plans for less until they are.
    Raises BudgetError where none is found, with the least that was reserved."""
    asked, least = budget, None
    for _ in range(ATTEMPTS):
        try:
            made = make(asked)
        except BudgetError as error:
            if least is None:
                raise
            raise _refused(budget, least) from error
        reserved = reserved_by(made)
        if reserved <= budget:
            return made
        least = min(least or reserved, reserved)
        asked = min(made.peak, asked) - (reserved - budget)
    raise _refused(budget, least or budget)


def _refused(budget: int, least: int) -> BudgetError:
    return BudgetError(f"llmmem.torch: plans within {budget:,} bytes exist, but PyTorch's caching allocator reserves at least {least:,} for each "
                       "that was tried: give PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, the pool (llmmem.torch.use_pool), or "
                       'budget_of="allocated"', budget, least, 0)


def describe(usage: Optional[Usage], resident: int, arena: Optional[int]) -> List[str]:
    """Returns the line of a report. arena: that of the pool, where it serves the plan."""
    if arena is not None:
        return [f"llmmem: the pool reserves {arena:,} bytes for the plan's arena; with what is resident {resident + arena:,}"]
    return [] if usage is None else [
        f"llmmem: PyTorch's caching allocator allocates {usage.allocated:,} bytes at most and reserves {usage.reserved:,} "
        f"({usage.fragmentation:.1%} more), simulated from an empty one"]


def with_usage(report: Any, allocator: Allocator, made: Plan, layout: Layout, names: Sequence[str], is_part: bool) -> Any:
    """Returns the report with what its allocator takes, and the names of the kernels whose workspace is not known. is_part: whether it is of
    a call of a step, whose sums do not have what libraries keep."""
    if is_part and sum(allocator.kept):
        report = dataclasses.replace(report, unknown_workspaces=report.unknown_workspaces + 1)
        names = [*names, "what cuBLAS keeps for all calls"]
    return dataclasses.replace(report, usage=allocator.usage(made, layout), arena=made.arena if allocator.is_served else None,
                               unknown_kernels=tuple(sorted(set(names))))
