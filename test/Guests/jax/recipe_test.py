"""docs/Recipes/TrainInJax.md, run as it stands with a small model."""

import os
import sys
import unittest
import warnings
from typing import Any, Dict

import jax
import jax.numpy as jnp

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from recipe_blocks import ROOT, python_blocks

TOOL = os.environ.setdefault("LLMMEM_OPT", os.path.join(ROOT, "build", "bin", "llmmem-opt"))


def loss(parameters: Any, batch: Any) -> Any:
    hidden = batch
    for weight in parameters:
        hidden = hidden + jax.nn.gelu(hidden @ weight)
    return jnp.mean(jnp.square(hidden))


def descend(state: Any, tokens: Any, targets: Any) -> Any:
    value, gradients = jax.value_and_grad(loss)(state, tokens - targets)
    return jax.tree.map(lambda weight, gradient: weight - 0.1 * gradient, state, gradients), value


class RecipeTest(unittest.TestCase):
    def setUp(self) -> None:
        warnings.simplefilter("ignore")
        self.blocks = python_blocks("TrainInJax.md")
        key = jax.random.key(0)
        self.weights = [0.1 * jax.random.normal(jax.random.fold_in(key, layer), (32, 32)) for layer in range(4)]
        self.rows = jax.random.normal(key, (64, 32))

    def test_there_are_three_blocks(self) -> None:
        self.assertEqual(len(self.blocks), 3)

    def test_a_loss(self) -> None:
        names: Dict[str, Any] = {"loss": loss, "parameters": self.weights, "batch": self.rows, "state_bytes": 4 * 4 * 32 * 32}
        exec(self.blocks[0], names)
        self.assertEqual(float(names["value"]), float(jax.jit(loss)(self.weights, self.rows)))
        self.assertEqual(len(names["gradients"]), 4)

    @unittest.skipUnless(os.path.exists(TOOL), f"there is no {TOOL}; build llmmem, or name llmmem-opt in LLMMEM_OPT")
    def test_a_whole_step(self) -> None:
        names: Dict[str, Any] = {"step": descend, "state": self.weights, "tokens": self.rows, "targets": jnp.zeros_like(self.rows)}
        expected = float(jax.jit(descend)(self.weights, self.rows, names["targets"])[1])
        exec("import jax, llmmem.jax\n" + self.blocks[1], names)
        self.assertEqual(float(names["loss"]), expected)
        exec("import jax, llmmem.jax\n" + self.blocks[2], dict(names, state=self.weights))
        self.assertGreater(names["planned"].reports[0].measured, 0)


if __name__ == "__main__":
    sys.exit(unittest.main())
