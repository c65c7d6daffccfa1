"""A loss whose compiled gradient keeps a budget in bytes."""

import functools
import time
from dataclasses import dataclass
from typing import Any, Callable, Dict, FrozenSet, List, Optional, Sequence, Tuple, Union

import jax

from .._planner import _budget as check_budget
from ._arguments import Arguments, sharding_of, static_arguments
from ._batching import refuse_vmap
from ._cpu import default_options, warn_of_cpu
from ._errors import UnsupportedLossError
from ._layout import Layout, Part, evaluate, kept_of
from ._offload import carried_of, offloaded_of
from ._program import Program, bytes_of
from ._trials import Trials


@dataclass(frozen=True)
class Report:
    """Says what was planned for one signature of arguments, and what XLA made of it.

    budget: the bytes that were asked for, or None for the least. planned: bytes of arguments, gradients and what is held between, in the
    model. compiled: bytes by XLA's own account of the compiled gradient, arguments and results included, or None where XLA was not
    asked. unplanned: those of the loss as it was. Each has `other_bytes` in it, and is that of one device. overhead: FLOPs that are computed
    again, as a part of those of the gradient, in the model. names: of the values that a policy keeps. offloaded: those of them that lie on the
    host until the backward reads them. carried: bytes that the scans of the loss carry, which JAX can't send there. trials: how many programs XLA compiled.
    seconds: the time that planning took. compiler_options: those of the compiled program.
    """

    budget: Optional[int]
    planned: int
    compiled: Optional[int]
    unplanned: Optional[int]
    overhead: float
    names: Tuple[str, ...]
    trials: int
    seconds: float
    compiler_options: Dict[str, Any]
    offloaded: Tuple[str, ...] = ()
    carried: int = 0

    def __str__(self) -> str:
        budget = "the least" if self.budget is None else f"a budget of {self.budget:,} bytes"
        said = f"llmmem.jax.checkpoint: planned for {budget}: {self.planned:,} bytes and +{self.overhead:.1%} FLOPs in the model"
        if self.offloaded:
            said += f"; {len(self.offloaded)} values lie on the host until the backward reads them"
            said += f", but not the {self.carried:,} bytes that scans carry, which JAX can't send there" if self.carried else ""
        if self.compiled is None:
            return f"{said}; XLA was not asked what it makes of it, so no budget counts as kept"
        options = f" with compiler_options={self.compiler_options}" if self.compiler_options else ""
        unplanned = f", and unplanned {self.unplanned:,}" if self.unplanned is not None else ""
        return (f"{said}; the gradient compiled{options} holds {self.compiled:,} bytes by XLA's own account{unplanned}; planning took "
                f"{self.seconds:.1f} s, with {self.trials} compiled program{'' if self.trials == 1 else 's'}")


@dataclass(frozen=True)
class Settings:
    """What `checkpoint` was given, as its description has it."""

    budget: Union[int, str]
    argnums: Union[int, Tuple[int, ...]]
    static: FrozenSet[Union[int, str]]
    has_aux: bool
    other_bytes: int
    attempts: int
    compiler_options: Dict[str, Any]
    host_budget: int


@dataclass(frozen=True)
class _Planned:
    """A traced loss and how it is written. structure: that of what it returns."""

    program: Program
    parts: Tuple[Layout, ...]
    structure: Any
    report: Report


