"""The forms of a step: other programs with the same values, of which one may hold fewer bytes."""

from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Sequence, Tuple, Union

import jax

from ._merging import Merger
from ._program import Program, has_checkpoints, run_step
from ._bodies import Body
from ._rounds import Pair, Scan, Way, find_pairs, is_scan, make_scan, ways_to_write

AS_WRITTEN = "as it was written"


@dataclass(frozen=True)
class Form:
    """A way to write a step. function: takes what the step takes, and returns what it returns. name: says what is written otherwise."""

    name: str
    function: Callable[..., Any]


class Rounds:
    """A program whose scans are written for each of several levels, from that which computes the least again: in pairs, where one reads what
    another one stacks, or with a plan for what one round runs. options: flags of llmmem-opt."""

    def __init__(self, program: Program, options: Sequence[str]) -> None:
        self.program = program
        self._pairs: List[Tuple[Pair, List[Way]]] = [(pair, ways_to_write(pair)) for pair in find_pairs(program)]
        in_pairs = {id(scan.step) for pair, _ in self._pairs for scan in (pair.first, pair.second)}
        self._inside: Dict[int, Tuple[Scan, Union[Rounds, Body]]] = {}
        for step in program.steps:
            if is_scan(step) and id(step) not in in_pairs:
                scan = make_scan(step)
                inside: Union[Rounds, Body] = Rounds(scan.body, options)
                inside = inside if inside.levels else Body(scan, options)
                if inside.levels:
                    self._inside[id(step)] = scan, inside

    @property
    def levels(self) -> int:
        return max([*(len(ways) for _, ways in self._pairs), *(inside.levels for _, inside in self._inside.values())], default=0)

    def run(self, level: int, arguments: Sequence[Any]) -> List[Any]:
        """Returns the results of the program, written for a level."""
        known = self.program.begin(arguments)
        first_of = {id(pair.first.step): (pair, ways[min(level, len(ways) - 1)]) for pair, ways in self._pairs}
        second: Dict[int, Any] = {}
        for step in self.program.steps:
            if id(step) in first_of:
                pair, way = first_of[id(step)]
                second[id(pair.second.step)] = pair.run(way, known)
            elif id(step) in second:
                second.pop(id(step)).run(known)
            elif id(step) in self._inside:
                self._run_loop(level, *self._inside[id(step)], known)
            else:
                known.update(zip(step.results, run_step(step, known)))
        return self.program.finish(known)

    @staticmethod
    def _run_loop(level: int, scan: Scan, inside: "Union[Rounds, Body]", known: Dict[int, Any]) -> None:
        constants, begin, rows = scan.values(known)

        def one_round(carried: Sequence[Any], row: Sequence[Any]) -> Any:
            results = inside.run(min(level, inside.levels - 1), [*constants, *carried, *row])
            return results[:scan.carried], results[scan.carried:]

        end, stacked = scan.run(one_round, begin, rows, scan.length)
        known.update(zip(scan.step.results, [*end, *stacked]))


def forms_of(step: Callable[..., Any], arguments: Any, keywords: Any, options: Sequence[str] = ()) -> List[Form]:
    """Returns the forms of a step for arguments of these types, that which was written first."""
    leaves, tree = jax.tree.flatten((arguments, keywords))
    structures: List[Any] = []

    def flat(*leaves: Any) -> List[Any]:
        arguments, keywords = jax.tree.unflatten(tree, leaves)
        results, structure = jax.tree.flatten(step(*arguments, **keywords))
        structures.append(structure)
        return results

    closed = jax.make_jaxpr(flat)(*leaves)

    def form(name: str, run: Callable[[Sequence[Any]], List[Any]]) -> Form:
        return Form(name, lambda *arguments, **keywords: jax.tree.unflatten(structures[-1], run(jax.tree.leaves((arguments, keywords)))))

    found = [Form(AS_WRITTEN, step)]
    program = Program(closed)
    if has_checkpoints(program):
        program = _without_checkpoints(Program(closed, is_plain=True))
        found.append(form("without its own jax.checkpoint", lambda leaves: _run(program, leaves)))
    rounds = Rounds(program, options)
    for level in range(rounds.levels):
        found.append(form(f"with scans of level {level + 1} of {rounds.levels}", lambda leaves, level=level: rounds.run(level, leaves)))
    return found


def _run(program: Program, arguments: Sequence[Any]) -> List[Any]:
    known = program.begin(arguments)
    for step in program.steps:
        known.update(zip(step.results, run_step(step, known)))
    return program.finish(known)


def _without_checkpoints(program: Program) -> Program:
    """Returns the program in which what `jax.checkpoint` would compute again is computed once."""
    merger = Merger(program)
    program.steps, program.results = merger.steps, merger.results
    return program
