"""Losses as people write them: something in addition to the loss, arguments by name, argnums as jax.grad takes them, static arguments."""

import unittest
import warnings
from typing import Any

import jax
import jax.numpy as jnp

import llmmem.jax


def loss(weights: Any, x: Any, scale: Any = 1.0, layers: int = 2, activation: str = "tanh", is_summed: bool = False) -> Any:
    for _ in range(layers):
        x = getattr(jnp, activation)(x @ weights)
    return scale * (jnp.sum(x) if is_summed else jnp.mean(x))


def planned_of(loss: Any, **settings: Any) -> Any:
    """Plans in the model alone: what is asked here is what the function returns."""
    return llmmem.jax.checkpoint(loss, "min", attempts=0, **settings)


class ArgumentsTest(unittest.TestCase):
    def setUp(self) -> None:
        warnings.simplefilter("ignore")
        self.weights, self.x = 0.1 * jax.random.normal(jax.random.key(0), (8, 8)), jax.random.normal(jax.random.key(1), (4, 8))

    def assert_same(self, mine: Any, its: Any) -> None:
        self.assertEqual(jax.tree.structure(mine), jax.tree.structure(its))
        for a, b in zip(jax.tree.leaves(mine), jax.tree.leaves(its)):
            self.assertTrue(bool(jnp.allclose(a, b, rtol=1e-6)))

    def test_something_next_to_the_loss(self) -> None:
        def with_more(weights: Any, x: Any) -> Any:
            h = jnp.tanh(x @ weights)
            return jnp.mean(jnp.tanh(h @ weights)), {"hidden": h, "rows": x.shape[0], "same": x}

        mine, its = (jax.value_and_grad(each, has_aux=True)(self.weights, self.x)
                     for each in (planned_of(with_more, has_aux=True), with_more))
        self.assert_same(mine, its)

    def test_argnums(self) -> None:
        for argnums in (1, -1, (0, 1), (1, 0), [0], (-2,)):
            with self.subTest(argnums=argnums):
                def two(weights: Any, x: Any) -> Any:
                    return loss(weights, x)
                self.assert_same(jax.value_and_grad(planned_of(two, argnums=argnums), argnums)(self.weights, self.x),
                                 jax.value_and_grad(two, argnums)(self.weights, self.x))
        for argnums in (2, -3, (0, 5)):
            with self.subTest(argnums=argnums), self.assertRaisesRegex(ValueError, "is none of 2 positional arguments"):
                planned_of(loss, argnums=argnums)(self.weights, self.x)

    def test_arguments_by_name(self) -> None:
        planned = planned_of(loss)
        self.assert_same(jax.value_and_grad(planned)(self.weights, x=self.x, scale=2.0), jax.value_and_grad(loss)(self.weights, x=self.x, scale=2.0))
        self.assertIs(planned.prepare(self.weights, x=self.x, scale=3.0), planned.reports[0])

    def test_numbers_are_traced(self) -> None:
        """Python's numbers and bools are traced as jax.jit does, so the count of a step is planned once, also ahead of jax.jit."""
        def counted(weights: Any, x: Any, count: Any, is_summed: Any = False) -> Any:
            x = jnp.tanh(x @ weights) / (1 + count)
            return jnp.where(is_summed, jnp.sum(x), jnp.mean(x))

        planned = planned_of(counted)
        planned.prepare(self.weights, self.x, 0, is_summed=True)
        step = jax.jit(jax.value_and_grad(planned))
        for count, is_summed in ((0, False), (1, True), (7, True)):
            with self.subTest(count=count, is_summed=is_summed):
                its = jax.value_and_grad(counted)(self.weights, self.x, count, is_summed=is_summed)
                self.assert_same(jax.value_and_grad(planned)(self.weights, self.x, count, is_summed=is_summed), its)
                self.assert_same(step(self.weights, self.x, count, is_summed=is_summed), its)
        self.assertEqual(len(planned.reports), 1)

    def test_static_arguments(self) -> None:
        """Static arguments, texts and None stay what they are, and each new one is planned."""
        planned = planned_of(loss, static_argnums=3, static_argnames=["is_summed"])
        for static in ({"layers": 3}, {"activation": "sin"}, {"is_summed": True}, {"is_summed": 1}, {"layers": 3}):
            with self.subTest(static=static):
                self.assert_same(jax.value_and_grad(planned)(self.weights, self.x, **static),
                                 jax.value_and_grad(loss)(self.weights, self.x, **static))
        self.assertEqual(len(planned.reports), 4)
        step = jax.jit(jax.value_and_grad(planned), static_argnames="layers")
        self.assert_same(step(self.weights, self.x, layers=4), jax.value_and_grad(loss)(self.weights, self.x, layers=4))
        with self.assertRaises(jax.errors.TracerIntegerConversionError):
            planned_of(loss)(self.weights, self.x, layers=4)
        with self.assertRaisesRegex(llmmem.jax.UnsupportedLossError, "set'> is no array, and has no hash"):
            planned(self.weights, self.x, activation={1, 2})

    def test_static_arguments_by_number_and_by_name(self) -> None:
        def named(weights: Any, x: Any, sizes: Any) -> Any:
            return jnp.mean(jnp.tanh(x @ weights)[:sizes["rows"]])

        class Sizes(dict):
            def __hash__(self) -> int:
                return hash(tuple(self.items()))

        sizes = Sizes(rows=2)
        for static in ({"static_argnums": 2}, {"static_argnums": (-1,)}, {"static_argnames": "sizes"}):
            planned = planned_of(named, **static)
            with self.subTest(static=static):
                self.assert_same(planned(self.weights, self.x, sizes), named(self.weights, self.x, sizes))
                self.assert_same(planned(self.weights, self.x, sizes=sizes), named(self.weights, self.x, sizes))
        for static, said in (({"static_argnums": 3}, "3 is none of the 3 positional parameters"),
                             ({"static_argnames": "size"}, "'size' is no parameter of the loss, whose are weights, x, sizes")):
            with self.subTest(static=static), self.assertRaisesRegex(ValueError, said):
                planned_of(named, **static)
        with self.assertRaisesRegex(llmmem.jax.UnsupportedLossError, "dict'> is no array, and has no hash"):
            planned_of(named, static_argnums=2)(self.weights, self.x, {"rows": 2})

    def test_a_conditional(self) -> None:
        """Branches read values from around them."""
        def branched(weights: Any, x: Any) -> Any:
            h = jnp.tanh(x @ weights)
            for _ in range(3):
                h = jax.lax.cond(jnp.sum(h) > 0, lambda h=h: jnp.tanh(h @ weights), lambda h=h: h * 0.5)
            return jnp.mean(jnp.square(h))

        self.assert_same(jax.value_and_grad(planned_of(branched))(self.weights, self.x), jax.value_and_grad(branched)(self.weights, self.x))

    def test_what_the_loss_closes_over(self) -> None:
        """A loss may close over what another function traces: that has the right gradient, and is held like an argument."""
        def outer(weights: Any, each: Any) -> Any:
            return jnp.sum(jax.grad(each(lambda x: loss(weights, x)))(self.x))

        mine, its = (jax.jit(outer, static_argnums=1)(self.weights, each) for each in (planned_of, lambda loss: loss))
        self.assert_same(mine, its)


if __name__ == "__main__":
    unittest.main()
