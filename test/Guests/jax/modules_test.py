"""Modules of flax are passed to a loss as they are: linen's and nnx's, whose own state a loss changes."""

import unittest
import warnings
from typing import Any

import jax
import jax.numpy as jnp
from flax import linen, nnx

import llmmem.jax


class Net(nnx.Module):
    def __init__(self, rngs: nnx.Rngs) -> None:
        self.first, self.second = nnx.Linear(8, 16, rngs=rngs), nnx.Linear(16, 8, rngs=rngs)
        self.norm, self.dropout = nnx.BatchNorm(16, rngs=rngs), nnx.Dropout(0.5, rngs=rngs)

    def __call__(self, x: Any) -> Any:
        return self.second(self.dropout(jnp.tanh(self.norm(self.first(x)))))


class LinenNet(linen.Module):
    @linen.compact
    def __call__(self, x: Any) -> Any:
        return linen.Dense(8)(jnp.tanh(linen.Dense(16)(x)))


class ModulesTest(unittest.TestCase):
    def setUp(self) -> None:
        warnings.simplefilter("ignore")
        self.x = jax.random.normal(jax.random.key(1), (4, 8))

    def assert_same(self, mine: Any, its: Any) -> None:
        for a, b in zip(jax.tree.leaves(mine), jax.tree.leaves(its), strict=True):
            if not jnp.issubdtype(a.dtype, jax.dtypes.prng_key):
                self.assertTrue(bool(jnp.allclose(a, b, rtol=1e-5, atol=1e-7)))

    def test_nnx(self) -> None:
        """Means of a batch and the counts of random numbers go on as without a plan, step by step."""
        def loss(net: Any, x: Any) -> Any:
            return jnp.mean(jnp.square(net(x)))

        planned = llmmem.jax.checkpoint(loss, "min", attempts=0)
        nets = [Net(nnx.Rngs(0)) for _ in range(2)]
        for _ in range(2):
            mine, its = (nnx.jit(nnx.value_and_grad(each))(net, self.x) for each, net in zip((planned, loss), nets))
            self.assert_same(mine, its)
            self.assert_same(nnx.state(nets[0]), nnx.state(nets[1]))
        self.assertEqual(int(nets[0].dropout.rngs.count[...]), 2)
        self.assertEqual(len(planned.reports), 1)

    def test_static_arguments_next_to_nnx(self) -> None:
        def loss(net: Any, x: Any, times: int, step: Any) -> Any:
            for _ in range(times):
                x = net(x)
            return jnp.mean(jnp.square(x)) * step

        planned = llmmem.jax.checkpoint(loss, "min", attempts=0, static_argnames="times")
        nets = [Net(nnx.Rngs(0)) for _ in range(2)]
        for step in (1, 2):
            mine, its = (nnx.value_and_grad(each)(net, self.x, 2, step) for each, net in zip((planned, loss), nets))
            self.assert_same(mine, its)
        self.assert_same(nnx.state(nets[0]), nnx.state(nets[1]))
        self.assertEqual(len(planned.reports), 1)

    def test_linen(self) -> None:
        net = LinenNet()
        variables = net.init(jax.random.key(0), self.x)

        def loss(variables: Any, net: Any, x: Any) -> Any:
            return jnp.mean(jnp.square(net.apply(variables, x)))

        planned = llmmem.jax.checkpoint(loss, "min", attempts=0)
        self.assert_same(jax.value_and_grad(planned)(variables, net, self.x), jax.value_and_grad(loss)(variables, net, self.x))


if __name__ == "__main__":
    unittest.main()
