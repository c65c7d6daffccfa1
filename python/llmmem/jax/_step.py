"""A whole step under a budget, by way of StableHLO and llmmem-opt."""

import dataclasses
import io
import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

import jax
import jax.export
import jax.extend.mlir

from .._planner import _budget as check_budget
from .._errors import BudgetError
from .._temporary import temporary_folder
from ._batching import refuse_vmap
from ._cpu import warn_of_cpu
from ._errors import UnsupportedLossError
from ._memory import compiled_bytes, describe_measured


@dataclass(frozen=True)
class StepReport:
    """Says what llmmem-opt planned for one signature of arguments. Its bytes are those of the model, in which each op of the step runs by
    itself in the planned order, and reads broadcasts as they are. XLA fuses and reorders ops, and its program may hold more or less.

    needed: bytes of arguments, constants and arena, of whole arrays where they are sharded over devices. facts: the
    llmmem-memory-report, as json.loads reads it. budget: what was planned for, in bytes, or None for the least. measured: bytes that XLA
    gives the step that it compiled, on each device; None where `measure` did not ask.
    """

    needed: int
    facts: Dict[str, Any]
    budget: Optional[int] = None
    measured: Optional[int] = None

    def __str__(self) -> str:
        budget = "the least" if self.budget is None else f"a budget of {self.budget:,} bytes"
        again = self.facts["recompute"]
        return (f"llmmem.jax.plan: planned for {budget}: {self.needed:,} bytes of the model, {again['ops']} ops run again, "
                f"+{again['percent_time']:.1f}% of modelled time; {describe_measured(self.budget, self.measured, 'step')}")


def find_tool() -> str:
    """Returns the path of llmmem-opt. LLMMEM_OPT names it; else it is in PATH."""
    named = os.environ.get("LLMMEM_OPT")
    tool = shutil.which(named or "llmmem-opt")
    if named and not tool:
        raise FileNotFoundError(f"llmmem.jax.plan: LLMMEM_OPT names '{named}', which is no program; expected the path of llmmem-opt")
    if not tool:
        raise FileNotFoundError("llmmem.jax.plan: there is no llmmem-opt in PATH, and it does not come with pip; build llmmem with "
                                "MLIR, `cmake --install` it, and put its bin into PATH or name the program in LLMMEM_OPT")
    return tool


