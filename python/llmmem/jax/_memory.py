"""What a compiled program of JAX holds, by XLA's own account."""

from typing import Any


def compiled_bytes(compiled: Any) -> int:
    """Bytes of arguments, results and temporary values of a compiled program, what is donated counted once.

    compiled: as `jax.jit(function).lower(*arguments).compile()` gives it; of several devices, each holds so much. Raises ValueError
    where the backend keeps no account.
    """
    memory = compiled.memory_analysis()
    if memory is None:
        raise ValueError("llmmem.jax.compiled_bytes: this backend does not say what its program holds; measure it as it runs, by "
                         "device.memory_stats()")
    return int(memory.temp_size_in_bytes + memory.argument_size_in_bytes + memory.output_size_in_bytes
               - memory.alias_size_in_bytes)


def describe_measured(budget: Any, measured: Any, what: str) -> str:
    """Whether XLA's program keeps the budget, which only its own account can say. what: of which program."""
    if measured is None:
        return f"what XLA makes of it was not measured, so no budget counts as kept: `measure` compiles the {what} and asks XLA"
    said = f"the {what} that XLA compiled holds {measured:,} bytes by its own account"
    return said if budget is None else f"{said}, {'within' if measured <= budget else 'ABOVE'} the budget of {budget:,}"
