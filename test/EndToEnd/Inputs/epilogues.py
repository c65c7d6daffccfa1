"""Runs a small model with each choice of epilogues, unplanned and under two budgets: the bits are those of the step whose
products take nothing.

  epilogues.py folder text config.json [flags of llmmem-import]

Prints a line for each run, and last how many agreed. EMULATE=1 in the environment runs a GPU's kernels.
"""
import os
import sys

import chain


def main(folder, text, config, *flags):
    os.makedirs(folder, exist_ok=True)
    device = ["--device=emulate"] if os.environ.get("EMULATE") else ["--gemm=builtin"]
    model, data = os.path.join(folder, "model.mlir"), ["--data", text, "--steps", "2", "--seed", "7", *device]
    data += chain.quick(flags, unless="bf16")
    chain.import_model(config, model, *flags)

    def bits(step, *options):
        report = chain.plan(model, step, chain.SHORT_SEARCH, *options)
        training = chain.Training(step, *data)
        if device == ["--gemm=builtin"] and training.lines[0]["arena_measured"] != report["arena"]:
            chain.stop("%s: another arena than the report's" % step)
        return report, training.bits()

    step = os.path.join(folder, "step.mlir")
    report, expected = bits(step, "--epilogues=separate", "--checkpoint-policy=none")
    most, runs = chain.needed(report), 0
    for choice in ("fused", "generated"):
        fused = "--epilogues=" + choice
        least = chain.needed(chain.plan(model, step, chain.SHORT_SEARCH, fused, "--checkpoint-budget=min"))
        plans = [["--checkpoint-policy=none"]]
        plans += [["--checkpoint-budget=%d" % budget] for budget in chain.spread(least, most, 2)]
        for plan in plans:
            report, found = bits(step, fused, *plan)
            for what in expected:
                if found[what] != expected[what]:
                    chain.stop("%s %s: %s differ" % (fused, plan[0], what))
            print(fused, plan[0], report["recompute"]["ops"], "ops recomputed")
            runs += 1
    print("%d runs have the bits of the unplanned one" % runs)


main(*sys.argv[1:])
