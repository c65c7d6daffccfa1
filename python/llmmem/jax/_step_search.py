"""Asks XLA what planned steps hold, until one keeps the budget."""

from typing import List, Optional

from .._errors import BudgetError
from ._step_plans import Candidate, Planner

# A plan that leaves less than this part of the budget is not improved.
_ENOUGH = 0.02
# Where the step as it was written holds less than this part of what the model says, devices share its values, and each has that part of a plan's.
_SHARED = 0.7


class StepSearch:
    """Compiles plans of one step. attempts: how many it may compile; where it is 0 the model decides alone. unplanned: the bytes of the step as it
    was written, once it was compiled."""

    def __init__(self, planner: Planner, attempts: int) -> None:
        self.planner, self.attempts = planner, attempts
        self.unplanned: Optional[int] = None
        self._tried: List[Candidate] = []

    @property
    def trials(self) -> int:
        return len(self._tried)

    def find_least(self) -> Candidate:
        """Returns the step of the fewest bytes: the least plan of each form, plans of a little more, of which XLA may make less, and the step as it was
        written."""
        least = self.planner.least()
        if not self.attempts:
            return least[0]
        self._try_as_written()
        for found in least[:max(1, self.attempts - 3)]:
            self._try(found)
        for part in (0.03, 0.1):
            most = self.planner.free(self.planner.forms[0]).needed
            self._try(self.planner.best_within(least[0].needed + int(part * (most - least[0].needed))))
        return min(self._tried, key=lambda found: found.held)

    def find_within(self, budget: int) -> Candidate:
        """Returns the step as it was written where that keeps the budget, or else the step of the least modelled time that was found to. Raises
        BudgetError with the least that was found where none does."""
        if not self.attempts:
            return self.planner.best_within(budget)
        unplanned = self._try_as_written()
        if unplanned.held <= budget:
            return unplanned
        share = unplanned.held / max(1, unplanned.needed)
        self._approach(budget, share if share < _SHARED else 1.0)
        if not self._within(budget):
            for found in self.planner.least():
                if self._has_attempts and self._try(found).held <= budget:
                    break
        if not self._within(budget):
            least = min(found.held for found in self._tried)
            raise BudgetError(f"llmmem.jax.plan: no plan of the step was found that keeps a budget of {budget:,} bytes: of the {self.trials} programs "
                              f"that XLA compiled the least holds {least:,} by its own account, and the step as it was written "
                              f"{unplanned.held:,}", budget, least, 0)
        return min(self._within(budget), key=lambda found: (found.time, found.held))

    def _approach(self, budget: int, share: float) -> None:
        """Plans for bounds of the model until what XLA holds is just within the budget. share: of the model's bytes, what a device holds."""
        bound, fits, fails = int(budget / share), 0, None
        while self.trials < self.attempts - 1:
            try:
                found = self._try(self.planner.best_within(bound))
            except BudgetError:
                return
            if found.held <= budget:
                fits = max(fits, bound)
                if budget - found.held <= _ENOUGH * budget or not found.facts["recompute"]["ops"] and found.time <= self._least_time:
                    return
            else:
                fails = min(fails or bound, bound)
            bound = min(found.needed, bound) if found.held > budget else bound
            bound += int((budget - found.held) / share)
            if fails is not None and not fits < bound < fails:
                bound = (fits + fails) // 2 if fits else int(0.9 * fails)
            if fails is not None and fails - fits <= _ENOUGH * fails:
                return

    @property
    def _least_time(self) -> int:
        return min(self.planner.free(form).time for form in self.planner.forms)

    @property
    def _has_attempts(self) -> bool:
        return self.trials < self.attempts

    def _within(self, budget: int) -> List[Candidate]:
        return [found for found in self._tried if found.held <= budget]

    def _try_as_written(self) -> Candidate:
        found = self._try(self.planner.as_written())
        self.unplanned = found.held
        return found

    def _try(self, found: Candidate) -> Candidate:
        for other in self._tried:
            if other.exported is found.exported:
                return other
        self._tried.append(self.planner.measured(found))
        return self._tried[-1]
