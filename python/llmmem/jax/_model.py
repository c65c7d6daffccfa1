"""The chain of a traced loss: its stages, the ways to write each, and those to write a whole block of equal ones."""

import re
from collections import Counter
from dataclasses import replace
from typing import Any, Callable, Dict, List, Sequence, Set, Tuple

from jax.extend.core import Literal

from ._chain import Chain, Links
from ._layout import Part
from ._options import Option, find_active, options_of
from ._program import Program, flops_of
from ._stages import Stage, carried_bytes, find_cuts, make_stage


def make_chain(program: Program, active: Sequence[bool]) -> Tuple[Chain, int]:
    """Returns the chain of a loss, and the bytes that are held throughout in addition to its arguments and gradients. active: of which
    arguments the gradient is taken."""
    cuts = find_cuts(program)
    carried, throughout = carried_bytes(program, cuts)
    count = len(cuts) - 1
    find = Finder(program, find_active(program, active), options_of)
    stages = [make_stage(program, start, stop) for start, stop in zip(cuts, cuts[1:])]
    options = {(place, place + 1): find(stage) for place, stage in enumerate(stages)}
    for start, end in _blocks([find.signature(stage) for stage in stages]):
        options[start, end] = find(make_stage(program, cuts[start], cuts[end]))
    flops = [sum(flops_of(step.equation) for step in program.steps[start:stop]) for start, stop in zip(cuts, cuts[1:])]
    return Chain(Links(options, [*carried[1:count], 0], flops)), throughout


def find_period(signatures: Sequence[Any]) -> int:
    """Returns the shortest distance at which most signatures are equal, or 0 where none are."""
    count = len(signatures)
    repeats = {period: sum(signatures[place] == signatures[place + period] for place in range(count - period))
               for period in range(1, count // 2 + 1)}
    period = max(repeats, key=lambda length: (repeats[length], -length), default=0)
    return period if repeats.get(period) else 0


def _blocks(signatures: Sequence[Any]) -> List[Tuple[int, int]]:
    """Returns the ranges of several stages that repeat with the period of the chain, beginning anywhere in it."""
    count = len(signatures)
    period = find_period(signatures)
    if period < 2:
        return []
    ranges = {(start, start + period): tuple(signatures[start:start + period]) for start in range(count - period + 1)}
    times = Counter(ranges.values())
    return [place for place, signature in ranges.items() if times[signature] > 1]


class Finder:
    """Finds the options of stages, once for all that are equal. options: returns those of a stage, of a program in which some values are active."""

    def __init__(self, program: Program, active: Set[int], options: Callable[[Program, Stage, Set[int]], List[Option]]) -> None:
        self.program, self.active, self.options = program, active, options
        self._known: Dict[Any, Tuple[Stage, List[Option]]] = {}

    def __call__(self, stage: Stage) -> List[Option]:
        key = self.signature(stage)
        if key not in self._known:
            self._known[key] = stage, self.options(self.program, stage, self.active)
        first, options = self._known[key]
        place_of = dict(zip(_results(self.program, first), _results(self.program, stage)))

        def move(part: Part) -> Part:
            kept = None if part.kept is None else frozenset(place_of[number] for number in part.kept)
            return Part(stage.start, stage.stop, kept, part.loop)

        return [replace(option, part=move(option.part)) for option in options]

    def signature(self, stage: Stage) -> Any:
        """Returns what is the same for stages that compute the same."""
        types = self.program.types
        place_of = {number: place for place, number in enumerate([*stage.inputs, *_results(self.program, stage)])}
        inputs = [(str(types[number]), number in self.active, number < self.program.arguments) for number in stage.inputs]
        steps = [(step.equation.primitive.name, re.sub("0x[0-9a-f]+", "", str(step.equation.params)),
                  tuple(str(operand) if isinstance(operand, Literal) else place_of[operand] for operand in step.operands),
                  tuple(str(types[number]) for number in step.results))
                 for step in self.program.steps[stage.start:stage.stop]]
        return tuple(inputs), tuple(steps), tuple(place_of[number] for number in stage.outputs)


def _results(program: Program, stage: Stage) -> List[int]:
    return [number for step in program.steps[stage.start:stage.stop] for number in step.results]
