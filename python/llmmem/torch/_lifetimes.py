"""Which values of a problem the caller holds, and how long each is live in an order of its ops."""

from typing import Dict, List, Sequence, Tuple

from .._model import Problem


def boundary_of(problem: Problem) -> int:
    """Returns the number of the op that stands for the caller between forward and backward (_problem.py)."""
    return next(number for number, op in enumerate(problem.ops) if op.name == "boundary" and not op.recompute)


def caller_bytes(problem: Problem) -> Tuple[int, int]:
    """Returns the bytes of the forward's results and of the tangents, which the caller holds."""
    boundary = problem.ops[boundary_of(problem)]
    sizes = [sum(problem.values[number].bytes for number in set(numbers) if not problem.values[number].resident)
             for numbers in (boundary.reads, boundary.writes)]
    return sizes[0], sizes[1]


def resident_bytes(problem: Problem) -> int:
    return sum(value.bytes for value in problem.values if value.resident)


def freed_after(problem: Problem, steps: Sequence[int]) -> List[List[int]]:
    """Returns for each step the values that are not read again before they are written again."""
    freed: List[List[int]] = [[] for _ in steps]
    is_needed: Dict[int, bool] = {number: True for number in problem.keep}
    for number in range(len(steps) - 1, -1, -1):
        op = problem.ops[steps[number]]
        for value in dict.fromkeys([*op.writes, *op.reads]):
            if not is_needed.get(value, False):
                freed[number].append(value)
        is_needed.update(dict.fromkeys(op.writes, False))
        is_needed.update(dict.fromkeys(op.reads, True))
    return freed


def held_at(problem: Problem, steps: Sequence[int], sizes: Sequence[int]) -> List[int]:
    """Returns the sum of the sizes of what is live while each step runs, inputs aside. sizes: of each value."""
    freed, alive, live, found = freed_after(problem, steps), set(), 0, []
    for number, step in enumerate(steps):
        written = [value for value in problem.ops[step].writes if value not in alive]
        alive.update(written)
        live += sum(sizes[value] for value in written)
        found.append(live)
        live -= sum(sizes[value] for value in freed[number] if value in alive)
        alive.difference_update(freed[number])
    return found
