"""Steps with loops: what one scan stacks for another is computed again in the rounds that read it, and a round that accumulates gradients has a
plan of its own."""

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
KEEP_BARRIERS = {"xla_disable_hlo_passes": "cse_barrier_expander"}
LAYERS, WIDTH, ROWS = 8, 32, 256


def layer(x: Any, weights: Any) -> Any:
    return x + jnp.tanh(jnp.tanh(x @ weights["up"]) @ weights["down"])


def scanned(weights: Any, x: Any, each: Any = layer) -> Any:
    return jnp.mean(jnp.square(jax.lax.scan(lambda x, row: (each(x, row), None), x, weights)[0]))


def unrolled(weights: Any, x: Any) -> Any:
    for number in range(LAYERS):
        x = layer(x, jax.tree.map(lambda stack, number=number: stack[number], weights))
    return jnp.mean(jnp.square(x))


def counted(weights: Any, x: Any) -> Any:
    """A loop by number, whose bounds are known: JAX differentiates it as a scan."""
    def one_round(number: Any, x: Any) -> Any:
        return layer(x, jax.tree.map(lambda stack: jax.lax.dynamic_index_in_dim(stack, number, keepdims=False), weights))
    return jnp.mean(jnp.square(jax.lax.fori_loop(0, LAYERS, one_round, x)))


def step_of(loss: Any) -> Any:
    def step(weights: Any, x: Any) -> Any:
        value, gradients = jax.value_and_grad(loss)(weights, x)
        return jax.tree.map(lambda weight, gradient: weight - 0.1 * gradient, weights, gradients), value
    return step


def accumulating(weights: Any, x: Any) -> Any:
    def one_part(carried: Any, part: Any) -> Any:
        gradients, value = carried
        mine, its = jax.value_and_grad(unrolled)(weights, part)
        return (jax.tree.map(jnp.add, gradients, its), value + mine), None
    begin = jax.tree.map(jnp.zeros_like, weights), jnp.float32(0)
    (gradients, value), _ = jax.lax.scan(one_part, begin, x.reshape(4, -1, WIDTH))
    return jax.tree.map(lambda weight, gradient: weight - 0.1 * gradient, weights, gradients), value


@unittest.skipUnless(os.path.exists(TOOL), f"there is no {TOOL}; build llmmem, or name llmmem-opt in LLMMEM_OPT")
class StepScanTest(unittest.TestCase):
    def setUp(self) -> None:
        warnings.simplefilter("ignore")
        self.weights = {"up": 0.2 * jax.random.normal(jax.random.key(0), (LAYERS, WIDTH, 4 * WIDTH)),
                        "down": 0.2 * jax.random.normal(jax.random.key(1), (LAYERS, 4 * WIDTH, WIDTH))}
        self.x = jax.random.normal(jax.random.key(2), (ROWS, WIDTH))

    def compile(self, step: Any) -> Any:
        return jax.jit(step, compiler_options=KEEP_BARRIERS).lower(self.weights, self.x).compile()

    def check(self, step: Any, budget: Any, most: float) -> Any:
        """Plans a step for a budget, or for at most so large a part of its bytes, and compares what it returns."""
        unplanned = self.compile(step)
        planned = llmmem.jax.plan(step, budget)
        report, program = planned.prepare(self.weights, self.x), self.compile(planned)
        print(report)
        self.assertEqual(report.unplanned, llmmem.jax.compiled_bytes(unplanned))
        self.assertEqual(report.measured, llmmem.jax.compiled_bytes(program))
        self.assertLess(report.measured, most * report.unplanned)
        mine, its = program(self.weights, self.x), unplanned(self.weights, self.x)
        self.assertEqual(float(mine[1]), float(its[1]))
        for one, other in zip(jax.tree.leaves(mine), jax.tree.leaves(its)):
            self.assertTrue(bool(jnp.allclose(one, other, rtol=1e-6, atol=1e-7)))
        return report

    def test_a_scan_over_layers(self) -> None:
        least = self.check(step_of(scanned), "min", 0.6)
        budget = (least.measured + least.unplanned) // 2
        self.assertLessEqual(self.check(step_of(scanned), budget, 1).measured, budget)

    def test_a_loop_by_number(self) -> None:
        self.check(step_of(counted), "min", 0.7)

    def test_a_scan_with_a_checkpoint_of_its_own(self) -> None:
        """What a person wrote to bound a scan is a candidate; the least holds no more."""
        self.check(step_of(lambda weights, x: scanned(weights, x, jax.checkpoint(layer))), "min", 1.0001)

    def test_accumulated_gradients(self) -> None:
        self.check(accumulating, "min", 0.85)


if __name__ == "__main__":
    sys.exit(unittest.main())
