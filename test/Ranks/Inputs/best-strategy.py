#!/usr/bin/env python3
"""Every strategy for a number of devices, one by one through llmmem-opt: best-strategy.py MODEL TOPOLOGY REPORT ...

Shares nothing with --mesh=auto: it enumerates by itself, and what llmmem-opt refuses or finds no plan for is out. REPORT is
what --mesh-report wrote for the same model, topology, devices and budget. Its choice must be the fastest strategy, or as
fast: within TIE of it, as a part of the time. What the report says of steps that were planned whole must hold exactly.
"""

import argparse
import concurrent.futures
import itertools
import json
import os
import subprocess
import sys
import tempfile


def divisors(number):
    return [part for part in range(1, number + 1) if number % part == 0]


def schedules(pp, blocks):
    if pp == 1:
        return [[]]
    plain = [["--pipeline=" + name] for name in ("gpipe", "1f1b", "zero-bubble")]
    chunks = [2**power for power in range(1, 8) if pp * 2**power <= blocks]
    return plain + [["--pipeline=interleaved", f"--pipeline-chunks={count}"] for count in chunks]


def strategies(devices, batch, blocks, experts):
    """Returns the flags of each strategy; impossible ones are left to llmmem-opt to refuse."""
    for pp, dp, cp, tp, ep in itertools.product(*[divisors(devices)] * 4, divisors(devices) if experts else [1]):
        if pp * dp * ep * cp * tp != devices or batch % (dp * ep) != 0:
            continue
        if cp > 1 and batch % (dp * ep * cp) == 0:  # dp has these ranks without exchanges
            continue
        axes = (("pp", pp), ("dp", dp), ("ep", ep), ("cp", cp), ("tp", tp))
        mesh = ",".join(f"{name}={size}" for name, size in axes if size > 1)
        for zero, sequence, parts, schedule in itertools.product(
                range(4 if dp * ep * cp > 1 else 1), (False, True) if tp > 1 else (False,), divisors(batch // (dp * ep)),
                schedules(pp, blocks)):
            flags = [f"--mesh={mesh}"] if mesh else ["--mesh=dp=1"]
            flags += [f"--zero={zero}"] if zero else []
            flags += ["--sequence-parallel"] if sequence else []
            flags += [f"--micro-batches={parts}"] if parts > 1 else []
            yield tuple(flags + schedule)


def step_time(report):
    """Returns the ns of a step by a memory report: the pipeline's, or that of the functions of a step."""
    if report.get("pipeline"):
        return report["pipeline"]["time_ns"]
    functions = report.get("stages") or []
    if functions:
        return sum(function["runs"] * function["time_ns"] for function in functions)
    return report["overlap"]["time_ns"]  # in turn where nothing is started


def measure(flags, arguments, folder, number):
    """Returns the time of a strategy, or None where there is no plan."""
    report = os.path.join(folder, f"{number}.json")
    run = subprocess.run(["llmmem-opt", *flags, *arguments.flag, f"--checkpoint-device={arguments.topology}", "--checkpoint-seconds=1",
                          f"--memory-report-json={report}", f"--checkpoint-budget={arguments.budget}", arguments.model, "-o", "/dev/null"],
                         stderr=subprocess.PIPE, text=True, check=False)
    if run.returncode:
        return None
    with open(report, encoding="utf-8") as handle:
        return step_time(json.load(handle))


def check(report, times, tie):
    """Returns what is wrong with the report's choice."""
    if not report["best"] or not times:
        return f"{len(times)} strategies have a plan, {len(report['best'])} are reported" if times or report["best"] else None
    first = report["best"][0]
    if "whole" in first:  # a layout that flags do not say
        time = first.get("planned", first["modelled"])["time_ns"]
        return None if time <= min(times.values()) * (1 + tie) else f"{first['flags']} is not the fastest"
    chosen = first["flags"]
    if tuple(chosen.split()) not in times:
        return f"{chosen} was chosen and has no plan"
    fastest = min(times, key=times.get)
    if times[tuple(chosen.split())] > times[fastest] * (1 + tie):
        return (f"{chosen} was chosen and takes {times[tuple(chosen.split())]} ns; "
                f"{' '.join(fastest)} takes {times[fastest]}")
    for entry in report["best"]:
        flags = tuple(entry["flags"].split())
        if "planned" in entry and "whole" not in entry and entry["planned"]["time_ns"] != times.get(flags):
            return f"{entry['flags']} takes {times.get(flags)} ns, not {entry['planned']['time_ns']}"
    for entry in report["best"] + report["others"]:
        time = None if "whole" in entry else times.get(tuple(entry["flags"].split()))
        if time is not None and entry["state"] == "too_large":
            return f"{entry['flags']} is said to be too large, and has a plan"
        if time is not None and time < entry["time_lower_bound_ns"]:
            return f"{entry['flags']} takes {time} ns, less than the bound {entry['time_lower_bound_ns']}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("topology")
    parser.add_argument("report")
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--blocks", type=int, required=True)
    parser.add_argument("--experts", action="store_true", help="the model has some, which ep may split")
    parser.add_argument("--flag", action="append", default=[], help="for every plan, as it was for the report")
    parser.add_argument("--tie", type=float, default=0.0)
    parser.add_argument("--budget", required=True)
    arguments = parser.parse_args()
    with open(arguments.report, encoding="utf-8") as handle:
        report = json.load(handle)
    found = list(strategies(report["devices"], arguments.batch, arguments.blocks, arguments.experts))
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        measured = list(pool.map(lambda item: measure(item[1], arguments, folder, item[0]), enumerate(found)))
    times = {flags: time for flags, time in zip(found, measured) if time is not None}
    wrong = check(report, times, arguments.tie)
    if wrong:
        sys.exit(wrong)
    chosen = report["best"][0]["flags"] if report["best"] else "none"
    print(f"{len(found)} strategies, {len(times)} with a plan; chosen {chosen}")


if __name__ == "__main__":
    main()
