"""Predicted without a weight in memory, the peaks of the first two steps are what the profiler measures, to the byte."""

import json
import unittest
from typing import Any, Callable

import torch
from torch import nn

import llmmem.torch
from llmmem.torch import _private
from llmmem.torch._predict import _compiler_of, wrap_blocks
from models import gpt, llama, measure_updates

ADAMW = torch.optim.AdamW


class Powers(nn.Module):
    """Each power saves a result of one number, next to a number of Python."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        loss = (self.weight * x).sum()
        for _ in range(8):
            loss = loss ** 3
        return loss


class PredictTest(unittest.TestCase):
    def setUp(self) -> None:
        torch.manual_seed(0)
        self.ids = torch.randint(0, 256, (2, 64))

    def check(self, strategy: str, model: nn.Module, prepare: Callable[[nn.Module], Callable[..., Any]], optimizer: Any,
              **options: Any) -> None:
        prediction = llmmem.torch.predict(model, (self.ids, self.ids), optimizer=optimizer, strategies=[strategy], **options)
        found = prediction.strategies[strategy]
        run = prepare(model)
        measured = measure_updates(model, lambda: run(self.ids, self.ids), (self.ids, self.ids), optimizer)
        predicted = [max(peak.allocated for peak in step.values()) for step in found.steps]
        print(f"{strategy} {type(model.blocks[0]).__name__}: predicted {predicted} measured {measured}")
        self.assertEqual(found.unmeasured, 0)
        self.assertEqual(predicted, measured)

    def test_eager(self) -> None:
        for make in (gpt, llama):
            self.check("eager", make(layers=2), lambda model: model, ADAMW)

    def test_optimizers(self) -> None:
        for optimizer in (None, lambda parameters: torch.optim.SGD(parameters, 0.1, momentum=0.9),
                          lambda parameters: ADAMW(parameters, foreach=True)):
            self.check("eager", gpt(layers=2), lambda model: model, optimizer)

    def test_checkpointed(self) -> None:
        def wrap(model: nn.Module) -> nn.Module:
            wrap_blocks(model)
            return model

        self.check("checkpointed", llama(layers=3), wrap, ADAMW)

    def test_compiled(self) -> None:
        def compile(model: nn.Module) -> Callable[..., Any]:
            torch._dynamo.reset()
            run = torch.compile(model, backend=_private.aot_autograd(
                fw_compiler=llmmem.torch.run_in_order, partition_fn=_private.partitioners.min_cut_rematerialization_partition))
            run(self.ids, self.ids).backward()
            model.zero_grad(set_to_none=True)
            return run

        self.check("compiled", llama(layers=2), compile, ADAMW)

    def test_planned(self) -> None:
        def compile(model: nn.Module) -> Callable[..., Any]:
            torch._dynamo.reset()
            run = torch.compile(model, backend=llmmem.torch.backend("min"))
            run(self.ids, self.ids).backward()
            model.zero_grad(set_to_none=True)
            return run

        self.check("planned", llama(layers=2), compile, ADAMW, budget="min")

    def test_a_model_without_bytes_on_a_gpu(self) -> None:
        """Kinds add up to the peak, sizes are multiples of 512, and more is reserved than allocated."""
        with torch.device("meta"):
            model = gpt(layers=2, hidden=128)
        prediction = llmmem.torch.predict(model, (self.ids, self.ids), optimizer=ADAMW, device="h100", strategies=["eager", "checkpointed"])
        for name, strategy in prediction.strategies.items():
            for step in strategy.steps:
                for phase, peak in step.items():
                    with self.subTest(strategy=name, phase=phase):
                        self.assertEqual(sum(peak.by_kind.values()), peak.allocated)
                        self.assertEqual(peak.allocated % 512, 0)
                        self.assertGreaterEqual(peak.reserved, peak.allocated)
            self.assertEqual(strategy.steps[0]["forward"].by_kind["optimizer state"], 0)
            parameters = strategy.steps[1]["forward"].by_kind["parameters"]
            # The counts of steps are the host's.
            self.assertEqual(strategy.steps[1]["forward"].by_kind["optimizer state"], 2 * parameters)
        eager, checkpointed = (prediction.strategies[name].steps[0]["forward"].by_kind for name in ("eager", "checkpointed"))
        self.assertLess(checkpointed["activations"], eager["activations"])
        self.assertIn("bytes are of the model", str(prediction))
        content = json.loads(prediction.to_json())
        self.assertEqual(content["strategies"]["eager"]["allocated"], prediction.strategies["eager"].peak)

    def test_results_of_one_number_are_on_the_gpu(self) -> None:
        """The sum and the eight powers are, in blocks of 512 bytes."""
        prediction = llmmem.torch.predict(Powers(), torch.ones(64), device="h100", strategies=["eager"])
        self.assertEqual(prediction.strategies["eager"].steps[0]["forward"].by_kind["activations"], 9 * 512)

    def test_a_plan_is_for_the_device(self) -> None:
        """Its values are then blocks of that device."""
        for device in ("cpu", "h100"):
            self.assertEqual(_compiler_of("planned", "1GB", device).partition.device, device)

    def test_wrong_arguments(self) -> None:
        with self.assertRaisesRegex(ValueError, "strategies: 'fast' is none; expected some of eager, checkpointed"):
            llmmem.torch.predict(gpt(), (self.ids, self.ids), strategies=["fast"])
        with self.assertRaisesRegex(ValueError, '"planned" needs a budget'):
            llmmem.torch.predict(gpt(), (self.ids, self.ids), strategies=["planned"])
        with self.assertRaisesRegex(ValueError, "device"):
            llmmem.torch.predict(gpt(), (self.ids, self.ids), device="h1000")


if __name__ == "__main__":
    unittest.main()
