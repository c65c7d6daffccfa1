"""Plans a model at twelve budgets: each plan fits, and more budget never costs more recomputation.

  monotone.py folder config.json [flags of llmmem-import]
"""
import os
import sys

import chain

BUDGETS = 12


def main(folder, config, *flags):
    os.makedirs(folder, exist_ok=True)
    model, step = os.path.join(folder, "model.mlir"), os.path.join(folder, "step.mlir")
    chain.import_model(config, model, *flags)
    least = chain.needed(chain.plan(model, step, "--checkpoint-budget=min"))
    most = chain.needed(chain.plan(model, step, "--checkpoint-policy=none"))
    costs = []
    for budget in chain.spread(least, most, BUDGETS - 1) + [most]:
        report = chain.plan(model, step, "--checkpoint-budget=%d" % budget)
        cost = report["recompute"]["time_ns"]
        print("budget %d: needs %d, recomputes %d ns" % (budget, chain.needed(report), cost))
        if chain.needed(report) > budget or report["status"] != "feasible":
            chain.stop("the plan does not fit")
        if report["certificate"]["cost_lower_bound_ns"] > report["step"]["time_ns"] + cost:
            chain.stop("the plan costs less than its proved lower bound")
        if costs and cost > costs[-1]:
            chain.stop("more budget costs more recomputation")
        costs.append(cost)
    if costs[0] == 0 or costs[-1] != 0 or len(set(costs)) < BUDGETS // 2:
        chain.stop("twelve budgets from least to most should trade memory for time: %s" % costs)
    print("%d budgets, cost falls from %d ns to none" % (len(costs), costs[0]))


main(*sys.argv[1:])