def _run(tool: str, arguments: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([tool, "--allow-unregistered-dialect", *arguments], capture_output=True, text=True, errors="replace")


def _plan_text(text: str, budget: Union[int, str], options: Sequence[str]) -> Tuple[str, Dict[str, Any]]:
    """Returns the planned program in generic form, without anything of llmmem's, and the report."""
    tool = find_tool()
    with temporary_folder("llmmem-jax-") as folder:
        step, planned, report = (os.path.join(folder, name) for name in ("step.mlir", "planned.mlir", "report.json"))
        with open(step, "w", encoding="utf-8") as file:
            file.write(text)
        done = _run(tool, [f"--checkpoint-budget={budget}", "--entry=main", *options, step, "-o", planned,
                           f"--memory-report-json={report}"])
        facts: Dict[str, Any] = {}
        if os.path.exists(report):
            with open(report, encoding="utf-8") as file:
                facts = json.load(file)
        if done.returncode == 2 and facts:
            raise BudgetError(f"llmmem.jax.plan: no plan of the model keeps a budget of {budget} bytes: the least that was found there "
                              f"needs {facts['least_budget_found']}, and every plan there at least "
                              f"{facts['certificate']['budget_lower_bound']}. The model runs each op of the step by itself; what XLA's "
                              "program holds llmmem.jax.compiled_bytes says", int(budget), facts["least_budget_found"],
                              facts["certificate"]["budget_lower_bound"])
        if done.returncode not in (0, 1, 2):
            raise RuntimeError(f"llmmem.jax.plan: {tool} ended with exit code {done.returncode}, which is a fault of llmmem; its last words: "
                               f"{done.stderr[-300:]}")
        if done.returncode:
            said = re.search(r"error: .*", done.stderr)
            raise UnsupportedLossError(f"llmmem.jax.plan: {said.group() if said else done.stderr[-300:]}")
        exported = _run(tool, ["--export-graph", "--mlir-print-op-generic", "--mlir-print-debuginfo", planned])
        if exported.returncode:
            raise RuntimeError(f"llmmem.jax.plan: {exported.stderr[-300:]}")
        return exported.stdout, facts


def _serialize(module: Any, version: str) -> bytes:
    """Returns a module as a portable artifact of a version of StableHLO."""
    if not hasattr(jax.extend.mlir, "serialize_portable_artifact"):  # JAX before 0.8 takes the module.
        from jax.extend.mlir.dialects import stablehlo
        return stablehlo.serialize_portable_artifact(module, version)
    bytecode = io.BytesIO()
    module.operation.write_bytecode(file=bytecode)
    return jax.extend.mlir.serialize_portable_artifact(bytecode.getvalue(), version)


class _PlannedStep:
    def __init__(self, step: Callable[..., Any], budget: Any, donate_argnums: Any, options: Sequence[str]) -> None:
        self.budget = budget if budget == "min" else check_budget(budget)
        self.step, self.donate_argnums, self.options = step, donate_argnums, tuple(options)
        self.reports: List[StepReport] = []
        self._planned: Dict[Any, Tuple[Callable[..., Any], int]] = {}

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        leaves, tree = jax.tree.flatten((arguments, keywords))
        call, _ = self._look_up(arguments, keywords, leaves, tree)
        arguments, keywords = jax.tree.unflatten(tree, refuse_vmap(leaves, "plan"))
        return call(*arguments, **keywords)

    def export(self, *arguments: Any, **keywords: Any) -> jax.export.Exported:
        """Returns the planned step for jax.export. `call` runs it, also inside of jax.jit, whose donate_argnums must be those of
        `plan`."""
        return self._warned(self._plan(arguments, keywords))

    def _warned(self, exported: jax.export.Exported) -> jax.export.Exported:
        if self.reports[-1].facts["recompute"]["ops"]:
            warn_of_cpu("plan")
        return exported

    def measure(self, *arguments: Any, compiler_options: Optional[Dict[str, Any]] = None, **keywords: Any) -> StepReport:
        """Returns the report of these arguments, with what XLA says that the planned step holds. It compiles the step as
        jax.jit(planned, donate_argnums=..., compiler_options=...) does, and does not run it."""
        step = jax.jit(self, donate_argnums=self.donate_argnums, compiler_options=compiler_options)
        measured = compiled_bytes(step.lower(*arguments, **keywords).compile())
        _, number = self._look_up(arguments, keywords, *jax.tree.flatten((arguments, keywords)))
        self.reports[number] = dataclasses.replace(self.reports[number], measured=measured)
        return self.reports[number]

    def _look_up(self, arguments: Any, keywords: Any, leaves: Sequence[Any], tree: Any) -> Tuple[Callable[..., Any], int]:
        """Returns the function that runs the planned step for these arguments, and the number of its report."""
        key = (tree, tuple(jax.typeof(leaf) for leaf in leaves))
        if key not in self._planned:
            number = len(self.reports)
            self._planned[key] = self._plan(arguments, keywords).call, number
            if self.reports[number].facts["recompute"]["ops"]:
                warn_of_cpu("plan")
        return self._planned[key]

    def _plan(self, arguments: Any, keywords: Any) -> jax.export.Exported:
        jitted = jax.jit(self.step, donate_argnums=self.donate_argnums, keep_unused=True)
        exported = jax.export.export(jitted)(*arguments, **keywords)
        module = jitted.lower(*arguments, **keywords).compiler_ir("stablehlo")
        text = module.operation.get_asm(print_generic_op_form=True, enable_debug_info=True)
        planned, facts = _plan_text(text, self.budget, self.options)
        needed = sum(facts["resident"].values()) + facts["resident_padding"] + facts["arena"]
        self.reports.append(StepReport(needed, facts, None if self.budget == "min" else self.budget))
        version = re.search(rb"StableHLO_v(\d+\.\d+\.\d+)", exported.mlir_module_serialized[:64])
        if not version:
            raise RuntimeError("llmmem.jax.plan: the exported step is of an unknown version of StableHLO")
        artifact = _serialize(type(module).parse(planned, module.context), version.group(1).decode())
        return dataclasses.replace(exported, mlir_module_serialized=artifact)


def plan(step: Callable[..., Any], budget: Union[int, str], *, donate_argnums: Union[int, Sequence[int]] = (),
         options: Sequence[str] = ()) -> Any:
    """Returns `step`, a whole training step, in the order and with the recomputation of a plan under `budget`.

    step: a function as jax.jit takes it. budget: bytes of arguments and everything else: a number, a text ("4GB"), or "min".
    donate_argnums: arguments that the step may overwrite, as in jax.jit. options: further flags of llmmem-opt, such as
    "--loss=0" or "--unpriced=by-bytes".

    Returns a function of the same arguments; call it inside of jax.jit with the same donate_argnums. Its `reports` has one
    StepReport for each signature. Values are those of the step: the program is the same StableHLO, with ops in the planned order, and
    optimization barriers before what is recomputed. Barriers of the step itself, such as those of jax.checkpoint, stay. This program keeps
    the budget where its ops run by themselves. XLA reorders and fuses them, so no budget counts as kept by what it compiles: `measure` of
    the result compiles it and notes in the report what XLA says. XLA:CPU drops the barriers, and a warning says so. Raises BudgetError
    where no plan fits, UnsupportedLossError where an op cannot be planned, or where jax.vmap would hold for each example what is planned
    once.
    """
    return _PlannedStep(step, budget, donate_argnums, options)
