"""A loss whose gradient keeps a budget."""

import functools
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Sequence, Tuple, Union

import jax

import llmmem

from .._planner import _budget as check_budget
from .._errors import BudgetError
from ._cpu import warn_of_cpu
from ._errors import UnsupportedLossError
from ._program import Loss, evaluate, evaluate_in_segments, kept_values, read_program


@dataclass(frozen=True)
class Report:
    """What was planned for one signature of arguments.

    budget: bytes, or None for the least. peak: predicted, in bytes, of arguments, gradients, kept and temporary values, where
    each primitive is one kernel. least: proved: no order and no choice of kept values needs less. overhead: cost of what runs
    again, as a part of that of the step. names: of the values that are kept. kept, named: how many values are, and could be.
    seconds: that planning took. problem, plan: the planner's own.
    """

    budget: Any
    peak: int
    least: int
    overhead: float
    names: Tuple[str, ...]
    named: int
    seconds: float
    problem: llmmem.Problem
    plan: llmmem.Plan

    @property
    def kept(self) -> int:
        return len(self.names)


def _shape_of(value: Any) -> Any:
    return jax.ShapeDtypeStruct(jax.numpy.shape(value), jax.numpy.result_type(value))


class _Checkpointed:
    def __init__(self, loss: Callable[..., Any], budget: Any, argnums: Any, other_bytes: int, seconds: float) -> None:
        self.loss, self.argnums, self.other_bytes, self.seconds = loss, argnums, other_bytes, seconds
        self.budget = budget if budget == "min" else check_budget(budget)
        self.reports: List[Report] = []
        self._planned: Dict[Any, Tuple[Any, Any]] = {}
        functools.update_wrapper(self, loss)

    def __call__(self, *arguments: Any) -> Any:
        leaves, tree = jax.tree.flatten(arguments)
        shapes = [_shape_of(leaf) for leaf in leaves]
        key = (tree, tuple((shape.shape, shape.dtype) for shape in shapes))
        if key not in self._planned:
            self._planned[key] = self._plan(shapes, tree)
        traced, names = self._planned[key]
        return evaluate_in_segments(traced, leaves, names)

    def _plan(self, shapes: Sequence[Any], tree: Any) -> Tuple[Any, Any]:
        def flat(*leaves: Any) -> Any:
            return self.loss(*jax.tree.unflatten(tree, leaves))

        closed = jax.make_jaxpr(flat)(*shapes)
        if len(closed.out_avals) != 1 or closed.out_avals[0].shape != () or not jax.numpy.issubdtype(
                closed.out_avals[0].dtype, jax.numpy.floating):
            raise UnsupportedLossError("llmmem.jax.checkpoint: the function gives "
                                       f"{', '.join(str(aval) for aval in closed.out_avals) or 'nothing'}; a loss is one "
                                       "floating-point number: return it alone")

        traced = Loss(closed)

        def with_tree(*arguments: Any) -> Any:
            return evaluate(traced, jax.tree.leaves(arguments))

        arguments = jax.tree.unflatten(tree, shapes)
        joint = jax.make_jaxpr(jax.value_and_grad(with_tree, argnums=self.argnums))(*arguments)
        report = self._make_report(read_program(joint, self.other_bytes))
        self.reports.append(report)
        if report.overhead > 0:
            warn_of_cpu("checkpoint")
        return traced, report.names

    def _make_report(self, program: Any) -> Report:
        problem = program.problem
        plan = llmmem.plan(problem, budget=self.budget, seconds=self.seconds)
        if plan.status != "feasible":
            least = llmmem.plan(problem, budget="min", seconds=self.seconds)
            raise BudgetError(
                f"llmmem.jax.checkpoint: no plan keeps a budget of {self.budget} bytes; the least that was found needs "
                f"{least.peak}, and every plan needs at least {plan.peak_lower_bound}", self.budget, least.peak,
                plan.peak_lower_bound)
        kept, cost = kept_values(problem, plan.steps)
        names = tuple(sorted(program.name_of[value] for value in kept if value in program.name_of))
        return Report(None if self.budget == "min" else self.budget, plan.peak, plan.peak_lower_bound,
                      cost / max(1, plan.base_cost), names, len(program.name_of), plan.seconds, problem, plan)


def checkpoint(loss: Callable[..., Any], budget: Union[int, str], *, argnums: Union[int, Sequence[int]] = 0,
               other_bytes: int = 0, seconds: float = 10.0) -> Any:
    """`loss`, which keeps for its gradient what fits `budget`, and computes the rest again.

    loss: gives one floating-point number. budget: bytes of arguments, gradients, kept and temporary values: a number, a text
    ("4GB"), or "min". argnums: the arguments that the gradient is taken of, as of jax.grad. other_bytes: what else is held, such
    as optimizer state. seconds: bound on the search. The result's `reports` has one Report for each signature of arguments.

    Each primitive is planned as a kernel of its own. XLA fuses kernels and orders them anew, so its peak is another:
    `jax.jit(...).lower(...).compile().memory_analysis()` says it. Raises BudgetError where no plan fits, ValueError where the
    budget has no unit or is no whole number, UnsupportedLossError where the function is no loss.
    """
    return _Checkpointed(loss, budget, argnums, other_bytes, seconds)
