"""Trains a small model on text, unplanned and at the least feasible budget.

  learns.py folder text config.json [flags of llmmem-import]

The losses must have the same digits at every step, begin at what knowing nothing gives, and fall.
"""
import math
import os
import sys

import chain

STEPS = 200


def main(folder, text, config, *flags):
    os.makedirs(folder, exist_ok=True)
    model = os.path.join(folder, "model.mlir")
    chain.import_model(config, model, *flags)
    curves, files = [], []
    for name, flag in (("none", "--checkpoint-policy=none"), ("min", "--checkpoint-budget=min")):
        step = os.path.join(folder, name + ".mlir")
        report = chain.plan(model, step, flag)
        training = chain.Training(step, "--data", text, "--steps", str(STEPS), "--lr", "3e-3", "--seed", "1")
        curves.append([(line["loss"], line["digest"]) for line in training.lines])
        print("%s: %d bytes, %d ops recomputed" % (name, chain.needed(report), report["recompute"]["ops"]))
    if len(curves[0]) != STEPS or curves[0] != curves[1]:
        chain.stop("the curves differ")
    losses = [loss for loss, _ in curves[0]]
    first, last = losses[0], sum(losses[-10:]) / 10
    print("loss %.4f at first, %.4f over the last ten steps" % (first, last))
    if abs(first - math.log(256)) > 0.05:
        chain.stop("parameters near zero should know nothing: a loss of ln 256")
    if not last < first - 1.5:
        chain.stop("the loss does not fall")
    print("%d steps, same digits" % STEPS)


main(*sys.argv[1:])