class _Checkpointed:
    def __init__(self, loss: Callable[..., Any], settings: Settings) -> None:
        self.loss, self.settings = loss, settings
        self._planned: Dict[Any, _Planned] = {}
        functools.update_wrapper(self, loss)

    @property
    def reports(self) -> List[Report]:
        """One report for each signature of arguments, in the order in which they came."""
        return [planned.report for planned in self._planned.values()]

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        given = Arguments(arguments, keywords, self.settings.static)
        planned = self._look_up(given, [None] * len(given.traced))
        results = evaluate(planned.program, planned.parts, refuse_vmap(given.traced, "checkpoint"))
        count = planned.structure.num_leaves
        numbers = planned.program.results[count:]
        given.update({place: results[count + place] for place, number in enumerate(numbers) if number != place})
        return jax.tree.unflatten(planned.structure, results[:count])

    def prepare(self, *arguments: Any, **keywords: Any) -> Report:
        """Plans for these arguments, where they were not planned for, and returns their report. Arrays count as they lie on devices, and so they
        do in later calls with the same types. Inside of jax.jit, where no type says how an array lies on devices, it counts as whole."""
        given = Arguments(arguments, keywords, self.settings.static)
        return self._look_up(given, [sharding_of(leaf) for leaf in given.traced]).report

    def _look_up(self, given: Arguments, shardings: Sequence[Any]) -> _Planned:
        key = given.key
        if key not in self._planned:
            self._planned[key] = planned = self._plan(given, shardings)
            if planned.report.overhead > 0:
                warn_of_cpu("checkpoint")
        return self._planned[key]

    def _plan(self, given: Arguments, shardings: Sequence[Any]) -> _Planned:
        began = time.monotonic()
        program, structure = self._trace(given)
        trials = Trials(program, given.is_active(self.settings.argnums), shardings, self.settings)
        chosen = trials.choose()
        parts = chosen.parts or (Part(0, len(program.steps)),)
        budget = self.settings.budget
        report = Report(None if budget == "min" else budget, trials.planned_bytes(chosen), chosen.held, trials.unplanned, trials.overhead(chosen),
                        tuple(kept_of(parts, program)), trials.count, time.monotonic() - began, self.settings.compiler_options,
                        tuple(offloaded_of(parts, program)), sum(map(bytes_of, carried_of(program))))
        return _Planned(program, parts, structure, report)

    def _trace(self, given: Arguments) -> Tuple[Program, Any]:
        """Returns the traced loss, whose results are what it returns and the arguments after it, and the structure of what it returns."""
        structures: List[Any] = []

        def flat(*traced: Any) -> List[Any]:
            result, after = given.call(self.loss, traced)
            leaves, structure = jax.tree.flatten(result)
            structures.append(structure)
            return [*leaves, *after]

        closed = jax.make_jaxpr(flat)(*given.types)
        structure = structures[-1]
        self._check(structure, [variable.aval for variable in closed.jaxpr.outvars[:structure.num_leaves]])
        return Program(closed), structure

    def _check(self, structure: Any, types: Sequence[Any]) -> None:
        """Refuses what is no loss."""
        is_pair = structure.num_nodes > 1 and len(structure.children()) == 2
        loss = structure.children()[0] if self.settings.has_aux and is_pair else structure
        is_leaf = loss.num_nodes == 1 and loss.num_leaves == 1
        if self.settings.has_aux and not is_pair or not is_leaf or types[0].shape != () or not jax.numpy.issubdtype(
                types[0].dtype, jax.numpy.floating):
            expected = "return the loss and what else there is, as a pair" if self.settings.has_aux else \
                "return it alone, or with something else as a pair and has_aux=True"
            raise UnsupportedLossError(f"llmmem.jax.checkpoint: the function gives {', '.join(map(str, types)) or 'nothing'}; a loss is one "
                                       f"floating-point number: {expected}")


def checkpoint(loss: Callable[..., Any], budget: Union[int, str], *, argnums: Union[int, Sequence[int]] = 0, has_aux: bool = False,
               static_argnums: Union[int, Sequence[int]] = (), static_argnames: Union[str, Sequence[str]] = (), other_bytes: int = 0,
               attempts: int = 8, compiler_options: Optional[Dict[str, Any]] = None, host_budget: Union[int, str] = 0) -> Any:
    """Returns `loss` so that its gradient, as XLA compiles it, holds at most `budget` bytes on each device, at few FLOPs that run again.

    loss: returns one floating-point number, or with has_aux a pair of it and something else. budget: bytes as a number, a text ("4GB"), or
    "min". argnums, has_aux: as in jax.grad. static_argnums, static_argnames: as in jax.jit, the arguments that stay what they are, of which each
    new value is planned; Python's other numbers and bools are traced, and what JAX has no type for is static. other_bytes: what else is held, such as optimizer state. attempts: how many programs XLA may
    compile to find the plan; 0 asks XLA nothing, and then no budget counts as kept. compiler_options: those with which the step is compiled,
    as in jax.jit. If none are given it is what XLA:CPU needs so as to recompute anything, and nothing elsewhere. host_budget: bytes of the
    host's memory where values may lie between forward and backward, those of the first layers first; XLA:CPU leaves them where they are, so
    that its account knows no gain. What a scan carries can't leave, which the report says.

    What holds the bytes is the program jax.jit(jax.value_and_grad(planned, argnums), compiler_options=...) of the arguments: arguments,
    results and temporary values by XLA's own account, and `other_bytes`. A larger program around the gradient has bytes of its own. Each new
    signature of arguments is planned when it comes, which compiles programs, those of JAX's policies on each repeated block among them, and
    runs none; the result's `reports` has one Report for each, and `prepare(*arguments)` plans ahead of the first call.

    Raises BudgetError, with the least compiled bytes that were found, where no plan keeps the budget, ValueError where the budget has no unit
    or is no whole number, or a static argument is no parameter of the loss, UnsupportedLossError where the function is no loss, or where
    jax.vmap would hold once for each example what is planned once.
    """
    numbers = argnums if isinstance(argnums, int) else tuple(argnums)
    return _Checkpointed(loss, Settings(budget if budget == "min" else check_budget(budget), numbers,
                                        static_arguments(loss, static_argnums, static_argnames), has_aux, other_bytes, attempts,
                                        default_options(compiler_options), check_budget(host_budget) if host_budget else 0))
