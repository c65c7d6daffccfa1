"""Generates on two ranks of tp by a tiny model that transformers has generated with, and demands its tokens and, to 1e-9 in f64, its
logits: token by token, with prompts in chunks of 4 and, where no layer has a window, in pages.

  generation_of_ranks.py folder golden mpirun...

Prints a line for each run, and last how many agreed.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "EndToEnd", "Inputs"))
import chain
import generation

RANKS = 2


class ModelOfRanks(generation.Model):
    def __init__(self, folder, golden, launcher):
        super().__init__(folder, golden)
        self.launcher = [*launcher, "-n", str(RANKS)]

    def step(self, name, *flags):
        model, planned = (os.path.join(self.folder, name + suffix) for suffix in (".model.mlir", ".mlir"))
        chain.run("llmmem-import", self.golden + ".config.json", *flags, "-o", model)
        chain.run("llmmem-opt", "--mesh=tp=%d" % RANKS, "--checkpoint-policy=none", model, "-o", planned)
        return planned

    def runner(self):
        return [*self.launcher, *super().runner()]


def main(folder, golden, *launcher):
    os.makedirs(folder, exist_ok=True)
    model = ModelOfRanks(folder, golden, launcher)
    _, decode, flags = generation.check_divided(model, "f64")
    runs = 2
    if not model.has_rings:
        paged = model.step("paged", "--mode", "decode", "--batch", "2", *flags, "--page", "4", "--pages", "9")
        model.check("pages", [paged], [0, 1], generation.TOLERANCE["f64"])
        runs += 1
    print("%d runs of %d ranks agree with transformers" % (runs, RANKS))


if __name__ == "__main__":
    main(*sys.argv[1:])
