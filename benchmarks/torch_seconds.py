#!/usr/bin/env python3
"""Times planned steps against PyTorch's own means at the same measured peak.

  torch_seconds.py [--compiler eager|inductor] [--layers 4] [--hidden 256] [--batch 4] [--tokens 512] [--ratios 0.2,0.4] [--rounds 7]
                   [--threads N] [--costs table|measured] [--clock wall|processor]

A Llama of test/Guests/torch/models.py is compiled unplanned, under `activation_memory_budget` at each ratio, and with a checkpoint around
each block; the peak of each is measured by the profiler, and llmmem plans the same model for that peak. Then all of them take steps in turn,
one each a round, so that what disturbs the machine disturbs all alike. The table has the peak, FLOPs over those of the unplanned step (kernels
that run one by one alone), the median and the least of the seconds of forward and backward, the median over the rounds of these
seconds over those of the unplanned step and, of a planned step, over those of the one whose peak it keeps, and whether bits are equal to the
unplanned step's (Inductor's need not be).

--clock processor counts the seconds that the processor worked for the step, which are left of a machine that others use, too: with one
thread, as here by default then. The last line says what other processes took of the cores meanwhile. Where that is more than the threads
left free seconds of the wall say nothing, the line says so, and the exit code is 3; it is 1 where a planned step was measured above its
budget. Needs PyTorch and LLMMEM_LIBRARY:
`PYTHONPATH=python build-guests/torch/bin/python benchmarks/torch_seconds.py`.
"""

import argparse
import contextlib
import os
import statistics
import sys
import time

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._functorch import config, partitioners
from torch.utils.flop_counter import FlopCounterMode

import llmmem.torch
import neighbours

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "test", "Guests", "torch"))
import models

UNPLANNED = "unplanned"
CLOCKS = {"wall": time.perf_counter, "processor": time.process_time}


class Contender:
    """A compiled model with its seconds. budget: what its peak must keep, or None. rival: whose peak that is."""

    def __init__(self, name, model, backend, ids, ratio=None, budget=None, rival=None):
        self.name, self.model, self.budget, self.rival, self.seconds = name, model, budget, rival, []
        self.compiled = torch.compile(model, backend=backend, dynamic=False)
        with config.patch(activation_memory_budget=ratio) if ratio is not None else contextlib.nullcontext():
            self.measured = models.measure_step(model, self.compiled, ids, ids)

    @property
    def peak(self):
        return self.measured.peak

    @property
    def is_over(self):
        return self.budget is not None and self.peak > self.budget

    def run(self, ids):
        loss = self.compiled(ids, ids)
        loss.backward()
        del loss

    def step(self, ids, clock):
        start = clock()
        self.run(ids)
        self.seconds.append(clock() - start)
        self.model.zero_grad(set_to_none=True)

    def count_flops(self, ids):
        with FlopCounterMode(display=False) as counter:
            self.run(ids)
        self.model.zero_grad(set_to_none=True)
        self.flops = counter.get_total_flops()

    def over(self, other):
        """Returns the median over the rounds of the seconds over those of another."""
        return statistics.median(own / its for own, its in zip(self.seconds, other.seconds))

    def row(self, plain, counts):
        bits = "equal" if models.is_equal(self.measured, plain.measured) else "differ"
        flops = f"{self.flops / plain.flops:.3f}" if counts else ""
        rival = f"{self.over(self.rival):.3f}" if self.rival else ""
        return (f"| {self.name} | {self.peak / 1e6:.2f} | {flops} | {statistics.median(self.seconds):.4f} | {min(self.seconds):.4f} | "
                f"{self.over(plain):.3f} | {rival} | {bits} |" + (" over" if self.is_over else ""))


def stock(compiler, partition):
    """Returns PyTorch's own backend: kernels one by one as `partition` cuts, or Inductor, which cuts by itself."""
    return "inductor" if compiler == "inductor" else aot_autograd(fw_compiler=llmmem.torch.run_in_order, partition_fn=partition)


def contenders(options, ids):
    def make(checkpoint=False):
        torch.manual_seed(0)
        return models.llama(layers=options.layers, hidden=options.hidden, heads=options.hidden // 32, kv_heads=options.hidden // 64,
                            feed_forward=options.hidden * 8 // 3 // 32 * 32, vocabulary=options.vocabulary, tokens=options.tokens,
                            checkpoint=checkpoint)

    compiler, default = options.compiler, partitioners.default_partition
    found = [Contender(UNPLANNED, make(), stock(compiler, default), ids)]
    theirs = [Contender(f"activation_memory_budget {ratio:g}", make(), stock(compiler, partitioners.min_cut_rematerialization_partition), ids,
                        ratio=ratio) for ratio in map(float, options.ratios.split(","))]
    theirs.append(Contender("a checkpoint around each block", make(True), stock(compiler, default), ids))
    for other in theirs:
        found.append(other)
        try:
            backend = llmmem.torch.backend(other.peak, compiler=compiler, costs=options.costs)
            found.append(Contender("llmmem, that peak", make(), backend, ids, budget=other.peak, rival=other))
        except Exception as error:
            # Dynamo wraps what a backend raises.
            print(f"llmmem at the peak of {other.name}: {str(error).splitlines()[0]}", flush=True)
    return found


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiler", choices=["eager", "inductor"], default="eager")
    for name, size in (("layers", 4), ("hidden", 256), ("batch", 4), ("tokens", 512), ("vocabulary", 2048), ("rounds", 7),
                       ("threads", 0)):
        parser.add_argument(f"--{name}", type=int, default=size)
    parser.add_argument("--ratios", default="0.2,0.4")
    parser.add_argument("--costs", choices=["table", "measured"], default="table")
    parser.add_argument("--clock", choices=list(CLOCKS), default="wall")
    return parser.parse_args()


def main():
    options = parse()
    threads = options.threads or (os.cpu_count() if options.clock == "wall" else 1)
    torch.set_num_threads(threads)
    torch._dynamo.config.recompile_limit = 64  # All of them share the code of one class.
    ids = torch.randint(0, options.vocabulary, (options.batch, options.tokens), generator=torch.Generator().manual_seed(0))
    found = contenders(options, ids)
    counts = options.compiler == "eager"  # The others' products are calls of libraries that PyTorch does not see.
    for contender in found if counts else ():
        contender.count_flops(ids)
    with neighbours.Watch() as watch:
        for _ in range(options.rounds):
            for contender in found:
                contender.step(ids, CLOCKS[options.clock])
    print("| step | peak, MB | FLOPs | median, s | least, s | of unplanned | of that step | bits |\n"
          "| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |")
    for contender in found:
        print(contender.row(found[0], counts))
    is_disturbed = options.clock == "wall" and neighbours.disturbs(watch.cores, threads)
    print(neighbours.measured_on(watch.cores) + (" That is too much: these seconds say nothing." if is_disturbed else ""))
    return 1 if any(contender.is_over for contender in found) else 3 if is_disturbed else 0


if __name__ == "__main__":
    sys.exit(main())
