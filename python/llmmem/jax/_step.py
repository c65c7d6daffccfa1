"""A whole step under a budget, by way of StableHLO and llmmem-opt."""

import dataclasses
import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Sequence, Tuple, Union

import jax
import jax.export
from jax.extend.mlir import serialize_portable_artifact

from .._planner import _budget as check_budget
from .._errors import BudgetError
from .._temporary import temporary_folder
from ._cpu import warn_of_cpu
from ._errors import UnsupportedLossError


@dataclass(frozen=True)
class StepReport:
    """What llmmem-opt planned for one signature of arguments.

    needed: bytes of arguments, constants and arena, where each op of the step runs by itself in the planned order and reads
    broadcasts as they are. facts: the llmmem-memory-report, as json.loads reads it.
    """

    needed: int
    facts: Dict[str, Any]


def find_tool() -> str:
    """llmmem-opt: LLMMEM_OPT names it, else it is in PATH."""
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
    """The planned program in generic form without anything of llmmem, and the report."""
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
            raise BudgetError(f"llmmem.jax.plan: no plan keeps a budget of {budget} bytes; the least that was found needs "
                              f"{facts['least_budget_found']}, and every plan needs at least "
                              f"{facts['certificate']['budget_lower_bound']}", int(budget), facts["least_budget_found"],
                              facts["certificate"]["budget_lower_bound"])
        if done.returncode:
            said = re.search(r"error: .*", done.stderr)
            raise UnsupportedLossError(f"llmmem.jax.plan: {said.group() if said else done.stderr[-300:]}")
        exported = _run(tool, ["--export-graph", "--mlir-print-op-generic", "--mlir-print-debuginfo", planned])
        if exported.returncode:
            raise RuntimeError(f"llmmem.jax.plan: {exported.stderr[-300:]}")
        return exported.stdout, facts


class _PlannedStep:
    def __init__(self, step: Callable[..., Any], budget: Any, donate_argnums: Any, options: Sequence[str]) -> None:
        self.budget = budget if budget == "min" else check_budget(budget)
        self.step, self.donate_argnums, self.options = step, donate_argnums, tuple(options)
        self.reports: List[StepReport] = []
        self._planned: Dict[Any, Any] = {}

    def __call__(self, *arguments: Any) -> Any:
        leaves, tree = jax.tree.flatten(arguments)
        key = (tree, tuple((jax.numpy.shape(leaf), jax.numpy.result_type(leaf)) for leaf in leaves))
        if key not in self._planned:
            self._planned[key] = self._plan(arguments).call
        return self._planned[key](*arguments)

    def export(self, *arguments: Any) -> jax.export.Exported:
        """The planned step as jax.export has it: `call` runs it, also inside of jax.jit, whose donate_argnums must be those of
        `plan`."""
        return self._plan(arguments)

    def _plan(self, arguments: Sequence[Any]) -> jax.export.Exported:
        jitted = jax.jit(self.step, donate_argnums=self.donate_argnums, keep_unused=True)
        exported = jax.export.export(jitted)(*arguments)
        module = jitted.lower(*arguments).compiler_ir("stablehlo")
        text = module.operation.get_asm(print_generic_op_form=True, enable_debug_info=True)
        planned, facts = _plan_text(text, self.budget, self.options)
        needed = sum(facts["resident"].values()) + facts["resident_padding"] + facts["arena"]
        self.reports.append(StepReport(needed, facts))
        if facts["recompute"]["ops"]:
            warn_of_cpu("plan")
        version = re.search(rb"StableHLO_v(\d+\.\d+\.\d+)", exported.mlir_module_serialized[:64])
        if not version:
            raise RuntimeError("llmmem.jax.plan: the exported step is of an unknown version of StableHLO")
        artifact = serialize_portable_artifact(type(module).parse(planned, module.context), version.group(1).decode())
        return dataclasses.replace(exported, mlir_module_serialized=artifact)


def plan(step: Callable[..., Any], budget: Union[int, str], *, donate_argnums: Union[int, Sequence[int]] = (),
         options: Sequence[str] = ()) -> Any:
    """`step`, a whole training step, in the order and with the recomputation that keep `budget`.

    step: as jax.jit takes it. budget: bytes of arguments and everything else: a number, a text ("4GB"), or "min".
    donate_argnums: arguments that the step may overwrite, as of jax.jit. options: more flags of llmmem-opt, such as
    "--loss=0" or "--unpriced=by-bytes".

    Returns a function of the same arguments; call it inside of jax.jit with the same donate_argnums. Its `reports` has one
    StepReport for each signature. Values are those of the step: the program is the same StableHLO, with ops in the planned order and
    runs again behind optimization barriers. XLA orders and fuses anew; that XLA:CPU drops the barriers, a warning says.
    Raises BudgetError where no plan fits, UnsupportedLossError where an op cannot be planned.
    """
    return _PlannedStep(step, budget, donate_argnums, options)
