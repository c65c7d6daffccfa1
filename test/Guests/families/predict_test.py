"""Predicted without a weight in memory, the peaks of steps of transformers' models are what the profiler measures, to the byte."""

import os
import sys
import unittest
from typing import Any, Callable

import torch
from torch import nn
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

import llmmem.torch
from llmmem.torch import _private
from llmmem.torch._predict import wrap_blocks

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "torch"))
from models import measure_updates

SMALL = {"vocab_size": 128, "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4,
         "num_key_value_heads": 2}
# GPT-2's gelu multiplies by numbers, each of which autograd saves as a tensor of 8 bytes.
CASES = ((LlamaForCausalLM, LlamaConfig(**SMALL), ("eager", "checkpointed", "compiled")),
         (GPT2LMHeadModel, GPT2Config(vocab_size=128, n_embd=64, n_layer=2, n_head=4, n_positions=64), ("eager", "checkpointed")))


def compiled(model: nn.Module, **batch: torch.Tensor) -> Callable[..., Any]:
    torch._dynamo.reset()
    run = torch.compile(model, backend=_private.aot_autograd(
        fw_compiler=llmmem.torch.run_in_order, partition_fn=_private.partitioners.min_cut_rematerialization_partition))
    run(**batch).loss.backward()
    model.zero_grad(set_to_none=True)
    return run


class PredictTest(unittest.TestCase):
    def test_steps_with_adamw(self) -> None:
        ids = torch.zeros((2, 32), dtype=torch.int64)
        batch = {"input_ids": ids, "labels": ids.clone()}
        for make, config, strategies in CASES:
            for strategy in strategies:
                with self.subTest(model=make.__name__, strategy=strategy):
                    found = llmmem.torch.predict(config, (2, 32), optimizer=torch.optim.AdamW, strategies=[strategy]).strategies[strategy]
                    unmeasured = found.unmeasured
                    model = make(config).train()
                    if strategy == "checkpointed":
                        wrap_blocks(model)
                    run = compiled(model, **batch) if strategy == "compiled" else model
                    measured = measure_updates(model, lambda: run(**batch), tuple(batch.values()), torch.optim.AdamW)
                    predicted = [max(peak.allocated for peak in step.values()) for step in found.steps]
                    print(f"{make.__name__} {strategy}: predicted {predicted} measured {measured}")
                    self.assertEqual(unmeasured, 0)
                    self.assertEqual(predicted, list(measured))


if __name__ == "__main__":
    unittest.main()
