"""Layouts as people write them: jax.checkpoint of each block, or of the body of each scan, with one of JAX's policies."""

from typing import Any, Callable, List, Sequence, Tuple

from ._chain import Chain, Links
from ._layout import Loop, Part, body_of
from ._model import Finder, find_period
from ._options import POLICIES, Option, find_active, is_product, kept_by, priced
from ._program import Program, Step, flops_of
from ._stages import Stage, carried_bytes, find_cuts, is_loop, make_stage


def policy_chains(program: Program, is_active: Sequence[bool]) -> List[Chain]:
    """Returns a chain for each policy, whose plan for `most` bytes is jax.checkpoint of each block with it, or of the body of each scan where no
    blocks repeat; none where there is no scan either."""
    cuts = find_cuts(program)
    groups = _find_blocks(program, cuts)
    if not any(is_block for _, is_block in groups):
        groups = [(make_stage(program, start, stop), is_loop(program.steps[start])) for start, stop in zip(cuts, cuts[1:])]
    bounds = [group.start for group, _ in groups] + [len(program.steps)]
    blocks = {group.start for group, is_block in groups if is_block}
    flops = [sum(flops_of(step.equation) for step in program.steps[group.start:group.stop]) for group, _ in groups]
    carried = [*carried_bytes(program, bounds)[0][1:], 0]
    active, found = find_active(program, is_active), []
    for policy in POLICIES if blocks else ():
        def options(program: Program, stage: Stage, active: Any, policy: Any = policy) -> List[Option]:
            return [priced(program, stage, active, _with_policy(program, stage, policy))]

        def as_written(program: Program, stage: Stage, active: Any) -> List[Option]:
            return [priced(program, stage, active, Part(stage.start, stage.stop))]

        inside, outside = Finder(program, active, options), Finder(program, active, as_written)
        found.append(Chain(Links({(place, place + 1): inside(group) if is_block else outside(group)
                                  for place, (group, is_block) in enumerate(groups)}, carried, flops)))
    return found


def _with_policy(program: Program, stage: Stage, policy: Callable[[Step], bool]) -> Part:
    """Returns a block, or a scan by its body, with jax.checkpoint under a policy."""
    if not is_loop(program.steps[stage.start]):
        return Part(stage.start, stage.stop, kept_by(program, stage, policy))
    body = body_of(program, stage.start)
    whole = make_stage(body, 0, len(body.steps))
    parts = (Part(whole.start, whole.stop, kept_by(body, whole, policy)),)
    return Part(stage.start, stage.stop, loop=Loop(parts, program.steps[stage.start].equation.params["length"]))


def _find_blocks(program: Program, cuts: Sequence[int]) -> List[Tuple[Stage, bool]]:
    """Returns the program as blocks and what is between them, and which are blocks: the primitives of a few stages, wherever they repeat. They
    may begin or end inside of a stage to which an embedding or the loss belongs."""
    names = [(step.equation.primitive.name, str([program.types[number] for number in step.results])) for step in program.steps]
    period = find_period([[name for name, step in zip(names[start:stop], program.steps[start:stop]) if is_product(step)]
                          for start, stop in zip(cuts, cuts[1:])])
    patterns = dict.fromkeys(tuple(names[start:stop]) for start, stop in zip(cuts, cuts[period:])) if period else {}
    found = [(_places(names, pattern), len(pattern)) for pattern in patterns if any(name == "dot_general" for name, _ in pattern)]
    starts, length = max(found, key=lambda each: len(each[0]) * each[1], default=([], 0))
    blocks = {start: start + length for start in starts} if len(starts) > 1 else {}
    bounds = sorted({0, len(names), *blocks, *blocks.values()})
    return [(make_stage(program, start, stop), start in blocks) for start, stop in zip(bounds, bounds[1:])]


def _places(names: Sequence[Any], pattern: Sequence[Any]) -> List[int]:
    """Returns where a pattern begins, from left to right, without overlaps."""
    found: List[int] = []
    for place in range(len(names) - len(pattern) + 1):
        if (not found or place >= found[-1] + len(pattern)) and tuple(names[place:place + len(pattern)]) == pattern:
            found.append(place)
    return found
