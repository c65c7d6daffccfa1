"""Programs that people train with keep their budgets: Trainer of transformers, accelerate, Lightning and blocks as torchtitan has them, with gradients
that accumulate, evaluation between steps, a last batch that is smaller, and files that are saved and loaded. The model is compiled in
place, so that what wraps it and saves it sees the module that it knows."""

import contextlib
import gc
import importlib.util
import logging
import os
import sys
import tempfile
import unittest
import warnings
from typing import Any, Callable, Dict, Iterator, List, Optional

import accelerate
import torch
import transformers
from torch import nn
from torch.profiler import ProfilerActivity, profile

import llmmem.torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "torch"))
from models import cross_entropy, llama, resident_bytes
from zoo import MARKS, VOCABULARY, causal
from zoo_steps import unplanned

TOKENS = 32
# What programs compute of the loss: its quotient by the number of steps that accumulate, and the gradients of both.
SCALARS = 64


class Texts(torch.utils.data.Dataset):
    """Five rows, so that batches of two leave one over."""

    def __len__(self) -> int:
        return 5

    def __getitem__(self, number: int) -> Dict[str, torch.Tensor]:
        ids = torch.randint(3, VOCABULARY, (TOKENS,), generator=torch.Generator().manual_seed(number))
        return dict(input_ids=ids, labels=ids)


def make_model() -> nn.Module:
    torch._dynamo.reset()
    torch.manual_seed(0)
    return causal(transformers.LlamaConfig(vocab_size=VOCABULARY, hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
                                           intermediate_size=96, attention_dropout=0.1, **MARKS)).train()


class Meter:
    """Measures steps: all bytes that are held, by the profiler. Those that compile are left out, since workspaces are not measured below a
    profiler."""

    def __init__(self, model: nn.Module) -> None:
        self.model, self.peaks, self.is_on = model, [], False

    @contextlib.contextmanager
    def step(self, batch: Dict[str, torch.Tensor]) -> Iterator[None]:
        if not self.is_on:
            yield
            return
        gc.collect()
        there = sum(parameter.grad.nbytes for parameter in self.model.parameters() if parameter.grad is not None)
        with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
            yield
        self.peaks.append(resident_bytes(self.model, *batch.values()) + there + llmmem.torch.peak_bytes(profiler))


class MeteredTrainer(transformers.Trainer):
    meter: Meter

    def training_step(self, model: nn.Module, inputs: Dict[str, torch.Tensor], *rest: Any) -> torch.Tensor:
        self.meter.is_on = self.state.epoch >= 1
        with self.meter.step(inputs):
            return super().training_step(model, inputs, *rest)


def train_with_trainer(model: nn.Module, meter: Meter) -> List[float]:
    """Trains two epochs, which end with evaluation and a checkpoint, and goes on from there for a third."""
    losses = []
    with tempfile.TemporaryDirectory() as folder:
        for epochs in (2, 3):
            arguments = transformers.TrainingArguments(
                folder, num_train_epochs=epochs, per_device_train_batch_size=2, gradient_accumulation_steps=2, eval_strategy="epoch",
                save_strategy="epoch", use_cpu=True, report_to=[], disable_tqdm=True, dataloader_pin_memory=False)
            trainer = MeteredTrainer(model, arguments, train_dataset=Texts(), eval_dataset=Texts())
            trainer.meter = meter
            trainer.train(resume_from_checkpoint=epochs == 3)
            losses.append(trainer.evaluate()["eval_loss"])
    return losses


def train_with_accelerate(model: nn.Module, meter: Meter) -> List[float]:
    """Trains under autocast to bf16, which accelerate wraps around the forward, and loads what it saved before the last epoch."""
    accelerator = accelerate.Accelerator(cpu=True, mixed_precision="bf16", gradient_accumulation_steps=2)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    loader = torch.utils.data.DataLoader(Texts(), batch_size=2)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    losses = []
    with tempfile.TemporaryDirectory() as folder:
        for epoch in range(3):
            if epoch == 2:
                accelerator.load_state(folder)
            for batch in loader:
                meter.is_on = epoch > 0
                with meter.step(batch), accelerator.accumulate(model):
                    accelerator.backward(model(**batch)["loss"])
                with accelerator.accumulate(model):
                    optimizer.step()
                    optimizer.zero_grad()
            model.eval()
            with torch.no_grad():
                losses += [model(**batch)["loss"].item() for batch in loader]
            model.train()
            if epoch == 0:
                accelerator.save_state(folder)
    return losses


