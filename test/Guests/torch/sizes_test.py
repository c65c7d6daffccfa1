"""Sizes beyond those of the plan: larger batches are planned again, or refused by their sizes."""

import unittest
import warnings
from typing import Any

import torch

import llmmem.torch
from llmmem.torch import _private
from models import gpt, measure_step


class SizesTest(unittest.TestCase):
    def setUp(self) -> None:
        torch._dynamo.reset()
        torch.manual_seed(0)
        self.model, self.ids = gpt(layers=1), torch.randint(0, 256, (1, 64))

    def measure(self, step: Any, batch: int) -> int:
        ids = self.ids.repeat(batch, 1)
        return measure_step(self.model, step, ids, ids).peak

    def test_a_larger_batch_is_planned_anew(self) -> None:
        for compiler, batches in (("eager", ((2, 1), (4, 2), (3, 2), (8, 3), (5, 3))), ("inductor", ((2, 1), (4, 2), (3, 2)))):
            if compiler == "inductor" and not _private.is_known_to_inductor():
                continue
            with self.subTest(compiler=compiler):
                torch._dynamo.reset()
                backend = llmmem.torch.backend("4MB", compiler=compiler)
                step = torch.compile(self.model, backend=backend)
                for batch, plans in batches:
                    peak = self.measure(step, batch)
                    report = backend.reports[-1]
                    print(f"{compiler} batch {batch} plans {len(backend.reports)} predicted {report.peak} measured {peak}")
                    self.assertEqual(len(backend.reports), plans)
                    self.assertLessEqual(peak, report.compiled_peak or report.peak)

    def test_a_batch_that_does_not_fit_is_refused_by_its_sizes(self) -> None:
        step = torch.compile(self.model, backend=llmmem.torch.backend("1.6MB"))
        for batch in (2, 4):
            self.assertLessEqual(self.measure(step, batch), 1_600_000)
        with self.assertRaisesRegex(Exception, r"no plan within 1,600,000 bytes.*at the sizes .*= 32: call with smaller ones"):
            self.measure(step, 32)
        self.assertLessEqual(self.measure(step, 4), 1_600_000)

    def test_a_largest_size_that_was_declared(self) -> None:
        """Its plan holds for all; a first call with less is told to come with the largest."""
        backend = llmmem.torch.backend("4MB")
        step = torch.compile(self.model, backend=backend)

        def call(batch: int) -> torch.Tensor:
            ids, targets = self.ids.repeat(batch, 1), self.ids.repeat(batch, 1)
            for tensor in (ids, targets):
                torch._dynamo.mark_dynamic(tensor, 0, min=2, max=8)
            return step(ids, targets)

        with self.assertRaisesRegex(Exception, "declared to reach 8, and this call has 4: make the first call with the largest"):
            call(4)
        backend.reports.clear()
        for batch in (8, 4, 6):
            self.model.zero_grad(set_to_none=True)
            call(batch).backward()
        self.assertEqual(len(backend.reports), 1)

    def test_the_last_size_that_is_compiled_is_announced(self) -> None:
        step = torch.compile(self.model, backend=llmmem.torch.backend("4MB"))
        with torch._dynamo.config.patch(recompile_limit=3), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for batch in (2, 4, 8):
                self.measure(step, batch)
        self.assertEqual(sum("the most that PyTorch compiles" in str(warning.message) for warning in caught), 1)


if __name__ == "__main__":
    unittest.main()
