#!/usr/bin/env python3
"""Measures what a ratio of PyTorch and what a budget in bytes make of one step: pytorch#197838.

  torch_budgets.py [--layers 32] [--width 256] [--batch 2] [--tokens 1024] [--ratios 0.05,0.1,...] [--budgets 80MB,100MB,...]

There a smaller `activation_memory_budget` takes more memory: of a Llama of 32 layers of width 256 with 2,048 tokens peaks of 1145, 508, 275,
325, 359, 411 and 457 MB were reported at ratios from 0.05 to 0.35. The step is traced once. Each ratio and each budget then cuts the
same joint graph into forward and backward, which run kernel by kernel below the profiler. Each line has the peak that was measured, parameters,
inputs, gradients and results included, by how many FLOPs the step grew, and whether loss and gradients are those of the unplanned step bit
by bit. A budget below the least is refused with the bytes that every plan needs.

The exit code is 1 where a measured peak is above its budget or above the prediction, where a larger budget recomputes more, where one
recomputes more than PyTorch does at a ratio that was measured at its budget or below, or where bits differ. Needs PyTorch and
LLMMEM_LIBRARY: `PYTHONPATH=python build-guests/torch/bin/python benchmarks/torch_budgets.py`.
"""

import argparse
import gc
import os
import sys

import torch
from torch import fx
from torch._dynamo.backends.common import aot_autograd
from torch._functorch import config, partitioners
from torch.profiler import ProfilerActivity, profile

import llmmem.torch
from llmmem.torch._costs import count_flops
from llmmem.torch._modules import copy_graph

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "test", "Guests", "torch"))
import models
from compare_test import ARITHMETIC

RATIOS = "0.05,0.1,0.15,0.2,0.25,0.3,0.35"


class Traced:
    """A joint graph, and the arguments of one of its calls. flops: of each of its kernels once."""

    def __init__(self, model, ids):
        self.primals = None
        backend = aot_autograd(fw_compiler=self._remember, bw_compiler=llmmem.torch.run_in_order, partition_fn=self._cut)
        torch.compile(model, backend=backend)(ids, ids)
        self.resident = sum({tensor.untyped_storage().data_ptr(): tensor.untyped_storage().nbytes() for tensor in self.primals}.values())

    def _cut(self, module, inputs, *, num_fwd_outputs, **options):
        module.graph.eliminate_dead_code()
        self.module, self.inputs, self.results = fx.GraphModule(module, copy_graph(module.graph)), inputs, num_fwd_outputs
        self.flops = count(module)
        self.options = options
        return partitioners.default_partition(module, inputs, num_fwd_outputs=num_fwd_outputs, **options)

    def _remember(self, module, inputs):
        run = llmmem.torch.run_in_order(module, inputs)

        def remember_and_run(arguments):
            self.primals = list(arguments)
            return run(arguments)

        remember_and_run._boxed_call = True
        return remember_and_run

    def cut(self, partition):
        copy = fx.GraphModule(self.module, copy_graph(self.module.graph))
        return partition(copy, self.inputs, num_fwd_outputs=self.results, **self.options)

    def measure(self, modules):
        """Runs forward and backward once. Returns the peak, the FLOPs, and the loss with all gradients."""
        flops = sum(map(count, modules))
        forward, backward = (llmmem.torch.run_in_order(module, None) for module in modules)
        gc.collect()
        with torch.no_grad(), profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
            made = list(forward(list(self.primals)))
            results, saved = made[:self.results], made[self.results:]
            del made
            arguments = [*saved, torch.ones_like(results[0])]
            del saved
            gradients = backward(arguments)
        return self.resident + llmmem.torch.peak_bytes(profiler), flops, [*results, *gradients]


def count(module):
    """Returns the FLOPs of a graph's kernels."""
    return sum(count_flops(node) for node in module.graph.nodes if node.op == "call_function")


def is_equal(made, wanted):
    return all(one is other or torch.equal(one, other) for one, other in zip(made, wanted))


