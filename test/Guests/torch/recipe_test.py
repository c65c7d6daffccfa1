"""docs/Recipes/TrainInPyTorch.md, run as it stands with a small model."""

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
        self.assertEqual(len(blocks), 3)
        for block in blocks:
            exec(block, names)
        reports = names["backend"].reports
        self.assertEqual(len(reports), 1)
        self.assertLessEqual(reports[0].peak, 20 * 10**9)
        self.assertTrue(all(parameter.grad is not None for parameter in names["model"].parameters()))


if __name__ == "__main__":
    sys.exit(unittest.main())
