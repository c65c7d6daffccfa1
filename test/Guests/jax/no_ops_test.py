"""Losses that compute nothing, and steps that run nothing, are planned as they are."""

import os
import sys
import unittest
import warnings
from typing import Any

import jax
import jax.numpy as jnp

import llmmem.jax

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
TOOL = os.environ.setdefault("LLMMEM_OPT", os.path.join(ROOT, "build", "bin", "llmmem-opt"))


class NoOpsTest(unittest.TestCase):
    def setUp(self) -> None:
        warnings.simplefilter("ignore")

    def test_losses(self) -> None:
        scale, weight = jnp.float32(2), jnp.ones((4, 4))
        losses = {"an argument": lambda scale, weight: scale, "a number": lambda scale, weight: jnp.float32(1),
                  "a weak number": lambda scale, weight: 1.0, "a constant": lambda scale, weight: scale * 0 + jnp.float32(3)}
        for name, loss in losses.items():
            for budget in ("min", "1MB"):
                with self.subTest(loss=name, budget=budget):
                    mine, its = (jax.value_and_grad(each, argnums=(0, 1))(scale, weight)
                                 for each in (llmmem.jax.checkpoint(loss, budget, argnums=(0, 1)), loss))
                    self.assertEqual(jax.typeof(mine[0]), jax.typeof(its[0]))
                    for a, b in zip(jax.tree.leaves(mine), jax.tree.leaves(its)):
                        self.assertTrue(bool(jnp.array_equal(a, b)))

    @unittest.skipUnless(os.path.exists(TOOL), f"there is no {TOOL}; build llmmem, or name llmmem-opt in LLMMEM_OPT")
    def test_steps(self) -> None:
        """A step may return what it was given, and may have no arguments."""
        steps: Any = {"as it was": (lambda weight, loss: (weight, loss), (jnp.ones((4, 4)), jnp.float32(2))),
                      "nothing given": (lambda: jnp.float32(2), ())}
        for name, (step, arguments) in steps.items():
            for budget in ("min", "1MB"):
                with self.subTest(step=name, budget=budget):
                    mine = llmmem.jax.plan(step, budget)(*arguments)
                    for a, b in zip(jax.tree.leaves(mine), jax.tree.leaves(step(*arguments))):
                        self.assertTrue(bool(jnp.array_equal(a, b)))


if __name__ == "__main__":
    sys.exit(unittest.main())
