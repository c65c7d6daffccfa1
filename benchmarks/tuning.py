#!/usr/bin/env python3
"""Measures what the constants of lib/Planning/Tuning/Constants.h and the searchers of the planner are worth.

  cmake --preset planner -B build-tuning -DCMAKE_CXX_FLAGS=-DLLMMEM_TUNING && ninja -C build-tuning planning-tables
  benchmarks/tuning.py build-tuning/bin/planning-tables              each constant, halved and doubled
  benchmarks/tuning.py build-tuning/bin/planning-tables NAME...      some of them
  benchmarks/tuning.py build-tuning/bin/planning-tables --searchers  each searcher switched off in turn, or those that are named

Prints one line a setting: by how much it changes what the problems of `planning-tables tuning` end at. Plans that were found,
recomputation (in percent of a step, a plan), the least memory (in percent of the program order's peak, a problem), and the work:
searches that were begun, and steps that offsets were looked for, both in percent. No number depends on the machine.
"""

import argparse
import concurrent.futures
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CONSTANT = re.compile(r"^LLMMEM_TUNED\(([\w:]+), (\w+), ([\d.]+)\);", re.MULTILINE)
SEARCHERS = ["options of stages", "nested recomputation", "eviction", "least memory", "annealing", "headroom", "ruin and recreate",
             "lowering", "every order", "series-parallel order", "annealed order", "deferred gradient", "canonical numbers",
             "rungs", "every schedule", "every placement", "core first", "promotion", "packing search", "ejection chains",
             "similar plan", "small buffers last"]


def constants():
    """(name, value) of each constant."""
    with open(os.path.join(ROOT, "lib/Planning/Tuning/Constants.h"), encoding="utf-8") as handle:
        return [(name, value) for _, name, value in CONSTANT.findall(handle.read())]


def measure(program, setting):
    """The sums of each group, by its name."""
    done = subprocess.run([program, "tuning"], env={**os.environ, "LLMMEM_TUNE": setting}, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{setting}: {done.stderr}")
    rows = [line.split() for line in done.stdout.splitlines()[2:]]
    return {row[0]: [float(number) for number in row[1:]] for row in rows if len(row) == 9}


def difference(before, after):
    """What a setting changes, in words; nothing where it changes nothing."""
    said = []
    for group, base in before.items():
        plans, found, optimal, _, cost, least, searches, steps = (b - a for a, b in zip(base, after[group]))
        parts = []
        if found:
            parts.append(f"{found:+.0f} found")
        if optimal:
            parts.append(f"{optimal:+.0f} optimal")
        if abs(cost) > 5e-5:
            parts.append(f"{cost / base[0]:+.3f} recomputed")
        if abs(least) > 5e-5:
            parts.append(f"{least / base[0]:+.3f} least")
        if searches or steps:
            parts.append(f"work {100 * searches / max(base[6], 1):+.0f}/{100 * steps / max(base[7], 1):+.0f}")
        if parts:
            said.append(f"{group}: " + ", ".join(parts))
    return "; ".join(said) or "nothing"


def neighbours(name, value):
    """The values that a constant is compared at."""
    if "." in value:
        return [float(value) / 2, float(value) * 2]
    number = int(value)
    if name.endswith("Shift"):
        return [number - 2, number + 2]
    return [max(number // 2, 1 if number > 1 else 0), number * 2]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--searchers", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_intermixed_args()
    if arguments.searchers:
        settings = [(name, f"without={name}") for name in arguments.names or SEARCHERS]
    else:
        wanted = set(arguments.names)
        settings = [(f"{name} {value} -> {other:g}", f"{name}={other}") for name, value in constants()
                    if not wanted or name in wanted for other in neighbours(name, value)]
    before = measure(arguments.program, "")
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for (label, _), after in zip(settings, pool.map(lambda each: measure(arguments.program, each[1]), settings)):
            print(f"| {label} | {difference(before, after)} |", flush=True)


if __name__ == "__main__":
    main()
