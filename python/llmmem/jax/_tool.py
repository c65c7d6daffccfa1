"""Runs llmmem-opt on a step in StableHLO, and makes an artifact of what comes back."""

import dataclasses
import io
import json
import os
import re
import shutil
import subprocess
import sys
from typing import Any, Callable, Dict, Sequence, Tuple, Union

import jax
import jax.export
import jax.extend.mlir

from .._errors import BudgetError
from .._temporary import temporary_folder
from ._errors import UnsupportedLossError


def find_tool() -> str:
    """Returns the path of llmmem-opt. LLMMEM_OPT names it; else it is in PATH, or next to this Python, where pip puts the wheel's."""
    named = os.environ.get("LLMMEM_OPT")
    tool = shutil.which(named or "llmmem-opt") or (None if named else shutil.which("llmmem-opt", path=os.path.dirname(sys.executable)))
    if named and not tool:
        raise FileNotFoundError(f"llmmem.jax.plan: LLMMEM_OPT names '{named}', which is no program; expected the path of llmmem-opt")
    if not tool:
        raise FileNotFoundError("llmmem.jax.plan: there is no llmmem-opt in PATH or next to this Python; `pip install .` builds the planner "
                                "alone, and the wheel of utils/wheel has every program. Install that, or name the program in LLMMEM_OPT")
    return tool


def _run(tool: str, arguments: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([tool, "--allow-unregistered-dialect", *arguments], capture_output=True, text=True, errors="replace")


def plan_text(text: str, budget: Union[int, str], options: Sequence[str]) -> Tuple[str, Dict[str, Any]]:
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


class Module:
    """A step that was traced for arguments like these, as StableHLO."""

    def __init__(self, step: Callable[..., Any], donate_argnums: Any, arguments: Any, keywords: Any) -> None:
        jitted = jax.jit(step, donate_argnums=donate_argnums, keep_unused=True)
        self.exported = jax.export.export(jitted)(*arguments, **keywords)
        self._module = jitted.lower(*arguments, **keywords).compiler_ir("stablehlo")
        self.text = self._module.operation.get_asm(print_generic_op_form=True, enable_debug_info=True)

    def replaced(self, text: str) -> jax.export.Exported:
        """Returns the exported step with another text."""
        version = re.search(rb"StableHLO_v(\d+\.\d+\.\d+)", self.exported.mlir_module_serialized[:64])
        if not version:
            raise RuntimeError("llmmem.jax.plan: the exported step is of an unknown version of StableHLO")
        artifact = _serialize(type(self._module).parse(text, self._module.context), version.group(1).decode())
        return dataclasses.replace(self.exported, mlir_module_serialized=artifact)
