"""docs/Recipes/TrainInPyTorch.md and PredictInPyTorch.md, run as they stand with a small model, but for the block that needs a GPU."""

import os
import sys
import unittest
from typing import Any, Dict

import torch

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from models import gpt
from recipe_blocks import python_blocks


class RecipeTest(unittest.TestCase):
    def test_every_block_runs(self) -> None:
        ids = torch.randint(0, 256, (2, 16))
        names: Dict[str, Any] = {"model": gpt(layers=2), "ids": ids, "targets": ids}
        blocks = python_blocks("TrainInPyTorch.md")
        self.assertEqual(len(blocks), 6)
        *first, with_host, on_cuda, in_backward = blocks
        for block in first:
            exec(block, names)
        reports = names["backend"].reports
        self.assertEqual(len(reports), 1)
        self.assertLessEqual(reports[0].peak, 20 * 10**9)
        self.assertTrue(all(parameter.grad is not None for parameter in names["model"].parameters()))
        names["model"] = gpt(layers=2)
        exec(with_host, names)
        self.assertIsNotNone(names["backend"].reports[0].host)
        names["model"] = gpt(layers=2)
        exec(in_backward, names)
        self.assertTrue(all(parameter.grad is None for parameter in names["model"].parameters()))
        self.assertIn("use_pool()", on_cuda)

    def test_every_prediction_runs(self) -> None:
        ids = torch.randint(0, 256, (2, 16))
        names: Dict[str, Any] = {"model": gpt(layers=2), "ids": ids, "targets": ids}
        blocks = python_blocks("PredictInPyTorch.md")
        self.assertEqual(len(blocks), 4)
        of_one, of_many, sharded, step = blocks
        exec(of_one, names)
        strategies = names["prediction"].strategies
        self.assertEqual(list(strategies), ["eager", "checkpointed", "compiled"])
        self.assertTrue(all(strategy.reserved >= strategy.peak for strategy in strategies.values()))
        exec(of_many, names)
        gathered = names["prediction"].strategies["fsdp2"].steps[1]["backward"].by_kind["gathered parameters"]
        self.assertGreater(gathered, 0)
        exec(sharded, names)
        names["Model"] = lambda: torch.nn.Embedding(8, 4)
        with torch.device("meta"):
            exec(step, names)
            model, inputs, loss = names["make_step"](2, 16)
            self.assertEqual(loss(model, inputs).shape, ())


if __name__ == "__main__":
    sys.exit(unittest.main())
