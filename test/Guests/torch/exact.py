"""Checks that a planned step has the bits of the unplanned one and, to the byte, the peak that was promised. Not a test."""

import unittest
from typing import Any, Callable, Sequence

import torch
from torch import nn
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.partitioners import default_partition

import llmmem.torch
from models import is_equal, run_step


def unplanned() -> Any:
    return aot_autograd(fw_compiler=llmmem.torch.run_in_order, partition_fn=default_partition)


class Model(nn.Module):
    """A loss of some parameters and buffers, which are given to it in this order."""

    def __init__(self, loss: Callable[..., torch.Tensor], parameters: Sequence[torch.Tensor], buffers: Sequence[torch.Tensor] = ()) -> None:
        super().__init__()
        self.loss = loss
        self.weights = nn.ParameterList(nn.Parameter(parameter.clone()) for parameter in parameters)
        self.names = [f"buffer{number}" for number in range(len(buffers))]
        for name, buffer in zip(self.names, buffers):
            self.register_buffer(name, buffer.clone())

    def forward(self) -> torch.Tensor:
        return self.loss(*self.weights, *(getattr(self, name) for name in self.names))


class ExactTest(unittest.TestCase):
    def check(self, loss: Callable[..., torch.Tensor], parameters: Sequence[torch.Tensor], buffers: Sequence[torch.Tensor] = (),
              closures: Sequence[torch.Tensor] = ()) -> llmmem.torch.Report:
        """Checks the step of `loss` at the least bytes, and returns the report of its plan. closures: what it reads in addition."""
        plain_model, model = Model(loss, parameters, buffers), Model(loss, parameters, buffers)
        plain = run_step(plain_model, unplanned())
        backend = llmmem.torch.backend("min")
        step = run_step(model, backend)
        self.assertTrue(is_equal(step, plain))
        for (name, buffer), other in zip(model.named_buffers(), plain_model.buffers()):
            self.assertTrue(torch.equal(buffer, other), name)
        self.assertEqual(len(backend.reports), 1)
        report = backend.reports[0]
        self.assertIsNone(report.of_model)
        beside = {tensor.untyped_storage().data_ptr(): tensor.untyped_storage().nbytes() for tensor in closures}
        self.assertEqual(step.peak + sum(beside.values()), report.peak)
        return report

    def refuse(self, text: str, loss: Callable[..., torch.Tensor], parameters: Sequence[torch.Tensor], **options: Any) -> None:
        torch._dynamo.reset()
        with self.assertRaises(Exception) as caught:
            torch.compile(Model(loss, parameters), backend=llmmem.torch.backend("1GB", **options))()
        self.assertRegex(str(caught.exception), text)
