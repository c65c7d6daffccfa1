"""Plans with copies to a host in the order in which they run: each copy with its start and its end."""

import itertools
from dataclasses import dataclass, replace
from typing import Dict, List, Optional, Sequence, Tuple

from .._model import Copy, Op, Plan, Problem, Value
from ._lifetimes import boundary_of, freed_after, held_at, resident_bytes


@dataclass(frozen=True)
class HostStep:
    """The start or the end of a copy."""

    copy: Copy
    is_end: bool


@dataclass(frozen=True)
class Layout:
    """A plan as it runs. problem: the one that was planned, with starts and ends as further ops, and with what is on the host as values of 0
    bytes, since its bytes are those of the device. steps: numbers of these ops. copies: those of the plan. planned: how many ops were planned.
    host_peak: the most bytes that are on the host at once."""

    problem: Problem
    steps: List[int]
    planned: int
    copies: Sequence[Copy] = ()
    host_peak: int = 0

    @property
    def peaks(self) -> Tuple[int, int]:
        """Returns the most bytes of the device that are live at once until the boundary, and from there on; resident ones and
        workspaces count."""
        profile, cut = _profile(self.problem, self.steps), self.steps.index(boundary_of(self.problem))
        return max(profile[:cut + 1]), max(profile[cut:])

    def host_step(self, step: int) -> Optional[HostStep]:
        """Returns the start or the end that an op is, or None for an op that was planned."""
        place = step - self.planned
        return None if place < 0 else HostStep(self.copies[place % len(self.copies)], place >= len(self.copies))


def lay_out(problem: Problem, made: Plan, limit: Optional[int] = None) -> Layout:
    """Returns the plan with the ends of its copies.

    A copy to the device ends before its first reader. One to the host holds its value on the device until it ends: once kernels have run for as
    long as it takes, or earlier where those bytes are needed, that is where live bytes would exceed `limit`, resident ones included, or
    without a limit the peak that the phase has where each copy to the host ends at once. None runs on between forward and backward.
    """
    if made.host is None:
        return Layout(problem, list(made.steps), len(problem.ops))
    copies = made.host.copies
    whole = _with_copies(problem, copies)
    layout = Layout(whole, _with_ends(whole, made.steps, len(problem.ops), copies, limit, False), len(problem.ops), copies)
    peak = _host_peak(layout)
    if peak > made.host.arena:  # The budget of the host is for the plan's arena.
        layout = replace(layout, steps=_with_ends(whole, made.steps, len(problem.ops), copies, limit, True))
        peak = _host_peak(layout)
    return replace(layout, host_peak=peak)


def bytes_moved(problem: Problem, made: Plan) -> Tuple[int, int]:
    """Returns how many copies a plan runs, and their bytes, both ways together."""
    copies = made.host.copies if made.host else ()
    moved = [problem.values[copies[step - len(problem.ops)].value].bytes for step in made.steps if step >= len(problem.ops)]
    return len(moved), sum(moved)


def _with_copies(problem: Problem, copies: Sequence[Copy]) -> Problem:
    """Returns the problem with a start of each copy, then an end of each."""
    on_host = [Value(0, f"{problem.values[copy.value].name} on the host") for copy in copies if copy.is_to_host]
    starts = [Op([copy.value], [copy.host_value], copy.cost, recompute=False, name="copy to the host") if copy.is_to_host else
              Op([copy.host_value], [copy.value], copy.cost, recompute=False, name="copy to the device") for copy in copies]
    ends = [Op([copy.value, copy.host_value], [], recompute=False, name="end of a copy") for copy in copies]
    return replace(problem, values=[*problem.values, *on_host], ops=[*problem.ops, *starts, *ends], host=None)


def _with_ends(problem: Problem, steps: Sequence[int], planned: int, copies: Sequence[Copy], limit: Optional[int],
               ends_at_once: bool) -> List[int]:
    """Puts an end after each start. ends_at_once: whether copies to the device end directly after their starts."""
    profile, freed, boundary = _profile(problem, steps), freed_after(problem, steps), steps.index(boundary_of(problem))
    limits = (limit, limit) if limit is not None else (max(profile[:boundary + 1]), max(profile[boundary:]))
    clock = list(itertools.accumulate(problem.ops[step].cost if step < planned else 0 for step in steps))
    is_copied = 0  # When the last copy to the host has ended.
    after: Dict[int, List[int]] = {}
    for place, step in enumerate(steps):
        if step < planned:
            continue
        copy = copies[step - planned]
        last = boundary if place < boundary else len(steps)
        if copy.is_to_host:
            size, until = problem.values[copy.value].bytes, limits[place > boundary]
            held = next(later for later in range(place, len(steps)) if copy.value in freed[later])
            end, is_copied = place, max(clock[place], is_copied) + copy.cost
            while (end + 1 < last and clock[end] < is_copied and not _meets(problem, steps[end + 1], copy)
                   and (end < held or profile[end + 1] + size <= until)):
                end += 1
                profile[end] += size if end > held else 0
        else:
            end = place if ends_at_once else next((later for later in range(place + 1, last) if copy.value in problem.ops[steps[later]].reads),
                                                  last) - 1
        after.setdefault(end, []).append(step + len(copies))
    return [each for place, step in enumerate(steps) for each in (step, *after.get(place, ()))]


def _meets(problem: Problem, step: int, copy: Copy) -> bool:
    """Returns whether an op writes the value anew, or reads what is on the host."""
    op = problem.ops[step]
    return copy.value in op.writes or copy.host_value in op.reads


def _profile(problem: Problem, steps: Sequence[int]) -> List[int]:
    """Returns the bytes of the device that are live while each step runs."""
    sizes, resident = [0 if value.resident else value.bytes for value in problem.values], resident_bytes(problem)
    return [resident + held + problem.ops[step].workspace for held, step in zip(held_at(problem, steps, sizes), steps)]


def _host_peak(layout: Layout) -> int:
    sizes = [0] * len(layout.problem.values)
    for copy in layout.copies:
        sizes[copy.host_value] = layout.problem.values[copy.value].bytes
    return max(held_at(layout.problem, layout.steps, sizes))
