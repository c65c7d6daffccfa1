"""Values that a loss keeps lie on the host between forward and backward, where a budget for it is given."""

import unittest
import warnings
from typing import Any

import jax
import jax.numpy as jnp

import llmmem.jax

ROWS, WIDTH, LAYERS = 256, 64, 6
BYTES = 4 * ROWS * WIDTH  # of what a layer gives to the next one


def layer(x: Any, weight: Any) -> Any:
    """Most of its bytes are inside."""
    return x + jnp.tanh(x @ weight) @ weight.T


def loss(weights: Any, x: Any) -> Any:
    for weight in weights:
        x = layer(x, weight)
    return jnp.mean(jnp.square(x))


def scanned(weights: Any, x: Any) -> Any:
    return jnp.mean(jnp.square(jax.lax.scan(lambda x, weight: (layer(x, weight), None), x, weights)[0]))


class OffloadTest(unittest.TestCase):
    def setUp(self) -> None:
        warnings.simplefilter("ignore")
        self.weights = 0.1 * jax.random.normal(jax.random.key(0), (LAYERS, WIDTH, 4 * WIDTH))
        self.x = jax.random.normal(jax.random.key(1), (ROWS, WIDTH))

    def assert_offloads(self, loss: Any, weights: Any) -> Any:
        budget = llmmem.jax.checkpoint(loss, "min", attempts=0).prepare(weights, self.x).planned + 4 * BYTES
        without = llmmem.jax.checkpoint(loss, budget, attempts=0).prepare(weights, self.x)
        planned = llmmem.jax.checkpoint(loss, budget, attempts=0, host_budget=8 * LAYERS * BYTES)
        report = planned.prepare(weights, self.x)
        self.assertLess(report.overhead, without.overhead)
        self.assertGreater(len(report.offloaded), 0)
        self.assertTrue(set(report.offloaded) <= set(report.names))
        self.assertIn("lie on the host until the backward reads them", str(report))
        gradient = jax.value_and_grad(planned)
        # A GPU's program says where values lie; XLA:CPU's does not.
        text = jax.jit(gradient).trace(weights, self.x).lower(lowering_platforms=("cuda",)).as_text()
        self.assertIn("pinned_host", text)
        value, gradients = gradient(weights, self.x)
        expected, its = jax.value_and_grad(loss)(weights, self.x)
        self.assertAlmostEqual(float(value), float(expected), places=6)
        for mine, other in zip(jax.tree.leaves(gradients), jax.tree.leaves(its)):
            self.assertTrue(bool(jnp.allclose(mine, other, rtol=1e-5, atol=1e-7)))
        return report

    def test_layers(self) -> None:
        self.assertEqual(self.assert_offloads(loss, list(self.weights)).carried, 0)

    def test_a_scan_says_what_stays(self) -> None:
        report = self.assert_offloads(scanned, self.weights)
        self.assertEqual(report.carried, BYTES)
        self.assertIn(f"not the {BYTES:,} bytes that scans carry, which JAX can't send there", str(report))

    def test_no_budget_for_the_host(self) -> None:
        report = llmmem.jax.checkpoint(loss, "min", attempts=0).prepare(list(self.weights), self.x)
        self.assertEqual(report.offloaded, ())
        with self.assertRaisesRegex(ValueError, "expected whole bytes or a text"):
            llmmem.jax.checkpoint(loss, "min", host_budget=4e9)


if __name__ == "__main__":
    unittest.main()
