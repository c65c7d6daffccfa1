#!/usr/bin/env python3
"""wrong-phases.py FOLDER: a chain of 8 layers, forward and backward, written thrice: `none.json` says no phases, `stated.json`
says that all ops are updates, which they are not, and `guessed.json` says the same as a guess."""

import json
import os
import sys

LAYERS = 8


def make(phase=None, guessed=False):
    values, ops = [], []

    def value(size):
        values.append({"id": len(values), "bytes": size})
        return len(values) - 1

    def op(reads, size, cost):
        result = value(size)
        ops.append({"id": len(ops), "reads": reads, "writes": [result], "cost": cost, **({"phase": phase} if phase else {})})
        return result

    outputs, inner = [value(100)], []
    for _ in range(LAYERS):
        inner.append(op([outputs[-1]], 200, 5))
        outputs.append(op([inner[-1], outputs[-1]], 100, 2))
    gradient = op([outputs[-1]], 100, 5)
    for layer in reversed(range(LAYERS)):
        gradient = op([gradient, inner[layer], outputs[layer]], 100, 10)
    problem = {"format": "llmmem-problem", "version": 1, "values": values, "ops": ops, "keep": [gradient]}
    if guessed:
        problem["guessed_phases"] = True
    return problem


def main():
    for name, problem in {"none": make(), "stated": make("update"), "guessed": make("update", True)}.items():
        with open(os.path.join(sys.argv[1], name + ".json"), "w", encoding="utf-8") as file:
            json.dump(problem, file)


if __name__ == "__main__":
    main()
