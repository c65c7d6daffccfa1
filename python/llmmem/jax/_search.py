"""Asks XLA what layouts of a loss hold, until one keeps the budget.

A layout is planned in a model of what XLA makes of it, so its compiled program may hold more or less. Where it holds more than the budget
the loss is planned again for less, and where much is left, for more.
"""

from dataclasses import dataclass, replace
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from .._errors import BudgetError
from ._chain import Chain
from ._layout import Layout

# A layout that leaves less than this part of the budget is not improved.
_ENOUGH = 0.01
# Where the loss as it was holds less than this part of what the model says, devices share its values, and each has that part of a layout's.
_SHARED = 0.7
# A policy of JAX is compiled where it holds at most so many times the budget in the model, which may say more than XLA does.
_NEAR = 1.2


@dataclass(frozen=True)
class Trial:
    """A layout that XLA compiled. bound: the bytes for which the chain was planned, or None for the loss as it was written. held: bytes by
    XLA's account, or None where it was not asked. flops: of the whole gradient, with loops counted once, by XLA's account. cost: of the backward, by the model."""

    bound: Optional[int]
    parts: Optional[Tuple[Layout, ...]]
    held: Optional[int]
    flops: float
    cost: int


class Search:
    """Compiles layouts of one loss. chains: that which is solved, and those whose plans for all of their bytes are tried too. compile_: returns the bytes and FLOPs of a layout, or of the loss as it was for None. attempts: how
    many it may compile, at least 2. has_loops: where it is true, FLOPs by XLA's account count loops once, and those of the model decide."""

    def __init__(self, chains: Sequence[Chain], compile_: Callable[[Optional[Tuple[Layout, ...]]], Tuple[int, float]], attempts: int,
                 has_loops: bool) -> None:
        self.chain, *self.policies = chains
        self.compile, self.attempts, self.has_loops = compile_, max(2, attempts), has_loops
        self.trials: List[Trial] = []
        self._found: Dict[Any, Trial] = {}
        # The most bytes of a bound that holds, and the fewest of one that does not.
        self._fits: Optional[int] = None
        self._fails: Optional[int] = None

    def find_least(self) -> Trial:
        """Returns the layout of the fewest bytes among those whose bounds are the least, and the policy of JAX of the fewest bytes."""
        for part in (0, 0.03, 0.1):
            if len(self.trials) < self.attempts:
                self._try(self.chain.least + int(part * (self.chain.most - self.chain.least)))
        for policy in sorted(self.policies, key=lambda policy: policy.most)[:1]:
            self._try_policy(policy)
        if len(self.trials) < self.attempts:
            self._try(None)
        return min(self.trials, key=lambda trial: trial.held)

    def find_within(self, budget: int, base: int) -> Trial:
        """Returns the layout of the fewest FLOPs that was found to keep a budget. base: bytes that every layout holds. Raises BudgetError with
        the least that was found where none does."""
        unplanned = self._try(None)
        if unplanned.held <= budget:
            return unplanned
        slope = max(unplanned.held - base, 1) / max(1, self.chain.most)
        bound: Optional[int] = int((budget - base) / (slope if slope < _SHARED else 1.0))
        policies = [policy for policy in self.policies if policy.most <= _NEAR * bound]
        attempts = max(2, self.attempts - len(policies))
        while bound is not None and len(self.trials) < attempts:
            is_last = len(self.trials) == attempts - 1 and not self._within(budget)
            trial = self._try(self.chain.least if is_last else min(max(bound, self.chain.least), self.chain.most))
            bound = self._next_bound(trial, budget)
        for policy in policies:  # Each keeps less than the one before, and computes more again.
            tried = self._try_policy(policy)
            if tried and tried.held <= budget:
                break
        if not self._within(budget):
            self.find_least()
        if not self._within(budget):
            least = min(trial.held for trial in self.trials)
            raise BudgetError(f"llmmem.jax.checkpoint: no layout of the loss was found whose compiled gradient keeps a budget of {budget:,} bytes: "
                              f"of the {len(self.trials)} that XLA compiled the least holds {least:,} by its own account, and the loss as it was "
                              f"{unplanned.held:,}", budget, least, 0)
        return min(self._within(budget), key=lambda trial: (trial.cost if self.has_loops else trial.flops, trial.held))

    def _within(self, budget: int) -> List[Trial]:
        return [trial for trial in self.trials if trial.held <= budget]

    def _next_bound(self, trial: Trial, budget: int) -> Optional[int]:
        """Returns the bound to try after a trial, or None where nothing better is to be expected."""
        fits, fails = self._fits, self._fails
        if trial.held <= budget:
            fits = self._fits = max(fits or 0, trial.bound)
        else:
            fails = self._fails = min(fails or trial.bound, trial.bound)
        best = max((each.held for each in self._within(budget)), default=0)
        if budget - best <= _ENOUGH * budget or (fits is None and fails <= self.chain.least) or fits == self.chain.most:
            return None
        if fits is not None and fails is not None and fails - fits <= self.chain.unit:
            return None
        bound = trial.bound + (budget - trial.held)
        if fits is not None and fails is not None and not fits + self.chain.unit <= bound < fails:
            bound = (fits + fails) // 2
        return bound

    def _try(self, bound: Optional[int]) -> Trial:
        return self._try_of(self.chain, bound)

    def _try_policy(self, policy: Chain) -> Optional[Trial]:
        return self._try_of(policy, policy.most) if len(self.trials) < self.attempts else None

    def _try_of(self, chain: Chain, bound: Optional[int]) -> Trial:
        parts = None if bound is None else chain.plan(bound)
        known = self._found.get(parts)
        if known:
            return replace(known, bound=bound)
        held, flops = self.compile(parts)
        self._found[parts] = Trial(bound, parts, held, flops, chain.cost(chain.most if bound is None else bound))
        self.trials.append(self._found[parts])
        return self._found[parts]
