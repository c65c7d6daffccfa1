"""Runs a golden step of PyTorch's, unplanned and at the least feasible budget, and compares every number.

  golden.py folder golden/FAMILY f32|f64 [--budgets=N] [flags of llmmem-import] [-- flags of llmmem-opt]

With --budgets, N budgets from the least one up to the unplanned step's must have its bits as well, all by code that is not optimized.

FAMILY.safetensors holds parameters, ids or images, losses, gradients, and perhaps parameters after three AdamW steps in float64;
FAMILY.config.json is the model. Both runs must have the same bits. Prints the largest error of each kind, and last how
many numbers were compared.
"""
import math
import os
import sys

import chain
import feed
import tensors

# Loss; gradients and parameters after three steps, relative to the largest element of their tensor. In float64 the
# noise of a gradient that is zero becomes a step of its size over Adam's eps, 1e-8.
ALLOWED = {"f16": (2e-3, 0, 2e-2), "f32": (1e-5, 1e-4, 1e-4), "f64": (1e-12, 1e-12, 1e-9)}


def left_out(kind, name, dtype):
    """Leaves out GPT-2's key bias: it shifts all scores of a row alike, so its gradient is zero and its step is Adam's rounding noise."""
    if kind == "after3." and dtype == "f32" and name.endswith("attn.c_attn.bias"):
        return range(32, 64)
    return ()


def compare(golden, training, dtype):
    """Prints the largest errors and returns how many tensors were compared."""
    loss_allowed, gradient_allowed, after_allowed = ALLOWED[dtype]
    losses = [line["loss"] for line in training.lines]
    worst = max(abs(loss - right) for loss, right in zip(losses, golden["losses"]))
    print("  loss: %.1e of %.0e" % (worst, loss_allowed))
    if len(losses) != 3 or not worst <= loss_allowed:
        chain.stop("the losses are %s, golden %s" % (losses, golden["losses"]))
    scales = [line.get("loss_scale") for line in training.lines]
    if "loss_scales" in golden and scales != list(golden["loss_scales"]):
        chain.stop("the scales of the loss are %s, golden %s" % (scales, golden["loss_scales"]))
    compared = 0
    kinds = (("grad.", training.gradients, gradient_allowed), ("after3.", training.parameters, after_allowed))
    for kind, file, allowed in kinds:
        # A checkpoint holds the optimizer's state as well, under names of its own.
        ours = {name: x for name, x in tensors.read(file).items() if not name.startswith("llmmem.state.")}
        worst = (0.0, "")
        names = [name[len(kind) :] for name in golden if name.startswith(kind)]
        if not names:
            continue
        if sorted(names) != sorted(ours):
            chain.stop("the tensors %s are not the golden ones" % sorted(ours))
        for name in names:
            if kind == "grad." and tensors.is_rounding_alone(name):
                error = max(map(abs, ours[name]))
            else:
                error = tensors.relative_error(ours[name], golden[kind + name], left_out(kind, name, dtype))
            if math.isnan(error) or error > allowed:
                chain.stop("%s%s: error %.1e, allowed %.0e" % (kind, name, error, allowed))
            worst, compared = max(worst, (error, name)), compared + 1
        print("  %s*: %.1e of %.0e, at %s" % (kind, worst[0], allowed, worst[1]))
    return compared


def split_flags(flags):
    """Returns the flags of the import, and after `--` those of the planning."""
    cut = flags.index("--") if "--" in flags else len(flags)
    return flags[:cut], flags[cut + 1 :]


def budgets_above(report, least, count):
    """Returns `count` budgets in equal steps, less the least one."""
    return ["--checkpoint-budget=%d" % budget for budget in chain.spread(chain.needed(least), chain.needed(report), count)[1:]]


def main(folder, family, dtype, *flags):
    importing, planning = split_flags(list(flags))
    count = 1
    if importing and importing[0].startswith("--budgets="):
        count = int(importing.pop(0).partition("=")[2])
    os.makedirs(folder, exist_ok=True)
    model = os.path.join(folder, "model.mlir")
    golden = tensors.read(family + ".safetensors")
    data = feed.flags_of_golden(family + ".safetensors", golden, os.path.join(folder, "ids"))
    chain.import_model(family + ".config.json", model, *feed.shape_of_golden(golden), "--dtype", dtype, *importing)
    compared, bits, reports, plans = 0, None, [], ["--checkpoint-policy=none", "--checkpoint-budget=min"]
    for flag in plans:
        step = os.path.join(folder, flag.rpartition("=")[2] + ".mlir")
        report = chain.plan(model, step, flag, chain.SHORT_SEARCH, *planning)
        print("%s: %d ops recomputed" % (flag, report["recompute"]["ops"]))
        # PyTorch's AdamW, whose learning rate the golden steps took: 1e-3.
        flags = [*data, "--steps", "3", "--lr", "1e-3", "--load", family + ".safetensors"]
        flags += chain.quick([dtype], unless="f64") if count == 1 else ["--optimize=false"]
        reports.append(report)
        if len(reports) == 2:
            plans += budgets_above(*reports, count)
        training = chain.Training(step, *flags)
        compared += compare(golden, training, dtype)
        if bits not in (None, training.bits()):
            chain.stop("%s gives other bits" % flag)
        bits = training.bits()
    print("%d tensors agree" % compared)


main(*sys.argv[1:])
