"""A whole step through StableHLO and back: the values are the same bits, and XLA says what it holds next to the prediction."""

import os
import sys
import unittest
import warnings
from typing import Any, Tuple

import jax
import jax.numpy as jnp

import llmmem.jax

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
TOOL = os.environ.setdefault("LLMMEM_OPT", os.path.join(ROOT, "build", "bin", "llmmem-opt"))
KEEP_BARRIERS = {"xla_disable_hlo_passes": "cse_barrier_expander"}
# XLA's algebraic simplifier rewrites an op by who reads it, so a clone may be rounded otherwise than its original.
AS_WRITTEN = {"xla_disable_hlo_passes": "algsimp"}


def make_step(layers: int = 8, width: int = 128, rows: int = 2048) -> Tuple[Any, Any, Any]:
    def step(layer_weights: Any, x: Any) -> Any:
        def loss(layer_weights: Any) -> Any:
            h = x
            for weights in layer_weights:
                h = h + jax.nn.gelu(h @ weights["up"]) @ weights["down"]
            return jnp.mean(jnp.square(h))

        value, gradients = jax.value_and_grad(loss)(layer_weights)
        return jax.tree.map(lambda weight, gradient: weight - 0.1 * gradient, layer_weights, gradients), value

    key = jax.random.key(0)
    weights = [{"up": 0.05 * jax.random.normal(jax.random.fold_in(key, 2 * layer), (width, 4 * width)),
                "down": 0.05 * jax.random.normal(jax.random.fold_in(key, 2 * layer + 1), (4 * width, width))}
               for layer in range(layers)]
    return step, weights, jax.random.normal(key, (rows, width))


def bytes_by_xla(step: Any, arguments: Any, options: Any = None) -> int:
    memory = jax.jit(step, donate_argnums=0, compiler_options=options).lower(*arguments).compile().memory_analysis()
    return (memory.temp_size_in_bytes + memory.argument_size_in_bytes + memory.output_size_in_bytes
            - memory.alias_size_in_bytes)


