"""Runs a model whose plans take products with and without epilogues, planned for two devices: the bits are one under every
budget and with every choice of epilogues, by whatever multiplies.

  one-choice.py folder text config.json [flags of llmmem-import]

Prints a line for each run, and last how many agreed. The plans of `auto` must differ in what they take, or the test would
say nothing.
"""
import os
import sys

import chain


def taken(report):
    return [entry["choice"] for entry in report["epilogues"] if entry["taken"]]


def main(folder, text, config, *flags):
    os.makedirs(folder, exist_ok=True)
    model, step = os.path.join(folder, "model.mlir"), os.path.join(folder, "step.mlir")
    chain.import_model(config, model, *flags)
    expected, runs, choices = {}, 0, set()

    def compare(*options):
        nonlocal runs
        report = chain.plan(model, step, *options)
        bits = chain.Training(step, "--data", text, "--steps", "2", "--seed", "7", *chain.quick(flags, unless="bf16")).bits()
        print(*options, "recomputes", report["recompute"]["ops"], "ops, takes", *taken(report))
        for what, found in bits.items():
            if found != expected.setdefault(what, found):
                chain.stop("%s: %s differ" % (" ".join(options), what))
        runs += 1
        return report

    for device in ("h100", "cpu"):
        # Plans for a library round elsewhere: who multiplies is one choice.
        prices = ["--checkpoint-device=" + device, "--products=generated"]
        plans = [compare(*prices, "--checkpoint-policy=none"), compare(*prices, "--checkpoint-budget=min")]
        most, least = map(chain.needed, plans)
        plans += [compare(*prices, "--checkpoint-budget=%d" % ((most + least) // 2))]
        for report in plans:
            choices.update(taken(report))
    for choice in ("separate", "unshared", "fused", "generated"):
        compare("--checkpoint-budget=min", "--epilogues=" + choice)
    if len(choices) < 2:
        chain.stop("all plans take the same products with their epilogues: %s" % choices)
    print(runs, "runs have the same bits")


main(*sys.argv[1:])
