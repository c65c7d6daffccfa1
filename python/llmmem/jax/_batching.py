"""Keeps jax.vmap away from what was planned for one example."""

from typing import Any, List, Sequence

from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from ._errors import UnsupportedLossError

# The primitive returns its operand. It exists for its batching rule, which sees jax.vmap even where jax.jit, jax.grad or a scan stands
# between it and the planned function. It leaves nothing in XLA's program.
_one_example = Primitive("llmmem_one_example")


def refuse_vmap(leaves: Sequence[Any], function: str) -> List[Any]:
    """Returns `leaves` so that they raise UnsupportedLossError where jax.vmap adds a dimension to one of them. function: its name in
    llmmem.jax."""
    return [_one_example.bind(leaf, function=function) for leaf in leaves]


def _refuse(operands: Any, dimensions: Any, *, function: str) -> Any:
    raise UnsupportedLossError(
        f"llmmem.jax.{function}: jax.vmap of what was planned: it was planned for one example, and would hold its bytes once for each; "
        f"put jax.vmap inside: llmmem.jax.{function} of a function of the whole batch, which calls jax.vmap")


def _differentiate(primals: Any, tangents: Any, *, function: str) -> Any:
    return _one_example.bind(*primals, function=function), *tangents


_one_example.def_impl(lambda operand, *, function: operand)
_one_example.def_abstract_eval(lambda operand, *, function: operand)
ad.primitive_jvps[_one_example] = _differentiate
batching.primitive_batchers[_one_example] = _refuse
mlir.register_lowering(_one_example, lambda context, operand, *, function: [operand])
