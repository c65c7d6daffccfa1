"""What XLA does to recomputation on a CPU."""

import warnings

import jax

# XLA:CPU drops optimization barriers before it merges equal expressions. Then each value that should be recomputed is the
# first one, which is held. This compiler option keeps the barriers: jax.jit(..., compiler_options=...).
CPU_OPTIONS = {"xla_disable_hlo_passes": "cse_barrier_expander"}


def warn_of_cpu(function: str) -> None:
    """Warns, with the option that helps, where what `function` planned to recompute runs on a CPU. The warning names the line that called
    the planned function, which is three callers up."""
    if jax.default_backend() == "cpu":
        warnings.warn(f"llmmem.jax.{function}: XLA:CPU drops the barriers that keep recomputation apart, so that it holds what should be "
                      f"recomputed, and may take more than unplanned; compile with jax.jit(..., compiler_options={CPU_OPTIONS!r})",
                      stacklevel=4)
