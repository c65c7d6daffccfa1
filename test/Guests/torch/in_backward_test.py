"""Tests optimizers that step in the backward: gradients die where they were used, states count, and the peak is as predicted."""

import gc
import unittest
from typing import Any, Callable, List, Sequence

import torch
from torch.profiler import ProfilerActivity, profile

import llmmem.torch
from models import llama, resident_bytes


class Sgd8Bit(torch.optim.Optimizer):
    """Keeps its momentum in 8 bits, with a scale for each 64 elements, as 8-bit optimizers of bitsandbytes and torchao do."""

    def __init__(self, parameters: List[torch.Tensor], lr: float) -> None:
        super().__init__(parameters, {"lr": lr})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for parameter in group["params"]:
                state, gradient = self.state[parameter], parameter.grad
                if not state:
                    state["codes"] = torch.zeros(-(-parameter.numel() // 64), 64, dtype=torch.int8)
                    state["scales"] = torch.zeros(len(state["codes"]), 1)
                momentum = (state["codes"] * state["scales"]).flatten()[:parameter.numel()].view_as(parameter) * 0.9 + gradient
                blocks = torch.nn.functional.pad(momentum.flatten(), (0, -parameter.numel() % 64)).view(-1, 64)
                state["scales"].copy_(blocks.abs().amax(1, keepdim=True) / 127)
                state["codes"].copy_((blocks / state["scales"].clamp(min=1e-12)).round())
                parameter.sub_(momentum, alpha=group["lr"])


class Clipped(torch.optim.SGD):
    """Reads a number out of a gradient."""

    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        if self.param_groups[0]["params"][0].grad.norm().item() < 1:
            super().step()


def update(parameter: torch.Tensor, gradient: torch.Tensor, rate: float) -> None:
    parameter.add_(gradient, alpha=-rate)


class Compiled(torch.optim.Optimizer):
    """Has an attribute of its own, and compiles its update, as optimizers of torchao do."""

    def __init__(self, parameters: List[torch.Tensor]) -> None:
        super().__init__(parameters, {})
        self.rate = 0.1

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for parameter in group["params"]:
                torch.compile(update, backend="aot_eager", dynamic=False)(parameter, parameter.grad, self.rate)


def sgd(parameter: torch.Tensor) -> torch.optim.Optimizer:
    return torch.optim.SGD([parameter], lr=0.1, momentum=0.9, foreach=False)


class InBackwardTest(unittest.TestCase):
    def setUp(self) -> None:
        self.ids = torch.randint(0, 256, (2, 64), generator=torch.Generator().manual_seed(1))

    def model(self) -> Any:
        torch._dynamo.reset()
        torch.manual_seed(0)
        return llama(layers=3)

    def measure(self, model: Any, steps: Callable[[], None], states: Callable[[], int]) -> int:
        """Returns the peak of the third step: compiling and making states come first."""
        for _ in range(2):
            steps()
        gc.collect()
        before = resident_bytes(model, self.ids) + states()
        with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
            steps()
        return before + llmmem.torch.peak_bytes(profiler)

    def check(self, make: Callable[[torch.Tensor], torch.optim.Optimizer], kinds: Sequence[bool]) -> None:
        """Trains with optimizers that step in the backward, and, where `kinds` says so, as without them."""
        plain = self.model()
        optimizers = [make(parameter) for parameter in plain.parameters()]
        for block in plain.blocks:
            block.compile(backend="aot_eager")
        for _ in range(3):
            plain(self.ids, self.ids).backward()
            for optimizer in optimizers:
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
        peaks = []
        for in_backward in kinds:
            model = self.model()
            optimizers = [make(parameter) for parameter in model.parameters()] if in_backward else []
            backend = llmmem.torch.backend("min")
            backend.compile(model, (self.ids, self.ids), regions=model.blocks, optimizers_in_backward=optimizers)

            def step() -> None:
                model(self.ids, self.ids).backward()
                if not in_backward:
                    model.zero_grad(set_to_none=True)

            def states() -> int:
                return sum(value.untyped_storage().nbytes() for optimizer in optimizers for state in optimizer.state.values()
                           for value in state.values() if isinstance(value, torch.Tensor))

            peaks.append(self.measure(model, step, states))
            report = backend.step_reports[0]
            print(f"in backward: {in_backward}, predicted {report.peak}, measured {peaks[-1]}, states {states()}", flush=True)
            self.assertLessEqual(peaks[-1], report.peak)
            self.assertLessEqual(report.peak - peaks[-1], 0.01 * report.peak)
            if in_backward:
                self.assertTrue(all(parameter.grad is None for parameter in model.parameters()))
                self.assertTrue(all(torch.equal(a, b) for a, b in zip(model.parameters(), plain.parameters())))
                peaks[0] -= states()
        self.assertEqual(min(peaks), peaks[0])

    def test_gradients_are_freed(self) -> None:
        self.check(sgd, (True, False))

    def test_an_8_bit_optimizer(self) -> None:
        self.check(lambda parameter: Sgd8Bit([parameter], lr=0.1), (True,))

    def test_an_optimizer_with_attributes_of_its_own_and_a_compiled_update(self) -> None:
        self.check(lambda parameter: Compiled([parameter]), (True,))

    def test_wrong_optimizers_are_refused(self) -> None:
        model = self.model()
        for optimizers, text in (([torch.optim.SGD(model.parameters())], "has .* parameters; expected one for each parameter"),
                                 ([sgd(torch.nn.Parameter(torch.ones(2)))], "none of the model's"),
                                 ([Clipped([parameter], lr=0.1) for parameter in model.parameters()], "read no number out of a tensor")):
            with self.subTest(text=text), self.assertRaisesRegex(ValueError, text):
                llmmem.torch.compile(model, budget="min", inputs=(self.ids, self.ids), regions=model.blocks, optimizers_in_backward=optimizers)


if __name__ == "__main__":
    unittest.main()
