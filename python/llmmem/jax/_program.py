"""A traced function as a straight line of primitives: calls are inlined, and each value has a number."""

import math
from dataclasses import dataclass
from typing import Any, Dict, FrozenSet, List, Sequence, Tuple

import jax
from jax.ad_checkpoint import checkpoint_name
from jax.extend.core import ClosedJaxpr, Literal

# The bodies of these may be inlined where they are called.
_CALLS = {"jit", "pjit", "closed_call", "core_call"}
# These mark what the backward runs again.
_CHECKPOINTS = {"remat2", "checkpoint", "remat"}
# These give on what they are given, and XLA never sees them: names for policies, and what refuses jax.vmap (_batching.py).
_MARKS = {"name", "llmmem_one_example"}

PREFIX = "llmmem."


@dataclass(frozen=True)
class Step:
    """One primitive. operands: numbers of values, or literals; results: numbers."""

    equation: Any
    operands: Tuple[Any, ...]
    results: Tuple[int, ...]

    @property
    def reads(self) -> List[int]:
        return [operand for operand in self.operands if not isinstance(operand, Literal)]


class Program:
    """A traced function. Its values are numbered, arguments first.

    arguments: how many there are. steps: what it runs, in order. results: numbers of values, or literals. constants: arrays by number.
    types: the type of each value by number. prefix: begins the names of its values. is_plain: what `jax.checkpoint` wraps is inlined too.
    """

    def __init__(self, closed: ClosedJaxpr, prefix: str = PREFIX, is_plain: bool = False) -> None:
        self._inlined = _CALLS | _CHECKPOINTS if is_plain else _CALLS
        self.steps: List[Step] = []
        self.constants: Dict[int, Any] = {}
        self.types: List[Any] = []
        self.prefix = prefix
        arguments = [self._number(variable.aval) for variable in closed.jaxpr.invars]
        self.arguments = len(arguments)
        self.results = self._walk(closed, arguments)
        self._drop_unread()

    def _number(self, type_: Any) -> int:
        self.types.append(type_)
        return len(self.types) - 1

    def _walk(self, closed: ClosedJaxpr, operands: Sequence[Any]) -> List[Any]:
        jaxpr = closed.jaxpr
        known: Dict[Any, Any] = dict(zip(jaxpr.invars, operands))
        for variable, value in zip(jaxpr.constvars, closed.consts):
            known[variable] = self._number(variable.aval)
            self.constants[known[variable]] = value

        def read(atom: Any) -> Any:
            return atom if isinstance(atom, Literal) else known[atom]

        for equation in jaxpr.eqns:
            inputs = tuple(read(atom) for atom in equation.invars)
            if equation.primitive.name in self._inlined:
                results = self._walk(bodies_of(equation)[0], inputs)
            else:
                results = [self._number(variable.aval) for variable in equation.outvars]
                self.steps.append(Step(equation, inputs, tuple(results)))
            known.update(zip(equation.outvars, results))
        return [read(atom) for atom in jaxpr.outvars]

    def _drop_unread(self) -> None:
        needed = {result for result in self.results if not isinstance(result, Literal)}
        kept = []
        for step in reversed(self.steps):
            if step.equation.effects or needed.intersection(step.results):
                needed.update(step.reads)
                kept.append(step)
        self.steps = kept[::-1]

    def last_reads(self) -> Dict[int, int]:
        """Returns the index of the last step that reads each value; for results, the number of steps."""
        last = {number: index for index, step in enumerate(self.steps) for number in step.reads}
        last.update({result: len(self.steps) for result in self.results if not isinstance(result, Literal)})
        return last

    def name_of(self, number: int) -> str:
        return f"{self.prefix}{number}"

    def begin(self, arguments: Sequence[Any]) -> Dict[int, Any]:
        """Returns the values that are known before the first step, by number."""
        return {**dict(enumerate(arguments)), **self.constants}

    def finish(self, known: Dict[int, Any]) -> List[Any]:
        return [read(result, known) for result in self.results]


def read(operand: Any, known: Dict[int, Any]) -> Any:
    """Returns the value of a literal, or of a number."""
    return operand.val if isinstance(operand, Literal) else known[operand]


def run_step(step: Step, known: Dict[int, Any]) -> List[Any]:
    """Returns the results of a primitive on the values that are known by number."""
    primitive = step.equation.primitive
    functions, params = (), primitive.get_bind_params(step.equation.params)
    if isinstance(params, tuple):  # JAX before 0.9 takes functions of a primitive as operands.
        functions, params = params
    results = primitive.bind(*functions, *(read(operand, known) for operand in step.operands), **params)
    return list(results) if primitive.multiple_results else [results]


def has_checkpoints(program: Program) -> bool:
    """Says whether a program marks outside of its loops what runs again."""
    return any(step.equation.primitive.name in _CHECKPOINTS for step in program.steps)


def has_loops(program: Program) -> bool:
    """Says whether a program has a loop, also inside of what it runs."""
    def is_within(equations: Any) -> bool:
        return any(equation.primitive.name in ("scan", "while") or any(is_within(body.jaxpr.eqns) for body in bodies_of(equation))
                   for equation in equations)
    return is_within([step.equation for step in program.steps])


def named(program: Program, number: int, value: Any, kept: FrozenSet[int]) -> Any:
    """Returns the value, under its name where it is one of those that a policy keeps."""
    return checkpoint_name(value, program.name_of(number)) if number in kept else value


def bytes_of(type_: Any) -> int:
    """Returns the bytes of an array of this type, and 0 for what has no shape, such as a token."""
    if not hasattr(type_, "dtype"):
        return 0
    return math.prod(type_.shape) * getattr(type_.dtype, "itemsize", 4)


def is_float(type_: Any) -> bool:
    return hasattr(type_, "dtype") and jax.numpy.issubdtype(type_.dtype, jax.numpy.inexact)


def bodies_of(equation: Any) -> List[ClosedJaxpr]:
    """Returns what a primitive runs inside of it, as a loop or a conditional does."""
    return [body for value in equation.params.values() for body in _bodies(value)]


def _bodies(value: Any) -> List[ClosedJaxpr]:
    if isinstance(value, ClosedJaxpr):
        return [value]
    if hasattr(value, "eqns") and hasattr(value, "constvars"):
        return [ClosedJaxpr(value, [None] * len(value.constvars))]
    if isinstance(value, (tuple, list)):
        return [body for part in value for body in _bodies(part)]
    return []


def flops_of(equation: Any) -> int:
    """Returns the FLOPs of one run; a multiply-add counts as two. Of the branches of a conditional the largest count."""
    name = equation.primitive.name
    if name in _MARKS:
        return 0
    elements = sum(math.prod(variable.aval.shape) for variable in equation.outvars if hasattr(variable.aval, "shape"))
    if name == "dot_general":
        (contracted, _), _ = equation.params["dimension_numbers"]
        shape = equation.invars[0].aval.shape
        return 2 * elements * math.prod(shape[dimension] for dimension in contracted)
    if name == "conv_general_dilated":
        kernel = equation.invars[1].aval.shape
        features = equation.params["dimension_numbers"].rhs_spec[0]
        return 2 * elements * math.prod(kernel) // max(1, kernel[features])
    inner = [sum(flops_of(part) for part in body.jaxpr.eqns) for body in bodies_of(equation)]
    if inner:
        return equation.params.get("length", 1) * (max(inner) if name == "cond" else sum(inner))
    if name.startswith("reduce_") or name in ("argmax", "argmin", "cumsum"):
        return math.prod(equation.invars[0].aval.shape)
    return elements
