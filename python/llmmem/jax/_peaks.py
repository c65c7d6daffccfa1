"""Plans for a program whose values lie in no arena."""

from typing import Tuple

from .._model import Plan, Problem
from .._planner import plan


def plan_within(problem: Problem, budget: int, seconds: float) -> Tuple[Plan, bool]:
    """Returns a plan, and whether its peak is within `budget`. If it is not, the plan is that of the least peak that was found.

    The planner places values in one arena, whose end may lie above the peak. XLA chooses its own places, so a plan whose peak fits counts
    even where its values do not fit an arena: a budget of the least peak that "min" finds has a plan.
    """
    placed = plan(problem, budget, seconds=seconds)
    if placed.is_feasible and placed.recompute_cost == 0:
        return placed, True
    kept = plan(problem, None, seconds=seconds)
    if kept.peak <= budget:
        return kept, True
    if placed.is_feasible:
        return placed, True
    least = plan(problem, "min", seconds=seconds)
    return least, least.is_feasible and least.peak <= budget
