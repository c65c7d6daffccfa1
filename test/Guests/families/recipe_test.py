"""docs/Recipes/TrainUnderATrainer.md, run as it stands with small models."""

import logging
import os
import sys
import tempfile
import unittest
import warnings
from typing import Any, Dict

import torch
import transformers
from accelerate.state import AcceleratorState
from torch import nn

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "torch"))

from models import LlamaBlock, cross_entropy
from recipe_blocks import python_blocks
from zoo import MARKS, VOCABULARY, causal

IDS = torch.randint(3, VOCABULARY, (2, 16), generator=torch.Generator().manual_seed(0))


class Texts(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return 4

    def __getitem__(self, number: int) -> Dict[str, torch.Tensor]:
        return dict(input_ids=IDS[number % 2], labels=IDS[number % 2])


class Blocks(nn.Module):
    """Keeps its blocks as torchtitan's models do."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.head = nn.Embedding(VOCABULARY, 32), nn.Linear(32, VOCABULARY)
        self.layers = nn.ModuleDict({str(number): LlamaBlock(32, 2, 2, 64) for number in range(2)})

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.embedding(ids)
        for block in self.layers.values():
            x = block(x)
        return self.head(x)


def make_model() -> nn.Module:
    return causal(transformers.LlamaConfig(vocab_size=VOCABULARY, hidden_size=32, num_hidden_layers=1, num_attention_heads=2,
                                           intermediate_size=64, **MARKS))


class RecipeTest(unittest.TestCase):
    def test_every_block_runs(self) -> None:
        warnings.simplefilter("ignore")
        logging.disable(logging.WARNING)
        blocks = python_blocks("TrainUnderATrainer.md")
        self.assertEqual(len(blocks), 5)
        with tempfile.TemporaryDirectory() as folder:
            names: Dict[str, Any] = {
                "dataset": Texts(), "transformer": Blocks(), "policy": make_model(), "reference": make_model(), "ids": IDS, "targets": IDS,
                "loss_function": lambda model, ids, targets: cross_entropy(model(ids), targets),
                "arguments": transformers.TrainingArguments(folder, max_steps=1, use_cpu=True, report_to=[], save_strategy="no",
                                                            disable_tqdm=True)}
            for block in blocks:
                torch._dynamo.reset()
                # Each block is a program of its own, and accelerate's settings are of the process.
                AcceleratorState._reset_state(reset_partial_state=True)
                names.update(model=make_model(), loader=torch.utils.data.DataLoader(Texts(), batch_size=2))
                exec(block, names)
        self.assertEqual(len(names["backend"].reports), 1)
        for trained in (names["transformer"], names["policy"]):
            self.assertTrue(all(parameter.grad is not None for parameter in trained.parameters()))


if __name__ == "__main__":
    unittest.main()
