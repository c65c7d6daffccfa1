"""What jax.jit(jax.value_and_grad(planned)) compiles to keeps the budget by XLA's own account, and values and gradients stay what they are."""

import unittest
import warnings
from typing import Any, Dict, Tuple

import jax
import jax.numpy as jnp

import llmmem.jax

KEEP_BARRIERS = {"xla_disable_hlo_passes": "cse_barrier_expander"}


def perceptron(layers: int = 6, width: int = 64, rows: int = 1024) -> Tuple[Any, Any, Any]:
    def loss(layer_weights: Any, x: Any) -> Any:
        for weights in layer_weights:
            x = x + jax.nn.gelu(x @ weights["up"]) @ weights["down"]
        return jnp.mean(jnp.square(x))

    key = jax.random.key(0)
    weights = [{"up": 0.05 * jax.random.normal(jax.random.fold_in(key, 2 * layer), (width, 4 * width)),
                "down": 0.05 * jax.random.normal(jax.random.fold_in(key, 2 * layer + 1), (4 * width, width))}
               for layer in range(layers)]
    return loss, weights, jax.random.normal(key, (rows, width))


def with_policy(name: str) -> Any:
    """Returns the loss of `perceptron` with jax.checkpoint of each layer."""
    def block(x: Any, weights: Dict[str, Any]) -> Any:
        return x + jax.nn.gelu(x @ weights["up"]) @ weights["down"]

    def loss(layers: Any, x: Any) -> Any:
        for weights in layers:
            x = jax.checkpoint(block, policy=getattr(jax.checkpoint_policies, name))(x, weights)
        return jnp.mean(jnp.square(x))

    return loss


def compiled(loss: Any, arguments: Any, options: Any = None) -> Tuple[Any, int]:
    """Returns the compiled gradient, and the bytes that XLA gives it."""
    program = jax.jit(jax.value_and_grad(loss), compiler_options=options).lower(*arguments).compile()
    return program, llmmem.jax.compiled_bytes(program)


def same_numbers(mine: Any, its: Any, rtol: float = 1e-6) -> bool:
    return all(bool(jnp.allclose(a, b, rtol=rtol, atol=rtol * float(jnp.abs(b).max()))) for a, b in zip(jax.tree.leaves(mine), jax.tree.leaves(its)))


