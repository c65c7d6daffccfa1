"""What a compiled program of JAX holds, by XLA's own account."""

from typing import Any


def compiled_bytes(compiled: Any) -> int:
    """Returns the bytes of arguments, results and temporary values of a compiled program. What is donated counts once.

    compiled: as `jax.jit(function).lower(*arguments).compile()` returns it; with several devices, each holds so much. Raises ValueError
    where the backend keeps no account.
    """
    memory = compiled.memory_analysis()
    if memory is None:
        raise ValueError("llmmem.jax.compiled_bytes: this backend does not say what its program holds; measure it as it runs, by "
                         "device.memory_stats()")
    return int(memory.temp_size_in_bytes + memory.argument_size_in_bytes + memory.output_size_in_bytes
               - memory.alias_size_in_bytes)


def compiled_flops(compiled: Any) -> float:
    """Returns the FLOPs of a compiled program by XLA's own account, in which a loop counts once; 0 where there is none."""
    costs = compiled.cost_analysis()
    costs = costs[0] if isinstance(costs, (list, tuple)) else costs
    return float((costs or {}).get("flops", 0))


def describe_measured(budget: Any, measured: Any, what: str) -> str:
    """Says whether XLA's program keeps the budget, which only its own account shows. what: names the program."""
    if measured is None:
        return f"what XLA makes of it was not measured, so no budget counts as kept: `measure` compiles the {what} and asks XLA"
    said = f"the {what} that XLA compiled holds {measured:,} bytes by its own account"
    return said if budget is None else f"{said}, {'within' if measured <= budget else 'ABOVE'} the budget of {budget:,}"
