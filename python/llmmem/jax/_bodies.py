"""A plan for what one round of a scan runs, as a round that accumulates gradients runs a forward and a backward."""

from typing import Any, Dict, List, Sequence

import jax

from .._errors import BudgetError
from ._errors import UnsupportedLossError
from ._program import flops_of, run_step
from ._rounds import Scan
from ._tool import Module, plan_text

# A round that runs fewer products than this is not planned.
_FEWEST_PRODUCTS = 4
# Whether sums overwrite what is carried, and how much of what could be left out is held all the same.
_LEVELS = ((False, 0.5), (True, 0.0), (False, 0.0))
# More than any round needs.
_UNLIMITED = 1 << 62


class Body:
    """Plans a round for half of what could be left out, and for the least: once where the sums overwrite what is carried, which keeps what they
    depend on from running again, and once where they do not. options: flags of llmmem-opt."""

    def __init__(self, scan: Scan, options: Sequence[str]) -> None:
        self.scan, self.options = scan, options
        self._planned: Dict[int, Any] = {}
        self.levels = len(_LEVELS) if self._is_worth_it() else 0

    def _is_worth_it(self) -> bool:
        steps = self.scan.body.steps
        products = sum(step.equation.primitive.name in ("dot_general", "conv_general_dilated") for step in steps)
        return products >= _FEWEST_PRODUCTS and not self.scan.step.equation.effects and sum(flops_of(step.equation) for step in steps) > 0

    def run(self, level: int, arguments: Sequence[Any]) -> List[Any]:
        """Returns the results of a round that is planned for a level, or as it was written where it can't be planned."""
        if level not in self._planned:
            self._planned[level] = self._plan(level)
        return self._planned[level](*arguments)

    def _round(self, *arguments: Any) -> List[Any]:
        known = self.scan.body.begin(arguments)
        for step in self.scan.body.steps:
            known.update(zip(step.results, run_step(step, known)))
        return self.scan.body.finish(known)

    def _plan(self, level: int) -> Any:
        types = [jax.ShapeDtypeStruct(type_.shape, type_.dtype, weak_type=type_.weak_type)
                 for type_ in self.scan.body.types[:self.scan.body.arguments]]
        first, (overwrites, part) = len(self.scan.constants), _LEVELS[level]
        # A number that is carried is taken for the sum of the losses, which tells the forward from the backward.
        donated = tuple(number for number in range(first, first + self.scan.carried) if overwrites and types[number].shape)
        try:
            module = Module(self._round, donated, types, {})
            text, least = plan_text(module.text, "min", self.options)
            if part:
                free = plan_text(module.text, _UNLIMITED, self.options)[1]
                text, _ = plan_text(module.text, int(_needed(least) + part * (_needed(free) - _needed(least))), self.options)
        except (BudgetError, UnsupportedLossError):
            return self._round
        return module.replaced(text).call


def _needed(facts: Dict[str, Any]) -> int:
    return int(sum(facts["resident"].values()) + facts["resident_padding"] + facts["arena"])
