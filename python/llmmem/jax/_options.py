"""The ways in which a stage of a loss can be written, each with what it keeps, holds and computes again."""

from dataclasses import dataclass, replace
from typing import Any, Callable, Dict, FrozenSet, List, Sequence, Set, Tuple

import jax
from jax.extend.core import Literal

from ._account import Buffers, account, is_fused, is_view
from ._layout import Group, Loop, Part, body_of, run_parts
from ._program import Program, Step, bytes_of, flops_of, is_float
from ._stages import Stage, find_cuts, is_loop, make_stage


@dataclass(frozen=True)
class Option:
    """One way to write a stage. saved: bytes that it keeps for its backward in addition to its inputs and results. forward, backward: the most bytes that
    either holds, what is saved included. again: FLOPs of the backward."""

    part: Part
    saved: int
    forward: int
    backward: int
    again: int


def find_active(program: Program, active: Sequence[bool]) -> Set[int]:
    """Returns the numbers of the values that depend on arguments of which the gradient is taken."""
    found = {number for number, is_active in enumerate(active) if is_active}
    for step in program.steps:
        if found.intersection(step.reads):
            found.update(number for number in step.results if is_float(program.types[number]))
    return found


def options_of(program: Program, stage: Stage, active: Set[int]) -> List[Option]:
    """Returns the ways to write a stage of which no other needs less of everything."""
    whole = Part(stage.start, stage.stop)
    if not active.intersection(stage.inputs):
        return [priced(program, stage, active, whole)]
    if is_loop(program.steps[stage.start]):
        parts = [whole, *(replace(whole, loop=loop) for loop in _loops(program, stage.start, active))]
    else:
        parts = [whole, *(replace(whole, kept=kept) for kept in _kept_sets(program, stage))]
    return _best(priced(program, stage, active, part) for part in parts)


def _best(options: Any) -> List[Option]:
    found = list(options)

    def is_worse(one: Option, other: Option) -> bool:
        mine, its = ((each.saved, each.forward, each.backward, each.again) for each in (one, other))
        return mine != its and all(a >= b for a, b in zip(mine, its))

    return [one for one in found if not any(is_worse(one, other) for other in found)]


def _kept_sets(program: Program, stage: Stage) -> List[FrozenSet[int]]:
    """Returns sets of values to keep. What XLA does not compute inside of other kernels is dropped by and by, that which takes the fewest
    FLOPs for its bytes first."""
    worth: Dict[int, float] = {}
    for step in program.steps[stage.start:stage.stop]:
        if is_view(step.equation) or is_fused(step.equation):
            continue
        size = sum(bytes_of(program.types[number]) for number in step.results)
        worth.update({number: flops_of(step.equation) / max(1, size) for number in step.results
                      if number not in stage.outputs and bytes_of(program.types[number]) > 0})
    levels = sorted({round(value, 1) for value in worth.values()})
    return [frozenset(number for number, value in worth.items() if round(value, 1) > level) for level in [-1, *levels]]


def is_product(step: Step) -> bool:
    return step.equation.primitive.name == "dot_general"


def has_no_batch(step: Step) -> bool:
    return is_product(step) and not step.equation.params["dimension_numbers"][1][0]


# What dots_saveable, dots_with_no_batch_dims_saveable and nothing_saveable keep.
POLICIES: Sequence[Callable[[Step], bool]] = (is_product, has_no_batch, lambda step: False)


def kept_by(program: Program, stage: Stage, policy: Callable[[Step], bool]) -> FrozenSet[int]:
    """Returns what a policy of JAX keeps of a stage."""
    return frozenset(number for step in program.steps[stage.start:stage.stop] if policy(step) for number in step.results
                     if number not in stage.outputs)


def _loops(program: Program, index: int, active: Set[int]) -> List[Loop]:
    """Returns the ways to write a scan: with a policy for its body, or for each stage of it, in one loop or in two."""
    step, body = program.steps[index], body_of(program, index)
    length = step.equation.params["length"]
    inside = find_active(body, _active_in_body(step, active))
    cuts = find_cuts(body)
    whole = make_stage(body, 0, len(body.steps))
    choices = [_by_saved(options_of(body, make_stage(body, start, stop), inside)) for start, stop in zip(cuts, cuts[1:])]
    sets = [*_kept_sets(body, whole), *(kept_by(body, whole, policy) for policy in POLICIES)]
    found = [Loop((Part(whole.start, whole.stop, kept),), length) for kept in sets]
    for level in range(max(map(len, choices))):
        parts = tuple(options[min(level, len(options) - 1)].part for options in choices)
        found += [Loop(parts, length), Loop((Group(parts),), length)]
    least = tuple(options[-1].part for options in choices)
    for inner in _inner_lengths(length):
        found += [Loop((Group(least),), inner), Loop(least, inner)]
    return list(dict.fromkeys(found))