@unittest.skipUnless(os.path.exists(TOOL), f"there is no {TOOL}; build llmmem, or name llmmem-opt in LLMMEM_OPT")
class StepTest(unittest.TestCase):
    def setUp(self) -> None:
        warnings.simplefilter("ignore")

    def test_budgets(self) -> None:
        step, weights, x = make_step()
        copy = lambda tree: jax.tree.map(jnp.array, tree)  # noqa: E731: donated arguments are gone after a call

        def run(step: Any, options: Any) -> Any:
            return jax.tree.leaves(jax.jit(step, donate_argnums=0, compiler_options=options)(copy(weights), x))

        expected, simplified = run(step, AS_WRITTEN), run(step, {})
        plain = bytes_by_xla(step, (weights, x))
        last = plain + 1
        for budget in ("80MB", "50MB", "min"):
            with self.subTest(budget=budget):
                planned = llmmem.jax.plan(step, budget, donate_argnums=0)
                for mine, its in zip(run(planned, AS_WRITTEN), expected):
                    self.assertTrue(bool(jnp.array_equal(mine, its)))
                values = run(planned, {})
                self.assertEqual(float(values[-1]), float(simplified[-1]))
                for mine, its in zip(values, simplified):
                    self.assertTrue(bool(jnp.allclose(mine, its, rtol=1e-6, atol=1e-7)))
                measured = bytes_by_xla(planned, (weights, x), KEEP_BARRIERS)
                report = planned.reports[0]
                self.assertEqual((report.measured, report.unplanned), (measured, bytes_by_xla(step, (weights, x), KEEP_BARRIERS)))
                self.assertLessEqual(measured, {"80MB": 80_000_000, "50MB": 50_000_000}.get(budget, measured))
                print(f"budget {budget} predicted {report.needed} XLA {measured} (plain {plain}) recompute "
                      f"+{report.facts['recompute']['percent_time']:.1f}% of modelled time")
                self.assertLess(measured, last)
                last = measured

    def test_says_what_the_cpu_drops(self) -> None:
        """The warning comes only where something is recomputed, and names the line that calls the step."""
        step, weights, x = make_step(layers=4, rows=512)
        for budget, runs_again in (("min", True), ("1TB", False)):
            planned = llmmem.jax.plan(step, budget, attempts=0)
            for call in (planned, llmmem.jax.plan(step, budget, attempts=0).export):
                with self.subTest(budget=budget, call=call), warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    call(weights, x)
                    said = [warning for warning in caught if "cse_barrier_expander" in str(warning.message)]
                    self.assertEqual([warning.filename for warning in said], [__file__] if runs_again else [])
            self.assertEqual(planned.reports[0].facts["recompute"]["ops"] > 0, runs_again)

    def test_too_little(self) -> None:
        step, weights, x = make_step(layers=2, rows=64)
        with self.assertRaisesRegex(llmmem.jax.BudgetError, "no plan of the model keeps a budget of 10000 bytes: the least that was "
                                    "found there needs [0-9]+, and every plan there at least [0-9]+. The model runs each op"):
            llmmem.jax.plan(step, 10_000, donate_argnums=0, attempts=0)(weights, x)
        with self.assertRaisesRegex(llmmem.jax.BudgetError, "of the [0-9]+ programs that XLA compiled the least holds [0-9,]+ by its own "
                                    "account, and the step as it was written [0-9,]+") as raised:
            llmmem.jax.plan(step, 10_000, donate_argnums=0)(weights, x)
        planned = llmmem.jax.plan(step, raised.exception.least_bytes, donate_argnums=0)
        self.assertLessEqual(planned.prepare(weights, x).measured, raised.exception.least_bytes)

    def test_the_least_is_a_budget(self) -> None:
        step, weights, x = make_step(layers=2, rows=64)
        planned = llmmem.jax.plan(step, "min", donate_argnums=0, attempts=0)
        planned.export(weights, x)
        needed = planned.reports[0].needed
        again = llmmem.jax.plan(step, needed, donate_argnums=0, attempts=0)
        again.export(weights, x)
        self.assertLessEqual(again.reports[0].needed, needed)

    def test_says_what_was_measured(self) -> None:
        """No budget counts as kept before XLA was asked, and what it says is what counts then."""
        step, weights, x = make_step(layers=2, rows=64)
        planned = llmmem.jax.plan(step, "1GB", donate_argnums=0, attempts=0)
        planned.export(weights, x)
        self.assertRegex(str(planned.reports[0]), r"planned for a budget of 1,000,000,000 bytes: [0-9,]+ bytes of the model, .* not "
                         "measured, so no budget counts as kept")
        planned = llmmem.jax.plan(step, "1GB", donate_argnums=0, attempts=0)
        report = planned.measure(weights, x, compiler_options=KEEP_BARRIERS)
        self.assertEqual((report.measured, planned.reports), (bytes_by_xla(planned, (weights, x), KEEP_BARRIERS), [report]))
        self.assertIn(f"holds {report.measured:,} bytes by its own account, within the budget of 1,000,000,000", str(report))

    def test_no_vmap(self) -> None:
        step, weights, x = make_step(layers=1, width=8, rows=4)
        planned = llmmem.jax.plan(step, "1GB")
        for mapped in (planned, jax.jit(planned)):
            with self.assertRaisesRegex(llmmem.jax.UnsupportedLossError, "put jax.vmap inside"):
                jax.vmap(mapped, (None, 0))(weights, jnp.stack([x] * 3))

    def test_arguments_by_name(self) -> None:
        step, weights, x = make_step(layers=1, width=8, rows=4)
        planned = llmmem.jax.plan(step, "1GB")
        self.assertEqual(float(planned(weights, x=x)[1]), float(jax.jit(step)(weights, x)[1]))

    def test_unknown_op(self) -> None:
        def step(x: Any) -> Any:
            return jnp.linalg.cholesky(x).sum()

        with self.assertRaisesRegex(llmmem.jax.UnsupportedLossError, "custom_call|cholesky"):
            llmmem.jax.plan(step, "1MB")(jnp.eye(4))

    def test_wrong_units(self) -> None:
        with self.assertRaisesRegex(ValueError, "expected whole bytes or a text such as '4GB', not 4000000000.0"):
            llmmem.jax.plan(lambda x: x, 4e9)


if __name__ == "__main__":
    sys.exit(unittest.main())