def train_with_lightning(model: nn.Module, meter: Meter) -> List[float]:
    import lightning

    class Module(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.model, self.losses, self.measured = model, [], contextlib.ExitStack()

        def on_train_batch_start(self, batch: Any, number: int) -> None:
            meter.is_on = self.current_epoch > 0
            self.measured.enter_context(meter.step(batch))

        def on_after_backward(self) -> None:
            self.measured.close()

        def training_step(self, batch: Any, number: int) -> torch.Tensor:
            return self.model(**batch)["loss"]

        def validation_step(self, batch: Any, number: int) -> None:
            self.losses.append(self.model(**batch)["loss"].item())

        def configure_optimizers(self) -> Any:
            return torch.optim.AdamW(self.parameters(), lr=1e-3)

    module = Module()
    loader = torch.utils.data.DataLoader(Texts(), batch_size=2)
    with tempfile.TemporaryDirectory() as folder:
        trainer = lightning.Trainer(accelerator="cpu", max_epochs=2, accumulate_grad_batches=2, logger=False, num_sanity_val_steps=0,
                                    enable_progress_bar=False, enable_model_summary=False, default_root_dir=folder)
        trainer.fit(module, loader, loader)
    return module.losses


class WorkflowsTest(unittest.TestCase):
    def setUp(self) -> None:
        warnings.simplefilter("ignore")
        logging.disable(logging.WARNING)

    def check(self, train: Callable[[nn.Module, Meter], List[float]]) -> None:
        """Trains unplanned, and under nine tenths of what that took: gradients that were there are reserved."""
        outcomes = []
        budget: Optional[int] = None
        for _ in range(2):
            model = make_model()
            gradients = sum(parameter.nbytes for parameter in model.parameters())
            backend = unplanned("eager") if budget is None else llmmem.torch.backend(budget, reserve=gradients + SCALARS)
            model.compile(backend=backend)
            meter = Meter(model)
            losses = train(model, meter)
            outcomes.append((losses, [parameter.detach().clone() for parameter in model.parameters()], max(meter.peaks)))
            budget = budget or max(meter.peaks) * 9 // 10
        (losses, parameters, plain), (planned_losses, planned_parameters, peak) = outcomes
        print(f"{train.__name__}: budget {budget} measured {peak} unplanned {plain}, run again {[r.recomputed for r in backend.reports]}")
        self.assertLessEqual(peak, budget)
        self.assertGreater(sum(report.recomputed for report in backend.reports), 0)
        self.assertEqual(planned_losses, losses)
        self.assertTrue(all(map(torch.equal, planned_parameters, parameters)))

    def test_trainer_of_transformers(self) -> None:
        self.check(train_with_trainer)

    def test_accelerate(self) -> None:
        self.check(train_with_accelerate)

    @unittest.skipUnless(importlib.util.find_spec("lightning"), "lightning is not installed")
    def test_lightning(self) -> None:
        self.check(train_with_lightning)

    def test_accelerates_list_of_backends_is_closed(self) -> None:
        """Why the recipe compiles the model before accelerate gets it."""
        with self.assertRaisesRegex(ValueError, "LLMMEM"):
            accelerate.utils.TorchDynamoPlugin(backend="llmmem")

    def test_gradients_that_nobody_reserved_are_refused_with_their_bytes(self) -> None:
        model = make_model()
        gradients = sum(parameter.nbytes for parameter in model.parameters())
        least = llmmem.torch.backend("min")
        batch = {key: value[None] for key, value in Texts()[0].items()}
        torch.compile(model, backend=least)(**batch)["loss"].backward()
        model = make_model()
        model.compile(backend=llmmem.torch.backend(least.reports[0].peak))
        model(**batch)["loss"].backward()
        with self.assertRaisesRegex(llmmem.torch.BudgetError, rf"gradients of earlier backwards, {gradients:,} bytes.*reserve={gradients}"):
            model(**batch)

    def test_blocks_as_torchtitan_compiles_them(self) -> None:
        """Its apply_compile compiles each block by itself. Its own models attend by flex attention alone, which
        PyTorch does not train on a CPU."""
        ids = torch.randint(3, 256, (2, 64), generator=torch.Generator().manual_seed(0))
        outcomes = []
        for is_planned in (False, True):
            torch._dynamo.reset()
            torch.manual_seed(0)
            model = llama(layers=3)
            budget = outcomes[0][1] * 9 // 10 if is_planned else None
            if is_planned:
                model = llmmem.torch.compile(model, budget=budget, inputs=(ids, ids), regions=list(model.blocks),
                                             loss=lambda model, ids, targets: cross_entropy(model.logits(ids), targets))
            meter = Meter(model)
            for meter.is_on in (False, True):
                model.zero_grad(set_to_none=True)
                with meter.step(dict(ids=ids)):
                    loss = cross_entropy(model.logits(ids), ids)
                    loss.backward()
            outcomes.append((loss.item(), meter.peaks[0], [parameter.grad for parameter in model.parameters()]))
        (loss, plain, gradients), (planned_loss, peak, planned_gradients) = outcomes
        print(f"blocks: budget {budget} measured {peak} unplanned {plain}")
        self.assertLessEqual(peak, budget)
        self.assertEqual(planned_loss, loss)
        self.assertTrue(all(map(torch.equal, planned_gradients, gradients)))


if __name__ == "__main__":
    unittest.main()
