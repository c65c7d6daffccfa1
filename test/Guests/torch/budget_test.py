"""The promise: at eight budgets from the least, the allocator's peak is at most the budget and the predicted peak is
what is measured; loss and gradients are those of the unplanned step, bit by bit."""

import unittest

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.partitioners import default_partition

import llmmem.torch
from models import gpt, is_equal, llama, resident_bytes, run_step

BUDGETS = 8


class EagerTest(unittest.TestCase):
    def check(self, model: torch.nn.Module) -> None:
        torch.manual_seed(0)
        ids = torch.randint(0, 256, (2, 64))
        plain = run_step(model, aot_autograd(fw_compiler=llmmem.torch.run_in_order, partition_fn=default_partition), ids, ids)
        least = llmmem.torch.backend("min")
        step = run_step(model, least, ids, ids)
        self.assertTrue(is_equal(step, plain))
        low, high = least.reports[0].peak, plain.peak
        self.assertLess(low, 0.8 * high)
        for number in range(BUDGETS):
            budget = low + (high - low) * number // (BUDGETS - 1)
            with self.subTest(budget=budget):
                backend = llmmem.torch.backend(budget)
                step = run_step(model, backend, ids, ids)
                report = backend.reports[0]
                print(f"{type(model.blocks[0]).__name__} budget {budget} predicted {report.peak} measured {step.peak} "
                      f"cost +{report.overhead:.2%} bound +{report.cost_lower_bound / report.base_cost - 1:.2%}")
                self.assertLessEqual(step.peak, budget)
                self.assertLessEqual(abs(step.peak - report.peak), 0.03 * step.peak)
                self.assertTrue(is_equal(step, plain))
                self.assertEqual(llmmem.verify(report.problem, report.plan, report.problem.budget), [])
        with self.assertRaises(Exception) as caught:
            run_step(model, llmmem.torch.backend(low // 2), ids, ids)
        self.assertIn("every plan needs at least", str(caught.exception))
        self.assertIn(f"the least that was found is {low:,}", str(caught.exception))
        parameters = resident_bytes(model)
        self.assertIn(f"parameters and buffers alone are {parameters:,} bytes; in addition there are {ids.nbytes:,} of other inputs, "
                      f"{parameters:,} of gradients", str(caught.exception))

    def test_gpt(self) -> None:
        self.check(gpt())

    def test_llama(self) -> None:
        self.check(llama())


if __name__ == "__main__":
    unittest.main()
