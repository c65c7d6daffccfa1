"""What a program of JAX holds and computes, in a model of what XLA makes of it.

XLA computes chains of elementwise primitives inside of the kernels that read them, so what such a chain makes has no bytes unless something
else reads it, and making it again costs next to nothing. Products, reductions, gathers and loops write their results. Primitives run in the
order of the program.
"""

from dataclasses import dataclass
from typing import Any, Dict, FrozenSet, List, Set

from jax.extend.core import Literal

from ._program import Program, Step, bodies_of, bytes_of, flops_of

# The results of these primitives are views of their operands, or are read from them in another order.
_VIEWS = {"name", "reshape", "squeeze", "expand_dims", "transpose", "optimization_barrier", "stop_gradient", "pvary", "copy_p", "copy",
          "llmmem_one_example", "reduce_precision"}
# These are computed inside of the kernels that read them.
_FUSED = {"add", "add_any", "sub", "mul", "div", "neg", "max", "min", "integer_pow", "square", "select_n", "sign", "abs", "and", "or", "not",
          "xor", "eq", "ne", "lt", "le", "gt", "ge", "convert_element_type", "broadcast_in_dim", "iota", "clamp", "floor", "ceil", "round",
          "is_finite", "rem", "shift_left", "shift_right_logical", "slice", "real", "imag"}
# These are, too; but no kernel computes them again where several read them.
_COSTLY = {"exp", "log", "tanh", "logistic", "rsqrt", "sqrt", "cbrt", "pow", "erf", "erfc", "erf_inv", "sin", "cos", "tan", "exp2", "log1p",
           "expm1", "atan2", "concatenate", "pad", "rev", "random_bits", "threefry2x32"}


def is_view(equation: Any) -> bool:
    return equation.primitive.name in _VIEWS


def is_fused(equation: Any) -> bool:
    """Says whether a primitive is computed inside of the kernels that read it."""
    if equation.primitive.name in ("custom_jvp_call", "custom_vjp_call"):
        return all(is_view(part) or is_fused(part) for body in bodies_of(equation) for part in body.jaxpr.eqns)
    return equation.primitive.name in _FUSED or equation.primitive.name in _COSTLY


def _reads_fused(equation: Any) -> bool:
    """Says whether a kernel of this primitive computes what it reads."""
    return is_fused(equation) or equation.primitive.name.startswith(("reduce_", "arg"))


class Buffers:
    """Says which values of a program are written, and where the others are read from. elsewhere: results whose bytes others count."""

    def __init__(self, program: Program, elsewhere: FrozenSet[int] = frozenset()) -> None:
        self.program, self.elsewhere = program, set(elsewhere)
        self._written = self._find_written()
        self.sources: Dict[int, Set[int]] = {}
        for step in program.steps:
            read = set().union(*(self.sources_of(number) for number in step.reads))
            for number in step.results:
                self.sources[number] = {number} if number in self._written else read

    def _find_written(self) -> Set[int]:
        readers: Dict[int, int] = {}
        needed = {result for result in self.program.results if not isinstance(result, Literal)}
        written: Set[int] = set()
        for step in reversed(self.program.steps):
            is_seen_through = is_view(step.equation)
            for number in step.results:
                many = step.equation.primitive.name in _COSTLY and readers.get(number, 0) > 1
                if not is_seen_through and (number in needed or many or not is_fused(step.equation)):
                    written.add(number)
            for number in step.reads:
                readers[number] = readers.get(number, 0) + 1
                if is_seen_through:
                    readers[number] += max(readers.get(result, 0) for result in step.results) - 1
                if needed.intersection(step.results) if is_seen_through else not _reads_fused(step.equation):
                    needed.add(number)
                if is_seen_through and self.elsewhere.issuperset(step.results) and readers[number] <= 1:
                    self.elsewhere.add(number)
        return written

    def sources_of(self, number: int) -> Set[int]:
        """Returns the numbers of the values that are held so that this one can be read."""
        return self.sources.get(number, {number})

    def bytes_of(self, number: int) -> int:
        return 0 if number in self.elsewhere else bytes_of(self.program.types[number])


@dataclass(frozen=True)
class Account:
    """held: bytes at each step in addition to the arguments. flops: FLOPs of each step."""

    held: List[int]
    flops: List[int]


def account(program: Program, elsewhere: FrozenSet[int] = frozenset()) -> Account:
    """Returns what each step of a program holds and computes. elsewhere: numbers of results whose bytes others count."""
    buffers = Buffers(program, elsewhere)
    last: Dict[int, int] = {}
    for index, step in enumerate(program.steps):
        last.update({source: index for number in step.reads for source in buffers.sources_of(number)})
    last.update({source: len(program.steps) for number in program.results if not isinstance(number, Literal)
                 for source in buffers.sources_of(number)})
    held, flops = [], []
    alive: Dict[int, int] = {}
    for index, step in enumerate(program.steps):
        made = {number: buffers.bytes_of(number) for number in step.results if buffers.sources_of(number) == {number}}
        dying = {source for number in step.reads for source in buffers.sources_of(number) if last[source] == index and source in alive}
        inside = _inside(step, buffers)
        written = sum(made.values())
        if is_fused(step.equation):  # It may write where an operand lies that nobody reads again.
            written -= max((alive[source] for source in dying if alive[source] == written), default=0)
        held.append(sum(alive.values()) + max(written, inside) if step.equation.primitive.name in _ONCE
                    else sum(alive.values()) + written + inside)
        flops.append(flops_of(step.equation))
        alive.update({number: size for number, size in made.items() if last.get(number, -1) > index})
        for source in dying:
            del alive[source]
    return Account(held, flops)


# What these primitives run inside makes their results, once.
_ONCE = {"checkpoint", "remat", "remat2", "custom_jvp_call", "custom_vjp_call", "cond", "shard_map"}


def _inside(step: Step, buffers: Buffers) -> int:
    """Returns the most bytes that the bodies of a step hold, their results included."""
    most = 0
    for body in bodies_of(step.equation):
        program = Program(body)
        elsewhere = frozenset()
        if step.equation.primitive.name in _ONCE and len(program.results) == len(step.results):
            elsewhere = frozenset(inner for inner, outer in zip(program.results, step.results)
                                  if outer in buffers.elsewhere and not isinstance(inner, Literal))
        most = max(most, max(account(program, elsewhere).held, default=0))
    return most
