"""Hands the problem, the plan and the proof of every policy to `llmmem-plan --check`.

  check.py folder config.json [flags of llmmem-import]

A plan whose peak is understated by a byte must be refused, and so must a bound on the cost that is a nanosecond higher
than what its proof proves.
"""
import json
import os
import subprocess
import sys

import chain


def check(*files):
    result = subprocess.run(["llmmem-plan", "--check", *files], capture_output=True, text=True)
    return result.returncode, result.stdout + result.stderr


def main(folder, config, *flags):
    os.makedirs(folder, exist_ok=True)
    model, problem, plan, proof, lie = (os.path.join(folder, name) for name in (
        "model.mlir", "problem", "plan", "proof", "lie"))
    chain.import_model(config, model, *flags)
    policies = [(name, "--checkpoint-policy=" + name) for name in ("none", "full", "sqrt", "every=2", "selective", "selective=op+layers=2")]
    for name, flag in policies + [("min", "--checkpoint-budget=min")]:
        chain.remove(problem, plan, proof)
        step = os.path.join(folder, "step.mlir")
        chain.run("llmmem-opt", flag, model, "-o", step, "--emit-problem=" + problem, "--emit-plan=" + plan,
                  "--emit-proof=" + proof)
        code, complaint = check(problem, plan)
        if code != 0:
            chain.stop("%s: exit %d\n%s" % (name, code, complaint))
        code, said = check(problem, plan, proof)
        if code != 0 or "cost: checked" not in said or "peak: checked" not in said:
            chain.stop("%s: the proof gives exit %d\n%s" % (name, code, said))
        with open(plan) as file:
            claims = json.load(file)
        claims["peak"] -= 1
        with open(lie, "w") as file:
            json.dump(claims, file)
        code, complaint = check(problem, lie)
        if code != 2 or "peak" not in complaint:
            chain.stop("%s: a peak understated by a byte gives exit %d\n%s" % (name, code, complaint))
        claims["peak"] += 1
        claims["cost_lower_bound"] = claims["base_cost"] + 1
        with open(lie, "w") as file:
            json.dump(claims, file)
        code, said = check(problem, lie, proof)
        if code != 2 or "refused" not in said:
            chain.stop("%s: a bound that nothing proves gives exit %d\n%s" % (name, code, said))
        print("%s: accepted, lie refused" % name)


main(*sys.argv[1:])
