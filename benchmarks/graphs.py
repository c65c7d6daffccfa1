#!/usr/bin/env python3
"""Plans graphs of other compilers under several budgets and prints the table of docs/Design/Graphs.md: graphs.py FOLDER [--tools DIR] [--only TEXT]

FOLDER holds .mlir and .mlir.gz files, a row each. Each is planned without a budget (*free*: every value kept, in the best order
found), for the least bytes, under these as a budget, and under three budgets between the two. Bytes are resident buffers and arena:
what a budget bounds. The columns of budgets have what is recomputed in percent of the step's modelled time and, in brackets, how far
the plan may be above the cheapest one, as proved. `s` are the seconds of one processor that the slowest of these plans took, reading
the graph and making the proof included. A refused graph has what the tool says. `--budget` plans each graph between whose least and
free bytes it lies under one more budget.

Each plan comes with its proof, which llmmem-plan --check follows; the claims are counted after the table.

Exit code 1 where a plan is above its budget, none is found at the least budget or above, a claim is refused, or a plan took more
than `--most-seconds`.

Elided constants (dense_resource<__elided__>, dense<...>) have a type and no values; planning reads the type alone, and parsing
gets zeros, always the same. Functions on numbers and pointers that are declared alone, as clocks are, do nothing.
"""

import argparse
import fractions
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
from promises import check, finish  # noqa: E402

FRACTIONS = (0, 0.25, 0.5, 0.75)


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
    """Returns the seconds of all programs that have run; other load on the machine does not count."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Claims:
    """What plans claim, followed by a process that has their proofs and no solver."""

    def __init__(self):
        self.plans = self.checked = self.unchecked = 0
        self.planning = self.seconds = self.longest = 0.0

    def check(self, what, command):
        begin = processor_seconds()
        done = subprocess.run(command, capture_output=True, text=True)
        seconds = processor_seconds() - begin
        self.plans += 1
        self.checked += done.stdout.count(": checked:")
        self.unchecked += done.stdout.count(": not checked:")
        self.seconds += seconds
        self.longest = max(self.longest, seconds)
        check(done.returncode == 0, f"{what}: {done.stdout}{done.stderr}")

    def __str__(self):
        return (f"Proofs: {self.checked} claims of {self.plans} plans checked, {self.unchecked} not checked; a check takes at most "
                f"{self.longest:.2f} processor seconds, all together {self.seconds:.2f}, and {self.planning:.1f} to plan")


class Planner:
    """One graph and the plans made of it."""

    def __init__(self, options, path, folder, claims):
        self.name = re.sub(r"\.mlir(\.gz)?$", "", os.path.relpath(path, options.folder))
        self.graph, self.report, self.problem, self.made, self.proof = (
            os.path.join(folder, name) for name in ("graph.mlir", "report.json", "problem.json", "plan.json", "proof.json"))
        with open(self.graph, "w") as file:
            file.write(read_graph(path))
        self.tools, self.limit, self.most_seconds = options.tools, options.limit, options.most_seconds
        self.entry, self.seconds, self.structure, self.claims = [], 0, "", claims

    def choose_largest(self):
        """Returns, of several functions, the one with the most lines."""
        with open(self.graph) as file:
            parts = re.split(r"func\.func[^@\n]*@", file.read())[1:]
        self.entry = ["--entry=" + re.match(r"\w+", max(parts, key=lambda part: part.count("\n"))).group()]

    def read_structure(self):
        """Returns what plans are made along, in the planner's words."""
        done = subprocess.run([os.path.join(self.tools, "llmmem-plan"), "--structure", self.problem], check=True, capture_output=True,
                              text=True)
        self.structure = done.stdout.strip()

    def plan(self, how):
        """Returns the report or None, what the tool says first, and the seconds."""
        for path in (self.report, self.problem, self.made, self.proof):
            if os.path.exists(path):
                os.remove(path)
        begin = processor_seconds()
        try:
            done = subprocess.run([os.path.join(self.tools, "llmmem-opt"), "--allow-unregistered-dialect", "--unpriced=by-bytes", *self.entry,
                                   how, self.graph, "-o", "/dev/null", "--memory-report-json=" + self.report,
                                   "--emit-problem=" + self.problem, "--emit-plan=" + self.made, "--emit-proof=" + self.proof],
                                  capture_output=True, text=True, timeout=self.limit)
        except subprocess.TimeoutExpired:
            check(False, f"{self.name}, {how}: no answer in {self.limit} s")
            return None, f"no answer in {self.limit} s", self.limit
        seconds = processor_seconds() - begin
        self.seconds = max(self.seconds, seconds)
        self.claims.planning += seconds
        check(seconds <= self.most_seconds, f"{self.name}, {how}: planned in {seconds:.1f} processor "
              f"seconds, at most {self.most_seconds:g} are allowed")
        if done.returncode == 0:
            self.claims.check(f"{self.name}, {how}", [os.path.join(self.tools, "llmmem-plan"), "--check", self.problem, self.made, self.proof])
            with open(self.report) as file:
                return json.load(file), "", seconds
        said = re.search(r"error: (.*)", done.stderr)
        return None, said.group(1) if said else done.stderr[:160], seconds

    def plan_within(self, budget):
        """Returns the report and the seconds of a plan that there must be."""
        report, said, seconds = self.plan(f"--checkpoint-budget={budget}")
        check(report, f"{self.name}: no plan under {budget} bytes, the least or more: {said}")
        if report:
            check(needed(report) <= report["budget"], f"{self.name}: a plan of {needed(report)} bytes under a budget of {budget}")
        return report, seconds


