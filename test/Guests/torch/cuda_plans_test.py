"""Training steps of CUDA, planned without a GPU: bytes of kernels by PyTorch's source, and what the caching allocator reserves."""

import functools
import os
import unittest
from unittest import mock

import models
import torch
from torch import fx
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.partitioners import default_partition
from torch._subclasses import FakeTensorMode

import llmmem.torch
from llmmem.torch._costs import price
from llmmem.torch._fake_cuda import on_cuda
from llmmem.torch._machine import Machine, machine_of, table_named
from llmmem.torch._workspaces import blas_bytes, kept_workspaces, workspace

aten = torch.ops.aten
FAKES = FakeTensorMode()
HOPPER, AMPERE = Machine(9, 132, 2048), Machine(8, 108, 2048)


def blocks_of(op, *shapes, dtype=torch.bfloat16, rest=(), machine=HOPPER, **kwargs):
    """Returns the workspace of `op` on contiguous operands of these shapes, and on the tensors among them and in `rest`."""
    graph = fx.Graph()

    def place(value):
        if isinstance(value, list) and any(isinstance(each, torch.Tensor) for each in value):
            return [place(each) for each in value]
        if not isinstance(value, torch.Tensor):
            return value
        node = graph.placeholder("operand")
        node.meta["val"] = value
        return node

    with FAKES:
        operands = [shape if isinstance(shape, torch.Tensor) else torch.empty(shape, dtype=dtype, device="cuda") for shape in shapes]
        node = graph.call_function(op, tuple(map(place, [*operands, *rest])), kwargs)
        node.meta["val"] = op(*operands, *rest, **kwargs)
    return workspace(node, machine)


def report_of(budget, dtype=torch.bfloat16, block="llama", budget_of="allocated", settings=""):
    """Returns the report of a step of two layers, whose joint graph is that of CUDA. settings: those of the allocator."""
    with mock.patch.dict(os.environ, PYTORCH_CUDA_ALLOC_CONF=settings):
        return make_report(budget, dtype, block, budget_of, settings)


@functools.lru_cache(None)
def make_report(budget, dtype, block, budget_of, settings):
    return on_h200(budget, dtype, block, budget_of)[0]


def on_h200(budget, dtype=torch.bfloat16, block="llama", budget_of="allocated"):
    """Returns the report of such a step and the prices of its kernels."""
    partitioner = llmmem.torch.partitioner(budget, device="h200", budget_of=budget_of)

    def divide(module, joint_inputs, **given):
        partitioner(on_cuda(module), joint_inputs, **given)
        return default_partition(module, joint_inputs, **given)

    torch._dynamo.reset()
    make = {"llama": lambda: models.LlamaBlock(256, 4, 4, 512), "gpt": lambda: models.GptBlock(256, 4, 0.1)}[block]
    ids = torch.zeros(4, 256, dtype=torch.long)
    model = models.Transformer(2, 256, 1024, 256, make, block == "gpt").to(dtype)
    with mock.patch("llmmem.torch._partition.price", wraps=price) as priced:
        torch.compile(model, backend=aot_autograd(fw_compiler=llmmem.torch.run_in_order, partition_fn=divide))(ids, ids).backward()
    return partitioner.reports[0], price(*priced.call_args.args)


