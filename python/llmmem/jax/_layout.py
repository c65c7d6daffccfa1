"""What is kept of a program, and how that is written: as jax.checkpoint of its parts, inside of each other and of loops."""

from dataclasses import dataclass
from typing import Any, Callable, Dict, FrozenSet, List, Optional, Sequence, Tuple, Union

import jax

from ._program import Program, named, read, run_step
from ._stages import make_stage


@dataclass(frozen=True)
class Part:
    """Steps from `start` up to `stop`. kept: numbers of the values that are kept for the backward; None keeps what JAX does. loop: how the
    loop among them is written, or None where it stays as it is. offloaded: which of those that are kept lie on the host until then."""

    start: int
    stop: int
    kept: Optional[FrozenSet[int]] = None
    loop: Optional["Loop"] = None
    offloaded: FrozenSet[int] = frozenset()


@dataclass(frozen=True)
class Group:
    """Parts of which the backward gets nothing but their inputs: it runs them all again before it begins."""

    parts: Tuple["Layout", ...]

    @property
    def start(self) -> int:
        return self.parts[0].start

    @property
    def stop(self) -> int:
        return self.parts[-1].stop


Layout = Union[Part, Group]


@dataclass(frozen=True)
class Loop:
    """How a scan is written. parts: those of its body. inner: the rounds of an inner loop, of which the backward gets the carried
    values at its begin and runs it again, or the number of all rounds."""

    parts: Tuple[Layout, ...]
    inner: int


def kept_of(parts: Sequence[Layout], program: Program) -> List[str]:
    """Returns the names of all values that some policy keeps."""
    found: List[str] = []
    for part in parts:
        if isinstance(part, Group):
            found += kept_of(part.parts, program)
        else:
            found += [program.name_of(number) for number in sorted(part.kept or ())]
            if part.loop:
                found += kept_of(part.loop.parts, body_of(program, part.start))
    return found


def body_of(program: Program, index: int) -> Program:
    """Returns the body of the scan that is this step."""
    return Program(program.steps[index].equation.params["jaxpr"], f"{program.prefix}{index}.")


def evaluate(program: Program, parts: Sequence[Layout], arguments: Sequence[Any], constants: Optional[Dict[int, Any]] = None) -> List[Any]:
    """Returns the results of a program, written by parts that cover all of its steps. constants: in place of its own, by number."""
    known = program.begin(arguments)
    known.update(constants or {})
    run_parts(program, parts, known)
    return program.finish(known)


def run_parts(program: Program, parts: Sequence[Layout], known: Dict[int, Any]) -> None:
    """Runs parts on the values that are known by number, and adds what later steps read."""
    for part in parts:
        if isinstance(part, Group):
            _run_again(program, part, known, jax.checkpoint_policies.nothing_saveable,
                       lambda inside, part=part: run_parts(program, part.parts, inside))
        elif part.kept is None:
            run_steps(program, part, known)
        else:
            _run_again(program, part, known, _policy_of(program, part),
                       lambda inside, part=part: run_steps(program, part, inside))


def _policy_of(program: Program, part: Part) -> Any:
    kept = [program.name_of(number) for number in sorted(part.kept or ()) if number not in part.offloaded]
    if not part.offloaded:
        return jax.checkpoint_policies.save_only_these_names(*kept)
    return jax.checkpoint_policies.save_and_offload_only_these_names(
        names_which_can_be_saved=kept, names_which_can_be_offloaded=[program.name_of(number) for number in sorted(part.offloaded)],
        offload_src="device", offload_dst="pinned_host")


def run_steps(program: Program, part: Part, known: Dict[int, Any]) -> None:
    for index in range(part.start, part.stop):
        step = program.steps[index]
        if part.loop and step.equation.primitive.name == "scan":
            results = _run_loop(program, index, part.loop, known)
        else:
            results = run_step(step, known)
        for number, result in zip(step.results, results):
            known[number] = named(program, number, result, part.kept or frozenset())


def _run_again(program: Program, part: Layout, known: Dict[int, Any], policy: Any, run: Callable[[Dict[int, Any]], None]) -> None:
    stage = make_stage(program, part.start, part.stop)

    def inside(*values: Any) -> List[Any]:
        here = dict(zip(stage.inputs, values))
        run(here)
        return [here[number] for number in stage.outputs]

    results = jax.checkpoint(inside, policy=policy)(*(known[number] for number in stage.inputs))
    known.update(zip(stage.outputs, results))


def _run_loop(program: Program, index: int, loop: Loop, known: Dict[int, Any]) -> List[Any]:
    """Runs a scan whose body is written by parts, and whose rounds are in two loops where the layout says so."""
    step, body = program.steps[index], body_of(program, index)
    settings = step.equation.params
    operands = [read(operand, known) for operand in step.operands]
    first, second = settings["num_consts"], settings["num_consts"] + settings["num_carry"]
    constants, carry, rows = operands[:first], operands[first:second], operands[second:]
    carried = settings["num_carry"]

    def one_round(carry: Sequence[Any], row: Sequence[Any]) -> Any:
        results = evaluate(body, loop.parts, [*constants, *carry, *row])
        return results[:carried], results[carried:]

    def rounds(carry: Sequence[Any], rows: Sequence[Any], length: int) -> Any:
        return jax.lax.scan(one_round, list(carry), list(rows), length=length, reverse=settings["reverse"],
                            unroll=settings["unroll"])

    length = settings["length"]
    if loop.inner == length:
        carry, made = rounds(carry, rows, length)
        return [*carry, *made]
    outer = length // loop.inner
    split = [row.reshape(outer, loop.inner, *row.shape[1:]) for row in rows]
    again = jax.checkpoint(lambda carry, rows: rounds(carry, rows, loop.inner))
    carry, made = jax.lax.scan(again, list(carry), split, length=outer, reverse=settings["reverse"])
    return [*carry, *(row.reshape(length, *row.shape[2:]) for row in made)]