class CheckpointTest(unittest.TestCase):
    def setUp(self) -> None:
        warnings.simplefilter("ignore")

    def test_keeps_the_budget(self) -> None:
        loss, weights, x = perceptron()
        plain, most = compiled(loss, (weights, x), KEEP_BARRIERS)
        value, gradients = plain(weights, x)
        overheads = []
        for part in (0.8, 0.6, 0.4):
            with self.subTest(part=part):
                planned = llmmem.jax.checkpoint(loss, budget=int(part * most))
                program, measured = compiled(planned, (weights, x), KEEP_BARRIERS)
                again, its_gradients = program(weights, x)
                report = planned.reports[0]
                print(report)
                self.assertLessEqual(measured, part * most)
                self.assertEqual((report.compiled, report.unplanned), (measured, most))
                self.assertLessEqual(abs(report.planned - measured), 0.25 * measured)
                self.assertEqual(float(again), float(value))
                self.assertTrue(same_numbers(its_gradients, gradients))
                overheads.append(report.overhead)
        self.assertEqual(overheads, sorted(overheads))
        self.assertLess(overheads[0], 0.2)

    def test_the_least_is_a_budget(self) -> None:
        loss, weights, x = perceptron(layers=4, width=32, rows=512)
        least = llmmem.jax.checkpoint(loss, "min").prepare(weights, x)
        self.assertLess(least.compiled, 0.6 * least.unplanned)
        self.assertLessEqual(least.compiled, compiled(with_policy("nothing_saveable"), (weights, x), KEEP_BARRIERS)[1])
        refused = least.compiled // 2
        with self.assertRaisesRegex(llmmem.jax.BudgetError, f"no layout of the loss was found whose compiled gradient keeps a budget of {refused:,} "
                                    "bytes: of the [0-9]+ that XLA compiled the least holds [0-9,]+ by its own account") as raised:
            llmmem.jax.checkpoint(loss, refused)(weights, x)
        self.assertGreater(raised.exception.least_bytes, refused)
        again = llmmem.jax.checkpoint(loss, raised.exception.least_bytes)
        self.assertLessEqual(again.prepare(weights, x).compiled, raised.exception.least_bytes)

    def test_no_more_flops_than_policies_of_jax(self) -> None:
        """In as many bytes as jax.checkpoint of each layer holds with one of JAX's policies, the plan needs no more FLOPs."""
        loss, weights, x = perceptron(layers=4)
        for policy in ("dots_saveable", "nothing_saveable"):
            its, held = compiled(with_policy(policy), (weights, x), KEEP_BARRIERS)
            mine, measured = compiled(llmmem.jax.checkpoint(loss, held), (weights, x), KEEP_BARRIERS)
            with self.subTest(policy=policy):
                self.assertLessEqual(measured, held)
                self.assertLessEqual(mine.cost_analysis()["flops"], its.cost_analysis()["flops"])

    def test_other_bytes_and_options(self) -> None:
        """The budget is kept by the program of the compiler options that are given; without any, by that which keeps barriers."""
        loss, weights, x = perceptron(layers=2, rows=256)
        report = llmmem.jax.checkpoint(loss, "1GB", other_bytes=1000, compiler_options={}).prepare(weights, x)
        self.assertEqual((report.compiled, report.compiler_options), (compiled(loss, (weights, x))[1] + 1000, {}))
        self.assertNotIn("compiler_options", str(report))
        report = llmmem.jax.checkpoint(loss, "1GB").prepare(weights, x)
        self.assertIn(f"the gradient compiled with compiler_options={KEEP_BARRIERS} holds", str(report))

    def test_without_xla(self) -> None:
        """Where XLA is not asked, no budget counts as kept."""
        loss, weights, x = perceptron(layers=4, rows=256)
        report = llmmem.jax.checkpoint(loss, "min", attempts=0).prepare(weights, x)
        self.assertEqual((report.compiled, report.trials), (None, 0))
        self.assertIn("no budget counts as kept", str(report))
        with self.assertRaisesRegex(llmmem.jax.BudgetError, "no layout in the model keeps a budget of 1,000 bytes"):
            llmmem.jax.checkpoint(loss, 1000, attempts=0).prepare(weights, x)

    def test_says_what_the_cpu_drops(self) -> None:
        loss, weights, x = perceptron(layers=3, rows=512)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            jax.value_and_grad(llmmem.jax.checkpoint(loss, budget="min"))(weights, x)
        self.assertTrue(any("cse_barrier_expander" in str(warning.message) for warning in caught))

    def test_plans_once_for_each_signature(self) -> None:
        loss, weights, x = perceptron(layers=2, rows=64)
        planned = llmmem.jax.checkpoint(loss, budget="1GB")
        for rows in (64, 64, 32):
            planned(weights, x[:rows])
        self.assertEqual(len(planned.reports), 2)

    def test_no_vmap(self) -> None:
        loss, weights, x = perceptron(layers=2, width=8, rows=4)
        planned = llmmem.jax.checkpoint(loss, budget="1GB")
        batch = jnp.stack([x] * 3)
        calls = {"of the gradient": lambda: jax.vmap(jax.grad(planned), (None, 0))(weights, batch),
                 "of the loss": lambda: jax.vmap(planned, (None, 0))(weights, batch),
                 "around jit": lambda: jax.vmap(jax.jit(jax.grad(planned)), (None, 0))(weights, batch),
                 "inside jit": lambda: jax.jit(jax.vmap(jax.grad(planned), (None, 0)))(weights, batch),
                 "around a scan": lambda: jax.vmap(lambda rows: jax.lax.scan(
                     lambda total, row: (total + planned(weights, row), None), 0.0, rows[None])[0])(batch)}
        for name, call in calls.items():
            with self.subTest(vmap=name), self.assertRaisesRegex(llmmem.jax.UnsupportedLossError, "put jax.vmap inside"):
                call()

        def mean(weights: Any, batch: Any) -> Any:
            return jax.vmap(loss, (None, 0))(weights, batch).mean()

        inside = llmmem.jax.checkpoint(mean, budget="1GB")
        self.assertTrue(same_numbers(jax.grad(inside)(weights, batch), jax.grad(mean)(weights, batch)))
        loops = jax.lax.scan(lambda total, row: (total + planned(weights, row), None), 0.0, batch)[0]
        self.assertAlmostEqual(float(loops), sum(float(loss(weights, row)) for row in batch), places=4)

    def test_types_stay(self) -> None:
        """The types of the loss and of its gradients stay, and so do the weak types of Python's numbers."""
        half, single = jnp.ones((4, 4), jnp.bfloat16), jnp.ones((4, 4))
        losses = {"scaled": lambda w, x, s: (jnp.tanh(x @ w) * s).mean(), "weak": lambda w, x, s: s * 2,
                  "sum": lambda w, x, s: (w * s + x).sum(), "power": lambda w, x, s: (w ** s).sum() * jnp.float32(1)}
        for name, loss in losses.items():
            for w, x, s, argnums in ((half, half, 0.5, (0, 2)), (half, single, 0.5, (0, 1)), (half, half, jnp.float32(0.5), (0, 2)),
                                     (single, half, jnp.bfloat16(0.5), (0, 1))):
                with self.subTest(loss=name, w=w.dtype, x=x.dtype, s=type(s)):
                    planned = llmmem.jax.checkpoint(loss, "min", argnums=argnums, attempts=0)
                    its = tuple(jax.value_and_grad(each, argnums=argnums)(w, x, s) for each in (planned, loss))
                    mine, plain = (jax.tree.map(jax.typeof, found) for found in its)
                    self.assertEqual(mine, plain)
                    self.assertTrue(same_numbers(*its))

    def test_wrong_units(self) -> None:
        for budget in (4e9, "4 gigs", "", -1, None):
            with self.subTest(budget=budget), self.assertRaises((ValueError, TypeError)):
                llmmem.jax.checkpoint(lambda x: x, budget=budget)

    def test_no_loss(self) -> None:
        with self.assertRaisesRegex(llmmem.jax.UnsupportedLossError, r"gives float32\[4\]; a loss is one floating-point number"):
            llmmem.jax.checkpoint(lambda x: x * 2, budget="1GB")(jnp.ones(4))
        with self.assertRaisesRegex(llmmem.jax.UnsupportedLossError, "as a pair and has_aux=True"):
            llmmem.jax.checkpoint(lambda x: (x.sum(), x), budget="1GB")(jnp.ones(4))
        with self.assertRaisesRegex(llmmem.jax.UnsupportedLossError, "return the loss and what else there is, as a pair"):
            llmmem.jax.checkpoint(lambda x: x.sum(), budget="1GB", has_aux=True)(jnp.ones(4))


if __name__ == "__main__":
    unittest.main()
