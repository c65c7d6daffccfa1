"""The scans of a step that belong together: one runs forward and stacks a value for each round, the other reads them in its own rounds.

Which values are stacked is open. What the second one does not find in a stack it computes again, in its own round, from the carried values
that the first one had there, which are stacked then. So a pair is written anew for any set of values of a forward round.
"""

from dataclasses import dataclass
from typing import Any, Dict, FrozenSet, List, Optional, Sequence, Set, Tuple

import jax
from jax.extend.core import Literal

from ._account import is_fused, is_view
from ._merging import Merger
from ._program import Program, Step, bytes_of, flops_of, read, run_step

# So many ways to write the pairs of a step are tried.
_WAYS = 5


def is_scan(step: Step) -> bool:
    return step.equation.primitive.name == "scan"


@dataclass(frozen=True)
class Scan:
    """The operands and results of a scan by what they are."""

    step: Step
    body: Program

    @property
    def _params(self) -> Dict[str, Any]:
        return self.step.equation.params

    @property
    def length(self) -> int:
        return self._params["length"]

    @property
    def carried(self) -> int:
        return self._params["num_carry"]

    @property
    def constants(self) -> Tuple[Any, ...]:
        return self.step.operands[:self._params["num_consts"]]

    @property
    def begin(self) -> Tuple[Any, ...]:
        return self.step.operands[len(self.constants):len(self.constants) + self.carried]

    @property
    def rows(self) -> Tuple[Any, ...]:
        return self.step.operands[len(self.constants) + self.carried:]

    @property
    def stacked(self) -> Tuple[int, ...]:
        return self.step.results[self.carried:]

    def values(self, known: Dict[int, Any]) -> List[List[Any]]:
        """Returns the constants, what is carried into the first round, and the rows."""
        return [[read(operand, known) for operand in each] for each in (self.constants, self.begin, self.rows)]

    def run(self, one_round: Any, begin: Sequence[Any], rows: Any, length: int) -> Any:
        return jax.lax.scan(one_round, list(begin), rows, length=length, reverse=self._params["reverse"],
                            unroll=self._params["unroll"] if length == self.length else 1)


def make_scan(step: Step) -> Scan:
    return Scan(step, Program(step.equation.params["jaxpr"], is_plain=True))


@dataclass(frozen=True)
class Way:
    """How a pair is written. kept: the values of a round that are stacked. inner: the rounds of an inner loop, of which the second scan gets the
    carried values at its begin and runs the first one again, or the number of all rounds."""

    kept: FrozenSet[int]
    inner: int