class WorkspacesTest(unittest.TestCase):
    def test_the_backward_of_softmax_multiplies_into_a_tensor_of_its_own(self):
        scores = (2, 4, 128, 128)
        self.assertEqual((4 * 2 * 4 * 128 * 128,), blocks_of(aten._softmax_backward_data.default, scores, scores, dtype=torch.float32,
                                                             rest=(-1, torch.float32)))
        self.assertEqual((), blocks_of(aten._log_softmax_backward_data.default, scores, scores, dtype=torch.float32, rest=(-1, torch.float32)))

    def test_products_have_what_cublas_is_given(self):
        # :4096:2:16:8 before Hopper, 32 MiB since.
        self.assertEqual([8_519_680, 33_554_432], [blas_bytes(machine) for machine in (AMPERE, HOPPER)])
        with mock.patch.dict(os.environ, CUBLAS_WORKSPACE_CONFIG=":16:8"):
            self.assertEqual(16 * 8 * 1024, blas_bytes(HOPPER))
        with mock.patch("llmmem.torch._workspaces.KEEPS_WORKSPACES", False):
            self.assertEqual((33_554_432,), blocks_of(aten.mm.default, (64, 32), (32, 16)))
        with mock.patch("llmmem.torch._workspaces.KEEPS_WORKSPACES", True):
            self.assertEqual((), blocks_of(aten.mm.default, (64, 32), (32, 16)))

    def test_earlier_versions_keep_them_for_two_threads(self):
        graph = fx.Graph()
        node = graph.call_function(aten.mm.default, ())
        with mock.patch("llmmem.torch._workspaces.KEEPS_WORKSPACES", True):
            self.assertEqual((33_554_432, 1_048_576) * 2, kept_workspaces([node], HOPPER))
            self.assertEqual((), kept_workspaces([], HOPPER))
        with mock.patch("llmmem.torch._workspaces.KEEPS_WORKSPACES", False):
            self.assertEqual((), kept_workspaces([node], HOPPER))

    def test_products_copy_what_has_no_leading_dimension(self):
        with FAKES:
            strided = torch.empty(64, 64, dtype=torch.bfloat16, device="cuda")[:, ::2]
        with mock.patch("llmmem.torch._workspaces.KEEPS_WORKSPACES", True):
            self.assertEqual((64 * 32 * 2,), blocks_of(aten.mm.default, strided, (32, 16)))

    def test_flash_backward_sums_in_f32(self):
        # 2 x 8 heads of 1,000 queries are rounded to 1,024: softmax_d 2*8*1024*4, dq_accum 64 times that. Two of 8 heads of keys: dk and dv
        # of each query head, 2*1000*8*64*2. Gradient and result are (batch, heads, tokens, width), and are copied: 2*8*1000*64*2.
        rows, pair = 2 * 8 * 1024 * 4, 2 * 1000 * 8 * 64 * 2
        with FAKES:
            seed = torch.empty(2, dtype=torch.uint64, device="cuda")
        q, kv = (2, 8, 1000, 64), (2, 2, 1000, 64)
        with FAKES:
            sums = torch.empty(2, 8, 1000, device="cuda")
        op = aten._scaled_dot_product_flash_attention_backward.default
        found = blocks_of(op, q, q, kv, kv, q, sums, rest=(None, None, 1000, 1000, 0.0, True, seed, seed))
        self.assertEqual((rows, rows * 64, pair, pair, pair, pair), found)

    def test_flash_forward_splits_keys_where_few_blocks_have_queries(self):
        op = aten._scaled_dot_product_flash_attention.default
        self.assertEqual((), blocks_of(op, *[(8, 16, 1024, 64)] * 3))
        # 4 heads of 64 queries are 4 of 264 places; 16 blocks of 256 keys are divided by all numbers up to 16, and the fullest wave has 16.
        splits = 16
        self.assertEqual((4 * splits * 4 * 64, 4 * splits * 4 * 64 * 64),
                         blocks_of(op, (1, 4, 64, 64), (1, 4, 4096, 64), (1, 4, 4096, 64)))

    def test_embedding_backward_sorts_many_indices(self):
        op = aten.embedding_dense_backward.default

        def blocks(count):
            with FAKES:
                indices = torch.empty(count, dtype=torch.long, device="cuda")
            return blocks_of(op, (count, 768), indices, rest=(50257, -1, False))

        self.assertEqual((), blocks(3072))
        # 819 + 8,192 pieces of 768 sums of 4 bytes are the largest block.
        self.assertEqual((819 + 8192) * 768 * 4, max(blocks(8192)))

    def test_flash_forward_with_dropout_makes_its_random_state_twice(self):
        op = aten._scaled_dot_product_flash_attention.default
        self.assertEqual((512,), blocks_of(op, *[(1, 4, 64, 64)] * 3, dropout_p=0.1))
        # The heads of one query become queries of the key heads, in copies that are not followed.
        self.assertIsNone(blocks_of(op, (1, 4, 1, 64), (1, 2, 64, 64), (1, 2, 64, 64)))

    def test_flash_backward_rounds_wide_heads_to_64(self):
        with FAKES:
            seed, sums = torch.empty(2, dtype=torch.uint64, device="cuda"), torch.empty(1, 128, 8, device="cuda").transpose(1, 2)
            q = torch.empty(1, 128, 8, 160, dtype=torch.bfloat16, device="cuda").transpose(1, 2)
        op = aten._scaled_dot_product_flash_attention_backward.default
        found = blocks_of(op, q, q, q, q, q, sums, rest=(None, None, 128, 128, 0.0, True, seed, seed))
        self.assertEqual((8 * 128 * 4, 8 * 128 * 192 * 4), found)

    def test_indices_of_32_bits_are_copied_once_they_have_one_shape(self):
        with FAKES:
            rows, columns = (torch.zeros(shape, dtype=torch.int32, device="cuda") for shape in ((8, 1), (1, 64)))
            wide = rows.long()
        self.assertEqual((8 * 64 * 8,), blocks_of(aten.index.Tensor, (16, 128), rest=([wide, columns],)))
        self.assertEqual((8 * 64 * 8,) * 2, blocks_of(aten.index.Tensor, (16, 128), rest=([rows, columns],)))
        self.assertEqual((), blocks_of(aten.index.Tensor, (16, 128), rest=([wide],)))

    def test_embeddings_copy_indices_that_do_not_lie_in_a_row(self):
        with FAKES:
            ids = torch.zeros(2, 65, dtype=torch.long, device="cuda")
        self.assertEqual((), blocks_of(aten.embedding.default, (128, 64), ids))
        self.assertEqual((2 * 64 * 8,), blocks_of(aten.embedding.default, (128, 64), ids[:, :-1]))

    def test_scans_of_all_elements_take_more_than_those_of_rows(self):
        op = aten.cumsum.default
        self.assertEqual((), blocks_of(op, (2, 4096), rest=(1,)))
        # 4 tiles of 256 counters of 4 bytes, and 256 sums of 8 bytes for 8 passes.
        self.assertEqual((4 * 1024 + 16384,), blocks_of(op, (1, 4096), rest=(1,)))
        # Integers become those of 64 bits first.
        self.assertEqual((2 * 4096 * 8,), blocks_of(op, (2, 4096), dtype=torch.int32, rest=(1,)))

    def test_layer_norms_of_many_short_rows_sum_gradients_in_parts(self):
        op = aten.native_layer_norm_backward.default

        def blocks(rows, width):
            sums = torch.empty(rows, 1, device="cuda")
            return blocks_of(op, (rows, width), (rows, width), rest=([width], sums, sums, weight(width), weight(width), [True] * 3))

        def weight(width):
            return torch.empty(width, dtype=torch.bfloat16, device="cuda")

        with FAKES:
            self.assertEqual((), blocks(65536, 768))
            self.assertEqual((), blocks(65568, 66 * 32))
            # 24 blocks of columns leave 1,365 parts of 32,768; the gradient that a sum makes is next to the one that was there.
            self.assertEqual([1365 * 768 * 2] * 2 + [768 * 2], list(blocks(65568, 768))[:3])

    def test_sums_of_few_outputs_meet_in_memory(self):
        self.assertEqual((), blocks_of(aten.sum.dim_IntList, (4096, 64), rest=([1], True)))
        self.assertTrue(blocks_of(aten.sum.default, (1 << 24,)))

    def test_pointwise_kernels_have_none_and_others_are_unknown(self):
        self.assertEqual((), blocks_of(aten.mul.Tensor, (64, 64), (64, 64)))
        self.assertIsNone(blocks_of(aten.topk.default, (64, 64), rest=(5,)))
        self.assertIsNone(blocks_of(aten.mul.Tensor, (64, 64), (64, 64), machine=None))


