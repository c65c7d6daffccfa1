"""One budget for all calls of a step: which plan each call takes.

docs/Design/Guests.md ("Several calls under one budget") states the sum and proves that it bounds the step.
"""

from dataclasses import dataclass, field, replace
from typing import Any, Dict, FrozenSet, List, Optional, Sequence, Tuple

from .._model import Plan

# States that are kept for each call. More of them cost time, and fewer may cost recomputation, but never the budget.
MAX_STATES = 128


@dataclass(frozen=True)
class Point:
    """A plan of a graph, as a step sees it.

    forward: bytes that the forward takes at most in addition to its arguments. held: bytes of the tensors that it saves, of which nobody
    else knows, until the backward. backward: bytes that the backward takes at most, with those tensors, in addition to
    arguments, results and tangents. cost: of one forward and backward. steps: the plan's. on_host: bytes of a host that the call takes at most.
    plan: the planner's, of which `steps` are.
    """

    forward: int
    held: int
    backward: int
    cost: int
    steps: Tuple[int, ...]
    on_host: int = 0
    plan: Optional[Plan] = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Moment:
    """A part of a step. base: the most bytes that are held meanwhile and that no plan changes. waiting: numbers of the calls that wait for
    their backward. call: the number of the call that runs; it is None while PyTorch itself runs. seen: the part of `base` that
    can be counted again when the step runs."""

    base: int
    waiting: FrozenSet[int]
    call: Optional[int] = None
    is_backward: bool = False
    seen: int = 0

    def terms(self) -> List[Tuple[int, str]]:
        """Returns the number of each call that takes bytes, and which figure of its Point says how many."""
        found = [(number, "held") for number in sorted(self.waiting) if number != self.call]
        return found if self.call is None else [*found, (self.call, "backward" if self.is_backward else "forward")]


def bytes_of(moment: Moment, points: Sequence[Point]) -> int:
    """Returns the most bytes that are held in `moment` where each call takes its Point."""
    return moment.base + sum(getattr(points[number], figure) for number, figure in moment.terms())


def peak_of(moments: Sequence[Moment], points: Sequence[Point]) -> int:
    return max((bytes_of(moment, points) for moment in moments), default=0)


def choose(moments: Sequence[Moment], curves: Sequence[Sequence[Point]], budget: int) -> Optional[List[Point]]:
    """Returns a Point of each call's curve, so that none of `moments` needs more than the budget and the sum of costs is the least that was
    found; None where there is none.

    Calls are decided in the order of their forwards. What is decided matters for later ones by its sums alone, of which there is one for
    each set of calls that wait at once; where each backward takes the newest call that waits, as autograd's order does, it is a
    single number, and the choice is exact until there are more than MAX_STATES of them.
    """
    cheapest = [min(curve, key=lambda point: point.cost) for curve in curves]
    if peak_of(moments, cheapest) <= budget:
        return cheapest
    limits: Dict["_Terms", int] = {}
    for moment in moments:
        key = tuple(moment.terms())
        limits[key] = min(limits.get(key, budget), budget - moment.base)
    if min(limits.values(), default=0) < 0:
        return None
    states: List["_State"] = [(0, (), None)]
    known: List["_Terms"] = []
    for number, curve in enumerate(curves):
        # Sums that later limits will need, as a set of terms of the calls decided so far.
        pending = list(dict.fromkeys(_until(terms, number) for terms in limits if terms and _last(terms) > number))
        sums = [_split(terms, number, known) for terms in pending]
        due: Dict[Tuple[int, Optional[str]], int] = {}
        for terms, limit in limits.items():
            if terms and _last(terms) == number:
                split = _split(terms, number, known)
                due[split] = min(limit, due.get(split, limit))
        states = _thin([state for before in states for point in curve for state in _extend(before, point, sums, due)])
        known = pending
        if not states:
            return None
    return _points(states[0])


