"""Runs a small model unplanned, each op a kernel of its own, and demands the same bits of grouped kernels and of five
budgets, from the least feasible up.

  bitwise.py folder text config.json [flags of llmmem-import]

Prints a line for each plan, and last how many runs agreed.
"""
import math
import os
import sys

import chain
import tensors

STEPS = "3"
# Prices of the machine that runs the steps.
PRICES = ["--checkpoint-device=cpu", chain.SHORT_SEARCH]


def check_numbers(unplanned):
    """Refuses runs that are all NaN, or all zero, since those would agree as well."""
    losses = [line["loss"] for line in unplanned.lines]
    if len(losses) != int(STEPS) or None in losses or losses[0] == losses[-1]:
        chain.stop("the unplanned losses say nothing: %s" % losses)
    for name, gradient in tensors.read(unplanned.gradients).items():
        if not all(map(math.isfinite, gradient)) or not any(gradient):
            chain.stop("the unplanned gradient of %s is zero or not finite" % name)


def check_memory(name, report, budget, training):
    """Checks that the report fits the budget, and the run touched what the report says."""
    if budget is not None and chain.needed(report) > budget:
        chain.stop("%s: the report is over its budget" % name)
    for line in training.lines:
        if (line["arena"], line["peak"]) != (report["arena"], report["peak"]["bytes"]):
            chain.stop("%s: the step claims other bytes than its report" % name)
        if line["arena_measured"] != report["arena"]:
            chain.stop("%s: arena of %d bytes, measured %d" % (name, report["arena"], line["arena_measured"]))


def check_bits(name, expected, training):
    for what, bits in training.bits().items():
        if bits != expected[what]:
            chain.stop("%s: %s differ from the unplanned step's" % (name, what))


def main(folder, text, config, *flags):
    os.makedirs(folder, exist_ok=True)
    model, data = os.path.join(folder, "model.mlir"), ["--data", text, "--steps", STEPS, "--seed", "7"]
    data += chain.quick(flags, unless="--dropout")
    step = lambda name: os.path.join(folder, name + ".mlir")
    chain.import_model(config, model, *flags)

    report = chain.plan(model, step("apart"), *PRICES, "--checkpoint-policy=none", "--checkpoint-kernels=apart")
    apart = chain.Training(step("apart"), *data)
    check_numbers(apart)
    check_memory("apart", report, None, apart)
    expected, runs = apart.bits(), 0

    report = chain.plan(model, step("none"), *PRICES, "--checkpoint-policy=none")
    unplanned = chain.Training(step("none"), *data)
    check_memory("none", report, None, unplanned)
    check_bits("none", expected, unplanned)
    check_bits("none, poisoned", expected, chain.Training(step("none"), *data, "--poison"))

    least = chain.needed(chain.plan(model, step("min"), *PRICES, "--checkpoint-budget=min"))
    if not least < chain.needed(report):
        chain.stop("the least feasible budget is the unplanned step's: nothing was recomputed")
    for budget in chain.spread(least, chain.needed(report), 5):
        name = str(budget)
        report = chain.plan(model, step(name), *PRICES, "--checkpoint-budget=" + name)
        recomputed = report["recompute"]["ops"]
        if budget == least and recomputed == 0:
            chain.stop("nothing is recomputed at the least feasible budget")
        print("budget %d: arena %d, %d ops recomputed" % (budget, report["arena"], recomputed))
        for poison in ([], ["--poison"]) if budget == least else (["--poison"],):
            training = chain.Training(step(name), *data, *poison)
            check_bits("budget " + name + " ".join(poison), expected, training)
            check_memory("budget " + name, report, budget, training)
            runs += 1
    print("%d runs have the bits of the unplanned one" % runs)


main(*sys.argv[1:])
