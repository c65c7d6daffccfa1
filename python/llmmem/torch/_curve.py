"""Plans of one graph for several bytes: the curve from which a step chooses."""

from dataclasses import replace
from typing import List, NamedTuple, Optional, Sequence, Set, Tuple

from .._model import Problem
from .._planner import plan
from ._host_plan import lay_out
from ._lifetimes import boundary_of, caller_bytes, freed_after, resident_bytes
from ._step import Point

# Bytes held between forward and backward that are tried, and peaks for each of them.
HELD_LEVELS, PEAK_LEVELS = 5, 3


def point_of(problem: Problem, steps: Sequence[int]) -> Point:
    """Adds up what is live, step by step."""
    sizes = [0 if value.resident else value.bytes for value in problem.values]
    boundary = boundary_of(problem)
    freed = freed_after(problem, steps)
    results, tangents = caller_bytes(problem)
    live = peak = forward = held = 0
    alive: Set[int] = set()
    for number, step in enumerate(steps):
        op = problem.ops[step]
        if step == boundary:
            forward, held, peak = peak, live - results, 0
        for value in op.writes:
            live += 0 if value in alive else sizes[value]
            alive.add(value)
        if step != boundary:
            peak = max(peak, live + op.workspace)
        for value in freed[number]:
            live -= sizes[value]
            alive.discard(value)
    # Saved tensors are there when the backward begins.
    backward = max(peak - results - tangents, held)
    return Point(forward, held, backward, sum(problem.ops[step].cost for step in steps), tuple(steps))


def plan_within(problem: Problem, limits: Tuple[int, int, int], seconds: float, is_symmetric: bool = False) -> Optional[Point]:
    """Returns the cheapest Point found that takes at most `limits`, or None. Bytes that one phase must leave are workspaces of its ops, so
    that the planner needs to know nothing of calls."""
    forward, held, backward = limits
    results, tangents = caller_bytes(problem)
    both = forward, backward + results + tangents
    if min(both) <= 0 or held < 0:
        return None
    found: List[Point] = []
    for total in dict.fromkeys((min(both), max(both))):
        left = _Left(max(total - forward, 0), max(total - held - results - tangents, 0), max(total - both[1], 0))
        # PyTorch's allocator is no arena, so a plan whose peak fits will do where its packing does not.
        for asked in (resident_bytes(problem) + total, None, "min"):
            point = _plan(problem, asked, left, seconds, is_symmetric)
            if point is not None and point.forward <= forward and point.held <= held and point.backward <= backward:
                found.append(point)
                break
    return min(found, key=lambda point: point.cost, default=None)


class _Left(NamedTuple):
    """Bytes that a plan leaves to others while the forward runs, at the boundary, and while the backward runs."""

    forward: int = 0
    boundary: int = 0
    backward: int = 0


def _plan(problem: Problem, budget: object, left: _Left, seconds: float, is_symmetric: bool = False) -> Optional[Point]:
    """is_symmetric: whether both phases count with the larger of their peaks, as for a compiler that is given one number for both."""
    boundary = boundary_of(problem)
    beside = [left.boundary if number == boundary else left.forward if number < boundary else left.backward
              for number in range(len(problem.ops))]
    ops = [replace(op, workspace=op.workspace + more) if more else op for op, more in zip(problem.ops, beside)]
    made = plan(replace(problem, ops=ops), budget, seconds=seconds)  # type: ignore[arg-type]
    if not made.is_feasible:
        return None
    layout = lay_out(problem, made)
    point = point_of(layout.problem, layout.steps)
    if made.host is not None:
        point = replace(point, cost=made.host.time, steps=tuple(made.steps), on_host=layout.host_peak)
    results, tangents = caller_bytes(problem)
    peak = resident_bytes(problem) + max(point.forward, point.backward + results + tangents)
    if is_symmetric:
        both = max(point.forward, point.backward + results + tangents)
        point = replace(point, forward=both, backward=both - results - tangents)
    if any(left):
        # The bytes that are left are no part of the graph, nor is what was proved of plans that leave them.
        places = [place for place in made.workspaces if problem.ops[made.steps[place.step]].workspace]
        made = replace(made, workspaces=places, cost_lower_bound=made.base_cost, peak_lower_bound=_least_of_any_op(problem))
    return replace(point, plan=replace(made, peak=peak))


def _least_of_any_op(problem: Problem) -> int:
    """Returns bytes that every plan needs: some op runs with its operands and results."""
    sizes = [0 if value.resident else value.bytes for value in problem.values]
    return resident_bytes(problem) + max(op.workspace + sum(sizes[value] for value in {*op.reads, *op.writes}) for op in problem.ops)


def least_of(problem: Problem, seconds: float, is_symmetric: bool = False) -> Optional[Point]:
    """Returns a Point for a step of which nothing is known: few bytes while it runs, and few while another call does."""
    whole = sum(value.bytes for value in problem.values) + 1
    least, slim = (_plan(problem, "min", _Left(boundary=beside), seconds, is_symmetric) for beside in (0, whole))
    results, tangents = caller_bytes(problem)
    return min((point for point in (least, slim) if point is not None), default=None,
               key=lambda point: max(point.forward, point.backward + results + tangents) + point.held)


def curve_of(problem: Problem, seconds: float, is_symmetric: bool = False) -> List[Point]:
    """Returns the Points found from the least bytes to those of recomputing nothing, none of which another is better than."""
    whole = sum(value.bytes for value in problem.values) + 1
    most, least, slim = (_plan(problem, budget, _Left(boundary=beside), seconds, is_symmetric)
                         for budget, beside in ((None, 0), ("min", 0), ("min", whole)))
    found = [point for point in (most, least, slim) if point is not None]
    if not found or most is None:
        return found
    results, tangents = caller_bytes(problem)
    peaks = [max(point.forward, point.backward + results + tangents) for point in found]
    low, high = min(point.held for point in found), most.held
    if high <= low and max(peaks) <= min(peaks):
        return front(found)
    for level in range(PEAK_LEVELS):
        peak = min(peaks) + (max(peaks) - min(peaks)) * level // max(PEAK_LEVELS - 1, 1)
        for step in range(HELD_LEVELS):
            held = low + (high - low) * step // (HELD_LEVELS - 1)
            left = _Left(boundary=max(peak - held - results - tangents, 0))
            point = _plan(problem, resident_bytes(problem) + peak, left, seconds, is_symmetric)
            found += [] if point is None else [point]
    return front(found)


def front(points: Sequence[Point]) -> List[Point]:
    """Returns the points that no other is as good as in bytes and cost, cheapest first."""
    kept: List[Point] = []
    for point in sorted(points, key=lambda point: (point.cost, point.held, point.forward, point.backward)):
        if not any(other.forward <= point.forward and other.held <= point.held and other.backward <= point.backward
                   for other in kept):
            kept.append(point)
    return kept
