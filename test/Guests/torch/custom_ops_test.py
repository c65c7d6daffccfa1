"""Tests operators that PyTorch does not have itself: custom ones, those that overwrite operands, and the products of few bits that other
libraries bring."""

import unittest
from typing import Any, List
from unittest import mock

import torch
import torch.nn.functional as F

import llmmem.torch
from exact import ExactTest, Model
from higher_order_test import kernels, weights
from llmmem.torch import _measure


@torch.library.custom_op("llmmem_test::square", mutates_args=())
def square(x: torch.Tensor) -> torch.Tensor:
    return (x + 1) * (x - 1) + 1


square.register_fake(torch.empty_like)
square.register_autograd(lambda ctx, gradient: gradient * 2 * ctx.saved_tensors[0],
                         setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]))


@torch.library.custom_op("llmmem_test::noise", mutates_args=(), tags=(torch.Tag.nondeterministic_seeded,))
def noise(x: torch.Tensor) -> torch.Tensor:
    return torch.rand_like(x)


noise.register_fake(torch.empty_like)


@torch.library.custom_op("llmmem_test::observe", mutates_args=("state",))
def observe(x: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
    state.add_(x)
    return x * 2


observe.register_fake(lambda x, state: torch.empty_like(x))


@torch.library.custom_op("llmmem_test::dequantize_4bit", mutates_args=())
def dequantize_4bit(A: torch.Tensor, absmax: torch.Tensor, blocksize: int, quant_type: str, shape: List[int],
                    dtype: torch.dtype) -> torch.Tensor:
    """Has the signature of bitsandbytes::dequantize_4bit."""
    values = torch.linspace(-1, 1, 16, dtype=dtype)
    pairs = torch.stack([values[(A & 15).long()], values[(A >> 4).long()]], -1)
    return (pairs.view(-1, blocksize) * absmax[:, None].to(dtype)).view(shape)


dequantize_4bit.register_fake(lambda A, absmax, blocksize, quant_type, shape, dtype: torch.empty(shape, dtype=dtype, device=A.device))


class Product4Bit(torch.autograd.Function):
    """bitsandbytes' MatMul4Bit: the weight stays in 4 bits, and is made large for each product."""

    @staticmethod
    def forward(context: Any, x: torch.Tensor, packed: torch.Tensor, absmax: torch.Tensor) -> torch.Tensor:
        context.save_for_backward(packed, absmax)
        return F.linear(x, dequantize_4bit(packed, absmax, 64, "nf4", [64, 64], x.dtype))

    @staticmethod
    def backward(context: Any, gradient: torch.Tensor) -> Any:  # type: ignore[override]
        packed, absmax = context.saved_tensors
        return gradient @ dequantize_4bit(packed, absmax, 64, "nf4", [64, 64], gradient.dtype), None, None


class ProductFloat8(torch.autograd.Function):
    """The products of torchao's float8 training: operands are scaled by their largest element and cast, in forward and backward."""

    @staticmethod
    def multiply(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """a: row by row; b: column by column."""
        scales = [448.0 / operand.abs().max().clamp(min=1e-12) for operand in (a, b)]
        a, b = ((operand * scale).to(torch.float8_e4m3fn) for operand, scale in zip((a, b), scales))
        return torch._scaled_mm(a, b, scale_a=scales[0].reciprocal(), scale_b=scales[1].reciprocal(), out_dtype=torch.bfloat16).float()

    @staticmethod
    def forward(context: Any, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        context.save_for_backward(x, weight)
        return ProductFloat8.multiply(x, weight.t())

    @staticmethod
    def backward(context: Any, gradient: torch.Tensor) -> Any:  # type: ignore[override]
        x, weight = context.saved_tensors
        return (ProductFloat8.multiply(gradient, weight.t().contiguous().t()),
                ProductFloat8.multiply(gradient.t().contiguous(), x.t().contiguous().t()))


class CustomOpsTest(ExactTest):
    def test_what_only_the_operator_takes_counts(self) -> None:
        report = self.check(lambda x: square(square(x.sin()).cos()).sum(), weights((32, 32)))
        self.assertEqual({op.workspace for op in kernels(report, "square")}, {2 * 4096})
        self.assertTrue(all(op.recompute for op in kernels(report, "square")))

    def test_random_numbers_are_drawn_once(self) -> None:
        report = self.check(lambda x: (x.sin() * noise(x.detach())).sin().sum(), weights((32, 32)))
        self.assertFalse(kernels(report, "noise")[0].recompute)

    def test_operands_that_are_overwritten(self) -> None:
        """Functionalization makes a copy of what is overwritten, here of a buffer, which AOTAutograd then overwrites, and of a part."""
        def loss(x: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
            rows = torch.zeros(4, *x.shape)
            with torch.no_grad():
                y = observe(x.sin(), state) + observe(x.cos(), rows[1])
            return (x * y * rows).sin().sum()

        report = self.check(loss, weights((32, 32)), weights((32, 32)))
        self.assertEqual(len(kernels(report, "auto_functionalized")), 2)

    def test_4_bit_weights(self) -> None:
        packed = torch.randint(0, 256, (64 * 64 // 2, 1), dtype=torch.uint8)

        def loss(x: torch.Tensor, weight: torch.Tensor, packed: torch.Tensor, absmax: torch.Tensor) -> torch.Tensor:
            y = F.gelu(Product4Bit.apply(F.gelu(x @ weight), packed, absmax))
            return Product4Bit.apply(y, packed, absmax).sum()

        report = self.check(loss, weights((32, 64), (64, 64)), [packed, torch.rand(64)])
        self.assertEqual(len(kernels(report, "dequantize_4bit")), 4)

    def test_products_of_float8(self) -> None:
        report = self.check(lambda x, w, v: ProductFloat8.apply(F.gelu(ProductFloat8.apply(x, w)), v).square().sum(),
                            weights((16, 32), (32, 32), (32, 32)))
        self.assertEqual(len(kernels(report, "_scaled_mm")), 6)
        self.assertGreater(report.recomputed, 0)

    def test_an_autograd_function(self) -> None:
        class Sine(torch.autograd.Function):
            @staticmethod
            def forward(context: Any, x: torch.Tensor) -> torch.Tensor:
                context.save_for_backward(x)
                return x.sin()

            @staticmethod
            def backward(context: Any, gradient: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
                return gradient * context.saved_tensors[0].cos()

        self.check(lambda x: Sine.apply(F.gelu(x * 2)).sum(), weights((32, 32)))


class NestedRegionsTest(ExactTest):
    def test_each_call_is_planned(self) -> None:
        """PyTorch would save the same tensors in each call of a region, and cut it before a plan is made."""
        @torch.compiler.nested_compile_region
        def region(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
            return torch.cond(x.sum() < 1e9, lambda a: a.sin(), lambda a: a.cos(), (F.gelu(F.gelu(x @ w)),))

        report = self.check(lambda x, w: region(region(region(x, w), w), w).square().sum(), weights((64, 32), (32, 32)))
        self.assertFalse(kernels(report, "invoke_subgraph"))
        self.assertEqual(len(kernels(report, "cond")), 6)
        self.assertGreater(report.recomputed, 0)


class UnmeasuredTest(unittest.TestCase):
    def report_of(self, width: int, **options: Any) -> llmmem.torch.Report:
        torch._dynamo.reset()
        backend = llmmem.torch.backend("min", **options)
        with mock.patch.object(_measure, "_can_run", lambda node: False):
            torch.compile(Model(lambda x: torch.cond(x.sum() < 1e9, lambda a: (a @ a @ a).sin(), lambda a: a.cos(), (x,)).sum(),
                                weights((width, width))), backend=backend)()
        return backend.reports[0]

    def test_graphs_inside_count_where_nothing_is_run(self) -> None:
        """As on a device that is absent: what the larger branch holds by itself counts, and the report says what is not known."""
        report = self.report_of(32)
        self.assertEqual(kernels(report, "cond")[0].workspace, 4096)
        self.assertRegex(report.of_model, r"kernels \(.*cond\) take .*is not known")

    def test_on_a_gpu_they_are_blocks(self) -> None:
        """A place in an arena of a GPU is a multiple of 512 bytes; the product has 36."""
        self.assertEqual(kernels(self.report_of(3, device="h100"), "cond")[0].workspace, 512)


if __name__ == "__main__":
    unittest.main()
