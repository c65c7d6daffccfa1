#!/usr/bin/env python3
"""Times planned steps against PyTorch's own means at the same measured peak.

  torch_seconds.py [--compiler eager|inductor] [--layers 4] [--hidden 256] [--batch 4] [--tokens 512] [--ratios 0.2,0.4] [--rounds 7]
                   [--threads N] [--costs table|measured]

A Llama of test/Guests/torch/models.py is compiled unplanned, under `activation_memory_budget` at each ratio, and with a checkpoint around
each block; the peak of each is measured by the profiler, and llmmem plans the same model for that peak. Then all of them take steps in turn,
one each a round, so that what disturbs the machine disturbs all alike. The table has the peak, the median and the least of the seconds
of forward and backward, the median over that of the unplanned step, and whether bits are equal to it (Inductor's need not be).

The last line says what other processes took of the cores meanwhile. Where that is more than the threads left free the seconds say
nothing, the line says so, and the exit code is 3; it is 1 where a planned step was measured above its budget. Needs PyTorch and LLMMEM_LIBRARY:
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

import llmmem.torch
import neighbours

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "test", "Guests", "torch"))
import models

UNPLANNED = "unplanned"


class Contender:
    """A compiled model with its seconds. budget: what its peak must keep, or None."""

    def __init__(self, name, model, backend, ids, ratio=None, budget=None):
        self.name, self.model, self.budget, self.seconds = name, model, budget, []
        self.compiled = torch.compile(model, backend=backend, dynamic=False)
        with config.patch(activation_memory_budget=ratio) if ratio is not None else contextlib.nullcontext():
            self.measured = models.measure_step(model, self.compiled, ids, ids)

    @property
    def peak(self):
        return self.measured.peak

    @property
    def is_over(self):
        return self.budget is not None and self.peak > self.budget

    def step(self, ids):
        start = time.perf_counter()
        loss = self.compiled(ids, ids)
        loss.backward()
        self.seconds.append(time.perf_counter() - start)
        del loss
        self.model.zero_grad(set_to_none=True)

    def row(self, plain):
        middle = statistics.median(self.seconds)
        bits = "equal" if models.is_equal(self.measured, plain.measured) else "differ"
        return (f"| {self.name} | {self.peak / 1e6:.2f} | {middle:.4f} | {min(self.seconds):.4f} | "
                f"{middle / statistics.median(plain.seconds):.3f} | {bits} |" + (" over" if self.is_over else ""))


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
            found.append(Contender(f"llmmem, that peak ({other.name})", make(), backend, ids, budget=other.peak))
        except Exception as error:
            # Dynamo wraps what a backend raises.
            print(f"llmmem at the peak of {other.name}: {str(error).splitlines()[0]}", flush=True)
    return found


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiler", choices=["eager", "inductor"], default="eager")
    for name, size in (("layers", 4), ("hidden", 256), ("batch", 4), ("tokens", 512), ("vocabulary", 2048), ("rounds", 7),
                       ("threads", os.cpu_count())):
        parser.add_argument(f"--{name}", type=int, default=size)
    parser.add_argument("--ratios", default="0.2,0.4")
    parser.add_argument("--costs", choices=["table", "measured"], default="table")
    return parser.parse_args()


def main():
    options = parse()
    torch.set_num_threads(options.threads)
    torch._dynamo.config.recompile_limit = 64  # All of them share the code of one class.
    ids = torch.randint(0, options.vocabulary, (options.batch, options.tokens), generator=torch.Generator().manual_seed(0))
    found = contenders(options, ids)
    with neighbours.Watch() as watch:
        for _ in range(options.rounds):
            for contender in found:
                contender.step(ids)
    print("| step | peak, MB | median, s | least, s | of unplanned | bits |\n| --- | ---: | ---: | ---: | ---: | --- |")
    for contender in found:
        print(contender.row(found[0]))
    is_disturbed = neighbours.disturbs(watch.cores, options.threads)
    print(neighbours.measured_on(watch.cores) + (" That is too much: these seconds say nothing." if is_disturbed else ""))
    return 1 if any(contender.is_over for contender in found) else 3 if is_disturbed else 0


if __name__ == "__main__":
    sys.exit(main())
