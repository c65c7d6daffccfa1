"""A whole step under a budget, by way of StableHLO and llmmem-opt."""

import dataclasses
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

import jax
import jax.export

from .._planner import _budget as check_budget
from ._arguments import sharding_in, sharding_of
from ._batching import refuse_vmap
from ._cpu import default_options, warn_of_cpu
from ._forms import AS_WRITTEN
from ._memory import compiled_bytes, describe_measured
from ._step_plans import Candidate, Planner
from ._step_search import StepSearch


@dataclass(frozen=True)
class StepReport:
    """Says what was planned for one signature of arguments. The bytes of llmmem-opt are those of a model, in which each op of the step runs by
    itself in the planned order, and reads broadcasts as they are. XLA fuses and reorders ops, and its program may hold more or less.

    needed: bytes of arguments, constants and arena in the model, of whole arrays where they are sharded over devices. facts: the
    llmmem-memory-report, as json.loads reads it. budget: the bytes that were asked for, or None for the least. measured: bytes that XLA
    gives the step that it compiled, on each device; None where it was not asked. unplanned: those of the step as it was written.
    form: what was written otherwise before it was planned. trials: how many programs XLA compiled. compiler_options: those of the compiled step.
    """

    needed: int
    facts: Dict[str, Any]
    budget: Optional[int] = None
    measured: Optional[int] = None
    unplanned: Optional[int] = None
    form: str = AS_WRITTEN
    trials: int = 0
    compiler_options: Dict[str, Any] = dataclasses.field(default_factory=dict)

    def __str__(self) -> str:
        budget = "the least" if self.budget is None else f"a budget of {self.budget:,} bytes"
        again = self.facts["recompute"]
        form = "" if self.form == AS_WRITTEN else f" The step is written {self.form}."
        unplanned = "" if self.unplanned is None else f"; unplanned it holds {self.unplanned:,}"
        return (f"llmmem.jax.plan: planned for {budget}: {self.needed:,} bytes of the model, {again['ops']} ops run again, "
                f"+{again['percent_time']:.1f}% of modelled time; {describe_measured(self.budget, self.measured, 'step')}{unplanned}.{form}")


class _PlannedStep:
    def __init__(self, step: Callable[..., Any], budget: Any, donate_argnums: Any, planner: Dict[str, Any]) -> None:
        self.budget = budget if budget == "min" else check_budget(budget)
        self.step, self.donate_argnums, self.settings = step, donate_argnums, planner
        self.reports: List[StepReport] = []
        self._planned: Dict[Any, Tuple[jax.export.Exported, int]] = {}

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        leaves, tree = jax.tree.flatten((arguments, keywords))
        exported, _ = self._look_up(arguments, keywords)
        arguments, keywords = jax.tree.unflatten(tree, refuse_vmap(leaves, "plan"))
        return exported.call(*arguments, **keywords)

    def export(self, *arguments: Any, **keywords: Any) -> jax.export.Exported:
        """Returns the planned step for jax.export. `call` runs it, also inside of jax.jit, whose donate_argnums must be those of
        `plan`."""
        return self._look_up(arguments, keywords)[0]

    def prepare(self, *arguments: Any, **keywords: Any) -> StepReport:
        """Plans for these arguments, where they were not planned for, and returns their report. Arrays count as they lie on devices, and so they
        do in later calls with the same types."""
        return self.reports[self._look_up(arguments, keywords)[1]]

    def measure(self, *arguments: Any, compiler_options: Optional[Dict[str, Any]] = None, **keywords: Any) -> StepReport:
        """Returns the report of these arguments, with what XLA says that the planned step holds. It compiles the step as
        jax.jit(planned, donate_argnums=..., compiler_options=...) does, and does not run it."""
        step = jax.jit(self, donate_argnums=self.donate_argnums, compiler_options=compiler_options)
        measured = compiled_bytes(step.lower(*arguments, **keywords).compile())
        _, number = self._look_up(arguments, keywords)
        self.reports[number] = dataclasses.replace(self.reports[number], measured=measured, compiler_options=compiler_options or {})
        return self.reports[number]

    def _look_up(self, arguments: Any, keywords: Any) -> Tuple[jax.export.Exported, int]:
        """Returns the planned step for these arguments, and the number of its report."""
        leaves, tree = jax.tree.flatten((arguments, keywords))
        key = tree, tuple(jax.typeof(leaf) for leaf in leaves)
        if key not in self._planned:
            self._planned[key] = self._plan(arguments, keywords), len(self.reports) - 1
            if self.reports[-1].facts["recompute"]["ops"]:
                warn_of_cpu("plan")
        return self._planned[key]

    def _plan(self, arguments: Any, keywords: Any) -> jax.export.Exported:
        arguments, keywords = jax.tree.map(_type_of, (arguments, keywords))
        options = self.settings["compiler_options"]
        planner = Planner(self.step, self.donate_argnums, (arguments, keywords), self.settings["options"], options)
        search = StepSearch(planner, self.settings["attempts"])
        chosen: Candidate = search.find_least() if self.budget == "min" else search.find_within(self.budget)
        self.reports.append(StepReport(chosen.needed, chosen.facts, None if self.budget == "min" else self.budget, chosen.held, search.unplanned,
                                       chosen.form, search.trials, options if search.trials else {}))
        return chosen.exported


def _type_of(leaf: Any) -> Any:
    """Returns the type of an argument, with how it lies on devices."""
    type_ = jax.typeof(leaf)
    return jax.ShapeDtypeStruct(type_.shape, type_.dtype, sharding=sharding_of(leaf) or sharding_in(type_),
                                weak_type=getattr(type_, "weak_type", False))


def plan(step: Callable[..., Any], budget: Union[int, str], *, donate_argnums: Union[int, Sequence[int]] = (),
         options: Sequence[str] = (), attempts: int = 6, compiler_options: Optional[Dict[str, Any]] = None) -> Any:
    """Returns `step`, a whole training step, so that it holds at most `budget` bytes on each device as XLA compiles it.

    step: a function as jax.jit takes it. budget: bytes of arguments and everything else: a number, a text ("4GB"), or "min".
    donate_argnums: arguments that the step may overwrite, as in jax.jit. options: further flags of llmmem-opt, such as
    "--loss=0" or "--unpriced=by-bytes". attempts: how many programs XLA may compile to find the plan; 0 asks XLA nothing, and then the budget is
    one of the model and does not count as kept. compiler_options: those with which the step is compiled, as in jax.jit. If none are given it is
    what XLA:CPU needs so as to recompute anything, and nothing elsewhere.

    Returns a function of the same arguments; call it inside of jax.jit with the same donate_argnums. Its `reports` has one
    StepReport for each signature, and `prepare(*arguments)` plans ahead of the first call, with arrays as they lie on devices. Values are
    those of the step: the program is the same StableHLO, with ops in the planned order, and optimization barriers before what is recomputed.
    A step that keeps the budget as it was written stays so, with its own jax.checkpoint. Else that is planned as well as left out, and of what a
    scan stacks for another one, which reads it in its own rounds, a part may be computed again there. XLA reorders and fuses ops, so planned
    steps are compiled, and planned again for less, until one keeps the budget. Raises BudgetError, with the least bytes that were found,
    where none does, and UnsupportedLossError where an op cannot be planned, or where jax.vmap would hold for each example what is planned
    once.
    """
    return _PlannedStep(step, budget, donate_argnums, {"options": tuple(options), "attempts": attempts,
                                                       "compiler_options": default_options(compiler_options)})
