#!/usr/bin/env python3
"""Plans graphs of other compilers under several budgets and prints a table: graphs.py FOLDER [--tools DIR] [--only TEXT]

FOLDER holds .mlir and .mlir.gz files. Each is planned without a budget (the *free* peak: every value kept, the best order
found), at the least budget that a plan is found for, and at three budgets between. A column `refused` has what the tool says.
Every line's bytes are resident buffers and arena: what a budget bounds. `recompute` is its part of the modelled time of the
step, `gap` how far the plan may be above the cheapest one, as proved. `by bytes` is the part of the time of ops that nobody
describes (--unpriced=by-bytes), `s` the seconds of one processor that reading and planning took. Behind the name stands the structure
that plans are made along. The row `least` is planned twice: for the least bytes, and under these as a budget, which is what a gap is of.

Elided constants (dense_resource<__elided__>, dense<...>) have a type and no values; planning reads the type alone, and parsing
gets zeros, always the same. Functions on numbers and pointers that are declared alone, as clocks are, do nothing.
"""

import argparse
import gzip
import json
import os
import re
import resource
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "utils"))
import run_linalg  # noqa: E402
FRACTIONS = (0.25, 0.5, 0.75)


def read_graph(path):
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt") as file:
        text = file.read()
    return run_linalg.define_missing(re.sub(r"dense<(?:\.\.\.|\"0x\.\.\.\")>", "dense<0>", text))


def find_graphs(folder, only):
    for place, _, names in sorted(os.walk(folder)):
        for name in sorted(names):
            if re.search(r"\.mlir(\.gz)?$", name) and only in os.path.join(place, name):
                yield os.path.join(place, name)


def processor_seconds():
    """Of all programs that have been run: other load on the machine does not count."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Planner:
    def __init__(self, tools, graph, folder, limit):
        self.tool = os.path.join(tools, "llmmem-opt")
        self.graph = graph
        self.report = os.path.join(folder, "report.json")
        self.problem = os.path.join(folder, "problem.json")
        self.limit = limit
        self.entry = []

    def choose_largest(self):
        """Of several functions the one of the most lines."""
        with open(self.graph) as file:
            parts = re.split(r"func\.func[^@\n]*@", file.read())[1:]
        self.entry = ["--entry=" + re.match(r"\w+", max(parts, key=lambda part: part.count("\n"))).group()]

    def structure(self):
        """What plans are made along, in the planner's words."""
        self.plan("--checkpoint-policy=none", "--emit-problem=" + self.problem)
        return subprocess.run([self.tool[:-len("opt")] + "plan", "--structure", self.problem], check=True, capture_output=True,
                              text=True).stdout.strip()

    def plan(self, *flags):
        """The report, or what the tool says first, and the seconds that it took."""
        if os.path.exists(self.report):
            os.remove(self.report)
        begin = processor_seconds()
        try:
            done = subprocess.run([self.tool, "--allow-unregistered-dialect", "--unpriced=by-bytes", *self.entry, *flags, self.graph, "-o",
                                   "/dev/null", "--memory-report-json=" + self.report], capture_output=True, text=True,
                                  timeout=self.limit)
        except subprocess.TimeoutExpired:
            return None, f"no answer in {self.limit} s", self.limit
        seconds = processor_seconds() - begin
        if done.returncode == 0:
            with open(self.report) as file:
                return json.load(file), "", seconds
        said = re.search(r"error: (.*)", done.stderr)
        return None, said.group(1)[:160] if said else done.stderr[:160], seconds


def needed(report):
    return sum(report["resident"].values()) + report["resident_padding"] + report["arena"]


def gigabytes(count):
    return f"{count / 1e9:.3f}" if count >= 1e8 else f"{count / 1e6:.2f}e-3"


def row_of(report, seconds):
    by_bytes = sum(entry["time_ns"] for entry in report.get("priced_by_bytes", []))
    return (f"{gigabytes(needed(report))} GB | {report['recompute']['percent_time']:.2f} % | "
            f"{report['certificate']['gap_percent']:.2f} % | {100 * by_bytes / max(1, report['step']['time_ns'] + report['recompute']['time_ns']):.1f} % | "
            f"{seconds:.1f}")


def table_of(planner, name):
    free, said, seconds = planner.plan("--checkpoint-policy=none")
    if not free and "--entry=NAME" in said:
        planner.choose_largest()
        free, said, seconds = planner.plan("--checkpoint-policy=none")
    if not free:
        print(f"| {name} | refused | {said} |||||")
        return False
    print(f"| {name}: {planner.structure()} | free | {row_of(free, seconds)} |", flush=True)
    least, said, seconds = planner.plan("--checkpoint-budget=min")
    if not least:
        print(f"| | least | {said} |||||", flush=True)
        return True
    low, high = needed(least), needed(free)
    bounded, said, _ = planner.plan(f"--checkpoint-budget={low}")
    print(f"| | least | {row_of(bounded, seconds) if bounded else said + ' ||||'} |", flush=True)
    for fraction in FRACTIONS:
        budget = low + int(fraction * (high - low))
        report, said, seconds = planner.plan(f"--checkpoint-budget={budget}")
        if report and needed(report) > budget:
            sys.exit(f"graphs.py: {name}: a plan of {needed(report)} bytes under a budget of {budget}")
        print(f"| | {gigabytes(budget)} GB | {row_of(report, seconds) if report else said + ' ||||'} |", flush=True)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--tools", default=os.path.join(ROOT, "build", "bin"))
    parser.add_argument("--only", default="", help="plan only files whose path has this text")
    parser.add_argument("--limit", type=float, default=300, help="seconds for one plan")
    options = parser.parse_args()
    print("| graph | budget | resident+arena | recompute | gap | by bytes | s |\n|---|---|---|---|---|---|---|")
    planned = graphs = 0
    with tempfile.TemporaryDirectory() as folder:
        for path in find_graphs(options.folder, options.only):
            graph = os.path.join(folder, "graph.mlir")
            with open(graph, "w") as file:
                file.write(read_graph(path))
            graphs += 1
            planned += table_of(Planner(options.tools, graph, folder, options.limit), os.path.relpath(path, options.folder))
    print(f"\n{planned} of {graphs} graphs planned")


if __name__ == "__main__":
    main()
