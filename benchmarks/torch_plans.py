#!/usr/bin/env python3
"""Plans joint graphs of PyTorch, traced on meta tensors, at the peaks of PyTorch's own plans.

  torch_plans.py gpt2|llama8b [RATIO...]     RATIO: of activation_memory_budget
  torch_plans.py gpt|llama [ROUNDS [LAYERS]] seconds alone, of the models of test/Guests/torch, of 4 layers

For each ratio, and for everything kept: the peak and the cost of PyTorch's forward and backward under our rules (liveness
of kernels run one by one, the table `h100`), then our plan at that peak: peak, cost, proved bound, gap. GPT-2 124M has
batch 8 and 1,024 tokens, Llama-3-8B has batch 1 and 8,192, both bf16 with flash attention and without an optimizer.
Seconds are the clock's and the processor's, of which other load makes fewer more; PyTorch's partition and ours, each
from the joint graph to written modules. Each plan is repeated with its proof, which is checked; the last line counts claims, and the exit
code is 1 where one is refused.

Of the small models, planning (`llmmem.plan`, arrays of C included) at the least budget and at seven more, an eighth of the way
to what nothing recomputed needs apart, each compared with PyTorch's partition at its default settings, which knows no budget, and under
half of its own (`activation_memory_budget=0.5`): medians of the processor's seconds over ROUNDS (7) that take turns, and the sum of all eight
compared with eight partitions. Needs
PyTorch and LLMMEM_LIBRARY, as test/Guests/torch does.
"""

import collections
import os
import statistics
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "test", "Guests", "torch"))

import torch
import torch.nn.functional as F
from torch import fx
from torch._dynamo.backends.common import aot_autograd
from torch._functorch import config, partitioners

import llmmem
import llmmem.torch
import models
from llmmem.torch._costs import DEVICES, price
from llmmem.torch._modules import copy_graph
from llmmem.torch._partition import Partition
from llmmem.torch._program import Kernel, read, storage_bytes, tensors_of

OF_PYTORCH = F.scaled_dot_product_attention, F.cross_entropy

# This is what a GPU runs; on `meta` PyTorch would choose the unfused one. And nll_loss has no gradient there.
F.scaled_dot_product_attention = lambda q, k, v, is_causal: torch.ops.aten._scaled_dot_product_flash_attention(
    q, k, v, 0.0, is_causal)[0]
F.cross_entropy = lambda x, targets: -F.log_softmax(x, -1).gather(-1, targets[:, None]).mean()


def build(name):
    with torch.device("meta"):
        if name == "gpt2":
            return models.gpt(12, 768, 12, 50257, 1024).bfloat16(), torch.zeros(8, 1024, dtype=torch.int64)
        return models.llama(32, 4096, 32, 8, 14336, 128256, 8192).bfloat16(), torch.zeros(1, 8192, dtype=torch.int64)


