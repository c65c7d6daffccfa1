"""llmmem plans the memory of programs: execution order, recomputation, and an offset for every value.

A *problem* is a straight-line program seen from its memory: ops in program order that read and write values of known
bytes. A *plan* is an execution order with repeats, and a byte offset in one arena for every value that a step writes.
Values and ops are numbered from 0, in the order of their lists. Bytes are bytes; costs are integers of any one unit.

>>> import llmmem
>>> problem = llmmem.Problem(values=[llmmem.Value(1024), llmmem.Value(1024)],
...                          ops=[llmmem.Op(reads=[0], writes=[1], cost=12)], keep=[1])
>>> llmmem.plan(problem, budget="2KiB").peak
2048

Functions raise ValueError where an argument is wrong, with the place and the fix. That no plan fits is no error: the
plan's status says so. Ctrl-C ends a search at once.
"""

from typing import Any

from ._devices import DEVICES, Device, device
from ._library import library as _loaded
from ._model import (Claim, Copy, Form, FormNumber, Host, HostPlan, Offset, Op, Packing, Plan, Problem, SavedValue, Tiling, Value,
                     Violation, Witness)
from ._planner import check, explain, pack, parse_bytes, parse_link, plan, verify

__all__ = ["Claim", "Copy", "DEVICES", "Device", "Form", "FormNumber", "Host", "HostPlan", "Offset", "Op", "Packing", "Plan", "Problem",
           "SavedValue", "Tiling", "Value", "Violation", "Witness", "check", "device", "explain", "pack", "parse_bytes", "parse_link", "plan",
           "verify"]
__version__ = _loaded.llmmem_version().decode()


def __getattr__(name: str) -> Any:
    """Imports llmmem.jax, llmmem.torch and llmmem.study when they are first used: they need JAX, PyTorch and llmmem's tools."""
    if name == "study":
        from ._study import study
        return study
    if name in ("jax", "torch"):
        import importlib
        return importlib.import_module("." + name, __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
