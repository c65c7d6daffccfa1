"""Training steps of JAX, planned under a budget in bytes.

>>> import jax, jax.numpy as jnp, llmmem.jax
>>> def loss(w, x):
...     for _ in range(4):
...         x = jnp.tanh(x @ w)
...     return jnp.mean(x ** 2)
>>> planned = llmmem.jax.checkpoint(loss, budget="150kB")
>>> value, gradient = jax.value_and_grad(planned)(jnp.ones((64, 64)), jnp.ones((64, 64)))

`checkpoint` decides which intermediate values of a loss are kept for its gradient, and says so to JAX by public means:
`checkpoint_name` on values, and `jax.checkpoint` of parts of the loss, with the policy that saves the names of those kept. Values and
gradients stay what they are. It asks XLA what the compiled gradient holds, and plans again until that keeps the budget. `plan` plans a
whole step, in the program that JAX hands to XLA, and asks XLA as well; with `attempts=0` the budget is one of llmmem's model, and `measure` of the
planned function asks XLA.
JAX is imported here and nowhere else in llmmem.
"""

from .._errors import BudgetError
from ._checkpoint import Report, checkpoint
from ._errors import UnsupportedLossError
from ._memory import compiled_bytes
from ._step import StepReport, plan

__all__ = ["BudgetError", "Report", "StepReport", "UnsupportedLossError", "checkpoint", "compiled_bytes", "plan"]
