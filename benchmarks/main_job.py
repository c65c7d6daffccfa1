#!/usr/bin/env python3
"""Plans the steps that people train and prints what they cost: benchmarks/main_job.py --build build

GPT-2 124M and Llama-3-8B over every policy and ten budgets, from the least that a plan was found for to what
keeping everything takes; then Llama-3-70B and Llama-3.1-405B for the time and memory of planning itself. Exits
with 1 where a promise is broken: a plan over its budget, more budget that costs more, an arena a hundredth larger
than what lives in it, a claim that is not checked with its proof, or whose check takes longer than planning, a large model that takes 10 processor seconds or 2 GiB to plan.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

from promises import check, finish

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
POLICIES = ["none", "selective", "every=2", "every=4", "sqrt", "full"]
# The models have no dropout, as the peers were measured.
STUDIED = [("GPT-2 124M, batch 8, sequence 1024", "gpt2", 8, 1024, ["--dropout=0"]),
           ("Llama-3-8B, batch 1, sequence 8192", "llama-3-8b", 1, 8192, [])]
LARGE = [("Llama-3-70B, batch 1, sequence 8192", "llama-3-70b", 1, 8192),
         ("Llama-3.1-405B, batch 1, sequence 8192", "llama-3.1-405b", 1, 8192)]
MOST_SECONDS, MOST_RSS, MOST_FRAGMENTATION = 10, 2 << 30, 0.01


class Plan:
    """One run of llmmem-opt: its report, and what the process took."""

    def __init__(self, tools, model, how, directory):
        self.how = how
        report, problem, plan, proof = (os.path.join(directory, name + ".json")
                                        for name in ("report", "problem", "plan", "proof"))
        command = [os.path.join(tools, "llmmem-opt"), how, f"--memory-report-json={report}",
                   f"--emit-problem={problem}", f"--emit-plan={plan}", f"--emit-proof={proof}", model, "-o",
                   os.path.join(directory, "step.mlir")]
        start = time.monotonic()
        with open(os.path.join(directory, "stderr"), "w+") as stderr:
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=stderr)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            self.seconds = time.monotonic() - start
            # One thread plans: these are the seconds of a machine that does nothing else.
            self.processor_seconds = usage.ru_utime + usage.ru_stime
            self.rss = usage.ru_maxrss * 1024
            if process.returncode:
                stderr.seek(0)
                sys.exit(f"{' '.join(command)}\nexit code {process.returncode}\n{stderr.read()}")
        with open(report) as file:
            self.report = json.load(file)
        self.check_proof([os.path.join(tools, "llmmem-plan"), "--check", problem, plan, proof])

    def check_proof(self, command):
        """Checks every claim of the plan: a process that reads the three files and has no solver."""
        before = os.times()
        result = subprocess.run(command, capture_output=True, text=True)
        after = os.times()
        self.check_seconds = (after.children_user + after.children_system
                              - before.children_user - before.children_system)
        self.claims = result.stdout.count(": checked:")
        check(result.returncode == 0 and "not checked" not in result.stdout,
              f"{self.how}: {result.stdout}{result.stderr}")

    @property
    def total(self):
        return sum(self.report["resident"].values()) + self.report["resident_padding"] + self.report["arena"]

    @property
    def cost(self):
        return self.report["step"]["time_ns"] + self.report["recompute"]["time_ns"]

    def figures(self):
        """Returns what the table shows, in a form for programs."""
        report = self.report
        least_recompute = max(0, report["certificate"]["cost_lower_bound_ns"] - report["step"]["time_ns"])
        return {"plan": self.how, "budget": report["budget"], "total": self.total, "peak": report["peak"]["bytes"],
                "arena": report["arena"], "fragmentation": report["fragmentation"],
                "saved": report["saved"]["bytes"], "recompute_percent_time": report["recompute"]["percent_time"],
                "recompute_percent_flops": report["recompute"]["percent_flops"],
                "proved_percent_time": 100 * least_recompute / report["step"]["time_ns"],
                "gap_percent": report["certificate"]["gap_percent"], "bound": report["certificate"]["bound"],
                "claims_checked": self.claims, "check_seconds": self.check_seconds,
                "planning_seconds": report["planning_seconds"], "process_seconds": self.seconds,
                "processor_seconds": self.processor_seconds,
                "process_rss": self.rss}


def gb(size):
    return f"{size / 1e9:.3f}"


def print_table(rows, columns):
    lines = [[name for name, _ in columns], ["---:"] * len(columns)]
    lines[1][0] = "---"
    lines += [[show(row) for _, show in columns] for row in rows]
    print("\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n")


def print_proofs(name, rows):
    """Prints the claims of a table. A process cannot be told from nothing below some hundredths of a second."""
    least_time = 0.05
    for row in rows:
        check(row["check_seconds"] <= max(row["processor_seconds"], least_time),
              f"{name}, {row['label']}: checking takes {row['check_seconds']:.2f} s, planning less")
    print(f"Proofs: {sum(row['claims_checked'] for row in rows)} claims of {len(rows)} plans checked; a check takes at "
          f"most {max(row['check_seconds'] for row in rows):.2f} processor seconds, all together "
          f"{sum(row['check_seconds'] for row in rows):.2f}, and {sum(row['processor_seconds'] for row in rows):.1f} "
          "to plan.\n")


COLUMNS = [("plan", lambda row: row["label"]),
           ("budget GB", lambda row: gb(row["budget"]) if row["budget"] else "-"),
           ("resident + arena GB", lambda row: gb(row["total"])),
           ("peak GB", lambda row: gb(row["peak"])),
           ("arena GB", lambda row: gb(row["arena"])),
           ("fragmentation %", lambda row: f"{100 * row['fragmentation']:.4f}"),
           ("recompute % time", lambda row: f"{row['recompute_percent_time']:.2f}"),
           ("% FLOPs", lambda row: f"{row['recompute_percent_flops']:.2f}"),
           ("proved % time", lambda row: f"{row['proved_percent_time']:.2f}"),
           ("gap %", lambda row: f"{row['gap_percent']:.2f}"),
           ("planning s", lambda row: f"{row['planning_seconds']:.2f}")]


def import_model(tools, directory, config, batch, seq, flags=()):
    model = os.path.join(directory, "model.mlir")
    subprocess.run([os.path.join(tools, "llmmem-import"),
                    os.path.join(ROOT, "examples", "configs", config + ".json"), f"--batch={batch}", f"--seq={seq}",
                    "--dtype=bf16", "--optimizer=adamw", *flags, "-o", model], check=True)
    return model


def study(tools, directory, name, model, budgets, repeats):
    def run(how, label):
        runs = [Plan(tools, model, how, directory) for _ in range(repeats)]
        row = {"label": label, **runs[0].figures()}
        for key in ("planning_seconds", "process_seconds"):
            row[key] = statistics.median(plan.figures()[key] for plan in runs)
        check(row["fragmentation"] < MOST_FRAGMENTATION, f"{name}, {label}: fragmentation {row['fragmentation']}")
        return runs[0], row

    rows = [run(f"--checkpoint-policy={policy}", policy)[1] for policy in POLICIES]
    most = rows[0]["total"]
    plan, row = run("--checkpoint-budget=min", "least")
    least = plan.total
    rows.append(row)
    last = None
    for index in range(budgets):
        budget = least + (most - least) * index // max(1, budgets - 1)
        plan, row = run(f"--checkpoint-budget={budget}", f"budget {index + 1}")
        check(plan.total <= budget and row["peak"] <= budget, f"{name}: {plan.total} bytes over the budget {budget}")
        check(last is None or plan.cost <= last, f"{name}: a budget of {budget} costs more than a smaller one")
        last = plan.cost
        rows.append(row)
    check(rows[-1]["recompute_percent_time"] == 0, f"{name}: recomputation where everything fits")
    return rows


def plan_large(tools, directory, name, model, repeats):
    rows = []
    most = None
    for how, label in [("--checkpoint-policy=none", "none"), ("--checkpoint-budget=min", "least"),
                       (None, "budget halfway")]:
        if not how:
            how = f"--checkpoint-budget={(most + rows[-1]['total']) // 2}"
        runs = [Plan(tools, model, how, directory) for _ in range(repeats)]
        row = {"label": label, **runs[0].figures()}
        for key in ("process_seconds", "processor_seconds"):
            row[key] = statistics.median(plan.figures()[key] for plan in runs)
        row["process_rss"] = max(plan.rss for plan in runs)
        most = most or runs[0].total
        check(row["processor_seconds"] < MOST_SECONDS, f"{name}, {label}: {row['processor_seconds']:.1f} s to plan")
        check(row["process_rss"] < MOST_RSS, f"{name}, {label}: {row['process_rss']} bytes to plan")
        if row["budget"]:
            check(row["total"] <= row["budget"], f"{name}, {label}: over its budget")
        rows.append(row)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build", help="the build folder (default: build)")
    parser.add_argument("--budgets", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=3, help="runs of which the median second is shown")
    parser.add_argument("--small", action="store_true", help="leave the 70B and 405B shapes out")
    parser.add_argument("--json", metavar="FILE", help="write every figure for programs")
    arguments = parser.parse_args()
    tools = os.path.join(os.path.abspath(arguments.build), "bin")
    everything = {}
    with tempfile.TemporaryDirectory() as directory:
        for name, config, batch, seq, flags in STUDIED:
            model = import_model(tools, directory, config, batch, seq, flags)
            everything[name] = study(tools, directory, name, model, arguments.budgets, arguments.repeats)
            print(f"## {name} (bf16, AdamW)\n")
            print_table(everything[name], COLUMNS)
            print_proofs(name, everything[name])
        for name, config, batch, seq in [] if arguments.small else LARGE:
            model = import_model(tools, directory, config, batch, seq)
            everything[name] = plan_large(tools, directory, name, model, arguments.repeats)
            print(f"## {name} (bf16, AdamW): planning, whole process\n")
            print_table(everything[name],
                        COLUMNS[:-1] + [("processor s", lambda row: f"{row['processor_seconds']:.2f}"),
                                        ("wall s", lambda row: f"{row['process_seconds']:.2f}"),
                                        ("most memory GiB", lambda row: f"{row['process_rss'] / 2 ** 30:.3f}")])
            print_proofs(name, everything[name])
    return finish(arguments.json, everything)


if __name__ == "__main__":
    sys.exit(main())