def row(name, peak, promised, flops, base, has_bits):
    cells = [name, f"{peak / 1e6:.2f}", promised and f"{promised / 1e6:.2f}", f"{flops / base - 1:+.2%}", "equal" if has_bits else "differ"]
    print("| " + " | ".join(cell or "" for cell in cells) + " |", flush=True)


def theirs(ratio):
    def partition(*arguments, **options):
        with config.patch(activation_memory_budget=ratio):
            return partitioners.min_cut_rematerialization_partition(*arguments, **options)

    return partition


def measure_ratios(traced, ratios, base, plain):
    """Returns (peak, FLOPs) of PyTorch's plan at each ratio."""
    found = []
    for ratio in ratios:
        peak, flops, made = traced.measure(traced.cut(theirs(ratio)))
        row(f"PyTorch, ratio {ratio:g}", peak, None, flops, base, is_equal(made, plain))
        found.append((peak, flops))
    return found


def measure_budgets(traced, budgets, base, plain, ratios):
    """Returns what does not hold."""
    wrong, before = [], None
    for budget in sorted(budgets):
        partitioner = llmmem.torch.partitioner(budget, device=ARITHMETIC)
        try:
            modules = traced.cut(partitioner)
        except llmmem.torch.BudgetError as error:
            print(f"| llmmem, {budget / 1e6:.1f} MB | refused: every plan needs at least {error.proved_bytes / 1e6:.1f} |", flush=True)
            continue
        peak, flops, made = traced.measure(modules)
        promised, has_bits = partitioner.reports[0].peak, is_equal(made, plain)
        row(f"llmmem, {budget / 1e6:.2f} MB", peak, promised, flops, base, has_bits)
        fewer = [other for size, other in ratios if size <= budget and other < flops]
        wrong += [f"{budget}: {what}" for what, holds in (
            (f"measured {peak}, predicted {promised}", peak <= promised <= budget), ("other bits", has_bits),
            (f"recomputes {flops - base} FLOPs, and less under a smaller budget", before is None or flops <= before),
            (f"recomputes {flops - base} FLOPs, PyTorch fewer", not fewer)) if not holds]
        before = flops
    return wrong


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, size in (("layers", 32), ("width", 256), ("batch", 2), ("tokens", 1024), ("vocabulary", 256)):
        parser.add_argument(f"--{name}", type=int, default=size)
    parser.add_argument("--ratios", default=RATIOS)
    parser.add_argument("--budgets", help="by default those of the measured ratios, and ten from the least to the unplanned peak")
    return parser.parse_args()


def main():
    options = parse()
    torch.manual_seed(0)
    model = models.llama(layers=options.layers, hidden=options.width, heads=options.width // 32, kv_heads=options.width // 64,
                         feed_forward=options.width * 8 // 3 // 32 * 32, vocabulary=options.vocabulary, tokens=options.tokens)
    ids = torch.randint(0, options.vocabulary, (options.batch, options.tokens), generator=torch.Generator().manual_seed(0))
    traced = Traced(model, ids)
    print("| step | measured peak, MB | predicted | FLOPs again | bits |\n| --- | ---: | ---: | ---: | --- |", flush=True)
    peak, flops, plain = traced.measure(traced.cut(partitioners.default_partition))
    base = traced.flops
    row("unplanned", peak, None, flops, base, True)
    ratios = measure_ratios(traced, [float(text) for text in options.ratios.split(",")], base, plain)
    if options.budgets:
        budgets = [llmmem.torch.partitioner(text).partition.budget for text in options.budgets.split(",")]
    else:
        least = llmmem.torch.partitioner("min", device=ARITHMETIC)
        traced.cut(least)
        low = least.reports[0].peak
        budgets = {low + (peak - low) * part // 9 for part in range(10)} | {size for size, _ in ratios}
    wrong = measure_budgets(traced, budgets, base, plain, ratios)
    print("\n".join(wrong) or "All budgets hold.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
