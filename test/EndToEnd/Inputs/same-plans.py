#!/usr/bin/env python3
"""same-plans.py MODEL FOLDER [FLAG...]

Plans a model by llmmem-opt and its problem by llmmem-plan, at ten budgets and by fixed policies, and compares cost and
bounds: the problem carries every form that the step can take. Compares the slowdown that is reported with the ratio of
the two step times.
"""

import json
import subprocess
import sys

COUNT = 10


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def by_opt(model, folder, flags, *more):
    report = f"{folder}/report.json"
    subprocess.run(["llmmem-opt", *flags, *more, f"--memory-report-json={report}", model, "-o", f"{folder}/step.mlir"],
                   check=True, stderr=subprocess.DEVNULL)
    return read(report)


def by_plan(folder, *more):
    plan = f"{folder}/plan.json"
    subprocess.run(["llmmem-plan", f"{folder}/problem.json", *more, "-o", plan], check=True, stderr=subprocess.DEVNULL)
    subprocess.run(["llmmem-plan", "--check", f"{folder}/problem.json", plan, *[m for m in more if "budget" in m]], check=True)
    return read(plan)


def needed(report):
    return sum(report["resident"].values()) + report["resident_padding"] + report["arena"]


def compare(what, report, plan):
    pairs = {"cost": (report["step"]["planned_time_ns"], plan["cost"]), "arena": (report["arena"], plan["arena"]),
             "bound": (report["certificate"]["cost_lower_bound_ns"], plan["cost_lower_bound"])}
    for name, (opt, own) in pairs.items():
        if opt != own:
            sys.exit(f"{what}: {name} {opt} by llmmem-opt, {own} by llmmem-plan")


def main():
    model, folder, *flags = sys.argv[1:]
    free = by_opt(model, folder, flags, "--checkpoint-policy=none", f"--emit-problem={folder}/problem.json")
    compare("none", free, by_plan(folder, "--policy=none"))
    for policy in ("sqrt", "selective"):
        compare(policy, by_opt(model, folder, flags, f"--checkpoint-policy={policy}"), by_plan(folder, f"--policy={policy}"))
    most, least = needed(free), needed(by_opt(model, folder, flags, "--checkpoint-budget=min"))
    chunks = set()
    for number in range(COUNT):
        budget = least + (most - least) * number // COUNT
        report = by_opt(model, folder, flags, f"--checkpoint-budget={budget}")
        compare(f"budget {budget}", report, by_plan(folder, f"--budget={budget}"))
        step = report["step"]
        ratio = 100 * (step["planned_time_ns"] / free["step"]["planned_time_ns"] - 1)
        if step["time_without_budget_ns"] != free["step"]["planned_time_ns"] or abs(step["slowdown_percent"] - ratio) > 1e-9:
            sys.exit(f"budget {budget}: a slowdown of {step['slowdown_percent']} %, and times say {ratio} %")
        chunks.add(tuple(chunk["tokens"] for chunk in report["chunks"]))
    print(f"{COUNT} budgets agree, with {len(chunks)} choices of chunks")


if __name__ == "__main__":
    main()
