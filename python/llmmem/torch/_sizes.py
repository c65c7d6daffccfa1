"""Sizes that are symbols: a plan made at their hints holds up to those, and PyTorch compiles again for more."""

import sys
import warnings
from typing import Optional, Sequence

import torch

from ._errors import UnsupportedGraphError
from ._private import CompileContext, StrictMinMaxConstraint, TracingContext, hint_of, recompile_limit, source_of
from ._program import hint


def hold_sizes(symbolic_bytes: Sequence[torch.SymInt]) -> None:
    """Adds guards that no storage is larger than it was planned. Where a call breaks one, Dynamo compiles for its sizes, and the result is
    planned or refused with its bytes."""
    if symbolic_bytes:
        _refuse_declared_sizes()
        _warn_of_last()
    for size in symbolic_bytes:
        bool(size <= hint(size))  # Evaluated with its hint, and remembered by the graph's shape environment.


def _refuse_declared_sizes() -> None:
    """Refuses dimensions whose largest size was declared: no guard below that is allowed, so the plan has to be made there."""
    context = TracingContext.try_get()
    for tensor, symbols in context.tensor_to_context.items() if context else ():
        for number, constraint in enumerate(getattr(symbols, "constraint_sizes", None) or ()):
            largest = constraint.vr.upper if isinstance(constraint, StrictMinMaxConstraint) else tensor.shape[number]
            if tensor.shape[number] < largest < sys.maxsize:
                raise UnsupportedGraphError(
                    f"llmmem.torch: dimension {number} of an input was declared to reach {largest}, and this call has "
                    f"{tensor.shape[number]}: make the first call with the largest size, for which the plan is made")


def _warn_of_last() -> None:
    compiled, limit = CompileContext.current_compile_id(), recompile_limit()
    if compiled is not None and compiled.frame_compile_id is not None and compiled.frame_compile_id + 1 >= limit:
        warnings.warn(f"llmmem.torch: one function was compiled for {limit} sizes, the most that PyTorch compiles: larger ones will run "
                      "without a plan and under no budget; make the first call with the largest sizes, or raise "
                      "torch._dynamo.config.recompile_limit", stacklevel=2)


def describe_sizes(symbolic_bytes: Sequence[torch.SymInt]) -> Optional[str]:
    """Says where the symbols come from, and their hints; returns None where sizes are numbers."""
    found = {}
    for size in symbolic_bytes:
        environment = size.node.shape_env
        for symbol in size.node.expr.free_symbols:
            found[source_of(environment, symbol)] = hint_of(environment, symbol)
    return ", ".join(f"{name} = {value}" for name, value in sorted(found.items())) or None
