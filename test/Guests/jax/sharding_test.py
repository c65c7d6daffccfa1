"""A planned loss on several devices: inside of shard_map, where values vary over a mesh, and on arrays whose types say how they are
sharded, values are those of the loss as it was."""

import os
import sys
import unittest
import warnings
from typing import Any

# Flags are read when JAX is imported.
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=2"

import jax
import jax.numpy as jnp
from jax.sharding import AxisType, NamedSharding, PartitionSpec

import llmmem.jax


def loss(weight: Any, x: Any) -> Any:
    for _ in range(3):
        x = jnp.where(x < 2, jnp.tanh(x @ weight), 0.0)
    return jnp.mean(jnp.square(x))


class ShardingTest(unittest.TestCase):
    def setUp(self) -> None:
        warnings.simplefilter("ignore")
        self.weight, self.x = 0.1 * jax.random.normal(jax.random.key(0), (16, 16)), jax.random.normal(jax.random.key(1), (8, 16))

    def test_shard_map(self) -> None:
        mesh = jax.make_mesh((2,), ("rows",), axis_types=(AxisType.Auto,))

        def mean_of(each: Any) -> Any:
            def local(weight: Any, x: Any) -> Any:
                return jax.lax.pmean(each(weight, x), "rows")
            mapped = jax.shard_map(local, mesh=mesh, in_specs=(PartitionSpec(), PartitionSpec("rows")), out_specs=PartitionSpec())
            return jax.jit(jax.value_and_grad(mapped))

        planned = llmmem.jax.checkpoint(loss, "min")
        mine, its = mean_of(planned)(self.weight, self.x), mean_of(loss)(self.weight, self.x)
        self.assertAlmostEqual(float(mine[0]), float(its[0]), places=6)
        self.assertTrue(bool(jnp.allclose(mine[1], its[1], rtol=1e-5)))
        self.assertIsNone(planned.reports[0].compiled)  # The part of one device is no program by itself.
        self.assertIn("no budget counts as kept", str(planned.reports[0]))

    def test_bytes_of_one_device(self) -> None:
        """A budget is that of a device, where the arrays that are planned for say how they lie on several."""
        mesh = jax.make_mesh((2,), ("rows",), axis_types=(AxisType.Auto,))
        x = jnp.tile(self.x, (64, 1))
        arguments = (jax.device_put(self.weight, NamedSharding(mesh, PartitionSpec())),
                     jax.device_put(x, NamedSharding(mesh, PartitionSpec("rows"))))
        whole = llmmem.jax.checkpoint(loss, "1GB").prepare(self.weight, x)
        planned = llmmem.jax.checkpoint(loss, "1GB")
        report = planned.prepare(*arguments)
        program = jax.jit(jax.value_and_grad(planned), compiler_options=report.compiler_options).lower(*arguments).compile()
        self.assertEqual(report.compiled, llmmem.jax.compiled_bytes(program))
        self.assertLess(report.compiled, 0.7 * whole.compiled)

    def test_types_with_shardings(self) -> None:
        mesh = jax.make_mesh((2,), ("rows",), axis_types=(AxisType.Explicit,))
        with jax.set_mesh(mesh):
            arguments = jax.device_put(self.weight, PartitionSpec()), jax.device_put(self.x, PartitionSpec("rows"))
            planned = llmmem.jax.checkpoint(loss, "min")
            mine, its = (jax.jit(jax.value_and_grad(each))(*arguments) for each in (planned, loss))
            self.assertAlmostEqual(float(mine[0]), float(its[0]), places=6)
            self.assertEqual(jax.typeof(mine[1]), jax.typeof(its[1]))


if __name__ == "__main__":
    sys.exit(unittest.main())
