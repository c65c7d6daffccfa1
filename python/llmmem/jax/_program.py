"""A loss as its primitive operations: with a name on each value, and with its gradient as a problem for the planner."""

import math
from dataclasses import dataclass, field
from typing import Any, Dict, List, Sequence, Set, Tuple

import jax
from jax.ad_checkpoint import checkpoint_name
from jax.extend.core import ClosedJaxpr, Literal

import llmmem

# The results of these primitives are views of their operands.
_VIEWS = {"name", "reshape", "squeeze", "expand_dims", "broadcast_in_dim", "optimization_barrier", "stop_gradient", "pvary"}
# These work element by element, so that their results may lie in the bytes of an operand of the same type.
_IN_PLACE = {"add", "add_any", "sub", "mul", "div", "neg", "exp", "log", "tanh", "logistic", "max", "min", "rsqrt", "sqrt",
             "integer_pow", "pow", "square", "select_n", "sign", "abs", "erf", "sin", "cos", "exp2", "log1p", "expm1"}
# The bodies of these may be inlined where they are called.
_CALLS = {"jit", "pjit", "closed_call", "core_call"}
# The table that prices primitives, and the names that it has for types; the rate of other types is that of f32.
_DEVICE = llmmem.DEVICES["h100"]
_NUMBERS = {"bfloat16": "bf16", "float16": "bf16", "float64": "f64"}

PREFIX = "llmmem."


@dataclass(frozen=True)
class Step:
    """One primitive of a loss, with calls inlined. operands: numbers of values, or literals; results: numbers."""

    equation: Any
    operands: Tuple[Any, ...]
    results: Tuple[int, ...]


class Loss:
    """A traced loss as a straight line of primitives. Its values are numbered, arguments first."""

    def __init__(self, closed: ClosedJaxpr) -> None:
        self.steps: List[Step] = []
        self.constants: Dict[int, Any] = {}
        self._count = 0
        arguments = [self._number() for _ in closed.jaxpr.invars]
        self.result = self._walk(closed, arguments)[0]

    def _number(self) -> int:
        self._count += 1
        return self._count - 1

    def _walk(self, closed: ClosedJaxpr, operands: Sequence[Any]) -> List[Any]:
        jaxpr = closed.jaxpr
        known: Dict[Any, Any] = dict(zip(jaxpr.invars, operands))
        for variable, value in zip(jaxpr.constvars, closed.consts):
            known[variable] = self._number()
            self.constants[known[variable]] = value

        def read(atom: Any) -> Any:
            return atom if isinstance(atom, Literal) else known[atom]

        for equation in jaxpr.eqns:
            inputs = tuple(read(atom) for atom in equation.invars)
            if equation.primitive.name in _CALLS:
                results = self._walk(_callee(equation), inputs)
            else:
                results = [self._number() for _ in equation.outvars]
                self.steps.append(Step(equation, inputs, tuple(results)))
            known.update(zip(equation.outvars, results))
        return [read(atom) for atom in jaxpr.outvars]

    def segments(self, kept: Set[str]) -> List[List[Step]]:
        """Returns the steps, cut where only arguments, constants, kept values and values no larger than a number cross."""
        last = {number: index for index, step in enumerate(self.steps) for number in step.operands
                if not isinstance(number, Literal)}
        found: List[List[Step]] = [[]]
        open_until = -1
        for index, step in enumerate(self.steps):
            found[-1].append(step)
            for number, variable in zip(step.results, step.equation.outvars):
                if name_of(number) not in kept and bytes_of(variable.aval) > 16:
                    open_until = max(open_until, last.get(number, -1))
            if open_until <= index and index + 1 < len(self.steps):
                found.append([])
        return found


def _callee(equation: Any) -> ClosedJaxpr:
    return equation.params["jaxpr"] if "jaxpr" in equation.params else equation.params["call_jaxpr"]


def name_of(number: int) -> str:
    return f"{PREFIX}{number}"


def _read(operand: Any, known: Dict[int, Any]) -> Any:
    """Returns the value of a literal, or of a number."""
    return operand.val if isinstance(operand, Literal) else known[operand]


