"""Values and gradients stay what they are, and less is kept: the planner's prediction is compared with what XLA says of itself. What is said
of a budget is said of the model, or was measured."""

import unittest
import warnings
from typing import Any, Tuple

import jax
import jax.numpy as jnp

import llmmem
import llmmem.jax

KEEP_BARRIERS = {"xla_disable_hlo_passes": "cse_barrier_expander"}


def perceptron(layers: int = 8, width: int = 128, rows: int = 2048) -> Tuple[Any, Any, Any]:
    def loss(layer_weights: Any, x: Any) -> Any:
        for weights in layer_weights:
            x = x + jax.nn.gelu(x @ weights["up"]) @ weights["down"]
        return jnp.mean(jnp.square(x))

    key = jax.random.key(0)
    weights = [{"up": 0.05 * jax.random.normal(jax.random.fold_in(key, 2 * layer), (width, 4 * width)),
                "down": 0.05 * jax.random.normal(jax.random.fold_in(key, 2 * layer + 1), (4 * width, width))}
               for layer in range(layers)]
    return loss, weights, jax.random.normal(key, (rows, width))


def transformer(width: int, tokens: int) -> Tuple[Any, Any, Any]:
    """Makes one layer with one head, for one sequence."""
    def normalize(x: Any, scale: Any) -> Any:
        return x * jax.lax.rsqrt(jnp.square(x).mean(-1, keepdims=True) + 1e-6) * scale

    def loss(weights: Any, ids: Any) -> Any:
        x = weights["embedding"][ids]
        h = normalize(x, weights["norm"])
        q, k, v = (h @ weights[name] for name in "qkv")
        scores = jnp.where(jnp.tril(jnp.ones((tokens, tokens), bool)), q @ k.T, -1e9)
        x = x + jax.nn.softmax(scores, -1) @ v @ weights["out"]
        h = normalize(x, weights["norm"])
        x = x + (jax.nn.silu(h @ weights["gate"]) * (h @ weights["up"])) @ weights["down"]
        return -jnp.take_along_axis(jax.nn.log_softmax(x @ weights["embedding"].T), ids[..., None], -1).mean()

    shapes = {"embedding": (32, width), "norm": (width,), "q": (width, width), "k": (width, width), "v": (width, width),
              "out": (width, width), "gate": (width, 2 * width), "up": (width, 2 * width), "down": (2 * width, width)}
    weights = {name: 0.1 * jax.random.normal(jax.random.key(number), shape) for number, (name, shape) in enumerate(shapes.items())}
    return loss, weights, jax.random.randint(jax.random.key(99), (tokens,), 0, 32)


def compiled(loss: Any, arguments: Any, options: Any = None) -> Tuple[Any, int]:
    """Returns the compiled gradient, and the bytes that XLA gives it."""
    program = jax.jit(jax.value_and_grad(loss), compiler_options=options).lower(*arguments).compile()
    memory = program.memory_analysis()
    return program, (memory.temp_size_in_bytes + memory.argument_size_in_bytes + memory.output_size_in_bytes
                     - memory.alias_size_in_bytes)


def same_numbers(mine: Any, its: Any) -> bool:
    return all(bool(jnp.allclose(a, b, rtol=1e-6)) for a, b in zip(jax.tree.leaves(mine), jax.tree.leaves(its)))


