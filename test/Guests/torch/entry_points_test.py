"""Tests entry points other than `backend(budget)` of a training step: measured costs, AOTAutograd's own partition_fn, and steps without
gradients, which have nothing to plan."""

import os
import tempfile
import unittest
from typing import Any, List
from unittest import mock

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.partitioners import default_partition

import llmmem.torch
from models import gpt, is_equal, llama, run_step


def unplanned() -> Any:
    return aot_autograd(fw_compiler=llmmem.torch.run_in_order, partition_fn=default_partition)


class EntryPointsTest(unittest.TestCase):
    def setUp(self) -> None:
        self.ids = torch.randint(0, 256, (2, 64), generator=torch.Generator().manual_seed(1))
        # No test reads costs that another has measured.
        self.enterContext(mock.patch.dict(os.environ, XDG_CACHE_HOME=self.enterContext(tempfile.TemporaryDirectory())))

    def make(self) -> torch.nn.Module:
        torch.manual_seed(0)
        return gpt(layers=2)

    def train(self, backend: Any) -> List[float]:
        """Returns the losses of five steps of SGD."""
        torch._dynamo.reset()
        model = self.make()
        step, optimizer = torch.compile(model, backend=backend), torch.optim.SGD(model.parameters(), lr=0.5)
        losses = []
        for _ in range(5):
            loss = step(self.ids, self.ids)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            losses.append(loss.item())
        return losses

    def test_measured_costs(self) -> None:
        """Prices are those of this machine, so the test asserts only what bounds them on any; the rest holds whatever they are."""
        model = self.make()
        plain = run_step(model, unplanned(), self.ids, self.ids)
        budget = plain.peak * 3 // 4
        backend = llmmem.torch.backend(budget, costs="measured")
        step = run_step(model, backend, self.ids, self.ids)
        report = backend.reports[0]
        print(f"measured costs: a run of every kernel {report.base_cost} ns, planned {report.cost} ns, priced in "
              f"{report.seconds_priced:.2f} s")
        self.assertLessEqual(report.peak, budget)
        self.assertLessEqual(step.peak, budget)
        self.assertTrue(is_equal(step, plain))
        self.assertGreater(report.recomputed, 0)
        self.assertLess(report.base_cost, report.cost)
        self.assertLessEqual(report.cost_lower_bound, report.cost)
        # No kind of kernel took longer than measuring all of them, and no CPU does 100 TFLOP/s.
        self.assertLess(sum({op.cost for op in report.problem.ops}), report.seconds_priced * 1e9)
        self.assertGreater(report.base_cost, report.flops / 1e5)
        self.assertEqual(llmmem.verify(report.problem, report.plan, budget), [])

    def test_costs_of_the_shipped_table(self) -> None:
        """A product in bf16 has that rate of the table which llmmem-opt reads, and one in f32 another."""
        table = llmmem.device("h100")
        costs = {}
        for dtype in (torch.bfloat16, torch.float32):
            layer = torch.nn.Linear(1024, 1024, bias=False).to(dtype)
            backend = llmmem.torch.backend(None, device="h100", workspaces=False)
            torch.compile(layer, backend=backend)(torch.ones(1024, 1024, dtype=dtype)).sum().backward()
            costs[dtype] = max(op.cost for op in backend.reports[0].problem.ops)
        self.assertEqual(costs[torch.bfloat16], table.nanoseconds(2 * 1024**3, 3 * 1024**2 * 2, "bf16"))
        self.assertEqual(costs[torch.float32], table.nanoseconds(2 * 1024**3, 3 * 1024**2 * 4, "f32"))

    def test_measured_costs_train(self) -> None:
        losses = self.train(llmmem.torch.backend("min", costs="measured"))
        self.assertEqual(losses, self.train(unplanned()))
        self.assertLess(losses[-1], losses[0])

    def test_partition_function_of_aot_autograd(self) -> None:
        for make in (gpt, llama):
            torch.manual_seed(0)
            model = make(layers=2)
            plain = run_step(model, unplanned(), self.ids, self.ids)
            for part in (0.7, 0.9):
                with self.subTest(model=make.__name__, part=part):
                    partitioner = llmmem.torch.partitioner(int(part * plain.peak))
                    step = run_step(model, aot_autograd(fw_compiler=llmmem.torch.run_in_order, partition_fn=partitioner),
                                    self.ids, self.ids)
                    self.assertEqual(len(partitioner.reports), 1)
                    self.assertLessEqual(step.peak, int(part * plain.peak))
                    self.assertEqual(step.peak, partitioner.reports[0].peak)
                    self.assertIn("whoever compiles the plan may fuse", partitioner.reports[0].of_model)
                    self.assertIn("of the model, and no budget counts as kept", str(partitioner.reports[0]))
                    self.assertTrue(is_equal(step, plain))

    def test_without_gradients_nothing_is_planned(self) -> None:
        """A model without gradients runs as it is, under no budget, and leaves no report."""
        model = self.make()
        for compiler in ("eager", "inductor"):
            with self.subTest(compiler=compiler), torch.no_grad():
                torch._dynamo.reset()
                backend = llmmem.torch.backend(1000, compiler=compiler)
                torch.testing.assert_close(torch.compile(model, backend=backend)(self.ids, self.ids), model(self.ids, self.ids))
                self.assertEqual(backend.reports, [])

    def test_evaluation_between_steps_changes_no_report(self) -> None:
        """The evaluation has a batch that would not fit, so that the account of its code could not pass for the step's."""
        model, many = self.make(), self.ids.repeat(16, 1)
        for compiler in ("eager", "inductor"):
            with self.subTest(compiler=compiler):
                torch._dynamo.reset()
                backend = llmmem.torch.backend("min" if compiler == "eager" else "2MB", compiler=compiler)
                step = torch.compile(model, backend=backend, dynamic=False)
                step(self.ids, self.ids).backward()
                model.zero_grad(set_to_none=True)
                before = list(backend.reports)
                with torch.no_grad():
                    torch.testing.assert_close(step(many, many), model(many, many))
                self.assertEqual(len(before), 1)
                self.assertIs(backend.reports[0], before[0])
                self.assertEqual(backend.reports, before)


if __name__ == "__main__":
    unittest.main()
