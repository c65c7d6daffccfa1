"""Cuts a program into stages, where few bytes go from one step to the next."""

from dataclasses import dataclass
from typing import Dict, List, Sequence, Tuple

from ._program import Program, Step, bytes_of, flops_of

# Between two cuts at least this many times the bytes cross that cross at either.
_RISE = 1.5
# Where at most this many times the fewest bytes cross, a cut needs no valley.
_NEARLY = 1.25
# A stage of less than this part of the FLOPs of the largest computes next to nothing.
_NOTHING = 0.01


@dataclass(frozen=True)
class Stage:
    """Steps from `start` up to `stop`. inputs: numbers of the values that they read and do not make; outputs: of those that they make and
    later steps read."""

    start: int
    stop: int
    inputs: Tuple[int, ...]
    outputs: Tuple[int, ...]


def make_stage(program: Program, start: int, stop: int) -> Stage:
    steps = program.steps[start:stop]
    made = {number for step in steps for number in step.results}
    last = program.last_reads()
    return Stage(start, stop, tuple(sorted({number for step in steps for number in step.reads} - made)),
                 tuple(sorted(number for number in made if last.get(number, -1) >= stop)))


def crossing(program: Program) -> List[int]:
    """Returns the bytes of values that earlier steps made and later ones read, after each step but the last."""
    last, change = program.last_reads(), [0] * (len(program.steps) + 2)
    for index, step in enumerate(program.steps):
        for number in step.results:
            size = bytes_of(program.types[number])
            change[index] += size
            change[max(last.get(number, index), index)] -= size
    total, found = 0, []
    for index in range(len(program.steps) - 1):
        total += change[index]
        found.append(total)
    return found


def find_cuts(program: Program) -> List[int]:
    """Returns where stages begin, and the number of steps. A loop is a stage of its own, and a stage that computes next to nothing belongs to
    the one that follows."""
    end = len(program.steps)
    forced = {place for index in range(end) if is_loop(program.steps[index]) for place in (index, index + 1)} - {0, end}
    across = crossing(program)
    made = [sum(bytes_of(program.types[number]) for number in step.results) for step in program.steps]
    bounds = [0, *sorted(forced), end]
    flops_at = [flops_of(step.equation) for step in program.steps]
    cuts = sorted({*bounds, *(place for start, stop in zip(bounds, bounds[1:])
                              for place in _valleys(across, made, start, stop, _fewest(across, flops_at)))})
    flops = [sum(flops_at[start:stop]) for start, stop in zip(cuts, cuts[1:])]
    small = {stop for stop, count in zip(cuts[1:], flops) if count < _NOTHING * max(flops)} - forced - {end}
    return [cut for cut in cuts if cut not in small]


def is_loop(step: Step) -> bool:
    return step.equation.primitive.name == "scan"


def _fewest(across: Sequence[int], flops: Sequence[int]) -> int:
    """Returns the fewest bytes that cross where something is computed before and after."""
    total, before, found = sum(flops), 0, []
    for size, count in zip(across, flops):
        before += count
        if _NOTHING * total < before < (1 - _NOTHING) * total:
            found.append(size)
    return min(found, default=0)


def _valleys(across: Sequence[int], made: Sequence[int], start: int, stop: int, fewest: int) -> List[int]:
    """Returns the cuts between `start` and `stop`: each has fewer bytes than the places around it, or nearly the fewest of all, and more than
    ripples of the text lie between two of them."""
    places = [place for place in range(start + 1, stop)
              if across[place - 1] <= min(across[max(place - 2, start):place + 1])]
    while places:
        ends = [start, *places, stop]
        rises = [(_rise(across, made, ends, index, fewest), index) for index in range(len(ends) - 1)]
        rise, index = min(rises)
        if rise >= _RISE:
            break
        around = [at for at in (index, index + 1) if 0 < at < len(ends) - 1]
        # The stage goes to the neighbour from which more bytes come, or else to the smaller one.
        places.remove(ends[max(around, key=lambda at: (across[ends[at] - 1], -sum(made[ends[at - 1]:ends[at + 1]])))])
    return places


def _rise(across: Sequence[int], made: Sequence[int], ends: Sequence[int], index: int, fewest: int) -> float:
    """Returns how many times the bytes at two cuts the most between them are, or half of all that is made between them where hardly any
    place has fewer."""
    start, stop = ends[index], ends[index + 1]
    side = max(1, max((across[place - 1] for place in (start, stop) if place not in (ends[0], ends[-1])), default=1))
    rise = max(across[start:stop], default=0) / side
    return max(rise, sum(made[start:stop]) / (2 * side)) if side <= _NEARLY * fewest else rise


def carried_bytes(program: Program, cuts: Sequence[int]) -> Tuple[List[int], int]:
    """Returns the bytes that each cut but the last adds to those that are held for the backward, and those of values that so many stages read
    that they are held throughout."""
    last = program.last_reads()
    stage_of: Dict[int, int] = {place: index for index, (start, stop) in enumerate(zip(cuts, cuts[1:])) for place in range(start, stop)}
    added, throughout = [0] * (len(cuts) - 1), 0
    for index, step in enumerate(program.steps):
        for number in step.results:
            first, until = stage_of[index], stage_of.get(last.get(number, index), len(cuts) - 2)
            if until > first + 3:
                throughout += bytes_of(program.types[number])
            else:
                for stage in range(first + 1, until + 1):
                    added[stage] += bytes_of(program.types[number])
    return added, throughout
