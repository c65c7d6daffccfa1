"""Compares with PyTorch's own means on the same models: at the peak that theirs is measured to have, ours fits and recomputes no
more FLOPs. Their ratio is no peak: a smaller one can need more."""

import time
import unittest
from typing import Any, Callable, List, Tuple

import torch
from torch import fx
from torch._dynamo.backends.common import aot_autograd
from torch._functorch import config, partitioners

import llmmem.torch
from llmmem.torch._costs import count_flops
from models import gpt, llama, run_step

RATIOS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9)

# Arithmetic decides what a kernel costs, so that FLOPs are compared with FLOPs.
ARITHMETIC = llmmem.torch.Device(flops=1e11, bandwidth=1e13, launch=0)


class Theirs:
    """A partition function of PyTorch that remembers the FLOPs of its modules and the seconds it took."""

    def __init__(self, function: Any) -> None:
        self.function, self.flops, self.seconds = function, 0, 0.0

    def __call__(self, module: fx.GraphModule, inputs: Any, **options: Any) -> Tuple[fx.GraphModule, fx.GraphModule]:
        start = time.perf_counter()
        modules = self.function(module, inputs, **options)
        self.seconds = time.perf_counter() - start
        self.flops = sum(count_flops(node) for part in modules for node in part.graph.nodes if node.op == "call_function")
        return modules


class CompareTest(unittest.TestCase):
    def setUp(self) -> None:
        self.ids = torch.randint(0, 256, (4, 64), generator=torch.Generator().manual_seed(0))

    def make(self, model: Callable[..., Any], **options: Any) -> torch.nn.Module:
        torch.manual_seed(0)
        return model(layers=4, **options)

    def theirs(self, name: str, theirs: torch.nn.Module, function: Any, ours: torch.nn.Module) -> int:
        """Prints one line of the table and asserts. Returns the peak of `theirs`; `ours` is the same model, planned by llmmem."""
        partition = Theirs(function)
        step = run_step(theirs, aot_autograd(fw_compiler=llmmem.torch.run_in_order, partition_fn=partition), self.ids, self.ids)
        backend = llmmem.torch.backend(step.peak, device=ARITHMETIC)
        planned = run_step(ours, backend, self.ids, self.ids)
        report = backend.reports[0]
        again = partition.flops - report.flops
        print(f"{name}: peak {step.peak}, FLOPs +{again / report.flops:.1%}, partitioned in {partition.seconds:.2f} s; "
              f"llmmem: peak {planned.peak}, FLOPs +{report.recomputed_flops / report.flops:.1%}, read in "
              f"{report.seconds_read:.2f} s, planned in {report.seconds_planned:.2f} s, written in "
              f"{report.seconds_written:.2f} s")
        self.assertLessEqual(planned.peak, step.peak)
        self.assertLessEqual(report.recomputed_flops, again)
        return step.peak

    def ratios(self, model: Callable[..., Any]) -> List[int]:
        """Returns the peaks of theirs, from the smallest ratio."""
        peaks = []
        for ratio in RATIOS:
            with self.subTest(model=model.__name__, ratio=ratio), config.patch(activation_memory_budget=ratio):
                made = self.make(model)
                peaks.append(self.theirs(f"{model.__name__}, activation_memory_budget {ratio}", made,
                                         partitioners.min_cut_rematerialization_partition, made))
        return peaks

    def test_ratios_and_the_trap(self) -> None:
        for model in (gpt, llama):
            peaks = self.ratios(model)
            self.assertTrue(any(small > large for index, small in enumerate(peaks) for large in peaks[index + 1:]),
                            f"{model.__name__}: a smaller ratio never needed more: {peaks}")

    def test_checkpoint_around_each_block(self) -> None:
        for model in (gpt, llama):
            with self.subTest(model=model.__name__):
                self.theirs(f"{model.__name__}, checkpoint around each block", self.make(model, checkpoint=True),
                            partitioners.default_partition, self.make(model))


if __name__ == "__main__":
    unittest.main()
