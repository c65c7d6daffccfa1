"""Chooses how each stage of a chain is written, and which stages run again together, so that the fewest FLOPs run again under a bound of bytes.

The dynamic programme is that of Beaumont, Eyraud-Dubois, Herrmann, Joly and Shilova ("Optimal checkpointing for heterogeneous chains: how to
train deep neural networks with limited memory", 2019), with several ways to store a stage, of which some store a few at once. Bytes are
rounded up to multiples of a unit.
"""

from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

import numpy

from ._layout import Group, Layout
from ._options import Option

# A bound has at least so many units, and so many for each stage, so that what rounding adds stays small.
_UNITS, _UNITS_OF_A_STAGE = 512, 12


@dataclass(frozen=True)
class Links:
    """A chain of stages. options: the ways to write those from a first up to an end. carried: bytes that go from each to later ones. flops:
    those of the forward of each."""

    options: Dict[Tuple[int, int], Sequence[Option]]
    carried: Sequence[int]
    flops: Sequence[int]


@dataclass(frozen=True)
class _Store:
    """Writes the stages from a first up to `end` by an option."""

    end: int
    option: Option


@dataclass(frozen=True)
class _RunAgain:
    """Runs the stages from a first up to `end` again as a group."""

    end: int


class Chain:
    """Solves a chain for every bound up to `most`, the bytes at which each stage is written so that it computes the least again."""

    def __init__(self, links: Links) -> None:
        self.links, self.count = links, len(links.flops)
        self.units = max(_UNITS, _UNITS_OF_A_STAGE * self.count)
        # Each stage rounds up twice.
        self.unit = max(1, -(-self._bytes_of_all() // (self.units - 2 * self.count - 2)))
        self.most = self.unit * self.units
        self._by_start: Dict[int, List[Tuple[int, Option]]] = {}
        for (start, end), options in links.options.items():
            self._by_start.setdefault(start, []).extend((end, option) for option in options)
        self._costs: Dict[Tuple[int, int], Any] = {(end, end): numpy.zeros(self.units + 1) for end in range(self.count + 1)}
        for length in range(1, self.count + 1):
            for start in range(self.count - length + 1):
                costs = [cost for cost, _ in self._choices(start, start + length)]
                self._costs[start, start + length] = numpy.minimum.reduce(costs)

    def _bytes_of_all(self) -> int:
        held = most = 0
        for stage in range(self.count):
            option = min(self.links.options[stage, stage + 1], key=lambda option: option.again)
            most = max(most, held + max(option.forward + self.links.carried[stage], option.backward))
            held += option.saved + self.links.carried[stage]
        return most

    def _units(self, size: int) -> int:
        return -(-size // self.unit)

    def _after(self, choice: Union[_Store, _RunAgain], end: int) -> int:
        """Returns the units that are held, after a choice for the first stages of a range, while the rest of the range runs."""
        saved = choice.option.saved if isinstance(choice, _Store) else 0
        return self._units(saved) + self._units(self.links.carried[choice.end - 1] if choice.end < end else 0)

    def _choices(self, start: int, end: int) -> List[Tuple[Any, Union[_Store, _RunAgain]]]:
        """Returns the cost of each choice for the first stages of a range, by bound, and the choice."""
        found: List[Tuple[Any, Union[_Store, _RunAgain]]] = []
        for until, option in self._by_start[start]:
            if until <= end:
                store = _Store(until, option)
                rest = _less(self._costs[until, end], self._after(store, end))
                least = self._units(max(option.backward, option.forward + self.links.carried[until - 1]))
                found.append((_not_below(rest + option.again, least), store))
        flops = most = 0
        for until in range(start + 1, end):
            flops += self.links.flops[until - 1]
            forward = min(option.forward for option in self.links.options[until - 1, until])
            most = max(most, self._units(forward + self.links.carried[until - 1]))
            if until > start + 1:
                again = _RunAgain(until)
                cost = _less(self._costs[until, end], self._after(again, end)) + self._costs[start, until] + flops
                found.append((_not_below(cost, most), again))
        return found

    @property
    def least(self) -> int:
        """The least bound that has a layout."""
        fits = numpy.flatnonzero(numpy.isfinite(self._costs[0, self.count]))
        return int(fits[0]) * self.unit if len(fits) else self.most

    def cost(self, bound: int) -> int:
        """Returns the FLOPs of the backward under a bound that has a layout."""
        return int(self._costs[0, self.count][min(self.units, bound // self.unit)])

    def plan(self, bound: int) -> Optional[Tuple[Layout, ...]]:
        """Returns the layout of the fewest FLOPs under a bound, or None."""
        units = min(self.units, bound // self.unit)
        if units < 0 or not numpy.isfinite(self._costs[0, self.count][units]):
            return None
        return tuple(self._read(0, self.count, units))

    def _read(self, start: int, end: int, units: int) -> List[Layout]:
        if start == end:
            return []
        _, choice = min(self._choices(start, end), key=lambda found: found[0][units])
        rest = self._read(choice.end, end, units - self._after(choice, end))
        if isinstance(choice, _Store):
            return [choice.option.part, *rest]
        return [Group(tuple(self._read(start, choice.end, units))), *rest]


def _less(costs: Any, units: int) -> Any:
    """Returns the costs of bounds that are less by so many units."""
    count = min(units, len(costs))
    return numpy.concatenate([numpy.full(count, numpy.inf), costs[:len(costs) - count]])


def _not_below(costs: Any, units: int) -> Any:
    """Returns the costs, where bounds below so many units have none."""
    costs = costs.copy()
    costs[:units] = numpy.inf
    return costs
