"""A loss whose gradient is planned under a budget, in a model of the memory that it takes."""

import dataclasses
import functools
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

import jax

import llmmem

from .._planner import _budget as check_budget
from .._errors import BudgetError
from ._batching import refuse_vmap
from ._cpu import warn_of_cpu
from ._errors import UnsupportedLossError
from ._memory import compiled_bytes, describe_measured
from ._peaks import plan_within
from ._program import Loss, evaluate, evaluate_in_segments, kept_values, read_program


@dataclass(frozen=True)
class Report:
    """Says what was planned for one signature of arguments. Bytes and costs are those of the model, in which each primitive is one
    kernel, and kernels run one by one in the planned order. XLA fuses and reorders kernels, and its program may hold more or less.

    budget: the bytes that were planned for, or None for the least. peak: the bytes of the plan's arguments, gradients, kept and
    temporary values at their most. least: a proved bound of the model; no order and no choice of kept values has a lower peak. overhead:
    the cost of recomputation, as a part of the cost of the step. names: the names of the values that are kept. kept, named: how many
    values are kept, and how many could be. seconds: the time that planning took. problem, plan: what the planner read and wrote.
    measured: the bytes that XLA reports for the gradient that it compiled, `other_bytes` included, or None where `measure` was not
    called.
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
    measured: Optional[int] = None

    @property
    def kept(self) -> int:
        return len(self.names)

    def __str__(self) -> str:
        budget = "the least" if self.budget is None else f"a budget of {self.budget:,} bytes"
        return (f"llmmem.jax.checkpoint: planned for {budget}: {self.peak:,} bytes of the model, {self.kept} of {self.named} values "
                f"kept, cost +{self.overhead:.1%} of the model; {describe_measured(self.budget, self.measured, 'gradient')}")


class _Checkpointed:
    def __init__(self, loss: Callable[..., Any], budget: Any, argnums: Any, other_bytes: int, seconds: float) -> None:
        self.loss, self.argnums, self.other_bytes, self.seconds = loss, argnums, other_bytes, seconds
        self.budget = budget if budget == "min" else check_budget(budget)
        self.reports: List[Report] = []
        self._planned: Dict[Any, Tuple[Loss, Tuple[str, ...], int]] = {}
        functools.update_wrapper(self, loss)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        leaves, tree = jax.tree.flatten((arguments, keywords))
        traced, names, _ = self._look_up(leaves, tree)
        return evaluate_in_segments(traced, refuse_vmap(leaves, "checkpoint"), names)

    def measure(self, *arguments: Any, compiler_options: Optional[Dict[str, Any]] = None, **keywords: Any) -> Report:
        """Returns the report of these arguments, with what XLA says that the gradient of the planned loss holds. It compiles the gradient
        as jax.jit(jax.value_and_grad(planned), compiler_options=...) does, and does not run it."""
        gradient = jax.jit(jax.value_and_grad(self, argnums=self.argnums), compiler_options=compiler_options)
        measured = compiled_bytes(gradient.lower(*arguments, **keywords).compile()) + self.other_bytes
        _, _, number = self._look_up(*jax.tree.flatten((arguments, keywords)))
        self.reports[number] = dataclasses.replace(self.reports[number], measured=measured)
        return self.reports[number]

    def _look_up(self, leaves: Sequence[Any], tree: Any) -> Tuple[Loss, Tuple[str, ...], int]:
        """Returns the loss as it is traced for these arguments, the names of what is kept, and the number of the report."""
        types = tuple(jax.typeof(leaf) for leaf in leaves)
        key = (tree, types)
        if key not in self._planned:
            traced, report = self._plan(types, tree)
            self._planned[key] = traced, report.names, len(self.reports)
            self.reports.append(report)
            if report.overhead > 0:
                warn_of_cpu("checkpoint")
        return self._planned[key]

    def _plan(self, types: Sequence[Any], tree: Any) -> Tuple[Loss, Report]:
        def flat(*leaves: Any) -> Any:
            arguments, keywords = jax.tree.unflatten(tree, leaves)
            return self.loss(*arguments, **keywords)

        closed = jax.make_jaxpr(flat)(*types)
        if len(closed.out_avals) != 1 or closed.out_avals[0].shape != () or not jax.numpy.issubdtype(
                closed.out_avals[0].dtype, jax.numpy.floating):
            raise UnsupportedLossError("llmmem.jax.checkpoint: the function gives "
                                       f"{', '.join(str(aval) for aval in closed.out_avals) or 'nothing'}; a loss is one "
                                       "floating-point number: return it alone")

        traced = Loss(closed)

        def with_tree(*arguments: Any, **keywords: Any) -> Any:
            return evaluate(traced, jax.tree.leaves((arguments, keywords)))

        arguments, keywords = jax.tree.unflatten(tree, types)
        joint = jax.make_jaxpr(jax.value_and_grad(with_tree, argnums=self.argnums))(*arguments, **keywords)
        return traced, self._make_report(read_program(joint, self.other_bytes))

    def _make_report(self, program: Any) -> Report:
        problem = program.problem
        if self.budget == "min":
            plan, fits = llmmem.plan(problem, budget="min", seconds=self.seconds), True
        else:
            plan, fits = plan_within(problem, self.budget, self.seconds)
        if not fits:
            raise BudgetError(
                f"llmmem.jax.checkpoint: no plan of the model keeps a budget of {self.budget} bytes: the least that was found there "
                f"needs {plan.peak}, and every plan there at least {plan.peak_lower_bound}. The model runs each primitive by itself; "
                "what XLA's program holds llmmem.jax.compiled_bytes says", self.budget, plan.peak, plan.peak_lower_bound)
        kept, cost = kept_values(problem, plan.steps)
        names = tuple(sorted(program.name_of[value] for value in kept if value in program.name_of))
        return Report(None if self.budget == "min" else self.budget, plan.peak, plan.peak_lower_bound,
                      cost / max(1, plan.base_cost), names, len(program.name_of), plan.seconds, problem, plan)


def checkpoint(loss: Callable[..., Any], budget: Union[int, str], *, argnums: Union[int, Sequence[int]] = 0,
               other_bytes: int = 0, seconds: float = 10.0) -> Any:
    """Returns `loss` so that it keeps for its gradient what a plan under `budget` keeps, and recomputes the rest.

    loss: returns one floating-point number. budget: bytes of arguments, gradients, kept and temporary values: a number, a text
    ("4GB"), or "min". argnums: the arguments whose gradient is taken, as in jax.grad. other_bytes: what else is held, such
    as optimizer state. seconds: bounds the search. The result's `reports` has one Report for each signature of arguments.

    The plan keeps the budget in a model: each primitive is one kernel there, and the gradient of one call is taken at once. XLA fuses
    and reorders kernels, so its peak differs, and no plan bounds it. The result's `measure(*arguments)` compiles the gradient
    and notes in its report what XLA says; `llmmem.jax.compiled_bytes` asks the same of any compiled program. Raises BudgetError where no
    plan of the model fits, ValueError where the budget has no unit or is no whole number, UnsupportedLossError where the function is no
    loss, or where jax.vmap would hold once for each example what is planned once.
    """
    return _Checkpointed(loss, budget, argnums, other_bytes, seconds)
