"""Joint graphs of families that no model of the other tests is like: planned whole, with unchanged numbers."""

import os
import sys
import unittest
from typing import Callable

import torch
import transformers
from torch import nn
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.partitioners import default_partition

import llmmem.torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "torch"))
from models import is_equal, run_step


class Loss(nn.Module):
    """A model of transformers that gives its loss alone."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.model(input_ids=ids, labels=ids).loss


def bert() -> nn.Module:
    return Loss(transformers.BertForMaskedLM(transformers.BertConfig(
        vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
        max_position_embeddings=32)))


def deepseek() -> nn.Module:
    """A dense layer and one of experts, and latent attention. Its experts run as grouped products: a loop over the experts
    that were chosen breaks the graph."""
    model = transformers.DeepseekV3ForCausalLM(transformers.DeepseekV3Config(
        vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=2,
        intermediate_size=64, moe_intermediate_size=16, n_routed_experts=4, num_experts_per_tok=2, n_shared_experts=1,
        kv_lora_rank=8, q_lora_rank=16, qk_rope_head_dim=8, qk_nope_head_dim=8, v_head_dim=8, first_k_dense_replace=1,
        n_group=2, topk_group=1, use_cache=False))
    model.config._experts_implementation = "grouped_mm"
    return Loss(model)


class JointGraphTest(unittest.TestCase):
    def check(self, make: Callable[[], nn.Module]) -> None:
        ids = torch.randint(0, 100, (2, 16), generator=torch.Generator().manual_seed(1))
        torch.manual_seed(0)
        unplanned = aot_autograd(fw_compiler=llmmem.torch.run_in_order, partition_fn=default_partition)
        plain = run_step(make(), unplanned, ids)
        torch.manual_seed(0)
        backend = llmmem.torch.backend("min")
        step = run_step(make(), backend, ids)
        self.assertEqual(len(backend.reports), 1)
        self.assertTrue(is_equal(step, plain))
        self.assertLess(step.peak, plain.peak)
        self.assertLessEqual(abs(step.peak - backend.reports[0].peak), 0.03 * step.peak)

    def test_bert(self) -> None:
        self.check(bert)

    def test_deepseek(self) -> None:
        self.check(deepseek)


if __name__ == "__main__":
    unittest.main()