def needed(report):
    return sum(report["resident"].values()) + report["resident_padding"] + report["arena"]


def gigabytes(count):
    return f"{count / 1e9:.3f}" if count >= 1e8 else f"{count / 1e9:.5f}"


def recomputed(report):
    return f"{report['recompute']['percent_time']:.2f} ({report['certificate']['gap_percent']:.2f})" if report else "none"


def plan_free(planner):
    free, said, _ = planner.plan("--checkpoint-policy=none")
    if not free and "--entry=NAME" in said:
        planner.choose_largest()
        free, said, _ = planner.plan("--checkpoint-policy=none")
    if free:
        planner.read_structure()
    return free, said


def row_of(planner):
    """Prints the graph's row. Returns the least footprint and that without recomputation, or None where the graph is refused."""
    free, said = plan_free(planner)
    least, said, _ = planner.plan("--checkpoint-budget=min") if free else (None, said, 0)
    if not least:
        print(f"| {planner.name} | refused: {said} | | | | | | | |", flush=True)
        return None
    low, high = needed(least), needed(free)
    cells = [recomputed(planner.plan_within(low + int(fraction * (high - low)))[0]) for fraction in FRACTIONS]
    print(f"| {planner.name} | {planner.structure} | {gigabytes(high)} | {gigabytes(low)} | {' | '.join(cells)} | {planner.seconds:.1f} |",
          flush=True)
    return low, high


def line_of(planner, budget):
    """Returns the plan under one more budget, in words."""
    report, seconds = planner.plan_within(budget)
    if not report:
        return []
    step, certificate = report["step"]["time_ns"], report["certificate"]
    proved = 100 * max(0, certificate["cost_lower_bound_ns"] / max(1, step) - 1)
    return [f"{planner.name} under {gigabytes(budget)} GB: {gigabytes(needed(report))} GB, {report['recompute']['percent_time']:.2f} % recomputed, "
            f"{proved:.2f} % proved necessary, {seconds:.1f} s"]


def plan_all(options, folder):
    """Returns how many graphs were planned, of how many, and the lines after the table."""
    planned = graphs = 0
    lines, claims = [], Claims()
    for path in find_graphs(options.folder, options.only):
        planner = Planner(options, path, folder, claims)
        needs = row_of(planner)
        graphs += 1
        planned += needs is not None
        if options.budget and needs and needs[0] <= options.budget <= needs[1]:
            lines += line_of(planner, options.budget)
    return planned, graphs, [*lines, str(claims)]


def bytes_of(text):
    """Parses 6430000000 or 6.43GB."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([KkMGT]?)(i?)B?", text)
    if not match:
        raise argparse.ArgumentTypeError(f"{text} is no number of bytes, such as 6.43GB")
    number, prefix, binary = match.groups()
    return int(fractions.Fraction(number) * (1024 if binary else 1000) ** " KMGT".index(prefix.upper() or " "))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--tools", default=os.path.join(ROOT, "build", "bin"))
    parser.add_argument("--only", default="", help="plan only files whose path has this text")
    parser.add_argument("--budget", type=bytes_of, help="one more budget, as 6.43GB")
    parser.add_argument("--limit", type=float, default=300, help="seconds for one plan")
    parser.add_argument("--most-seconds", type=float, default=float("inf"), help="processor seconds that no plan may take more of")
    options = parser.parse_args()
    print("| graph | structure found | free GB | least GB | recompute % (gap) at the least | at .25 | at .5 | at .75 | s |\n"
          "|---|---|---:|---:|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        planned, graphs, lines = plan_all(options, folder)
    print("\n".join(["", *lines, f"{planned} of {graphs} graphs planned"]))
    sys.exit(finish(None, None))


if __name__ == "__main__":
    main()