def run_steps(steps: Sequence[Step], known: Dict[int, Any]) -> None:
    """Runs primitives on the values that are known by number, and adds their results, each under its name."""
    for step in steps:
        operands = [_read(operand, known) for operand in step.operands]
        primitive = step.equation.primitive
        results = primitive.bind(*operands, **primitive.get_bind_params(step.equation.params))
        for number, result in zip(step.results, results if primitive.multiple_results else [results]):
            known[number] = checkpoint_name(result, name_of(number))


def evaluate(loss: Loss, arguments: Sequence[Any]) -> Any:
    """Evaluates the loss, and names each of its values."""
    known = dict(enumerate(arguments))
    known.update(loss.constants)
    run_steps(loss.steps, known)
    return _read(loss.result, known)


def evaluate_in_segments(loss: Loss, arguments: Sequence[Any], kept: Sequence[str]) -> Any:
    """Evaluates the loss segment by segment. The backward of a segment recomputes what the segment did not keep."""
    policy = jax.checkpoint_policies.save_only_these_names(*kept)
    known = dict(enumerate(arguments))
    known.update(loss.constants)
    segments = loss.segments(set(kept))
    readers: Dict[int, int] = {}
    for index, segment in enumerate(segments):
        for step in segment:
            readers.update({number: index for number in step.operands if not isinstance(number, Literal)})
    if not isinstance(loss.result, Literal):
        readers[loss.result] = len(segments)
    for index, segment in enumerate(segments):
        _run_segment(segment, index, readers, known, policy)
    return _read(loss.result, known)


def _run_segment(segment: Sequence[Step], index: int, readers: Dict[int, int], known: Dict[int, Any], policy: Any) -> None:
    made = {number for step in segment for number in step.results}
    given = sorted({number for step in segment for number in step.operands
                    if not isinstance(number, Literal) and number not in made})
    left = sorted(number for number in made if readers.get(number, -1) > index)

    def run(*values: Any) -> List[Any]:
        inside = dict(zip(given, values))
        run_steps(segment, inside)
        return [inside[number] for number in left]

    known.update(zip(left, jax.checkpoint(run, policy=policy)(*(known[number] for number in given))))


def bytes_of(aval: Any) -> int:
    """Returns the bytes of an array of this shape, and 0 for what has no shape, such as a token."""
    if not hasattr(aval, "dtype"):
        return 0
    return math.prod(aval.shape) * getattr(aval.dtype, "itemsize", 4)


def flops_of(equation: Any) -> int:
    """Returns the FLOPs of one run; a multiply-add counts as two."""
    name = equation.primitive.name
    elements = sum(math.prod(variable.aval.shape) for variable in equation.outvars if hasattr(variable.aval, "shape"))
    if name == "dot_general":
        (contracted, _), _ = equation.params["dimension_numbers"]
        shape = equation.invars[0].aval.shape
        return 2 * elements * math.prod(shape[dimension] for dimension in contracted)
    if name == "conv_general_dilated":
        kernel = equation.invars[1].aval.shape
        features = equation.params["dimension_numbers"].rhs_spec[0]
        return 2 * elements * math.prod(kernel) // max(1, kernel[features])
    inner = [found for value in equation.params.values() for found in _bodies(value)]
    if inner:
        rounds = equation.params.get("length", 1)
        return rounds * sum(flops_of(part) for body in inner for part in body.eqns)
    if name.startswith("reduce_") or name in ("argmax", "argmin", "cumsum"):
        return math.prod(equation.invars[0].aval.shape)
    return elements


def numbers_of(equation: Any) -> str:
    """What a primitive computes with, as a table names it: the type of its first operand that has one."""
    types = (str(variable.aval.dtype) for variable in equation.invars if hasattr(variable.aval, "dtype"))
    return _NUMBERS.get(next(types, ""), "f32")


def _bodies(value: Any) -> List[Any]:
    if hasattr(value, "eqns"):
        return [value]
    if hasattr(value, "jaxpr") and hasattr(value.jaxpr, "eqns"):
        return [value.jaxpr]
    if isinstance(value, (tuple, list)):
        return [body for part in value for body in _bodies(part)]
    return []


@dataclass
class Program:
    """The gradient of a loss as a problem.

    problem: values and ops in the order of the text. name_of: the name of each value that the forward has named.
    """

    problem: llmmem.Problem
    name_of: Dict[int, str] = field(default_factory=dict)


