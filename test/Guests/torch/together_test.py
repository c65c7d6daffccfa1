"""One process has jaxlib, torch, triton and llmmem, each with an LLVM of its own, and uses all of them, in either order of loading.

JAX is that of the environment `jax`, next to this one; without it the test is skipped.
"""

import glob
import os
import subprocess
import sys
import unittest

JAX = glob.glob(os.path.join(os.path.dirname(sys.prefix), "jax", "lib", f"python3.{sys.version_info.minor}", "site-packages"))


def use_triton():
    """Compiles a kernel to PTX, which takes no GPU."""
    import triton
    import triton.language as tl
    from triton.backends.compiler import GPUTarget

    @triton.jit
    def double(x, n: tl.constexpr):
        at = tl.arange(0, n)
        tl.store(x + at, tl.load(x + at) * 2)

    made = triton.compile(triton.compiler.ASTSource(double, signature={"x": "*fp32", "n": "constexpr"}, constexprs={"n": 64}),
                          target=GPUTarget("cuda", 90, 32))
    assert ".entry double" in made.asm["ptx"], made.asm["ptx"]


def use_torch():
    import torch

    import llmmem.torch
    torch._dynamo.reset()
    model = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.GELU(), torch.nn.Linear(32, 1))
    inputs = torch.ones(4, 8)
    expected = model(inputs).sum()
    planned = llmmem.torch.compile(model, budget="1MB", inputs=(inputs,))
    loss = planned(inputs).sum()
    loss.backward()
    assert torch.equal(loss, expected) and model[0].weight.grad.abs().sum() > 0


def use_jax():
    import jax
    import jax.numpy as jnp

    import llmmem.jax

    def loss(weight, inputs):
        return jnp.tanh(jnp.tanh(inputs @ weight) @ weight.T).sum()

    arguments = jnp.full((8, 8), 0.1), jnp.ones((4, 8))
    expected = jax.jit(jax.grad(loss))(*arguments)
    found = jax.jit(jax.grad(llmmem.jax.checkpoint(loss, "1MB")))(*arguments)
    assert jnp.allclose(found, expected) and jnp.abs(found).sum() > 0


def use_llmmem():
    import llmmem
    problem = llmmem.Problem([llmmem.Value(5)] * 2, [llmmem.Op([0], [1])], [1])
    assert llmmem.plan(problem, "1kB").arena == 10


USES = {"llmmem": use_llmmem, "triton": use_triton, "torch": use_torch, "jax": use_jax}


class TogetherTest(unittest.TestCase):
    def check(self, *order):
        done = subprocess.run([sys.executable, os.path.abspath(__file__), "use", *order], capture_output=True, text=True, check=False,
                              env={**os.environ, "JAX_PLATFORMS": "cpu"})
        self.assertEqual((0, "all was used\n"), (done.returncode, done.stdout), done.stderr[-4000:])

    @unittest.skipUnless(JAX, "there is no environment with JAX next to this one (utils/guests.py jax)")
    def test_llmmem_first(self):
        self.check("llmmem", "triton", "torch", "jax")

    @unittest.skipUnless(JAX, "there is no environment with JAX next to this one (utils/guests.py jax)")
    def test_llmmem_last(self):
        self.check("jax", "triton", "torch", "llmmem")


if __name__ == "__main__":
    if sys.argv[1:2] == ["use"]:
        sys.path += JAX
        for name in [*sys.argv[2:], *reversed(sys.argv[2:])]:  # Each again, after all have been loaded.
            USES[name]()
        print("all was used")
    else:
        unittest.main()
