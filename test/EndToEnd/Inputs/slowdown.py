#!/usr/bin/env python3
"""slowdown.py MODEL FOLDER BUDGET [FLAG...]

Plans a model under a budget and without one, and compares the slowdown that is printed, and what the report has, with the
two step times that are reported.
"""

import json
import re
import subprocess
import sys


def plan(model, folder, flags):
    report = f"{folder}/report.json"
    # The two times are compared of any plan, so the search for a good one is a short one.
    done = subprocess.run(["llmmem-opt", "--checkpoint-seconds=0.3", *flags, f"--memory-report-json={report}", model, "-o", f"{folder}/step.mlir"],
                          stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    with open(report, encoding="utf-8") as file:
        return json.load(file), done.stderr


def whole(report, key):
    """Sums a key over a step's functions, each as often as it runs."""
    return sum(it["runs"] * it[key] for it in report["stages"])


def expect(what, found, wanted):
    if abs(found - wanted) > 0.006:  # two digits are printed
        sys.exit(f"{what}: {found}, expected {wanted}")


def main():
    model, folder, budget, *flags = sys.argv[1:]
    free, _ = plan(model, folder, flags)
    tight, said = plan(model, folder, [*flags, f"--checkpoint-budget={budget}"])
    if "pipeline" in tight:
        for with_budget, without in zip(tight["stages"], free["stages"]):
            expect(with_budget["function"], with_budget["time_without_budget_ns"], without["time_ns"])
        print("each stage says what it takes without a budget")
        return
    if "stages" in tight:
        time, base = whole(tight, "time_ns"), whole(free, "time_ns")
        expect("all functions", whole(tight, "time_without_budget_ns"), base)
    else:
        step = tight["step"]
        time, base = step["planned_time_ns"], free["step"]["planned_time_ns"]
        expect("without a budget", step["time_without_budget_ns"], base)
        expect("report", step["slowdown_percent"], 100 * (time / base - 1))
    printed = re.search(r"^step +([0-9.]+) ms modelled, ([0-9.-]+) % slower than the ([0-9.]+) ms without", said, re.MULTILINE)
    if not printed:
        sys.exit("no slowdown is printed:\n" + said)
    expect("printed", float(printed[2]), 100 * (time / base - 1))
    if time <= base:
        sys.exit(f"{budget} bytes cost nothing, so nothing is compared")
    print(f"{printed[2]} % slower, as the two step times say")


if __name__ == "__main__":
    main()
