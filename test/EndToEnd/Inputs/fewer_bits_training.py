"""Trains adapters over weights in fewer bits, and over the f32 that these stand for: losses, and the bits of the adapters that are
saved, must be equal. Then demands the bits of the unplanned step of two budgets, and of a run that goes on from what was saved, weights in
fewer bits among it.

  fewer_bits_training.py folder text config.json format [flags of both imports]
"""
import os
import sys

import chain
import fewer_bits
import tensors


def main(folder, text, config, form, *flags):
    os.makedirs(folder, exist_ok=True)
    kind, group = form.split(":")
    path = lambda name: os.path.join(folder, name)

    def step(name, *more):
        chain.import_model(config, path(name + ".model.mlir"), *flags, "--dtype", "f32", *more)
        chain.run("llmmem-opt", "--checkpoint-policy=none", path(name + ".model.mlir"), "-o", path(name + ".mlir"))
        return path(name + ".mlir")

    def train(name, planned, steps, weights):
        lines = chain.run("llmmem-run", planned, "--data", text, "--steps", str(steps), "--seed", "7", "--lr", "0.01",
                          "--load", weights, "--save", path(name), "--optimize=false", "--gemm=builtin")
        return [line for line in lines.splitlines() if line.startswith("step")]

    plain, held = step("plain"), step("packed", "--weights", form)
    shapes, in_bits = fewer_bits.parameters(path("plain.model.mlir")), fewer_bits.parameters(path("packed.model.mlir"))
    weights = fewer_bits.some_weights({name: shape for name, shape in shapes.items() if ".lora_" not in name})
    elements = {name: fewer_bits.round_tensor(kind, int(group), numbers) if name + ".scales" in in_bits else numbers
                for name, numbers in weights.items()}
    fewer_bits.write(path("weights"), weights, shapes)
    fewer_bits.write(path("elements"), elements, shapes)
    expected, actual = train("of-elements", plain, 3, path("elements")), train("of-bits", held, 3, path("weights"))
    if actual != expected:
        chain.stop("losses %s, expected %s" % (actual, expected))
    saved, wanted = tensors.read_bytes(path("of-bits")), tensors.read_bytes(path("of-elements"))
    adapters = [name for name in wanted if ".lora_" in name]
    for name in adapters:
        if saved[name] != wanted[name]:
            chain.stop("%s has other bits than over f32" % name)
    report = chain.plan(path("packed.model.mlir"), path("none.mlir"), "--checkpoint-policy=none")
    least = chain.plan(path("packed.model.mlir"), path("min.mlir"), "--checkpoint-budget=min")
    budget = (chain.needed(report) + chain.needed(least)) // 2
    middle = chain.plan(path("packed.model.mlir"), path("middle.mlir"), "--checkpoint-budget=%d" % budget)
    for name in ("min", "middle"):
        if train(name, path(name + ".mlir"), 3, path("weights")) != actual or tensors.read_bytes(path(name)) != saved:
            chain.stop("%s: a budget gives other bits than the unplanned step" % name)
    print("%d and %d ops recomputed give the bits of the unplanned step"
          % (least["recompute"]["ops"], middle["recompute"]["ops"]))
    train("first", held, 2, path("weights"))
    train("resumed", held, 1, path("first"))
    if tensors.read_bytes(path("resumed")) != saved:
        chain.stop("a run that goes on has other bits than an unbroken one")
    print("%d tensors of adapters over %s have the bits of those over its elements, and go on" % (len(adapters), form))


if __name__ == "__main__":
    main(*sys.argv[1:])
