"""Measures how far one step of SGD moves the parameters under --clip-norm.

  clip.py folder text config.json [flags of llmmem-import]
"""
import math
import os
import sys

import chain
import tensors


def distance(before, after):
    """Returns the norm of the difference of two checkpoints, all tensors together."""
    first, second = tensors.read(before), tensors.read(after)
    return math.sqrt(math.fsum((a - b) ** 2 for name in first for a, b in zip(first[name], second[name])))


def main(folder, text, config, *flags):
    os.makedirs(folder, exist_ok=True)
    model = os.path.join(folder, "model.mlir")

    def train(name, rate, *clip):
        step = os.path.join(folder, name + ".mlir")
        chain.import_model(config, model, *flags, *clip)
        chain.plan(model, step, "--checkpoint-budget=min")
        return chain.Training(step, "--data", text, "--lr", rate)

    before, free = train("before", "0"), train("free", "1")
    clipped, unreached = train("clipped", "1", "--clip-norm", "0.25"), train("unreached", "1", "--clip-norm", "1e6")
    print("unclipped norm %.4f" % distance(before.parameters, free.parameters))
    print("clipped norm %.4f" % distance(before.parameters, clipped.parameters))
    if unreached.bits()["parameters"] != free.bits()["parameters"]:
        chain.stop("a clip that is out of reach changes the parameters")
    print("out of reach: same bits")


main(*sys.argv[1:])
