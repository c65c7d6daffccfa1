"""Which of the values that a layout keeps lie on the host until the backward reads them."""

from dataclasses import replace
from typing import Any, FrozenSet, List, Sequence, Set, Tuple

from jax.extend.core import Literal

from ._chain import Chain
from ._layout import Group, Layout, Loop, Part, body_of
from ._program import Program, bytes_of


class OffloadedChain:
    """A chain with a plan of which values leave for the host, those of the first stages first: the backward reads them last, and so there is
    the most time for the copies. bound: the bytes for which the chain is planned. host_budget: the most bytes that leave.

    What a scan carries from round to round can't leave: JAX has no name for it there. Nor can what has no name since it is kept as it is.
    """

    def __init__(self, chain: Chain, program: Program, bound: int, host_budget: int) -> None:
        self._chain, self._bound, self._left = chain, min(max(bound, chain.least), chain.most), host_budget
        self._parts = tuple(self._offload(part, program, 1) for part in chain.plan(self._bound) or ())
        self.host = host_budget - self._left
        # The bytes of the device.
        self.most = max(0, self._bound - self.host)

    def plan(self, bound: int) -> Tuple[Layout, ...]:
        return self._parts

    def cost(self, bound: int) -> int:
        return self._chain.cost(self._bound)

    def _offload(self, part: Layout, program: Program, rounds: int) -> Layout:
        """Returns a part of which values leave, as far as there is room. rounds: how often it runs."""
        if isinstance(part, Group):  # Nothing of it is kept.
            return part
        if part.loop and part.loop.inner == program.steps[part.start].equation.params["length"]:
            body, length = body_of(program, part.start), part.loop.inner
            return replace(part, loop=Loop(tuple(self._offload(each, body, rounds * length) for each in part.loop.parts), length))
        return replace(part, offloaded=self._choose(part, program, rounds))

    def _choose(self, part: Part, program: Program, rounds: int) -> FrozenSet[int]:
        chosen: Set[int] = set()
        for number in sorted(part.kept or (), key=lambda number: -bytes_of(program.types[number])):
            size = bytes_of(program.types[number]) * rounds
            if 0 < size <= self._left:
                chosen.add(number)
                self._left -= size
        return frozenset(chosen)


def named_chain(chain: Chain) -> Chain:
    """Returns a chain of which each stage keeps values by name, where it has such a way to be written: only these can leave."""
    def is_named(part: Layout) -> bool:
        if isinstance(part, Group):
            return False
        return all(map(is_named, part.loop.parts)) if part.loop else bool(part.kept)

    options = {place: [option for option in ways if is_named(option.part)] or ways for place, ways in chain.links.options.items()}
    return Chain(replace(chain.links, options=options))


def offloaded_of(parts: Sequence[Layout], program: Program) -> List[str]:
    """Returns the names of all values that leave for the host."""
    found: List[str] = []
    for part in parts:
        if isinstance(part, Part):
            found += [program.name_of(number) for number in sorted(part.offloaded)]
            if part.loop:
                found += offloaded_of(part.loop.parts, body_of(program, part.start))
    return found


def carried_of(program: Program) -> List[Any]:
    """Returns the types of what the scans of a program carry, which stays on the device."""
    found = []
    for step in program.steps:
        if step.equation.primitive.name == "scan":
            first = step.equation.params["num_consts"]
            found += [operand.aval if isinstance(operand, Literal) else program.types[operand]
                      for operand in step.operands[first:first + step.equation.params["num_carry"]]]
    return [type_ for type_ in found if bytes_of(type_) > 0 and type_.shape]
