"""A step that would run without a plan is refused, or said to have none: PyTorch itself says nothing."""

import unittest
from typing import Any

import torch
from torch import nn

import llmmem.torch


@torch.library.custom_op("llmmem_no_plan::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@twice.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


def twice_backward(context: Any, gradient: torch.Tensor) -> torch.Tensor:
    return gradient * 2 + gradient.nonzero().shape[0] * 0


twice.register_autograd(twice_backward)


class Model(nn.Module):
    """Its forward can be traced. Its backward has a size that depends on data, of which Dynamo knows nothing before a graph is compiled."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return twice(self.layer(x)).sum()


class LeftToPython(Model):
    @torch._dynamo.disable
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x).sum()


REFUSED = r"cannot be traced together with its backward.*nonzero.*graph break"
NONE = r"no graph was planned: PyTorch has compiled none that has a backward.*TORCH_LOGS=graph_breaks"


class NoPlanTest(unittest.TestCase):
    def setUp(self) -> None:
        torch._dynamo.reset()

    def test_a_backward_that_cannot_be_traced(self) -> None:
        backend = llmmem.torch.backend("1GB")
        with self.assertRaisesRegex(Exception, "backend='llmmem' raised:\n.*" + REFUSED):
            torch.compile(Model(), backend=backend)(torch.ones(2, 8))
        self.assertRegex(str(backend), NONE)

    def test_its_whole_step(self) -> None:
        with self.assertRaisesRegex(Exception, REFUSED):
            llmmem.torch.compile(Model(), budget="1GB", inputs=torch.ones(2, 8))

    def test_without_gradients_it_runs(self) -> None:
        model = Model()
        with torch.no_grad():
            result = torch.compile(model, backend=llmmem.torch.backend("1GB"))(torch.ones(2, 8))
            self.assertTrue(torch.equal(result, model(torch.ones(2, 8))))

    def test_a_step_of_which_nothing_is_compiled(self) -> None:
        with self.assertRaisesRegex(llmmem.torch.UnsupportedGraphError, NONE):
            llmmem.torch.compile(LeftToPython(), budget="1GB", inputs=torch.ones(2, 8))

    def test_a_backend_as_a_text(self) -> None:
        backend = llmmem.torch.backend("1GB")
        self.assertRegex(str(backend), NONE)
        torch.compile(LeftToPython(), backend=backend)(torch.ones(2, 8)).backward()
        self.assertRegex(str(backend), NONE)
        torch.compile(nn.Linear(8, 8), backend=backend)(torch.ones(2, 8)).sum().backward()
        self.assertEqual(str(backend), str(backend.reports[0]))


if __name__ == "__main__":
    unittest.main()