def _by_saved(options: Sequence[Option]) -> List[Option]:
    return sorted(options, key=lambda option: (-option.saved, option.again))


def _inner_lengths(length: int) -> List[int]:
    """Returns up to two lengths of an inner loop, near the square root, at which the fewest carried values are held."""
    divisors = [inner for inner in range(2, length) if length % inner == 0]
    return sorted(sorted(divisors, key=lambda inner: inner + length // inner)[:2])


def _active_in_body(step: Any, active: Set[int]) -> List[bool]:
    """Says which inputs of a scan's body depend on active values, in any round."""
    given = [not isinstance(operand, Literal) and operand in active for operand in step.operands]
    body = Program(step.equation.params["jaxpr"])
    first, carried = step.equation.params["num_consts"], step.equation.params["num_carry"]
    while True:
        found = find_active(body, given)
        more = [given[first + place] or (not isinstance(body.results[place], Literal) and body.results[place] in found)
                for place in range(carried)]
        if more == given[first:first + carried]:
            return given
        given[first:first + carried] = more


def priced(program: Program, stage: Stage, active: Set[int], part: Part) -> Option:
    """Traces the gradient of a stage as it is written, and takes the account of that."""
    def run(*values: Any) -> List[Any]:
        known = dict(zip(stage.inputs, values))
        run_parts(program, [part], known)
        return [known[number] for number in stage.outputs]

    places = [place for place, number in enumerate(stage.inputs) if number in active and is_float(program.types[number])]
    traced, given = trace_gradient(run, [program.types[number] for number in stage.inputs], places)
    return price(traced, given, len(stage.outputs), part,
                 frozenset(position for position, place in enumerate(places) if stage.inputs[place] < program.arguments))


def trace_gradient(run: Callable[..., List[Any]], types: Sequence[Any], places: Sequence[int]) -> Tuple[Program, int]:
    """Returns the program that calls `run` on values of these types and takes the gradient of its results with respect to some of them, and how
    many of its arguments are those of `run`; the others are cotangents. Its results are those of `run`, and the gradients."""
    outputs = jax.eval_shape(run, *types)
    floats = [place for place, type_ in enumerate(outputs) if is_float(type_)]

    def both(values: Sequence[Any], cotangents: Sequence[Any]) -> Any:
        def forward(*chosen: Any) -> Any:
            merged = list(values)
            for place, value in zip(places, chosen):
                merged[place] = value
            results = run(*merged)
            return [results[place] for place in floats], results

        _, pull, results = jax.vjp(forward, *(values[place] for place in places), has_aux=True)
        return results, (pull(list(cotangents)) if places else ())

    return Program(jax.make_jaxpr(both)(list(types), [outputs[place] for place in floats])), len(types)


def price(traced: Program, given: int, outputs: int, part: Any, elsewhere: FrozenSet[int]) -> Option:
    """Returns the option of a traced gradient. given: how many arguments come before the cotangents. outputs: how many results come before
    the gradients. elsewhere: which gradients lie in bytes that others count."""
    cotangents = set(range(given, traced.arguments))
    outside = {result for place, result in enumerate(traced.results) if not isinstance(result, Literal)
               and (place < outputs or place - outputs in elsewhere)}
    backward, late = [], set(cotangents)
    for index, step in enumerate(traced.steps):
        if late.intersection(step.reads):
            late.update(step.results)
            backward.append(index)
    found = account(traced, frozenset(outside))
    buffers = Buffers(traced, frozenset(outside))
    made = {number for index, step in enumerate(traced.steps) if index not in set(backward) for number in step.results}
    saved = {source for index in backward for number in traced.steps[index].reads for source in buffers.sources_of(number)
             if source in made}
    given_bytes = sum(bytes_of(traced.types[number]) for number in cotangents)
    first = set(range(len(traced.steps))) - set(backward)
    return Option(part, sum(buffers.bytes_of(number) for number in saved),
                  max((found.held[index] for index in first), default=0),
                  max((found.held[index] for index in backward), default=0) + given_bytes,
                  sum(found.flops[index] for index in backward))
