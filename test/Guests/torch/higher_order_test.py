"""Tests operators with graphs or effects inside: each is planned to the byte, or refused by its name with what to do instead."""

import importlib
import operator
import pkgutil
import unittest
from typing import Any
from unittest import mock

import torch
import torch._higher_order_ops
import torch.nn.functional as F
from torch import fx
from torch._higher_order_ops import while_loop
from torch._higher_order_ops.foreach_map import foreach_map
from torch._higher_order_ops.hints_wrap import hints_wrapper
from torch._higher_order_ops.map import map as map_over
from torch._higher_order_ops.out_dtype import out_dtype
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.switch import switch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn.attention import flex_attention

import llmmem.torch
from exact import ExactTest
from llmmem.torch import _higher_order


def weights(*shapes: Any) -> Any:
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(shape, generator=generator) for shape in shapes]


def kernels(report: llmmem.torch.Report, name: str) -> Any:
    return [op for op in report.problem.ops if op.name.startswith(name)]


class PlannedTest(ExactTest):
    def test_flex_attention_with_closures(self) -> None:
        """A block mask and a bias that are read through closures are inputs of the graph. PyTorch's own code for CPUs has no backward, and
        its function refuses; the operator runs."""
        tokens = 64
        documents = torch.arange(tokens) // 16
        mask = flex_attention.create_block_mask(lambda b, h, q, k: (documents[q] == documents[k]) & (q >= k), None, None, tokens, tokens,
                                                device="cpu", BLOCK_SIZE=16)

        def loss(x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
            for _ in range(3):
                x = x + flex_attention.flex_attention(x.sin(), x.cos(), F.gelu(x), block_mask=mask,
                                                      score_mod=lambda score, b, h, q, k: score + bias[q])
            return x.square().sum()

        closures = [documents, *(leaf for leaf in mask.as_tuple() if isinstance(leaf, torch.Tensor))]
        with mock.patch.object(flex_attention, "_validate_device", lambda *values: None):
            report = self.check(loss, weights((1, 2, tokens, 16), (tokens,)), closures=closures)
        self.assertEqual(len(kernels(report, "flex_attention_backward")), 3)
        self.assertGreater(report.recomputed, 0)
        self.assertGreater(report.flops, 0)

    def test_cond_counts_the_larger_branch(self) -> None:
        def loss(x: torch.Tensor) -> torch.Tensor:
            return torch.cond(x.sum() < 1e9, lambda a: (a @ a @ a).sin(), lambda a: a.cos(), (x,)).sum()

        report = self.check(loss, weights((32, 32)))
        # One product is held while the next is made.
        self.assertEqual(kernels(report, "cond")[0].workspace, 4096)

    def test_cond_whose_smaller_branch_runs_stays_below(self) -> None:
        model = torch.nn.ParameterList(weights((32, 32)))
        backend = llmmem.torch.backend("min")
        torch._dynamo.reset()
        torch.compile(lambda: torch.cond(model[0].sum() > 1e9, lambda a: (a @ a @ a).sin(), lambda a: a.cos(), (model[0],)).sum(),
                      backend=backend)().backward()
        self.assertEqual(kernels(backend.reports[0], "cond")[0].workspace, 4096)

    def test_dropout_in_a_branch_runs_once(self) -> None:
        report = self.check(lambda x: torch.cond(x.sum() < 1e9, lambda a: F.dropout(a @ a, 0.5), lambda a: a.cos(), (x,)).sin().sum(),
                            weights((32, 32)))
        self.assertFalse(kernels(report, "cond")[0].recompute)

    def test_switch(self) -> None:
        self.check(lambda x: switch(torch.zeros((), dtype=torch.int64), (lambda a: (a @ a).sin(), torch.cos), (x,)).sum(), weights((32, 32)))

    def test_while_loop_that_needs_no_gradient(self) -> None:
        def loss(x: torch.Tensor) -> torch.Tensor:
            state = torch.zeros((), dtype=torch.int64), x.detach()
            _, steady = while_loop(lambda i, a: i < 5, lambda i, a: (i + 1, (a @ a).sin()), state)
            return (x * steady).sum()

        self.check(loss, weights((32, 32)))

    def test_scan_and_map(self) -> None:
        def loss(x: torch.Tensor) -> torch.Tensor:
            _, rows = scan(lambda carry, a: ((carry @ a).sin(), carry * 2), torch.ones(16, 16), x)
            return map_over(lambda a: F.gelu(a @ a), rows).sum()

        report = self.check(loss, weights((5, 16, 16)))
        self.assertEqual({op.name.rstrip("_01234") for op in report.problem.ops if op.name.startswith(("scan", "map"))}, {"scan", "map_impl"})
        self.assertGreaterEqual(report.flops, 5 * 2 * 2 * 16**3)

    def test_what_wraps_a_graph(self) -> None:
        def loss(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            x, y = foreach_map(lambda a: a.sin() * 2, [x, y])
            hinted = hints_wrapper(lambda a: (F.gelu(a @ a),), (y.detach(),), {}, hints={"a": 1})[0]
            whole = (y.detach() * 10).to(torch.int8)
            product = out_dtype(torch.ops.aten.mm.default, torch.int32, whole, whole)
            return (x * hinted * product.float() * y).sum()

        report = self.check(loss, weights((16, 16), (16, 16)))
        for name in ("foreach_map", "hints_wrapper", "out_dtype"):
            self.assertTrue(kernels(report, name), name)

    def test_effects_keep_their_order(self) -> None:
        def loss(x: torch.Tensor) -> torch.Tensor:
            torch.ops.aten._print("one")
            y = F.gelu(x @ x)
            torch._higher_order_ops.print("two {}", 2)
            return y.sum()

        report = self.check(loss, weights((16, 16)))
        self.assertEqual(len(kernels(report, "with_effects")), 2)
        self.assertTrue(all(not op.recompute for op in kernels(report, "with_effects")))


class OfGpusTest(unittest.TestCase):
    def test_a_triton_kernel(self) -> None:
        """Its results come in a dictionary. Functionalization made the operand that it overwrites a result, whose bytes count; what it takes
        while it runs is known to nobody, and the report says so."""
        graph = make_fx(lambda primals_1, tangents_1: (primals_1 * 2 + 1, tangents_1 * 2), tracing_mode="fake")(torch.ones(64), torch.ones(64))
        kernel = next(node for node in graph.graph.nodes if node.op == "call_function")
        with graph.graph.inserting_after(kernel):
            item = graph.graph.call_function(operator.getitem, (kernel, "out"))
        kernel.replace_all_uses_with(item, delete_user_cb=lambda user: user is not item)
        item.meta["val"], kernel.meta["val"] = kernel.meta["val"], {"out": kernel.meta["val"]}
        kernel.target = torch.ops.higher_order.triton_kernel_wrapper_functional
        kernel.kwargs = {"kernel_idx": 0, "constant_args_idx": 0, "grid": [(1, 1, 1)], "tma_descriptor_metadata": {},
                         "kwargs": {"out": kernel.args[0]}, "tensors_to_clone": ["out"]}
        kernel.args = ()
        partitioner = llmmem.torch.partitioner("min")
        forward, _ = partitioner(graph, (), num_fwd_outputs=1)
        self.assertTrue(forward.graph.find_nodes(op="call_function", target=torch.ops.higher_order.triton_kernel_wrapper_functional))
        report = partitioner.reports[0]
        self.assertEqual(report.problem.values[report.problem.ops[0].writes[0]].bytes, 256)
        self.assertEqual(report.unknown_workspaces, 1)


class RefusedTest(ExactTest):
    def test_what_data_decide_inside_another(self) -> None:
        self.refuse("cond .*has cond inside.*torch.where", lambda x: torch.cond(
            x.sum() > 0, lambda a: torch.cond(a.sum() > 3, torch.sin, torch.cos, (a,)), torch.cos, (x,)).sum(), weights((4, 4)))

    def test_a_loop_that_needs_a_gradient(self) -> None:
        self.refuse("while_loop.*as many rounds as the data ask for.*scan", lambda x: while_loop(
            lambda i, a: i < 3, lambda i, a: (i + 1, a.sin()), (torch.zeros((), dtype=torch.int64), x))[1].sum(), weights((4, 4)))

    def test_sizes_that_depend_on_data(self) -> None:
        with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
            self.refuse("nonzero.*whose size depends on data", lambda x: (x * torch.nonzero(x > 0).sum()).sum(), weights((4, 4)))


class SweepTest(unittest.TestCase):
    """Every operator that the installed PyTorch has, those of modules that nothing has imported yet, too."""

    @classmethod
    def setUpClass(cls) -> None:
        for module in pkgutil.iter_modules(torch._higher_order_ops.__path__):
            importlib.import_module(f"torch._higher_order_ops.{module.name}")

    def graph_of(self, target: Any) -> fx.GraphModule:
        graph = make_fx(lambda primals_1, tangents_1: (primals_1 * 2, tangents_1 * 2), tracing_mode="fake")(torch.ones(4), torch.ones(4))
        first = next(node for node in graph.graph.nodes if node.op == "call_function")
        first.target, first.args = target, (first.args[0],)
        return graph

    def test_each_is_planned_or_refused_by_name(self) -> None:
        found = sorted(torch._ops._higher_order_ops)
        self.assertGreater(len(found), 40)
        for name in found:
            with self.subTest(name=name):
                self.assertNotEqual(name in _higher_order.PLANNED, name in _higher_order.REFUSED)
                if name in _higher_order.PLANNED:
                    continue
                with self.assertRaisesRegex(llmmem.torch.UnsupportedGraphError, rf"\({name}\): \w.*: "):
                    llmmem.torch.partitioner("1GB")(self.graph_of(torch._ops._higher_order_ops[name]), (), num_fwd_outputs=1)

    def test_one_that_nobody_knows(self) -> None:
        class Unknown(torch._ops.HigherOrderOperator):
            def __init__(self) -> None:
                super().__init__("unknown_to_llmmem")

            def __call__(self, *operands: Any) -> Any:
                return super().__call__(*operands)

        unknown = Unknown()
        self.addCleanup(torch._ops._higher_order_ops.pop, "unknown_to_llmmem")
        with self.assertRaisesRegex(llmmem.torch.UnsupportedGraphError, "unknown_to_llmmem.*nothing is known: leave it outside"):
            llmmem.torch.partitioner("1GB")(self.graph_of(unknown), (), num_fwd_outputs=1)


if __name__ == "__main__":
    unittest.main()
