"""Loops as people write them by hand keep their budgets, with the bits of the unplanned loop: evaluation between steps, gradients that are
zeroed and kept, a scaler under autocast, parameters that are loaded."""

import copy
import gc
import unittest
from typing import Any, Callable, List, Optional, Tuple

import torch
from torch import nn
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.partitioners import default_partition
from torch.profiler import ProfilerActivity, profile

import llmmem.torch
from models import gpt, resident_bytes

STEPS = 3
# The scaled loss, and the gradients of it and of the loss.
SCALARS = 64
_Loop = Callable[[nn.Module, Any, Callable[[Callable[[], None]], None]], List[float]]


def make() -> nn.Module:
    torch._dynamo.reset()
    torch.manual_seed(0)
    return gpt(layers=2, hidden=32, heads=2, tokens=64, dropout=0.1)


IDS = torch.randint(0, 256, (2, 64), generator=torch.Generator().manual_seed(1))


def evaluate_between_steps(model: nn.Module, step: Any, measured: Callable[[Callable[[], None]], None]) -> List[float]:
    """Dropout is there in training alone."""
    losses, optimizer = [], torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(STEPS):
        model.train()
        measured(lambda: step(IDS, IDS).backward())
        optimizer.step()
        optimizer.zero_grad()
        model.eval()
        with torch.no_grad():
            losses.append(step(IDS, IDS).item())
    return losses


def keep_zeroed_gradients(model: nn.Module, step: Any, measured: Callable[[Callable[[], None]], None]) -> List[float]:
    losses, optimizer = [], torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(STEPS):
        measured(lambda: step(IDS, IDS).backward())
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)
        losses.append(step(IDS, IDS).item())
    return losses


def scale_under_autocast(model: nn.Module, step: Any, measured: Callable[[Callable[[], None]], None]) -> List[float]:
    losses, optimizer, scaler = [], torch.optim.SGD(model.parameters(), lr=0.1), torch.amp.GradScaler("cpu")

    def run() -> None:
        with torch.autocast("cpu", torch.bfloat16):
            loss = step(IDS, IDS)
        scaler.scale(loss).backward()
        losses.append(loss.detach().clone())

    for _ in range(STEPS):
        measured(run)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    return [loss.item() for loss in losses]


def load_between_steps(model: nn.Module, step: Any, measured: Callable[[Callable[[], None]], None]) -> List[float]:
    """Goes back to where it began after each step, by both ways of loading."""
    losses, optimizer, begin = [], torch.optim.SGD(model.parameters(), lr=0.1), copy.deepcopy(model.state_dict())
    for number in range(STEPS):
        measured(lambda: step(IDS, IDS).backward())
        optimizer.step()
        optimizer.zero_grad()
        losses += [parameter.sum().item() for parameter in model.parameters()]
        model.load_state_dict(copy.deepcopy(begin), assign=number == 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    return losses


class HabitsTest(unittest.TestCase):
    def run_loop(self, loop: _Loop, backend: Any) -> Tuple[List[float], List[int]]:
        """Returns losses and the peak of each step but the first, which compiles."""
        model, peaks, counted = make(), [], []

        def measured(step: Callable[[], None]) -> None:
            if not counted:
                step()
            else:
                gc.collect()
                there = sum(parameter.grad.nbytes for parameter in model.parameters() if parameter.grad is not None)
                with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
                    step()
                peaks.append(resident_bytes(model, IDS) + there + llmmem.torch.peak_bytes(profiler))
            counted.append(step)

        return loop(model, torch.compile(model, backend=backend), measured), peaks

    def check(self, loop: _Loop, reserve: Optional[int] = None) -> None:
        losses, plain = self.run_loop(loop, aot_autograd(fw_compiler=llmmem.torch.run_in_order, partition_fn=default_partition))
        budget = max(plain) * 9 // 10
        backend = llmmem.torch.backend(budget, reserve=reserve)
        planned, peaks = self.run_loop(loop, backend)
        print(f"{loop.__name__}: budget {budget} measured {peaks} unplanned {max(plain)}")
        self.assertLessEqual(max(peaks), budget)
        self.assertGreater(backend.reports[0].recomputed, 0)
        self.assertEqual(planned, losses)

    def test_evaluation_between_steps(self) -> None:
        self.check(evaluate_between_steps)

    def test_gradients_that_are_zeroed_and_kept(self) -> None:
        gradients = sum(parameter.nbytes for parameter in make().parameters())
        self.check(keep_zeroed_gradients, reserve=gradients)
        with self.assertRaisesRegex(llmmem.torch.BudgetError, f"gradients of earlier backwards, {gradients:,} bytes.*reserve={gradients}"):
            self.check(keep_zeroed_gradients)

    def test_a_scaler_under_autocast(self) -> None:
        self.check(scale_under_autocast, reserve=SCALARS)

    def test_parameters_that_are_loaded(self) -> None:
        self.check(load_between_steps)


if __name__ == "__main__":
    unittest.main()
