"""Reports of planned steps, and expectations on them: standard library only.

Sizes are those of the literature: T = batch * sequence tokens, h hidden, a heads, kv key/value heads, d head size,
f feed-forward width, L layers. Bytes are exact integers; nothing here is compared with a tolerance but fits.
"""

import json
import math
import os
import re
import subprocess
import sys
import tempfile


def config_path(name):
    return os.path.join(os.environ["LLMMEM_CONFIGS"], name + ".json")


def config(name):
    with open(config_path(name)) as file:
        return json.load(file)


def write_config(directory, name, **changes):
    """Writes a copy of a shipped config with some keys changed, and returns its path."""
    path = os.path.join(directory, "config.json")
    with open(path, "w") as file:
        json.dump({**config(name), **changes}, file)
    return path


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\nexit code {done.returncode}\n{done.stderr}")
    return done


def report(name, policy="none", budget=None, kernels="apart", strategy=(), chunk="apart", **flags):
    """Returns the JSON report of a config (a shipped one's name, or a path) imported with `flags` and planned, over ranks where
    `strategy` has flags that say so.

    The papers' formulas count what ops save one by one, so they have kernels of their own here, and logits are saved like
    anything else."""
    path = name if os.path.exists(name) else config_path(name)
    arguments = [f"--{flag.replace('_', '-')}={value}" for flag, value in flags.items()]
    how = f"--checkpoint-budget={budget}" if budget else f"--checkpoint-policy={policy}"
    with tempfile.TemporaryDirectory() as directory:
        model = os.path.join(directory, "model.mlir")
        run("llmmem-import", path, *arguments, "-o", model)
        planned = run("llmmem-opt", *strategy, how, f"--checkpoint-kernels={kernels}", "--loss-chunk=" + chunk,
                      "--memory-report-json=-", model, "-o", os.devnull)
    return json.loads(planned.stdout)


def gpt2_sizes(name, batch, seq):
    """Returns T, h and a."""
    keys = config(name)
    return batch * seq, keys["n_embd"], keys["n_head"]


def tensors(report, pattern, block=0):
    """Returns the saved tensors of a block whose name, without its `h.N.`, matches the whole pattern."""
    return [tensor for tensor in report["saved"]["tensors"]
            if tensor["block"] == block and re.fullmatch(pattern, tensor["name"].split(".", 2)[2])]


def bytes_of(report, pattern, block=0):
    return sum(tensor["bytes"] for tensor in tensors(report, pattern, block))


def show_block(report, block=0):
    """Prints what a block saves, tensor by tensor: what a reader needs when a formula fails."""
    for tensor in tensors(report, ".*", block):
        print(f"  {tensor['bytes']:14d} {tensor['name']}", file=sys.stderr)


def expect(what, got, wanted):
    if got != wanted:
        sys.exit(f"{what}: got {got}, expected {wanted}")
    print(f"{what}: {got}")


def expect_blocks(what, report, layers, wanted):
    """Checks that every one of the blocks saves `wanted` bytes, and the tensors named for it add up to them."""
    blocks = report["saved"]["by_block"]
    if blocks != [wanted] * layers:
        show_block(report)
        sys.exit(f"{what}: blocks save {blocks}, expected {layers} times {wanted}")
    for block in range(layers):
        expect(f"{what}, tensors of block {block}", bytes_of(report, ".*", block), wanted)


def expect_between(what, got, low, high):
    if not low <= got <= high:
        sys.exit(f"{what}: got {got}, expected {low} to {high}")
    print(f"{what}: {got}")


def exponent(xs, ys):
    """Returns the slope of the least-squares line through (log x, log y)."""
    logs = [(math.log(x), math.log(y)) for x, y in zip(xs, ys)]
    mean_x, mean_y = (sum(column) / len(logs) for column in zip(*logs))
    return (sum((x - mean_x) * (y - mean_y) for x, y in logs) / sum((x - mean_x) ** 2 for x, _ in logs))