class _Builder:
    def __init__(self, closed: ClosedJaxpr) -> None:
        self.values: List[llmmem.Value] = []
        self.ops: List[llmmem.Op] = []
        self.name_of: Dict[int, str] = {}
        self.closed = closed

    def value(self, size: int, name: str, resident: bool = False) -> int:
        self.values.append(llmmem.Value(size, name, resident))
        return len(self.values) - 1

    def run(self, other_bytes: int) -> Program:
        jaxpr = self.closed.jaxpr
        known = {variable: self.value(bytes_of(variable.aval), "constant", True) for variable in jaxpr.constvars}
        known.update({variable: self.value(bytes_of(variable.aval), "argument", True) for variable in jaxpr.invars})
        if other_bytes:
            self.value(other_bytes, "held besides", True)
        results = self.walk(jaxpr, known)
        keep = [number for number in dict.fromkeys(results) if number is not None and not self.values[number].resident]
        self.mark_phases(results[0])
        return Program(llmmem.Problem(self.values, self.ops, keep=keep), self.name_of)

    def walk(self, jaxpr: Any, known: Dict[Any, Any]) -> List[Any]:
        """Returns the numbers of the results; a literal has None."""
        def number(atom: Any) -> Any:
            return None if isinstance(atom, Literal) else known[atom]

        for equation in jaxpr.eqns:
            operands = [number(atom) for atom in equation.invars]
            name = equation.primitive.name
            if name in _CALLS:
                inner = _callee(equation)
                inside = {variable: self.value(bytes_of(variable.aval), "constant", True)
                          for variable in inner.jaxpr.constvars}
                inside.update(zip(inner.jaxpr.invars, operands))
                known.update(zip(equation.outvars, self.walk(inner.jaxpr, inside)))
            elif name in _VIEWS and len(operands) == len(equation.outvars):
                known.update(zip(equation.outvars, operands))
                if name == "name" and operands[0] is not None and equation.params["name"].startswith(PREFIX):
                    self.name_of.setdefault(operands[0], equation.params["name"])
            elif name in _VIEWS and operands[0] is not None:
                known[equation.outvars[0]] = operands[0]
            else:
                self.add_op(equation, operands, known)
        return [number(atom) for atom in jaxpr.outvars]

    def add_op(self, equation: Any, operands: Sequence[Any], known: Dict[Any, Any]) -> None:
        name = equation.primitive.name
        reads = list(dict.fromkeys(operand for operand in operands if operand is not None))
        writes = [self.value(bytes_of(variable.aval), name) for variable in equation.outvars]
        moved = sum(self.values[number].bytes for number in reads + writes)
        cost = _DEVICE.nanoseconds(flops_of(equation), moved, numbers_of(equation))
        in_place = [(writes[0], read) for read in reads if name in _IN_PLACE and not self.values[read].resident
                    and self.values[read].bytes == self.values[writes[0]].bytes > 0]
        self.ops.append(llmmem.Op(reads=reads, writes=writes, cost=cost, in_place=in_place, name=name,
                                  recompute=not equation.effects))
        known.update(zip(equation.outvars, writes))

    def mark_phases(self, loss: Any) -> None:
        """Marks what the loss depends on as forward."""
        needed: Set[int] = {loss}
        for op in reversed(self.ops):
            is_forward = any(value in needed for value in op.writes)
            op.phase = "forward" if is_forward else "backward"
            if is_forward:
                needed.update(op.reads)


def read_program(closed: ClosedJaxpr, other_bytes: int) -> Program:
    """Returns the problem of a traced value_and_grad, whose first result is the loss."""
    return _Builder(closed).run(other_bytes)


def kept_values(problem: llmmem.Problem, steps: Sequence[int]) -> Tuple[Set[int], int]:
    """Returns the forward's values whose first run the backward or a repeat reads, and the cost of all repeats."""
    runs: Dict[int, int] = {}
    writer = {value: number for number, op in enumerate(problem.ops) for value in op.writes}
    kept: Set[int] = set()
    cost = 0
    for step in steps:
        op = problem.ops[step]
        is_again = runs.get(step, 0) > 0
        cost += op.cost if is_again else 0
        if is_again or op.phase == "backward":
            kept.update(value for value in op.reads
                        if value in writer and problem.ops[writer[value]].phase == "forward" and runs[writer[value]] == 1)
        runs[step] = runs.get(step, 0) + 1
    return kept, cost
