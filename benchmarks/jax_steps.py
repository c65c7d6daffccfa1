#!/usr/bin/env python3
"""Bytes and FLOPs of the gradients of small transformers of JAX: under jax.checkpoint with each policy of JAX, and planned for as many bytes
and for budgets between; then of whole steps of AdamW, planned by llmmem.jax.plan.

  jax_steps.py [--models gpt llama nnx gpt-scan llama-scan] [--layers 3] [--width 128] [--batch 4] [--tokens 128] [--steps]

Prints tables for docs/Design/Guests.md, and ends with 1 where what XLA compiled is above its budget, has other values, or needs more FLOPs than a
policy of JAX in as many bytes. Bytes are those of `compiled_bytes`, with CPU_OPTIONS on a CPU. FLOPs are those of cost_analysis, or in a scan,
which that counts once, of the traced gradient. Needs LLMMEM_OPT for --steps, and flax for nnx.
"""

import argparse
import sys
import time
import warnings

import jax
import jax.numpy as jnp

import llmmem.jax
from jax_models import make, with_policy
from llmmem.jax._cpu import default_options, trial_options
from llmmem.jax._memory import compiled_flops
from llmmem.jax._program import Program, flops_of, has_loops

POLICIES = ("everything_saveable", "dots_saveable", "dots_with_no_batch_dims_saveable", "nothing_saveable")
OPTIONS = default_options(None)


def gradient_of(loss, arguments):
    """Returns the compiled gradient, its bytes and its FLOPs."""
    gradient = jax.value_and_grad(loss)
    compiled = jax.jit(gradient, compiler_options=trial_options(OPTIONS)).lower(*arguments).compile()
    traced = Program(jax.make_jaxpr(gradient)(*arguments))
    flops = sum(flops_of(step.equation) for step in traced.steps) if has_loops(traced) else compiled_flops(compiled)
    return compiled, llmmem.jax.compiled_bytes(compiled), flops


def difference(mine, its):
    """Returns the largest difference of two gradients, as a part of the largest number of each array."""
    return max(float(jnp.abs(a - b).max() / jnp.abs(b).max()) for a, b in zip(jax.tree.leaves(mine), jax.tree.leaves(its)))


class Table:
    def __init__(self, name, loss, arguments):
        self.name, self.loss, self.arguments, self.failures = name, loss, arguments, []
        self.compiled, self.free, self.flops = gradient_of(loss, arguments)
        self.expected = self.compiled(*arguments)
        print(f"\n| {name} | budget | bytes compiled | planned in the model | FLOPs | trials | s |\n|---|---:|---:|---:|---:|---:|---:|")
        print(f"| unplanned | | {self.free:,} | | 1 | | |", flush=True)

    def policies(self):
        """Prints each policy of JAX on each layer, and returns bytes and FLOPs of those that hold fewer bytes than the unplanned loss."""
        found = []
        for policy in POLICIES:
            _, held, flops = gradient_of(with_policy(self.loss, policy), self.arguments)
            print(f"| layers, {policy} | | {held:,} | | {flops / self.flops:.3f} | | |", flush=True)
            found.append((held, flops))
        return [(held, flops) for held, flops in found if held < self.free]

    def plan(self, budget, most_flops=None):
        began = time.monotonic()
        planned = llmmem.jax.checkpoint(self.loss, budget)
        try:
            report = planned.prepare(*self.arguments)
        except llmmem.jax.BudgetError as error:
            print(f"| planned | {budget:,} | refused: the least that was found holds {error.least_bytes:,} | | | | "
                  f"{time.monotonic() - began:.0f} |", flush=True)
            return
        compiled, held, flops = gradient_of(planned, self.arguments)
        asked = budget if isinstance(budget, str) else f"{budget:,}"
        print(f"| planned | {asked} | {held:,} | {report.planned:,} | {flops / self.flops:.3f} | {report.trials} | {report.seconds:.0f} |",
              flush=True)
        value, gradients = compiled(*self.arguments)
        self.check(held == report.compiled and (budget == "min" or held <= budget), f"{asked}: {held:,} bytes")
        self.check(float(value) == float(self.expected[0]) and difference(gradients, self.expected[1]) < 1e-4,
                   f"{asked}: other values: {difference(gradients, self.expected[1]):.1e}")
        self.check(most_flops is None or flops <= most_flops, f"{asked}: {flops / (most_flops or 1):.4f} times the FLOPs of a policy of JAX")
        return held

    def check(self, holds, what):
        if not holds:
            self.failures.append(f"{self.name}: {what}")


