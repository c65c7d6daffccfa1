"""What a person wrote into a step to bound its memory stays in the planned one: with all the memory in the world it takes no more
than the step as it was, by XLA's account."""

import os
import sys
import unittest
import warnings
from typing import Any, Callable, Dict

import jax
import jax.numpy as jnp

import llmmem.jax

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
TOOL = os.environ.setdefault("LLMMEM_OPT", os.path.join(ROOT, "build", "bin", "llmmem-opt"))
KEEP_BARRIERS = {"xla_disable_hlo_passes": "cse_barrier_expander"}


def block(x: Any, weights: Dict[str, Any]) -> Any:
    return x + jax.nn.gelu(x @ weights["up"]) @ weights["down"]


def two_blocks(x: Any, first: Any, second: Any) -> Any:
    return jax.checkpoint(block)(jax.checkpoint(block)(x, first), second)


def ordered(x: Any, weights: Dict[str, Any]) -> Any:
    """Reads the weights only once x is there; of what comes out of the second barrier only x is read."""
    x, weights = jax.lax.optimization_barrier((x, weights))
    after = block(x, weights)
    x, _ = jax.lax.optimization_barrier((x, after))
    return after + jnp.tanh(x)


def chain(each: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def loss(layers: Any, x: Any) -> Any:
        for weights in layers:
            x = each(x, weights)
        return jnp.mean(jnp.square(x))
    return loss


def nested(layers: Any, x: Any) -> Any:
    for first, second in zip(layers[::2], layers[1::2]):
        x = jax.checkpoint(two_blocks)(x, first, second)
    return jnp.mean(jnp.square(x))


LOSSES = {"each block": chain(jax.checkpoint(block)),
          "each block but its products": chain(jax.checkpoint(block, policy=jax.checkpoint_policies.dots_saveable)),
          "blocks in blocks": nested,
          "the whole loss": jax.checkpoint(chain(block)),
          "barriers by hand": chain(ordered),
          "nothing": chain(block)}


def step_of(loss: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def step(layers: Any, x: Any) -> Any:
        value, gradients = jax.value_and_grad(loss)(layers, x)
        return jax.tree.map(lambda weight, gradient: weight - 0.1 * gradient, layers, gradients), value
    return step


@unittest.skipUnless(os.path.exists(TOOL), f"there is no {TOOL}; build llmmem, or name llmmem-opt in LLMMEM_OPT")
class BarriersTest(unittest.TestCase):
    def setUp(self) -> None:
        warnings.simplefilter("ignore")
        key = jax.random.key(0)
        self.layers = [{"up": 0.05 * jax.random.normal(jax.random.fold_in(key, 2 * layer), (64, 256)),
                        "down": 0.05 * jax.random.normal(jax.random.fold_in(key, 2 * layer + 1), (256, 64))}
                       for layer in range(4)]
        self.x = jax.random.normal(key, (1024, 64))

    def compile(self, step: Callable[[Any, Any], Any]) -> Any:
        return jax.jit(step, donate_argnums=0, compiler_options=KEEP_BARRIERS).lower(self.layers, self.x).compile()

    def run_copy(self, program: Any) -> Any:
        return program(jax.tree.map(jnp.array, self.layers), self.x)

    def test_takes_no_more(self) -> None:
        for name, loss in LOSSES.items():
            with self.subTest(remembered=name):
                unplanned = self.compile(step_of(loss))
                planned = llmmem.jax.plan(step_of(loss), "1TB", donate_argnums=0)
                program = self.compile(planned)
                most, measured = (bytes_of(compiled) for compiled in (unplanned, program))
                print(f"{name}: unplanned {most}, planned with 1TB {measured}")
                self.assertEqual(planned.reports[0].facts["recompute"]["ops"], 0)
                self.assertLessEqual(measured, most)
                self.assertEqual(float(self.run_copy(program)[1]), float(self.run_copy(unplanned)[1]))

    def test_the_least_is_never_more(self) -> None:
        """What a person remembered to wrap in jax.checkpoint may be the best that there is."""
        for name in ("each block", "the whole loss"):
            with self.subTest(remembered=name):
                step = step_of(LOSSES[name])
                unplanned = bytes_of(self.compile(step))
                planned = llmmem.jax.plan(step, "min", donate_argnums=0)
                report = planned.prepare(self.layers, self.x)
                print(report)
                self.assertEqual(report.unplanned, unplanned)
                self.assertEqual(report.measured, bytes_of(self.compile(planned)))
                self.assertLessEqual(report.measured, unplanned)


def bytes_of(compiled: Any) -> int:
    memory = compiled.memory_analysis()
    return (memory.temp_size_in_bytes + memory.argument_size_in_bytes + memory.output_size_in_bytes
            - memory.alias_size_in_bytes)


if __name__ == "__main__":
    sys.exit(unittest.main())
