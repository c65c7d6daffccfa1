"""Plans a model whose values may leave for the host at many budgets of the device: each plan fits, and more budget never
gives a longer step, neither by the planner's clock nor by the program's.

  monotone_offload.py folder config.json [flags of llmmem-import]
"""
import json
import os
import sys

import chain

BUDGETS, PROGRAMS = 24, 8
HOST = ["--host-budget=1GB", "--link=8GB/s"]
SHORT = "0.3"


def plan_problem(problem, plan, budget):
    """What llmmem-plan says of a budget: needed bytes, the step's time, and round trips to the host."""
    chain.run("llmmem-plan", problem, "--budget=" + budget, *HOST, "--seconds=" + SHORT, "-o", plan)
    with open(plan) as file:
        planned = json.load(file)
    return planned["memories"][0]["arena"], planned["time"], len(planned.get("copies", []))


def check(times, what):
    for earlier, later in zip(times, times[1:]):
        if later > earlier:
            chain.stop("more budget gives a longer %s: %s" % (what, times))
    if len(set(times)) < len(times) // 4:
        chain.stop("budgets from least to most should trade memory for time: %s" % times)


def main(folder, config, *flags):
    os.makedirs(folder, exist_ok=True)
    model, step, problem, plan = (os.path.join(folder, name) for name in ("model.mlir", "step.mlir", "problem.json", "plan.json"))
    chain.import_model(config, model, *flags)
    free = chain.plan(model, step, "--checkpoint-policy=none", "--emit-problem=" + problem)
    most, resident = chain.needed(free), chain.needed(free) - free["arena"]
    least = resident + plan_problem(problem, plan, "min")[0]
    times, copies = [], 0
    # Copies and repeats are exchanged where bytes are short.
    for budget in chain.spread(least, least + (most - least) * 3 // 10, BUDGETS - 1) + [most]:
        arena, time, copied = plan_problem(problem, plan, str(budget))
        if resident + arena > budget:
            chain.stop("the plan of %d needs %d" % (budget, resident + arena))
        times.append(time)
        copies += copied
    check(times, "plan")
    if copies == 0:
        chain.stop("no value ever leaves")
    steps = []
    for budget in chain.spread(least, most, PROGRAMS - 1) + [most]:
        report = chain.plan(model, step, "--checkpoint-budget=%d" % budget, "--checkpoint-seconds=" + SHORT, *HOST)
        if chain.needed(report) > budget:
            chain.stop("the program of %d needs %d" % (budget, chain.needed(report)))
        steps.append(report["overlap"]["time_ns"] if report["overlap"]["started"] else
                     report["step"]["time_ns"] + report["recompute"]["time_ns"])
    check(steps, "step")
    print("%d plans and %d programs, each no longer than those of less budget" % (len(times), len(steps)))


main(*sys.argv[1:])
