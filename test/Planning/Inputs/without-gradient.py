#!/usr/bin/env python3
"""without-gradient.py: a step of 6 layers whose backward reads the derivative of a square, as PyTorch writes a norm. It needs
no gradient, so it may first run in either half; what it reads is as large as what it writes."""

import json

LAYERS = 6


def main():
    values, ops = [], []

    def op(reads, size, cost):
        values.append({"id": len(values), "bytes": size})
        ops.append({"id": len(ops), "reads": reads, "writes": [values[-1]["id"]], "cost": cost})
        return values[-1]["id"]

    values.append({"id": 0, "bytes": 10})
    hidden, wide = [0], []
    for _ in range(LAYERS):
        wide.append(op([hidden[-1]], 100, 3))
        mean = op([wide[-1]], 1, 1)
        hidden.append(op([hidden[-1], mean], 10, 5))
    gradient = op([hidden[-1]], 10, 5)
    for layer in reversed(range(LAYERS)):
        derivative = op([wide[layer]], 100, 1)
        gradient = op([gradient, derivative, hidden[layer]], 10, 8)
    print(json.dumps({"format": "llmmem-problem", "version": 1, "values": values, "ops": ops, "keep": [gradient]}))


if __name__ == "__main__":
    main()
