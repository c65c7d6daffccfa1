"""Plans a small model with saved values in 8 bits under the budget at which that saves most, and compares with the plan that keeps
their bits: the loss of the first step, the error of the gradients, recomputation, the bytes.

  saved-bits.py folder text config.json [flags of llmmem-import]
"""
import os
import sys

import chain
import tensors

# A device that multiplies slowly compared with its memory.
TABLE = '{"name": "slow", "source": "made up", "flops_per_ns": {"bf16": 50, "f32": 50, "f64": 25}, "bytes_per_ns": 100, "launch_ns": 0}'
TOLERANCE = 0.02 # of the largest element of a gradient


def main(folder, text, config, *flags):
    os.makedirs(folder, exist_ok=True)
    model = os.path.join(folder, "model.mlir")
    data = ["--data", text, "--seed", "7", "--optimize=false", "--steps", "1"]
    step = lambda name: os.path.join(folder, name + ".mlir")
    table = os.path.join(folder, "slow.json")
    with open(table, "w") as file:
        file.write(TABLE)
    prices = ["--checkpoint-device=" + table, "--checkpoint-seconds=0.5"]
    chain.import_model(config, model, *flags)
    free = chain.needed(chain.plan(model, step("none"), *prices, "--checkpoint-policy=none"))
    least = chain.needed(chain.plan(model, step("least"), *prices, "--checkpoint-budget=min"))
    taken = []
    for budget in chain.spread(least, free, 6):
        asked = [*prices, "--checkpoint-budget=%d" % budget]
        plain = chain.plan(model, step("plain.%d" % budget), *asked)
        packed = chain.plan(model, step("packed.%d" % budget), *asked, "--saved-bits=8")
        if chain.needed(packed) > budget:
            chain.stop("%d: the plan is over its budget" % budget)
        if packed["packed"]["values"]:
            taken.append((plain["step"]["planned_time_ns"] - packed["step"]["planned_time_ns"], budget, plain, packed))
    if not taken or not max(taken, key=lambda it: it[0])[0] > 0:
        chain.stop("no plan holds saved values in 8 bits, or none gains by it")
    gain, budget, plain, packed = max(taken, key=lambda it: it[0])
    held = packed["packed"]
    if not held["packed_bytes"] * 3 < held["bytes"] or packed["recompute"]["time_ns"] >= plain["recompute"]["time_ns"] + gain:
        chain.stop("%s of %s saves too little" % (held, packed["recompute"]))
    expected = chain.Training(step("plain.%d" % budget), *data)
    found = chain.Training(step("packed.%d" % budget), *data, "--poison")
    if found.lines[0]["loss"] != expected.lines[0]["loss"]:
        chain.stop("the forward has other bits")
    if found.lines[0]["arena_measured"] != packed["arena"]:
        chain.stop("the arena is not what was planned")
    first, other = tensors.read(expected.gradients), tensors.read(found.gradients)
    errors = sorted((tensors.relative_error(other[name], first[name]), name) for name in first if not tensors.is_rounding_alone(name))
    if not 0 < errors[-1][0] < TOLERANCE:
        chain.stop("the gradient of %s differs by %g" % (errors[-1][1], errors[-1][0]))
    print("saved values in 8 bits under %d bytes: %d values, %d bytes less, %.2f %% of the step gained, gradients within %.2g, near" % (
        budget, held["values"], held["bytes"] - held["packed_bytes"], 100 * gain / plain["step"]["planned_time_ns"], errors[-1][0]))


main(*sys.argv[1:])
