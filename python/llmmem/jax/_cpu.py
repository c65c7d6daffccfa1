"""What XLA does to recomputation on a CPU."""

import warnings
from typing import Any, Dict, Optional

import jax

# XLA:CPU drops optimization barriers before it merges equal expressions. Then each value that should be recomputed is the
# first one, which is held. This compiler option keeps the barriers: jax.jit(..., compiler_options=...).
CPU_OPTIONS = {"xla_disable_hlo_passes": "cse_barrier_expander"}
# Buffers are assigned before machine code is made, so that a program that does not run needs no optimised code.
_FASTER = {"xla_backend_optimization_level": 0}


def default_options(given: Optional[Dict[str, Any]]) -> Dict[str, Any]:
    """Returns the options of a program whose bytes are asked for: those that were given, or those with which barriers are kept."""
    if given is not None:
        return dict(given)
    return dict(CPU_OPTIONS) if jax.default_backend() == "cpu" else {}


def trial_options(options: Dict[str, Any]) -> Dict[str, Any]:
    """Returns options under which a program that does not run is compiled faster, and has the same buffers."""
    return {**_FASTER, **options} if jax.default_backend() == "cpu" else options


def warn_of_cpu(function: str) -> None:
    """Warns, with the option that helps, where what `function` planned to recompute runs on a CPU. The warning names the line that called
    the planned function, which is three callers up."""
    if jax.default_backend() == "cpu":
        warnings.warn(f"llmmem.jax.{function}: XLA:CPU drops the barriers that keep recomputation apart, so that it holds what should be "
                      f"recomputed, and may take more than unplanned; compile with jax.jit(..., compiler_options={CPU_OPTIONS!r})",
                      stacklevel=4)
