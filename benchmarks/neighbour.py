#!/usr/bin/env python3
"""Times a step of GPT-2 124M alone and together with a busy process, which shows what sharing the machine costs.

  neighbour.py [--build build] [--threads N] [--neighbours 1] [--steps 8] [--rounds 3] [--run-flag=FLAG] [--json FILE]

The step (batch 4, sequence 64, f32, AdamW) is planned without a budget. Every round runs it alone, then together with
`--neighbours` processes that never wait; a figure is the median over all steps, the first of each run left out. Exit code
1 where the step with one neighbour takes more than 1.6 times the step alone, 2 where some other process was busy, and
then no ratio is printed. On two cores two threads and one other process have 4/3 of a core's time at the fairest: 1.5.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

import neighbours
from steps import TEXT, Bench, Model

MOST_RATIO = 1.6
DISTURBED = 2


class Busy:
    """Starts `count` processes that never wait."""

    def __init__(self, count):
        self.count = count

    def __enter__(self):
        self.processes = [subprocess.Popen([sys.executable, "-I", "-c", "while True: pass"]) for _ in range(self.count)]

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.wait()


def time_steps(bench, step, steps, beside):
    """Returns the seconds of each step, and the cores that processes other than the run and its neighbours took."""
    with neighbours.Watch() as watch, Busy(beside):
        lines = bench.run("llmmem-run", step, *bench.run_flags, "--data", TEXT, "--steps", steps + 1, "--json",
                          "--no-digest").splitlines()
    return [json.loads(line)["seconds"] for line in lines[1:]], watch.cores


def measure(bench, step, arguments):
    alone, beside, disturbed = [], [], 0.0
    for _ in range(arguments.rounds):
        for seconds, count in ((alone, 0), (beside, arguments.neighbours)):
            times, cores = time_steps(bench, step, arguments.steps, count)
            seconds += times
            disturbed = max(disturbed, cores)
    return {"alone": alone, "beside": beside, "neighbours": arguments.neighbours, "other_cores": disturbed}


def report(result, threads):
    """Prints what was measured, and returns the exit code."""
    alone, beside = (statistics.median(result[key]) for key in ("alone", "beside"))
    print(f"alone   {alone:.3f} s   ({min(result['alone']):.3f} to {max(result['alone']):.3f})")
    print(f"shared  {beside:.3f} s   ({min(result['beside']):.3f} to {max(result['beside']):.3f})")
    if neighbours.disturbs(result["other_cores"], threads):
        print(f"no ratio: {neighbours.describe(result['other_cores'])}; run this on a machine with nothing else to do")
        return DISTURBED
    print(f"ratio   {beside / alone:.2f} with {result['neighbours']} busy on {os.cpu_count()} cores, {threads} threads")
    print(neighbours.measured_on(result["other_cores"]))
    return 1 if result["neighbours"] == 1 and beside > MOST_RATIO * alone else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build", help="the build folder (default: build)")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--neighbours", type=int, default=1)
    parser.add_argument("--steps", type=int, default=8, help="timed steps of a run (default: 8)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--run-flag", action="append", default=[], help="another flag of llmmem-run")
    parser.add_argument("--json", metavar="FILE", help="write every figure for programs")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(arguments.build, folder, "cpu", ["--threads", arguments.threads, *arguments.run_flag])
        step, _ = bench.plan(Model("gpt2", 4, 64, dtype="f32"), "none", "cpu", "--checkpoint-policy=none")
        result = measure(bench, step, arguments)
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(result, file, indent=1)
    return report(result, arguments.threads)


if __name__ == "__main__":
    sys.exit(main())
