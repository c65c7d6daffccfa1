"""A loss whose layers are in a scan is planned inside of the loop: by a policy of its body, by stages of it, and by two loops."""

import unittest
import warnings
from typing import Any

import jax
import jax.numpy as jnp

import llmmem.jax
from llmmem.jax._layout import evaluate
from llmmem.jax._policies import policy_chains
from llmmem.jax._program import Program, flops_of

KEEP_BARRIERS = {"xla_disable_hlo_passes": "cse_barrier_expander"}
LAYERS, WIDTH, ROWS = 12, 32, 512


def block(x: Any, weights: Any) -> Any:
    return x + jax.nn.gelu(x @ weights["up"]) @ weights["down"]


def loss_of(block: Any, reverse: bool = False) -> Any:
    def loss(weights: Any, x: Any) -> Any:
        last, norms = jax.lax.scan(lambda x, weights: (block(x, weights), jnp.mean(x)), x, weights, reverse=reverse)
        return jnp.mean(jnp.square(last)) + 0.01 * jnp.sum(norms)
    return loss


def arguments() -> Any:
    key = jax.random.key(0)
    return ({"up": 0.1 * jax.random.normal(key, (LAYERS, WIDTH, 4 * WIDTH)), "down": 0.1 * jax.random.normal(key, (LAYERS, 4 * WIDTH, WIDTH))},
            jax.random.normal(key, (ROWS, WIDTH)))


def compiled(loss: Any) -> Any:
    program = jax.jit(jax.value_and_grad(loss), compiler_options=KEEP_BARRIERS).lower(*arguments()).compile()
    return program, llmmem.jax.compiled_bytes(program)


def flops(loss: Any) -> int:
    """Returns the FLOPs of the traced gradient, with all rounds of loops, which XLA counts once."""
    return sum(flops_of(step.equation) for step in Program(jax.make_jaxpr(jax.value_and_grad(loss))(*arguments())).steps)


class ScanTest(unittest.TestCase):
    def setUp(self) -> None:
        warnings.simplefilter("ignore")

    def check(self, loss: Any, budget: Any) -> Any:
        planned = llmmem.jax.checkpoint(loss, budget)
        program, held = compiled(planned)
        report = planned.reports[0]
        print(report)
        self.assertEqual(held, report.compiled)
        value, gradients = program(*arguments())
        expected, its = jax.jit(jax.value_and_grad(loss))(*arguments())
        self.assertAlmostEqual(float(value), float(expected), places=6)
        for mine, other in zip(jax.tree.leaves(gradients), jax.tree.leaves(its)):
            self.assertTrue(bool(jnp.allclose(mine, other, rtol=1e-4, atol=1e-6)))
        return report

    def test_budgets(self) -> None:
        """Between what the scan takes as it was and jax.checkpoint of its body there are plans, and some below both."""
        loss = loss_of(block)
        body = compiled(loss_of(jax.checkpoint(block)))[1]
        free = compiled(loss)[1]
        self.assertLess(self.check(loss, "min").compiled, body)
        previous = 1.0
        for budget in (body, (body + free) // 2):
            report = self.check(loss, budget)
            self.assertLessEqual(report.compiled, budget)
            self.assertLess(report.overhead, previous)
            previous = report.overhead
        self.assertGreater(len(report.names), 0)

    def test_policies_of_jax_are_candidates(self) -> None:
        """In as many bytes as jax.checkpoint of the body holds with one of JAX's policies, the plan needs no more FLOPs."""
        loss = loss_of(block)
        program = Program(jax.make_jaxpr(loss)(*arguments()))
        chains = policy_chains(program, [True] * program.arguments)
        policies = [getattr(jax.checkpoint_policies, name)
                    for name in ("dots_saveable", "dots_with_no_batch_dims_saveable", "nothing_saveable")]
        written = [loss_of(jax.checkpoint(block, policy=policy)) for policy in policies]
        self.assertEqual([flops(lambda *given, chain=chain: evaluate(program, chain.plan(chain.most), jax.tree.leaves(given))[0])
                          for chain in chains], [flops(its) for its in written])
        held = compiled(written[0])[1]
        planned = llmmem.jax.checkpoint(loss, held)
        self.assertLessEqual(compiled(planned)[1], held)
        self.assertLessEqual(flops(planned), flops(written[0]))

    def test_reverse(self) -> None:
        loss = loss_of(block, reverse=True)
        report = self.check(loss, "min")
        self.assertLess(report.compiled, 0.6 * report.unplanned)


if __name__ == "__main__":
    unittest.main()
