"""Runs a step with its feed-forwards in chunks of one accumulation tile, of two and of all tokens, and under the least budget: the bits
are equal, a larger chunk holds more, and the step that leaves them several ops has the same loss and gradients but for rounding.

  mlp-chunks.py folder text bound config.json [flags of llmmem-import]
"""
import os
import sys

import chain
import tensors

GRANULE = 512


def tiled(report):
    """Returns the chunks of feed-forwards; that of the loss is among the report's as well."""
    return [entry for entry in report["chunks"] if entry["name"] != "loss"]


def check_near(training, apart, bound):
    """Stops where a loss or a gradient differs from that of the ops by themselves by more than `bound`."""
    first, other = training.lines[0]["loss"], apart.lines[0]["loss"]
    worst = abs(first - other) / abs(other)
    expected = tensors.read(apart.gradients)
    for name, gradient in tensors.read(training.gradients).items():
        worst = max(worst, tensors.relative_error(gradient, expected[name]))
    if not worst <= bound:
        chain.stop("loss or gradients differ by %g from those of the ops by themselves, more than %g" % (worst, bound))


def main(folder, text, bound, config, *flags):
    os.makedirs(folder, exist_ok=True)
    model, data = os.path.join(folder, "model.mlir"), ["--data", text, "--steps", "2", "--seed", "7"]
    data += chain.quick(flags, unless="bf16")
    chain.import_model(config, model, *flags)
    step = lambda name: os.path.join(folder, name + ".mlir")
    chain.plan(model, step("apart"), "--checkpoint-policy=none")
    apart, expected, last, runs = chain.Training(step("apart"), *data), {}, 0, 0
    whole = ["--loss-chunk=whole", "--checkpoint-policy=none"]
    asked = {str(GRANULE): whole, str(2 * GRANULE): whole, "whole": whole,
             "auto": ["--checkpoint-budget=min", chain.SHORT_SEARCH]}
    for chunk, how in asked.items():
        report = chain.plan(model, step(chunk), *how, "--mlp-chunk=" + chunk)
        found = {entry["tokens"] for entry in tiled(report)}
        tokens = tiled(report)[0]["of"]
        if found != {tokens if chunk == "whole" else GRANULE if chunk == "auto" else int(chunk)}:
            chain.stop("chunks of %s: the report says %s" % (chunk, report["chunks"]))
        if chunk != "auto" and report["arena"] <= last:
            chain.stop("chunks of %s hold no more than smaller ones" % chunk)
        last = report["arena"]
        training = chain.Training(step(chunk), *data, "--poison")
        if training.lines[0]["arena_measured"] != report["arena"]:
            chain.stop("chunks of %s: arena of %d bytes, measured %d" %
                       (chunk, report["arena"], training.lines[0]["arena_measured"]))
        for what, bits in training.bits().items():
            if bits != expected.setdefault(what, bits):
                chain.stop("chunks of %s: %s differ" % (chunk, what))
        check_near(training, apart, float(bound))
        runs += 1
    print(runs, "runs have the same bits, near those of the ops by themselves")


main(*sys.argv[1:])