# Terms of a limit: the number of each call and which figure of its Point counts. A state: cost, sums of the terms that are
# pending, and the last Point with the state before it.
_Terms = Tuple[Tuple[int, str], ...]
_State = Tuple[int, Tuple[int, ...], Any]


def _extend(before: _State, point: Point, sums: Sequence[Tuple[int, Optional[str]]],
            due: Dict[Tuple[int, Optional[str]], int]) -> List[_State]:
    """Returns the state with one more Point, or none where a limit that is due forbids it."""
    cost, earlier, _ = before

    def total(index: int, figure: Optional[str]) -> int:
        return (earlier[index] if index >= 0 else 0) + (getattr(point, figure) if figure else 0)

    if any(total(*split) > limit for split, limit in due.items()):
        return []
    return [(cost + point.cost, tuple(total(*split) for split in sums), (point, before))]


def _points(state: _State) -> List[Point]:
    found: List[Point] = []
    while state[2] is not None:
        found.append(state[2][0])
        state = state[2][1]
    return found[::-1]


def _last(terms: _Terms) -> int:
    return max(number for number, _ in terms)


def _until(terms: _Terms, number: int) -> _Terms:
    return tuple(term for term in terms if term[0] <= number)


def _split(terms: _Terms, number: int, known: Sequence[_Terms]) -> Tuple[int, Optional[str]]:
    """Returns which known sum the terms of the calls before `number` are, or -1 where there are none, and the figure of `number` itself."""
    earlier = _until(terms, number - 1)
    return known.index(earlier) if earlier else -1, next((figure for call, figure in terms if call == number), None)


def _thin(states: List[_State]) -> List[_State]:
    """Drops states that another one is no worse than in every sum and in cost, and keeps MAX_STATES of the others: the one with the least
    bytes, which fits wherever any does if there is one sum, and the rest evenly. They come cheapest first."""
    states.sort(key=lambda state: (state[0], sum(state[1])))
    kept: List[_State] = []
    for state in states:
        if state[1] and len(state[1]) == 1:
            is_worse = bool(kept) and kept[-1][1] <= state[1]
        else:
            is_worse = any(all(one <= other for one, other in zip(better[1], state[1])) for better in kept)
        if not is_worse:
            kept.append(state)
    if len(kept) <= MAX_STATES:
        return kept
    smallest = min(range(len(kept)), key=lambda number: sum(kept[number][1]))
    chosen = {number * len(kept) // (MAX_STATES - 1) for number in range(MAX_STATES - 1)} | {smallest}
    return [kept[number] for number in sorted(chosen)]


def least_budget(moments: Sequence[Moment], curves: Sequence[Sequence[Point]]) -> int:
    """Returns the least budget that `choose` finds Points for."""
    curves = [[replace(point, cost=0) for point in curve] for curve in curves]  # One state is enough where there is one sum.
    low = max((moment.base for moment in moments), default=0)
    high = peak_of(moments, [min(curve, key=lambda point: point.held) for curve in curves])
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if choose(moments, curves, middle) else (middle + 1, high)
    return high


def slack_of(moments: Sequence[Moment], points: Sequence[Point], numbers: FrozenSet[int], budget: int) -> Tuple[int, int, int]:
    """Returns what the calls `numbers`, which take one Point, may take each at most in (forward, held, backward) with the other calls as
    they are."""
    found = {"forward": budget, "held": budget, "backward": budget}
    for moment in moments:
        left = budget - moment.base
        own: List[str] = []
        for number, figure in moment.terms():
            if number in numbers:
                own.append(figure)
            else:
                left -= getattr(points[number], figure)
        figures = {figure: own.count(figure) for figure in own}
        for figure, count in figures.items():
            others = sum(times * getattr(points[min(numbers)], other) for other, times in figures.items() if other != figure)
            found[figure] = min(found[figure], (left - others) // count)
    return found["forward"], found["held"], found["backward"]
