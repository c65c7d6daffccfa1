#!/usr/bin/env python3
"""Compares the losses of runs of llmmem-run: near.py TOLERANCE RUN RUN...; exits with 1 where one differs by more.

Each RUN is what a run printed. Every other run is compared with the first, step by step, relative to its loss."""
import re
import sys


def losses(path):
    with open(path) as handle:
        found = [float(loss) for loss in re.findall(r"^step \d+  loss (\S+)", handle.read(), re.M)]
    if not found:
        sys.exit(f"{path} has no step")
    return found


tolerance, runs = float(sys.argv[1]), [losses(path) for path in sys.argv[2:]]
assert len(runs) >= 2
for path, run in zip(sys.argv[3:], runs[1:]):
    worst = max(abs(a - b) / abs(b) for a, b in zip(run, runs[0], strict=True))
    print(f"{path}: within {worst:.1e} of {sys.argv[2]}")
    if not worst <= tolerance:
        sys.exit(f"expected at most {tolerance}")
