"""Models that return more than the loss, as those of Hugging Face do: the caller holds every result until the backward has returned,
autograd makes a tangent for each, and the budget covers both."""

import unittest
from collections import OrderedDict
from typing import Any, Dict, Tuple

import torch
from torch import nn
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.partitioners import default_partition

import llmmem.torch
from llmmem.torch import _private
from models import LlamaBlock, Transformer, cross_entropy, is_equal, run_step

# Logits are the largest value by far.
SHAPE = dict(layers=2, hidden=64, vocabulary=1024, tokens=64)


class Model(Transformer):
    def __init__(self) -> None:
        super().__init__(**SHAPE, block=lambda: LlamaBlock(64, 4, 2, 160), positions=False)


class Pair(Model):
    def forward(self, ids: torch.Tensor, targets: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
        logits = self.logits(ids)
        return cross_entropy(logits, targets), logits


class Named(Model):
    """The logits again as a view and shifted, and a hidden state, as an output of transformers has them."""

    def forward(self, ids: torch.Tensor, targets: torch.Tensor) -> Dict[str, Any]:
        hidden = self.embedding(ids)
        logits = self.logits(ids)
        return OrderedDict(loss=cross_entropy(logits, targets), logits=logits, hidden_states=(hidden, logits[:, 1:]))


class ResultsTest(unittest.TestCase):
    def check(self, make: Any, compiler: str = "eager", budgets: int = 3) -> None:
        torch.manual_seed(0)
        model, ids = make(), torch.randint(0, 1024, (2, 64))
        plain = run_step(model, aot_autograd(fw_compiler=llmmem.torch.run_in_order, partition_fn=default_partition), ids, ids)
        least = llmmem.torch.backend("min", compiler=compiler)
        step = run_step(model, least, ids, ids)
        low = self.promised(least.reports[0])
        self.assertLessEqual(step.peak, low)
        for number in range(budgets):
            budget = low + (plain.peak - low) * number // budgets
            with self.subTest(budget=budget):
                backend = llmmem.torch.backend(budget, compiler=compiler)
                step = run_step(model, backend, ids, ids)
                promised = self.promised(backend.reports[0])
                print(f"{make.__name__} {compiler} budget {budget} promised {promised} measured {step.peak}")
                self.assertLessEqual(step.peak, promised)
                self.assertLessEqual(promised, budget)
                self.assertIsNone(backend.reports[0].of_model)
                if compiler == "eager":
                    self.assertEqual(step.peak, promised)
                    self.assertTrue(is_equal(step, plain))

    def promised(self, report: llmmem.torch.Report) -> int:
        return report.compiled_peak or report.peak

    def test_a_pair(self) -> None:
        self.check(Pair)

    def test_a_dictionary(self) -> None:
        self.check(Named)

    @unittest.skipUnless(_private.is_known_to_inductor(), "Inductor keeps its account from PyTorch 2.13 on")
    def test_a_pair_under_inductor(self) -> None:
        self.check(Pair, "inductor", 1)


class Split(nn.Module):
    """Graphs of views alone stand between the breaks."""

    def __init__(self, view: Any) -> None:
        super().__init__()
        self.first, self.second, self.view = nn.Linear(8, 8), nn.Linear(8, 8), view

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.first(x)
        torch._dynamo.graph_break()
        x = self.view(x)
        torch._dynamo.graph_break()
        return self.second(x.reshape(-1, 8)[:1]).sum()


class ViewsTest(unittest.TestCase):
    def test_a_graph_of_views_alone(self) -> None:
        views = {"split": lambda x: x.split([3, 5])[0], "unbind": lambda x: x.unbind(1)[2], "view": lambda x: x.view(-1, 4, 2),
                 "two": lambda x: torch.cat(x.chunk(2, 1)[:1])}
        for name, view in views.items():
            with self.subTest(view=name):
                torch.manual_seed(0)
                model, x = Split(view), torch.ones(8, 8)
                torch._dynamo.reset()
                torch.compile(model, backend=llmmem.torch.backend("min"))(x).backward()
                planned = [parameter.grad for parameter in model.parameters()]
                model.zero_grad()
                model(x).backward()
                for gradient, parameter in zip(planned, model.parameters()):
                    torch.testing.assert_close(gradient, parameter.grad)


if __name__ == "__main__":
    unittest.main()