class MachineTest(unittest.TestCase):
    def test_tables_say_what_a_card_is(self):
        self.assertEqual([9, 8, 9], [machine_of(name).major for name in ("h100", "a100", "b200")])
        self.assertIsNone(machine_of("cpu"))

    def test_names_of_drivers(self):
        names = ["a100", "a10g", "h100", "h200", "l4", "l40s", "rtx4090"]
        said = {"NVIDIA A100-SXM4-80GB": "a100", "NVIDIA A10G": "a10g", "NVIDIA H200": "h200", "NVIDIA GeForce RTX 4090": "rtx4090",
                "NVIDIA L40": None, "Tesla T4": None}
        self.assertEqual(said, {name: table_named(name, names) for name in said})


class ReportsTest(unittest.TestCase):
    def test_every_kernel_of_a_transformer_is_known(self):
        for block in ("llama", "gpt"):
            report = report_of("min", block=block)
            self.assertEqual((0, ()), (report.unknown_workspaces, report.unknown_kernels))
            self.assertGreater(max(op.workspace for op in report.problem.ops), 0)

    def test_unknown_kernels_are_named(self):
        # Attention of f32 is the memory-efficient one, of whose backward nothing is known.
        report = report_of("min", dtype=torch.float32)
        self.assertEqual(("aten._scaled_dot_product_efficient_attention_backward.default",), report.unknown_kernels)
        self.assertEqual(2, report.unknown_workspaces)

    def test_planned_peak_is_what_the_allocator_allocates(self):
        for budget in (None, "min"):
            report = report_of(budget)
            self.assertEqual(report.peak, report.usage.allocated)
            self.assertGreater(report.usage.reserved, report.peak)
            self.assertIn(f"reserves {report.usage.reserved:,}", str(report))

    def test_budget_of_reserved_bytes(self):
        free = report_of(None).usage
        budget = free.reserved - (4 << 20)
        loose, kept = report_of(budget), report_of(budget, budget_of="reserved")
        self.assertGreater(loose.usage.reserved, budget)
        self.assertLessEqual(kept.usage.reserved, budget)
        self.assertLess(kept.peak, loose.peak)
        with self.assertRaises(Exception) as caught:
            report_of(20_000_000, budget_of="reserved")
        self.assertIn("BudgetError", repr(caught.exception))

    def test_settings_of_the_allocator_are_those_of_the_environment(self):
        plain, growing = (report_of(None, settings=settings).usage for settings in ("", "expandable_segments:True"))
        self.assertEqual(plain.allocated, growing.allocated)
        self.assertLess(growing.reserved, plain.reserved)

    def test_reserved_bytes_are_of_cuda(self):
        with self.assertRaisesRegex(ValueError, "budget_of: is 'free'"):
            llmmem.torch.backend("1GB", budget_of="free")
        model = torch.nn.Linear(8, 8)
        torch._dynamo.reset()
        with self.assertRaisesRegex(Exception, "is a figure of CUDA"):
            torch.compile(model, backend=llmmem.torch.backend("1MB", budget_of="reserved"))(torch.ones(4, 8)).sum().backward()


if __name__ == "__main__":
    unittest.main()
