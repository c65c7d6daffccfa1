"""A small model on a device: near the CPU's run, and the same bits under budgets as unplanned."""
import os

import chain
import feed
import tensors

STEPS = "2"


def error_of(name, found, expected):
    if tensors.is_rounding_alone(name):
        return max(abs(a - b) for a, b in zip(found, expected))
    return tensors.relative_error(found, expected)


def check_numbers(cpu, other, tolerance):
    losses = [[line["loss"] for line in run.lines] for run in (cpu, other)]
    if None in losses[0] + losses[1] or losses[0][0] == losses[0][-1]:
        chain.stop("the losses say nothing: %s" % losses)
    worst_loss = max(abs(a - b) / abs(a) for a, b in zip(*losses))
    if worst_loss > tolerance:
        chain.stop("losses differ by %g: %s" % (worst_loss, losses))
    expected, found = tensors.read(cpu.gradients), tensors.read(other.gradients)
    if expected.keys() != found.keys():
        chain.stop("the runs have other gradients")
    worst, name = max((error_of(name, found[name], expected[name]), name) for name in expected)
    if not worst <= tolerance:
        chain.stop("the gradient of %s differs by %g" % (name, worst))
    return {"worst_loss": worst_loss, "worst_gradient": worst, "of": name}


def compare(folder, text, tolerance, device, config, *flags, planning=(), budgets=5, change=lambda planned: None):
    """Stops where the device's loss, or an element of a gradient in parts of the largest one, is further from the CPU's
    than `tolerance`, or where a budget changes a bit. Prints a line for each run; returns how near it is.

    `text`: or a golden file (feed.py). `device`: flags of llmmem-run that choose it. `flags`: of llmmem-import. `planning`: of llmmem-opt, for every plan.
    `change`: of the file of each plan, before it runs. `budgets`: how many, from the least that a plan was found for in equal steps up.
    """
    os.makedirs(folder, exist_ok=True)
    model = os.path.join(folder, "model.mlir")
    data = [*feed.flags_of(text, os.path.join(folder, "ids")), "--steps", STEPS, "--seed", "7", "--optimize=false"]
    step = lambda name: os.path.join(folder, name + ".mlir")
    planning = [chain.SHORT_SEARCH, *planning]
    chain.import_model(config, model, *flags)
    report = chain.plan(model, step("none"), "--checkpoint-policy=none", *planning)
    change(step("none"))
    cpu = chain.Training(step("none"), *data, "--gemm=builtin", files=step("cpu"))
    unplanned = chain.Training(step("none"), *data, *device)
    near = check_numbers(cpu, unplanned, tolerance)
    print("near the CPU's")
    expected = unplanned.bits()
    least = chain.needed(chain.plan(model, step("min"), "--checkpoint-budget=min", *planning))
    runs = 0
    for budget in chain.spread(least, chain.needed(report), budgets):
        name = str(budget)
        recomputed = chain.plan(model, step(name), "--checkpoint-budget=" + name, *planning)["recompute"]["ops"]
        if budget == least and recomputed == 0:
            chain.stop("nothing is recomputed at the least feasible budget")
        change(step(name))
        for what, bits in chain.Training(step(name), *data, *device).bits().items():
            if bits != expected[what]:
                chain.stop("budget %s: %s differ from the unplanned step's" % (name, what))
        print("budget %s: %d ops recomputed" % (name, recomputed))
        runs += 1
    print("%d budgets have the bits of the unplanned step" % runs)
    return near
