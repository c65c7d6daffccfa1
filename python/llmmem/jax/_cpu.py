"""What XLA does to recomputation on a CPU."""

import warnings

import jax

# XLA:CPU drops optimization barriers before it merges equal expressions; then each value that should be made again is the
# one that was made first, and is held. The compiler option that keeps them, for jax.jit(..., compiler_options=...).
CPU_OPTIONS = {"xla_disable_hlo_passes": "cse_barrier_expander"}


def warn_of_cpu(function: str) -> None:
    """Names the option where what `function` planned to make again runs on a CPU. The warning is of the line that called the
    planned function: the caller's caller's caller."""
    if jax.default_backend() == "cpu":
        warnings.warn(f"llmmem.jax.{function}: XLA:CPU drops the barriers that keep recomputation apart, so that it holds what should be "
                      f"made again, and may take more than unplanned; compile with jax.jit(..., compiler_options={CPU_OPTIONS!r})",
                      stacklevel=4)