class Pair:
    """A scan `first`, and a scan `second` of as many rounds that reads what it stacks. others: numbers that something else reads.

    One round of both is one straight line of primitives: those of `first`, then those of `second`, without those that compute what is
    there already, as what `jax.checkpoint` of the body runs again.
    """

    def __init__(self, first: Scan, second: Scan, others: Set[int]) -> None:
        self.first, self.second = first, second
        self._read_elsewhere = [number in others for number in first.stacked]
        self.inputs = list(range(first.body.arguments))
        merger = Merger(first.body)
        stacked = dict(zip(first.stacked, first.body.results[first.carried:]))
        given = dict(zip((*first.constants, *first.rows), (*self.inputs[:len(first.constants)], *self.inputs[len(first.constants) + first.carried:])))
        self.own: List[Tuple[str, int, int]] = []  # what the second scan alone is given: kind, place there, number here
        operands = []
        for kind, each in (("constant", second.constants), ("carry", second.begin), ("row", second.rows)):
            for place, operand in enumerate(each):
                known = _find(operand, kind, stacked, given, first)
                if known is None:
                    known = merger.add_input(second.body.types[len(operands)])
                    self.own.append((kind, place, known))
                operands.append(known)
        self.results = merger.merge(second.body, operands)
        self.steps, self.types, self.constants = merger.steps, merger.types, merger.constants
        self._made_by = {number: step for step in self.steps for number in step.results}

    @property
    def made(self) -> List[Step]:
        """The primitives of a round of the first scan."""
        return self.first.body.steps

    def needed(self, kept: FrozenSet[int]) -> Tuple[List[Step], Set[int]]:
        """Returns what a round of the second scan runs where these values are stacked, and the numbers that it reads and does not make."""
        wanted = [result for result in self.results if not isinstance(result, Literal)]
        seen: Set[int] = set()
        while wanted:
            number = wanted.pop()
            if number not in seen:
                seen.add(number)
                if number in self._made_by and number not in kept:
                    wanted += self._made_by[number].reads
        steps = [step for step in self.steps if any(number in seen and number not in kept for number in step.results)]
        made = {number for step in steps for number in step.results}
        return steps, {number for number in seen if number not in made or number in kept}

    @property
    def _carry(self) -> List[int]:
        return self.inputs[len(self.first.constants):len(self.first.constants) + self.first.carried]

    def stacks(self, kept: FrozenSet[int]) -> List[int]:
        """Returns the numbers of what is stacked: these values and the carried ones, as far as the second scan reads them."""
        reads = self.needed(kept)[1]
        return [number for number in (*self._carry, *sorted(kept)) if number in reads]

    def price(self, way: Way) -> Tuple[int, int]:
        """Returns the bytes of all stacks, and the FLOPs that are computed for the second scan."""
        steps, _ = self.needed(way.kept)
        rounds = self.first.length
        size = sum(bytes_of(self.types[number]) for number in self.stacks(way.kept))
        flops = sum(flops_of(step.equation) for step in steps) * rounds
        if way.inner == rounds:
            return size * rounds, flops
        outer = sum(bytes_of(self.types[number]) for number in self._carry)
        return size * way.inner + outer * (rounds // way.inner), flops + sum(flops_of(step.equation) for step in self.made) * rounds

    def run(self, way: Way, known: Dict[int, Any]) -> "Second":
        """Runs the first scan, which stacks what the way says, and returns what the second one needs of it."""
        first = self.first
        constants, begin, rows = first.values(known)
        is_whole = way.inner == first.length
        stacks = self.stacks(way.kept) if is_whole else []

        def inner_rounds(carried: Sequence[Any], rows: Sequence[Any]) -> Any:
            end, (others, _) = self.run_first(constants, carried, rows, [], way.inner)
            return end, (others, list(carried))

        if is_whole:
            end, (others, stacked) = self.run_first(constants, begin, rows, stacks, first.length)
        else:
            end, (others, stacked) = first.run(inner_rounds, begin, split(rows, way.inner), first.length // way.inner)
            others = [joined(each) for each in others]
        known.update(zip(first.step.results, end))
        known.update(zip([number for number, is_read in zip(first.stacked, self._read_elsewhere) if is_read], others))
        return Second(self, way, stacked, constants, rows)

    def run_first(self, constants: Sequence[Any], begin: Sequence[Any], rows: Sequence[Any], stacks: Sequence[int], length: int) -> Any:
        """Runs rounds of the first scan. Returns what they carry on, what others read of their stacks, and these stacks."""
        first, body = self.first, self.first.body

        def one_round(carried: Sequence[Any], row: Sequence[Any]) -> Any:
            here = body.begin([*constants, *carried, *row])
            for step in body.steps:
                here.update(zip(step.results, run_step(step, here)))
            results = body.finish(here)
            others = [result for result, is_read in zip(results[first.carried:], self._read_elsewhere) if is_read]
            return results[:first.carried], (others, [here[number] for number in stacks])

        return first.run(one_round, begin, rows, length)


@dataclass(frozen=True)
class Second:
    """The second scan of a pair, once the first one ran. stacked: what that stacked: the values of all rounds, or what is carried into each inner
    loop. constants, rows: those of the first scan."""

    pair: Pair
    way: Way
    stacked: List[Any]
    constants: List[Any]
    rows: List[Any]

    def run(self, known: Dict[int, Any]) -> None:
        pair, second, first, inner = self.pair, self.pair.second, self.pair.first, self.way.inner
        own = {kind: [(number, place) for each, place, number in pair.own if each == kind] for kind in ("constant", "carry", "row")}
        inputs, stacks = pair.inputs, pair.stacks(self.way.kept)
        fixed = {**pair.constants, **dict(zip(inputs, self.constants)),
                 **{number: read(second.constants[place], known) for number, place in own["constant"]}}
        begin = [read(operand, known) for operand in second.begin]
        own_rows = {number: read(second.rows[place], known) for number, place in own["row"]}
        numbers_of_rows = inputs[len(first.constants) + first.carried:]

        def rounds(carried: Sequence[Any], own_rows: Dict[int, Any], rows: Sequence[Any], stacked: Sequence[Any], length: int) -> Any:
            given = {**own_rows, **dict(zip(numbers_of_rows, rows)), **dict(zip(stacks, stacked))}
            return self._run_rounds(fixed, carried, given, {number: place for number, place in own["carry"]}, length)

        def inner_rounds(carried: Sequence[Any], given: Any) -> Any:
            own_rows, rows, before = given
            _, (_, stacked) = pair.run_first(self.constants, before, rows, stacks, inner)
            return rounds(carried, own_rows, rows, stacked, inner)

        if inner == first.length:
            end, made = rounds(begin, own_rows, self.rows, self.stacked, inner)
        else:
            rows = dict(zip(own_rows, split(list(own_rows.values()), inner))), split(self.rows, inner), self.stacked
            end, made = second.run(inner_rounds, begin, rows, first.length // inner)
            made = [joined(each) for each in made]
        known.update(zip(second.step.results, [*end, *made]))

    def _run_rounds(self, fixed: Dict[int, Any], begin: Sequence[Any], rows: Dict[int, Any], carried_places: Dict[int, int], length: int) -> Any:
        pair, (steps, _) = self.pair, self.pair.needed(self.way.kept)
        reads = {number for step in steps for number in step.reads} | {result for result in pair.results if not isinstance(result, Literal)}

        def one_round(carried: Sequence[Any], row: Dict[int, Any]) -> Any:
            here = {**fixed, **{number: carried[place] for number, place in carried_places.items()}, **row}
            for step in steps:
                here.update((number, value) for number, value in zip(step.results, run_step(step, here)) if number not in row)
            results = [read(result, here) for result in pair.results]
            return results[:pair.second.carried], results[pair.second.carried:]

        return pair.second.run(one_round, begin, {number: row for number, row in rows.items() if number in reads}, length)


def split(rows: Sequence[Any], inner: int) -> List[Any]:
    """Returns rows as those of an outer loop, each of which has the rows of an inner one."""
    return [row.reshape(row.shape[0] // inner, inner, *row.shape[1:]) for row in rows]


def joined(rows: Any) -> Any:
    return rows.reshape(rows.shape[0] * rows.shape[1], *rows.shape[2:])


def _find(operand: Any, kind: str, stacked: Dict[int, Any], given: Dict[Any, int], first: Scan) -> Optional[Any]:
    """Returns what an operand of the second scan is in a round of the first one, or None where it is nothing there."""
    if isinstance(operand, Literal) or kind == "carry":
        return None
    if kind == "row":
        return stacked[operand] if operand in stacked else given[operand] if operand in first.rows else None
    return given[operand] if operand in first.constants else None


def find_pairs(program: Program) -> List[Pair]:
    """Returns the scans of a step that belong together, each in one pair at most."""
    scans = {index: make_scan(step) for index, step in enumerate(program.steps) if is_scan(step) and not step.equation.effects}
    readers: Dict[int, Set[int]] = {}
    for index, step in enumerate(program.steps):
        for number in step.reads:
            readers.setdefault(number, set()).add(index)
    results = {result for result in program.results if not isinstance(result, Literal)}
    pairs, taken = [], set()
    for index, first in scans.items():
        candidates = {reader for number in first.stacked for reader in readers.get(number, ()) if reader in scans and reader not in taken
                      and scans[reader].length == first.length and number in scans[reader].rows}
        if index in taken or not candidates:
            continue
        after = max(candidates, key=lambda reader: sum(number in first.stacked for number in scans[reader].rows))
        second = scans[after]
        others = {number for number in first.stacked if number in results or readers.get(number, set()) - {after}
                  or number in (*second.constants, *second.begin)}
        pairs.append(Pair(first, second, others))
        taken.update((index, after))
    return pairs


def ways_to_write(pair: Pair) -> List[Way]:
    """Returns ways to write a pair, that of the fewest FLOPs first: what XLA does not compute inside of other kernels is dropped by and by, that
    which takes the fewest FLOPs for its bytes first, and last the rounds are in two loops. None takes more bytes than one with fewer
    FLOPs."""
    worth: Dict[int, float] = {}
    for step in pair.made:
        if not is_view(step.equation) and not is_fused(step.equation):
            size = sum(bytes_of(pair.types[number]) for number in step.results)
            worth.update({number: flops_of(step.equation) / max(1, size) for number in step.results if bytes_of(pair.types[number])})
    length, found = pair.first.length, {}
    for level in [-1.0, *sorted({round(value, 1) for value in worth.values()})]:
        kept = frozenset(number for number, value in worth.items() if round(value, 1) > level)
        way = Way(kept & pair.needed(kept)[1], length)
        found.setdefault(pair.price(way), way)
    divisors = [inner for inner in range(2, length) if length % inner == 0]
    if divisors:
        way = Way(frozenset(), min(divisors, key=lambda inner: inner + length // inner))
        found.setdefault(pair.price(way), way)
    best = sorted((flops, held) for held, flops in found if not any(
        other <= held and its <= flops and (other, its) != (held, flops) for other, its in found))
    places = {round(place * (len(best) - 1) / max(1, _WAYS - 1)) for place in range(_WAYS)}
    return [found[best[place][1], best[place][0]] for place in sorted(places)]