class CheckpointTest(unittest.TestCase):
    def setUp(self) -> None:
        warnings.simplefilter("ignore")

    def test_budgets(self) -> None:
        loss, weights, x = perceptron()
        plain, most = compiled(loss, (weights, x))
        value, gradients = plain(weights, x)
        free = llmmem.jax.checkpoint(loss, budget="1TB")
        jax.value_and_grad(free)(weights, x)
        high = free.reports[0].peak
        last = most + 1
        for part in (0.7, 0.5, 0.4):
            with self.subTest(part=part):
                planned = llmmem.jax.checkpoint(loss, budget=int(part * high))
                program, measured = compiled(planned, (weights, x), KEEP_BARRIERS)
                again, its_gradients = program(weights, x)
                report = planned.reports[0]
                print(f"budget {report.budget} predicted {report.peak} XLA {measured} (plain {most}) kept {report.kept} of "
                      f"{report.named} recompute +{report.overhead:.1%} planned in {report.seconds:.2f} s")
                self.assertLessEqual(report.peak, report.budget)
                self.assertEqual(llmmem.verify(report.problem, report.plan, report.budget), [])
                self.assertEqual(float(again), float(value))
                for mine, its in zip(jax.tree.leaves(its_gradients), jax.tree.leaves(gradients)):
                    self.assertLessEqual(float(jnp.abs(mine - its).max()), 1e-6 * float(jnp.abs(its).max()))
                self.assertLess(measured, last)
                last = measured

    def test_costs_of_the_shipped_table(self) -> None:
        """A product in bf16 has that rate of the table which llmmem-opt reads."""
        def loss(x: jax.Array) -> jax.Array:
            return jnp.sum(jnp.tanh(x @ x).astype(jnp.float32))

        planned = llmmem.jax.checkpoint(loss, budget="1TB")
        jax.eval_shape(planned, jax.ShapeDtypeStruct((2048, 2048), jnp.bfloat16))
        costs = [op.cost for op in planned.reports[0].problem.ops if op.name == "dot_general"]
        self.assertEqual(max(costs), llmmem.device("h100").nanoseconds(2 * 2048**3, 2 * 2048**2 * 2, "bf16"))

    def test_says_what_the_cpu_drops(self) -> None:
        loss, weights, x = perceptron(layers=4, rows=512)
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

    def test_too_little(self) -> None:
        loss, weights, x = perceptron(layers=2, rows=64)
        with self.assertRaisesRegex(llmmem.jax.BudgetError, "no plan of the model keeps a budget of 1000 bytes: the least that was "
                                    "found there needs [0-9]+, and every plan there at least [0-9]+. The model runs each primitive by "
                                    "itself; what XLA's program holds llmmem.jax.compiled_bytes says"):
            llmmem.jax.checkpoint(loss, budget=1000)(weights, x)

    def test_the_least_is_a_budget(self) -> None:
        """The least is a budget even where that plan's values do not fit an arena of so many bytes: XLA has none."""
        for width, tokens in ((8, 12), (16, 12), (24, 64)):
            loss, weights, ids = transformer(width, tokens)

            def report(budget: Any) -> Any:
                planned = llmmem.jax.checkpoint(loss, budget)
                jax.eval_shape(planned, weights, ids)
                return planned.reports[0]

            needed = report("min").peak
            for more in (0, 1, 64):
                with self.subTest(width=width, more=more):
                    self.assertLessEqual(report(needed + more).peak, needed + more)
            with self.assertRaises(llmmem.jax.BudgetError) as refused:
                report(needed - 1)
            self.assertEqual(refused.exception.least_bytes, needed)

    def test_says_what_was_measured(self) -> None:
        """No budget counts as kept before XLA was asked, and what it says is what counts then. This loop saves nothing: XLA's step
        takes more than the budget, which the model keeps."""
        def loss(layers: Any, x: Any) -> Any:
            return jnp.mean(jnp.square(jax.lax.scan(lambda h, layer: (jnp.tanh(h @ layer), None), x, layers)[0]))

        arguments = 0.1 * jax.random.normal(jax.random.key(0), (8, 64, 64)), jax.random.normal(jax.random.key(1), (512, 64))
        planned = llmmem.jax.checkpoint(loss, budget="min", other_bytes=1000)
        jax.eval_shape(jax.value_and_grad(planned), *arguments)
        report = planned.reports[0]
        self.assertRegex(str(report), r"planned for the least: [0-9,]+ bytes of the model, .* not measured, so no budget counts as kept")
        planned = llmmem.jax.checkpoint(loss, budget=report.peak, other_bytes=1000)
        report = planned.measure(*arguments, compiler_options=KEEP_BARRIERS)
        program, measured = compiled(planned, arguments, KEEP_BARRIERS)
        self.assertEqual(llmmem.jax.compiled_bytes(program), measured)
        self.assertEqual((report.measured, planned.reports), (measured + 1000, [report]))
        self.assertIn(f"holds {measured + 1000:,} bytes by its own account, "
                      f"{'within' if measured + 1000 <= report.budget else 'ABOVE'} the budget", str(report))
        self.assertIn("within the budget of 1,000,000,000", str(llmmem.jax.checkpoint(loss, "1GB").measure(*arguments)))

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
                with self.subTest(loss=name, w=w.dtype, x=x.dtype, s=s):
                    planned = llmmem.jax.checkpoint(loss, "1MB", argnums=argnums)
                    its = [jax.value_and_grad(each, argnums=argnums)(w, x, s) for each in (loss, planned)]
                    types = [[(jax.typeof(leaf), jax.typeof(leaf).weak_type) for leaf in jax.tree.leaves(one)] for one in its]
                    self.assertEqual(types[1], types[0])
                    self.assertTrue(same_numbers(*its))

    def test_arguments_by_name(self) -> None:
        loss, weights, x = perceptron(layers=2, width=8, rows=4)
        planned = llmmem.jax.checkpoint(loss, budget="1GB")
        self.assertTrue(same_numbers(jax.value_and_grad(planned)(weights, x=x), jax.value_and_grad(loss)(weights, x)))
        self.assertEqual(planned.measure(weights, x=x), planned.reports[0])

    def test_wrong_units(self) -> None:
        for budget in (4e9, "4 gigs", "", -1, None):
            with self.subTest(budget=budget), self.assertRaises((ValueError, TypeError)):
                llmmem.jax.checkpoint(lambda x: x, budget=budget)

    def test_no_loss(self) -> None:
        with self.assertRaisesRegex(llmmem.jax.UnsupportedLossError, r"gives float32\[4\]; a loss is one floating-point number"):
            llmmem.jax.checkpoint(lambda x: x * 2, budget="1GB")(jnp.ones(4))
        with self.assertRaisesRegex(llmmem.jax.UnsupportedLossError, "a loss is one floating-point number"):
            llmmem.jax.checkpoint(lambda x: (x.sum(), x), budget="1GB")(jnp.ones(4))


if __name__ == "__main__":
    unittest.main()