def step_of(loss):
    """Returns a step of AdamW on weights, first and second moments."""
    def step(state, ids, targets):
        value, gradients = jax.value_and_grad(loss)(state[0], ids, targets)
        first = jax.tree.map(lambda moment, gradient: 0.9 * moment + 0.1 * gradient, state[1], gradients)
        second = jax.tree.map(lambda moment, gradient: 0.99 * moment + 0.01 * jnp.square(gradient), state[2], gradients)
        weights = jax.tree.map(lambda weight, a, b: weight - 1e-3 * (a / (jnp.sqrt(b) + 1e-8) + 0.01 * weight), state[0], first, second)
        return (weights, first, second), value
    return step


def flops_of_step(step, compiled, arguments):
    """Returns the FLOPs of a step, by the traced one where there are loops, of which XLA counts one round."""
    traced = Program(jax.make_jaxpr(step)(*arguments))
    return sum(flops_of(each.equation) for each in traced.steps) if has_loops(traced) else compiled_flops(compiled)


def plan_steps(table):
    """Prints whole steps: as they are, under jax.checkpoint of each layer with each policy of JAX, and planned by llmmem.jax.plan."""
    weights, *data = table.arguments
    zeros = jax.tree.map(jnp.zeros_like, weights)
    arguments = ((weights, zeros, zeros), *data)

    def compile_(function):
        return jax.jit(function, donate_argnums=0, compiler_options=trial_options(OPTIONS)).lower(*arguments).compile()

    def run(compiled):
        return compiled(jax.tree.map(jnp.array, arguments[0]), *data)

    unplanned = compile_(step_of(table.loss))
    free, flops = llmmem.jax.compiled_bytes(unplanned), flops_of_step(step_of(table.loss), unplanned, arguments)
    expected = run(unplanned)
    print(f"\n| {table.name}, whole step | budget | bytes compiled | planned in the model | FLOPs | trials | s |\n|---|---:|---:|---:|---:|---:|---:|\n"
          f"| unplanned | | {free:,} | | 1 | | |", flush=True)
    for policy in POLICIES:
        step = step_of(with_policy(table.loss, policy))
        compiled = compile_(step)
        print(f"| layers, {policy} | | {llmmem.jax.compiled_bytes(compiled):,} | | {flops_of_step(step, compiled, arguments) / flops:.3f} | | |", flush=True)

    is_loop = table.name.endswith("-scan")  # The rounds of a planned loop are known to its model alone.
    base = llmmem.jax.plan(step_of(table.loss), 1 << 60, donate_argnums=0, attempts=0).prepare(*arguments).facts["step"]["flops"]

    def plan_for(budget):
        began, planned = time.monotonic(), llmmem.jax.plan(step_of(table.loss), budget, donate_argnums=0)
        report, compiled = planned.prepare(*arguments), compile_(planned)
        held, asked = llmmem.jax.compiled_bytes(compiled), budget if isinstance(budget, str) else f"{budget:,}"
        modelled = report.facts["step"]["flops"] + report.facts["recompute"]["flops"]
        again = modelled / base if is_loop else compiled_flops(compiled) / flops
        print(f"| planned, {report.form} | {asked} | {held:,} | {report.needed:,} | {again:.3f} | {report.trials} | {time.monotonic() - began:.0f} |", flush=True)
        value = run(compiled)[1]
        table.check(held == report.measured and (budget == "min" or held <= budget), f"step, {asked}: {held:,} bytes")
        table.check(float(value) == float(expected[1]), f"step, {asked}: the loss is {float(value)} and not {float(expected[1])}")
        return held

    least = plan_for("min")
    for part in (0.25, 0.5, 0.75):
        plan_for(int(least + part * (free - least)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", default=["gpt", "llama", "nnx", "gpt-scan", "llama-scan"])
    for name, number in (("layers", 3), ("width", 128), ("batch", 4), ("tokens", 128)):
        parser.add_argument(f"--{name}", type=int, default=number)
    parser.add_argument("--steps", action="store_true", help="plan whole steps too, by llmmem-opt")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    failures = []
    for name in options.models:
        table = Table(name, *make(name, options.layers, options.width, options.batch, options.tokens))
        for held, flops in table.policies():
            table.plan(held, flops)
        least = table.plan("min")
        for part in (0.25, 0.5, 0.75):
            table.plan(int(least + part * (table.free - least)))
        if options.steps:
            plan_steps(table)
        failures += table.failures
    for failure in failures:
        print(f"failed: {failure}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
