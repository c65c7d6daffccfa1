#!/usr/bin/env python3
"""Times whole AdamW steps on the CPU: what recomputation costs, what the planner predicted, and how PyTorch compares.

  cpu_step.py [--build build] [--device cpu] [--rounds 3] [--python /path/to/python-with-torch] [--json FILE]

Run it on a machine with nothing else to do: a round during which other processes were busy is run again. Where most
are, it says so instead of printing figures, with exit code 2. PyTorch runs eagerly and compiled, both with AdamW(fused=True),
and the faster of the two is compared. Ratios hold for the processor that is printed: PyTorch's products are MKL's, which
is at its best on Intel's.

Each model runs unplanned, at 75, 50 and 25 percent of the bytes that the unplanned step keeps for its backward, and
under the bytes that recomputing every layer takes. Every round runs each of them once, one after another, so that a
slow minute is everyone's; a round's figure is the median of its steps without the first, and what is printed is the
median over the rounds. `predicted` is the ratio of the modelled times in the reports. In bf16 PyTorch runs twice: with bf16
parameters and f32 masters, as ours does, and under autocast. Exit code 1 where a prediction is off by more than 15 percent, PyTorch
is faster, or its steps drift, which no ratio would show.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

import neighbours
from promises import check, finish

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GPT2 = os.path.join(ROOT, "examples", "configs", "gpt2.json")
SMALL = os.path.join(ROOT, "examples", "train-text", "gpt-10m.json")
TEXT = os.path.join(ROOT, "docs", "Design", "Planning.md")
MODELS = [("GPT-2 124M, batch 4, sequence 64", GPT2, 4, 64, "f32"), ("GPT-2 124M, batch 2, sequence 256", GPT2, 2, 256, "f32"),
          ("GPT 10.8M, batch 8, sequence 128", SMALL, 8, 128, "f32"), ("GPT-2 124M, batch 4, sequence 64", GPT2, 4, 64, "bf16")]
# What PyTorch runs, and with which --precision of torch_step.py; the last recomputes layers of the one before it.
PEERS = {"f32": [("compiled", "f32"), ("eager", "f32"), ("checkpointed", "f32")],
         "bf16": [("eager", "autocast"), ("compiled", "autocast"), ("compiled", "masters"), ("eager", "masters"),
                  ("checkpointed", "masters")]}
MOST_ERROR = 15
MOST_DRIFT = 1.3
DISTURBED = 2


def run(command, **how):
    result = subprocess.run(list(map(str, command)), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **how)
    if result.returncode:
        sys.exit(f"{' '.join(map(str, command))}\nexit code {result.returncode}\n{result.stderr}")
    return result.stdout


def needed(report):
    return sum(report["resident"].values()) + report["resident_padding"] + report["arena"]


class Plan:
    """A planned step, its report, and the seconds of its rounds."""

    def __init__(self, bench, model, label, flag):
        self.label, self.bench = label, bench
        stem = os.path.join(bench.folder, label.replace(" ", "-").replace("%", ""))
        self.step, report = stem + ".mlir", stem + ".json"
        run([bench.tool("llmmem-opt"), flag, f"--checkpoint-device={bench.device}", f"--memory-report-json={report}",
             model, "-o", self.step])
        with open(report) as file:
            self.report = json.load(file)
        self.rounds = []

    def time(self):
        lines = [json.loads(line) for line in run([self.bench.tool("llmmem-run"), self.step, "--data", TEXT, "--steps",
                                                   self.bench.steps + 1, "--json", *self.bench.flags]).splitlines()]
        self.rounds.append(statistics.median(line["seconds"] for line in lines[1:]))

    def predicted(self):
        return 1 + self.report["recompute"]["time_ns"] / self.report["step"]["time_ns"]


class Torch:
    def __init__(self, bench, config, batch, seq, mode, precision):
        self.label = f"PyTorch {mode}" if precision == "f32" else f"PyTorch {mode}, {precision}"
        self.mode, self.saved, self.version, self.rounds, self.failed = mode, None, None, [], False
        self.drifts, self.flushed = [], None
        self.command = [bench.python, os.path.join(ROOT, "benchmarks", "torch_step.py"), "--config", config, "--batch",
                        batch, "--seq", seq, "--mode", mode, "--precision", precision, "--threads", bench.threads, "--steps",
                        bench.steps]

    def time(self):
        if self.failed:
            return
        try:
            result = json.loads(run(self.command).splitlines()[-1])
        except SystemExit as failure:
            self.failed = True
            print(f"{self.label} is left out: it ended with\n{failure}", file=sys.stderr)
            return
        self.saved, self.version, self.flushed = result["saved"], result["torch"], result["denormals_flushed"]
        # These are the rounds that count.
        self.drifts = [*self.drifts[:len(self.rounds)], result["drift"]]
        self.rounds.append(statistics.median(result["seconds"]))


def plans_of(bench, config, batch, seq, dtype):
    model = os.path.join(bench.folder, "model.mlir")
    run([bench.tool("llmmem-import"), config, "--batch", batch, "--seq", seq, "--dtype", dtype, "--dropout", 0, "-o", model])
    plans = [Plan(bench, model, "unplanned", "--checkpoint-policy=none")]
    full = Plan(bench, model, "every layer recomputed", "--checkpoint-policy=full")
    whole, saved = needed(plans[0].report), plans[0].report["saved"]["bytes"]
    for percent in (75, 50, 25):
        budget = whole - saved * (100 - percent) // 100
        try:
            plans.append(Plan(bench, model, f"{percent} % of the saved bytes", f"--checkpoint-budget={budget}"))
        except SystemExit as failure:
            if "exit code 2" not in str(failure):
                raise
            print(f"{percent} % of the saved bytes: no plan under {budget} bytes", file=sys.stderr)
    plans.append(Plan(bench, model, "bytes of recomputing layers", f"--checkpoint-budget={needed(full.report)}"))
    return plans


def ratio(one, other):
    """Returns the median over the rounds of pairs that ran one after another."""
    return statistics.median(a / b for a, b in zip(one.rounds, other.rounds))


def added(one, other):
    return statistics.median(a - b for a, b in zip(one.rounds, other.rounds))


def row_of(plan, unplanned):
    measured, predicted = ratio(plan, unplanned), plan.predicted()
    return {"plan": plan.label, "bytes": needed(plan.report), "saved": plan.report["saved"]["bytes"],
            "seconds": statistics.median(plan.rounds), "measured": measured, "predicted": predicted,
            "error_percent": 100 * (predicted / measured - 1)}


def print_rows(rows):
    print("| | resident + arena MB | saved MB | s/step | measured ratio | predicted ratio | error % |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for row in rows:
        cells = [row["plan"], f"{row['bytes'] / 1e6:.1f}" if row["bytes"] else "-",
                 f"{row['saved'] / 1e6:.1f}" if row["saved"] else "-", f"{row['seconds']:.3f}",
                 f"{row['measured']:.3f}", f"{row['predicted']:.3f}" if row["predicted"] else "-",
                 f"{row['error_percent']:+.1f}" if row["predicted"] else "-"]
        print("| " + " | ".join(cells) + " |")
    print(flush=True)


def run_rounds(bench, timed):
    """Runs rounds until enough of them ran undisturbed, at most twice as many as asked for in all. Returns whether there were enough, and
    the most cores that others took: in the rounds that count, or, where too few do, in those left out."""
    kept, left_out, quiet = 0.0, 0.0, 0
    for _ in range(2 * bench.rounds):
        before, cores = [len(one.rounds) for one in timed], 0.0
        for one in timed:
            with neighbours.Watch() as watch:
                one.time()
            cores = max(cores, watch.cores)
        if neighbours.disturbs(cores, bench.threads):
            print(f"a round is left out: {neighbours.describe(cores)}", file=sys.stderr)
            left_out = max(left_out, cores)
            for one, count in zip(timed, before):
                del one.rounds[count:]
            continue
        kept, quiet = max(kept, cores), quiet + 1
        if quiet == bench.rounds:
            return True, kept
    return False, left_out


def study(bench, name, config, batch, seq, dtype):
    plans = plans_of(bench, config, batch, seq, dtype)
    torches = [Torch(bench, config, batch, seq, *peer) for peer in PEERS[dtype]] if bench.python else []
    is_quiet, cores = run_rounds(bench, plans + torches)
    if not is_quiet:
        print(f"## {name} ({dtype}, AdamW)\n\nNo figures: {neighbours.describe(cores)}, in {bench.rounds} rounds or more.\n",
              flush=True)
        return None
    rows = [row_of(plan, plans[0]) for plan in plans]
    for row in rows:
        check(abs(row["error_percent"]) <= MOST_ERROR, f"{name}, {row['plan']}: predicted {row['predicted']:.3f}, "
              f"measured {row['measured']:.3f}")
    for torch in torches:
        if torch.failed:
            continue
        rows.append({"plan": f"{torch.label} ({torch.version})", "bytes": None, "saved": torch.saved,
                     "seconds": statistics.median(torch.rounds), "measured": ratio(torch, plans[0]), "predicted": None,
                     "drift": max(torch.drifts)})
        check(max(torch.drifts) <= MOST_DRIFT, f"{name}: {torch.label} drifts, its last steps take {max(torch.drifts):.2f} times what "
              "the first do")
    print(f"## {name} ({dtype}, AdamW)\n\n{neighbours.measured_on(cores)} {bench.threads} threads.\n")
    print_rows(rows)
    if any(not torch.failed for torch in torches):
        compare(name, plans, torches)
    return rows


def compare(name, plans, torches):
    eager, checkpointed = torches[-2], torches[-1]
    steps = [ratio(torch, plans[0]) for torch in torches[:-1] if not torch.failed]
    if steps:
        print(f"PyTorch's fastest step takes {min(steps):.2f} times ours.", end=" ")
        check(min(steps) >= 1, f"{name}: PyTorch is faster")
    ran = [torch for torch in torches if not torch.failed]
    print(f"The last of its steps take at most {max(max(torch.drifts) for torch in ran):.2f} times what its first do; denormals are "
          f"{'flushed' if ran[0].flushed else 'not flushed'}.", end=" ")
    if not eager.failed and not checkpointed.failed:
        theirs, ours = ratio(checkpointed, eager), ratio(plans[-1], plans[0])
        print(f"Recomputing layers: {theirs:.3f} of its step in PyTorch, {added(checkpointed, eager):+.3f} s; {ours:.3f} "
              f"here under the bytes that it takes, {added(plans[-1], plans[0]):+.3f} s.", end="")
        check(ours <= theirs, f"{name}: recomputation costs more than PyTorch's, {ours:.3f} and {theirs:.3f}")
    print("\n", flush=True)


class Bench:
    def __init__(self, arguments, folder):
        self.build, self.folder = os.path.abspath(arguments.build), folder
        self.device, self.threads, self.python = arguments.device, arguments.threads, arguments.python
        self.rounds, self.steps = arguments.rounds, arguments.steps
        self.flags = ["--threads", arguments.threads, *arguments.run_flag]

    def tool(self, name):
        return os.path.join(self.build, "bin", name)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build", help="the build folder (default: build)")
    parser.add_argument("--device", default="cpu", help="device table of the predictions: a name or a .json file")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=5, help="timed steps of a round (default: 5)")
    parser.add_argument("--python", help="a Python that imports torch; without one PyTorch is left out")
    parser.add_argument("--run-flag", action="append", default=[], help="another flag of llmmem-run")
    parser.add_argument("--only", type=int, choices=range(len(MODELS)), help="one of the models")
    parser.add_argument("--json", metavar="FILE", help="write every figure for programs")
    arguments = parser.parse_args()
    everything = {}
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(arguments, folder)
        for number, (name, *model) in enumerate(MODELS):
            if arguments.only in (None, number):
                everything[name] = study(bench, name, *model)
    code = finish(arguments.json, everything)
    return DISTURBED if None in everything.values() else code


if __name__ == "__main__":
    sys.exit(main())
