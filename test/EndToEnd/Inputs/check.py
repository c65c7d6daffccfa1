"""Hands the problem and the plan of every policy to `llmmem-plan --check`.

  check.py folder config.json [flags of llmmem-import]

A plan whose peak is understated by a byte must be refused.
"""
import json
import os
import subprocess
import sys

import chain


def check(problem, plan):
    result = subprocess.run(["llmmem-plan", "--check", problem, plan], capture_output=True, text=True)
    return result.returncode, result.stderr


def main(folder, config, *flags):
    os.makedirs(folder, exist_ok=True)
    model, problem, plan, lie = (os.path.join(folder, name) for name in ("model.mlir", "problem", "plan", "lie"))
    chain.import_model(config, model, *flags)
    policies = [(name, "--checkpoint-policy=" + name) for name in ("none", "full", "sqrt", "every=2", "selective")]
    for name, flag in policies + [("min", "--checkpoint-budget=min")]:
        chain.remove(problem, plan)
        step = os.path.join(folder, "step.mlir")
        chain.run("llmmem-opt", flag, model, "-o", step, "--emit-problem=" + problem, "--emit-plan=" + plan)
        code, complaint = check(problem, plan)
        if code != 0:
            chain.stop("%s: exit %d\n%s" % (name, code, complaint))
        with open(plan) as file:
            claims = json.load(file)
        claims["peak"] -= 1
        with open(lie, "w") as file:
            json.dump(claims, file)
        code, complaint = check(problem, lie)
        if code != 2 or "peak" not in complaint:
            chain.stop("%s: a peak understated by a byte gives exit %d\n%s" % (name, code, complaint))
        print("%s: accepted, lie refused" % name)


main(*sys.argv[1:])
