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

# So many sets of values are tried for the pairs of a step.
_SETS = 4


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

    def run(self, one_round: Any, begin: Sequence[Any], rows: Any) -> Any:
        return jax.lax.scan(one_round, begin, rows, length=self.length, reverse=self._params["reverse"], unroll=self._params["unroll"])


def make_scan(step: Step) -> Scan:
    return Scan(step, Program(step.equation.params["jaxpr"], is_plain=True))


class Pair:
    """A scan `first`, and a scan `second` of as many rounds that reads what it stacks. others: numbers that something else reads.

    One round of both is one straight line of primitives: those of `first`, then those of `second`, without those that compute what is
    there already, as what `jax.checkpoint` of the body runs again.
    """

    def __init__(self, first: Scan, second: Scan, others: Set[int]) -> None:
        self.first, self.second = first, second
        self._read_elsewhere = [number in others for number in first.stacked]
        self._inputs = list(range(first.body.arguments))
        merger = Merger(first.body)
        stacked = dict(zip(first.stacked, first.body.results[first.carried:]))
        given = dict(zip((*first.constants, *first.rows), (*self._inputs[:len(first.constants)], *self._inputs[len(first.constants) + first.carried:])))
        self._own: List[Tuple[str, int, int]] = []  # what the second scan alone is given: kind, place there, number here
        operands = []
        for kind, each in (("constant", second.constants), ("carry", second.begin), ("row", second.rows)):
            for place, operand in enumerate(each):
                known = _find(operand, kind, stacked, given, first)
                if known is None:
                    known = merger.add_input(second.body.types[len(operands)])
                    self._own.append((kind, place, known))
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

    def price(self, kept: FrozenSet[int]) -> Tuple[int, int]:
        """Returns the bytes of all rounds' stacks, and the FLOPs of the second scan."""
        steps, reads = self.needed(kept)
        carry = self._inputs[len(self.first.constants):len(self.first.constants) + self.first.carried]
        held = sum(bytes_of(self.types[number]) for number in reads if number in kept or number in carry)
        return held * self.first.length, sum(flops_of(step.equation) for step in steps) * self.first.length

    def run(self, kept: FrozenSet[int], known: Dict[int, Any]) -> "Second":
        """Runs the first scan, which stacks these values, and returns what the second one needs of it."""
        first, body = self.first, self.first.body
        steps, needed = self.needed(kept)
        carry = self._inputs[len(first.constants):len(first.constants) + first.carried]
        stacks = [number for number in (*carry, *sorted(kept)) if number in needed]
        constants, begin, rows = first.values(known)

        def one_round(carried: Sequence[Any], row: Sequence[Any]) -> Any:
            here = body.begin([*constants, *carried, *row])
            for step in body.steps:
                here.update(zip(step.results, run_step(step, here)))
            results = body.finish(here)
            others = [result for result, is_read in zip(results[first.carried:], self._read_elsewhere) if is_read]
            return results[:first.carried], (others, [here[number] for number in stacks])

        end, (others, stacked) = first.run(one_round, begin, rows)
        known.update(zip(first.step.results, end))
        known.update(zip([number for number, is_read in zip(first.stacked, self._read_elsewhere) if is_read], others))
        return Second(self, steps, dict(zip(stacks, stacked)), constants, rows)


@dataclass(frozen=True)
class Second:
    """The second scan of a pair, once the first one ran. steps: of a round. stacks: by number. constants, rows: those of the first scan."""

    pair: Pair
    steps: List[Step]
    stacks: Dict[int, Any]
    constants: List[Any]
    rows: List[Any]

    def run(self, known: Dict[int, Any]) -> None:
        pair, second = self.pair, self.pair.second
        own = {kind: [(number, place) for each, place, number in pair._own if each == kind] for kind in ("constant", "carry", "row")}
        inputs, first = pair._inputs, pair.first
        fixed = {**pair.constants, **dict(zip(inputs, self.constants)),
                 **{number: read(second.constants[place], known) for number, place in own["constant"]}}
        begin = [read(operand, known) for operand in second.begin]
        rows = {number: read(second.rows[place], known) for number, place in own["row"]}
        rows.update(zip(inputs[len(first.constants) + first.carried:], self.rows))
        rows.update(self.stacks)
        reads = {number for step in self.steps for number in step.reads} | {result for result in pair.results if not isinstance(result, Literal)}
        rows = {number: row for number, row in rows.items() if number in reads}

        def one_round(carried: Sequence[Any], row: Dict[int, Any]) -> Any:
            here = {**fixed, **{number: carried[place] for number, place in own["carry"]}, **row}
            for step in self.steps:
                here.update((number, value) for number, value in zip(step.results, run_step(step, here)) if number not in row)
            results = [read(result, here) for result in pair.results]
            return results[:second.carried], results[second.carried:]

        end, stacked = second.run(one_round, begin, rows)
        known.update(zip(second.step.results, [*end, *stacked]))


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


def sets_to_keep(pair: Pair) -> List[FrozenSet[int]]:
    """Returns sets of values of a round that may be stacked, that of the fewest FLOPs first: what XLA does not compute inside of other kernels is
    dropped by and by, that which takes the fewest FLOPs for its bytes first. None takes more bytes than one with fewer FLOPs."""
    worth: Dict[int, float] = {}
    for step in pair.made:
        if not is_view(step.equation) and not is_fused(step.equation):
            size = sum(bytes_of(pair.types[number]) for number in step.results)
            worth.update({number: flops_of(step.equation) / max(1, size) for number in step.results if bytes_of(pair.types[number])})
    levels = [-1.0, *sorted({round(value, 1) for value in worth.values()})]
    found: Dict[Tuple[int, int], FrozenSet[int]] = {}
    for level in levels:
        kept = frozenset(number for number, value in worth.items() if round(value, 1) > level)
        kept &= pair.needed(kept)[1]
        found.setdefault(pair.price(kept), kept)
    best = sorted((flops, held, kept) for (held, flops), kept in found.items()
                  if not any(other <= held and its <= flops and (other, its) != (held, flops) for other, its in found))
    places = {round(place * (len(best) - 1) / max(1, _SETS - 1)) for place in range(_SETS)}
    return [best[place][2] for place in sorted(places)]