def keys_of(node):
    """Returns the bytes of the node's storages, as the allocator rounds them."""
    step = DEVICES["h100"].alignment
    return {tensor.untyped_storage()._cdata: -(-storage_bytes(tensor) // step) * step
            for tensor in tensors_of(node) if tensor is not None}


def measure(module, resident):
    """Returns the largest sum of bytes without the resident storages, and the kernels. A storage dies after its last reader."""
    nodes = list(module.graph.nodes)
    last, sizes, kernels, born = {}, {}, [], {}
    for position, node in enumerate(nodes):
        reads = {key: size for source in node.all_input_nodes for key, size in keys_of(source).items()}
        own = keys_of(node) if node.op in ("placeholder", "call_function") else {}
        fresh = [key for key in own if key not in sizes and key not in resident]
        if node.op == "call_function" and fresh:
            kernels.append(Kernel(node, [], [], True))
        for key in fresh:
            sizes[key], born[key] = own[key], 0 if node.op == "placeholder" else position
        for key in {*reads, *fresh}:
            last[key] = len(nodes) if node.op == "output" else position
    change = [0] * (len(nodes) + 2)
    for key, size in sizes.items():
        change[born[key]] += size
        change[last[key] + 1] -= size
    live = peak = 0
    for delta in change:
        live += delta
        peak = max(peak, live)
    return peak, kernels


def least_line(problem, plan):
    """Returns what the plan of the least bytes needs, and how much of that is proved: of a schedule's peak, as a plan with steps claims."""
    resident = sum(value.bytes for value in problem.values if value.resident)
    return (f"least: needs {resident + plan.arena} bytes, +{plan.recompute_cost / plan.base_cost:.2%}; proved are {plan.peak_lower_bound} "
            f"bytes, {plan.peak_lower_bound / (resident + plan.arena):.3%}, {(plan.peak_lower_bound - resident) / plan.arena:.2%} of the arena")


class Stopwatch:
    """Seconds of the clock and of this process's threads, since it was made."""

    def __init__(self):
        self.wall, self.processor = time.perf_counter(), time.process_time()

    def stop(self):
        self.wall, self.processor = time.perf_counter() - self.wall, time.process_time() - self.processor
        return self

    def __str__(self):
        return f"{self.wall:.2f} s ({self.processor:.2f} of the processor)"


class Proofs:
    """What our plans claim, checked by code that shares nothing with the planner."""

    def __init__(self):
        self.plans, self.verdicts, self.longest, self.seconds = 0, collections.Counter(), 0.0, 0.0

    def check(self, problem, planned, budget):
        """Returns the seconds of the processor that a search for this plan takes. The partition takes the plan within its budget or, where
        an arena alone stands in the way, another; plans are equal for equal arguments."""
        watch = Stopwatch()
        for given in (budget, None, "min"):
            made = llmmem.plan(problem, given, proof=True)
            if (made.steps, made.cost_lower_bound) == (planned.steps, planned.cost_lower_bound):
                watch.stop()
                self.check_plan(problem, made, given)
                return watch.processor
        raise SystemExit(f"torch_plans.py: the plan under {budget} is not reproduced")

    def check_plan(self, problem, made, budget):
        watch = Stopwatch()
        claims = llmmem.check(problem, made, budget=None if budget == "min" else budget)
        seconds = watch.stop().processor
        self.plans += 1
        self.longest, self.seconds = max(self.longest, seconds), self.seconds + seconds
        for claim in claims:
            self.verdicts[claim.verdict] += 1
            if claim.verdict != "checked":
                print(f"{claim.claim}: {claim.verdict}: {claim.message}", flush=True)

    def finish(self):
        print(f"Proofs: {self.verdicts['checked']} claims of {self.plans} plans checked, {self.verdicts['not checked']} not checked, "
              f"{self.verdicts['refused']} refused; a check takes at most {self.longest:.2f} processor seconds, all together "
              f"{self.seconds:.2f}")
        return 1 if self.verdicts["refused"] else 0


class Compare:
    def __init__(self, name, ratios):
        self.name, self.ratios, self.proofs = name, ratios, Proofs()

    def __call__(self, module, inputs, *, num_fwd_outputs, **options):
        program = read(module, num_fwd_outputs)
        primals = {key: size for storage in program.storages if storage.resident
                   for key, size in keys_of(storage.node).items()}
        device = DEVICES["h100"]
        base = sum(entry.nanoseconds for entry in price(program.kernels, device, False, False))
        results = [node for node in program.forward_outputs if isinstance(node, fx.Node)]
        results += [program.storages[number].node for number in program.tangents]
        held = sum({key: size for node in results for key, size in keys_of(node).items()}.values())
        for ratio in [None, *self.ratios]:
            theirs = fx.GraphModule(module, copy_graph(module.graph))
            watch = Stopwatch()
            if ratio is None:
                modules = partitioners.default_partition(theirs, inputs, num_fwd_outputs=num_fwd_outputs, **options)
            else:
                with config.patch(activation_memory_budget=ratio):
                    modules = partitioners.min_cut_rematerialization_partition(
                        theirs, inputs, num_fwd_outputs=num_fwd_outputs, **options)
            watch.stop()
            parts = [measure(part, primals) for part in modules]
            # The caller holds the results and the tangents through the backward, in their plans as in ours.
            peak = sum(primals.values()) + max(parts[0][0], parts[1][0] + held)
            cost = sum(entry.nanoseconds for _, kernels in parts for entry in price(kernels, device, False, False))
            problem = self.line("kept" if ratio is None else ratio, peak, cost / base - 1, watch, module, inputs, num_fwd_outputs)
        least = llmmem.plan(problem, "min", proof=True)
        self.proofs.check_plan(problem, least, "min")
        print(f"{self.name} {least_line(problem, least)}", flush=True)
        raise SystemExit(self.proofs.finish())

    def line(self, ratio, peak, overhead, theirs, module, inputs, num_fwd_outputs):
        partition = Partition(peak, device="h100")
        watch = Stopwatch()
        partition(module, inputs, num_fwd_outputs=num_fwd_outputs)
        watch.stop()
        report = partition.reports[0]
        search = self.proofs.check(report.problem, report.plan, peak)
        print(f"{self.name} ratio {ratio}: PyTorch {peak / 1e9:.3f} GB +{overhead:.2%}, partitioned in {theirs}; llmmem "
              f"{report.peak / 1e9:.3f} GB +{report.overhead:.2%}, bound +{report.cost_lower_bound / report.base_cost - 1:.2%}"
              f", gap {report.gap:.2%}, partitioned in {watch}, of which {report.seconds_written:.2f} s write modules, "
              f"{watch.processor / theirs.processor:.2f} of PyTorch's; one search, "
              f"with its proof, takes {search:.2f} of the processor", flush=True)
        return report.problem


class Seconds:
    """A partition function that times PyTorch's and our planning of one graph, in turn."""

    def __init__(self, name, rounds):
        self.name, self.rounds = name, rounds

    def __call__(self, module, inputs, *, num_fwd_outputs, **options):
        partition = Partition("min")
        partition(fx.GraphModule(module, copy_graph(module.graph)), inputs, num_fwd_outputs=num_fwd_outputs)
        problem, least = partition.reports[0].problem, partition.reports[0].plan
        resident = sum(value.bytes for value in problem.values if value.resident)
        top = resident + llmmem.plan(problem, None).arena
        low = resident + least.arena
        budgets = ["min"] + [low + (top - low) * step // 8 for step in range(1, 8)]
        theirs, ours, plans = {1.0: [], 0.5: []}, [[] for _ in budgets], []
        for _ in range(self.rounds):
            for ratio, seconds in theirs.items():
                graph = fx.GraphModule(module, copy_graph(module.graph))
                with config.patch(activation_memory_budget=ratio):
                    watch = Stopwatch()
                    partitioners.min_cut_rematerialization_partition(graph, inputs, num_fwd_outputs=num_fwd_outputs, **options)
                    seconds.append(watch.stop().processor)
            plans = []
            for budget, seconds in zip(budgets, ours):
                watch = Stopwatch()
                plans.append(llmmem.plan(problem, budget))
                seconds.append(watch.stop().processor)
        unbounded, halved = (statistics.median(seconds) for seconds in theirs.values())
        print(f"{self.name}: {len(problem.ops)} ops, PyTorch's partition {unbounded:.3f} s, under a budget {halved:.3f} s")
        for budget, plan, seconds in zip(budgets, plans, ours):
            mine = statistics.median(seconds)
            print(f"  {budget}: peak {plan.peak}, +{plan.recompute_cost / plan.base_cost:.2%}, gap "
                  f"{(plan.cost - plan.cost_lower_bound) / plan.base_cost:.2%}, planned in {mine:.4f} s, {mine / unbounded:.3f} of PyTorch's, "
                  f"{mine / halved:.3f} of that under a budget",
                  flush=True)
        print(f"  {least_line(problem, plans[0])}", flush=True)
        total = sum(map(statistics.median, ours)) / len(ours)
        print(f"  all: {total:.4f} s a budget, {total / unbounded:.3f} of PyTorch's, {total / halved:.3f} of that under a budget", flush=True)
        return partitioners.default_partition(module, inputs, num_fwd_outputs=num_fwd_outputs, **options)


def time_small(name, rounds=7, layers=4):
    ids = torch.randint(0, 256, (4, 64), generator=torch.Generator().manual_seed(0))
    model = {"gpt": models.gpt, "llama": models.llama}[name](layers=layers)
    torch.compile(model, backend=aot_autograd(fw_compiler=llmmem.torch.run_in_order, partition_fn=Seconds(name, rounds)))(
        ids, ids)


def main():
    if sys.argv[1] in ("gpt", "llama"):
        F.scaled_dot_product_attention, F.cross_entropy = OF_PYTORCH
        return time_small(sys.argv[1], *map(int, sys.argv[2:]))
    name, ratios = sys.argv[1], [float(text) for text in sys.argv[2:]] or [1, 0.9, 0.7, 0.5, 0.3, 0.1, 0]
    model, ids = build(name)
    torch.compile(model, backend=aot_autograd(fw_compiler=llmmem.torch.run_in_order, partition_fn=Compare(name, ratios)))(
        ids, ids)


if __name__ == "__main__":
    main()
