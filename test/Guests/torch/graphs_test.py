"""Tests what real graphs have in addition to kernels: each is planned with unchanged numbers, or refused by name."""

import os
import tempfile
import threading
import unittest
from typing import Any, Callable

import torch
import torch.nn.functional as F
from torch import nn
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.partitioners import default_partition

import llmmem.torch
from llmmem.torch._errors import find_error
from models import gpt, is_equal, llama, measure_step, run_step


def unplanned() -> Any:
    return aot_autograd(fw_compiler=llmmem.torch.run_in_order, partition_fn=default_partition)


class Norms(nn.Module):
    """BatchNorm overwrites its running statistics."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(*(layer for _ in range(3) for layer in (nn.Linear(32, 32), nn.BatchNorm1d(32), nn.GELU())))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x).square().mean()


class InPlace(nn.Module):
    """Overwrites its own values, and a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(32, 64), nn.Linear(64, 32)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls.add_(1)
        y = self.a(x)
        y.mul_(2).add_(1)
        y[:, :8].relu_()
        return self.b(F.gelu(y)).square().mean()


class PlannedTest(unittest.TestCase):
    def check(self, make: Callable[[], nn.Module], *inputs: torch.Tensor, saves: bool = True) -> llmmem.torch.Report:
        """Checks that the step at the least budget equals the unplanned one, and that the peak is as predicted."""
        torch.manual_seed(0)
        plain_model = make()
        plain = run_step(plain_model, unplanned(), *inputs)
        torch.manual_seed(0)
        model = make()
        backend = llmmem.torch.backend("min")
        step = run_step(model, backend, *inputs)
        self.assertTrue(is_equal(step, plain))
        for (name, buffer), other in zip(model.named_buffers(), plain_model.buffers()):
            self.assertTrue(torch.equal(buffer, other), name)
        self.assertEqual(len(backend.reports), 1)
        self.assertLessEqual(abs(step.peak - backend.reports[0].peak), 0.03 * step.peak)
        if saves:
            self.assertLess(step.peak, plain.peak)
        return backend.reports[0]

    def setUp(self) -> None:
        self.ids = torch.randint(0, 256, (2, 64), generator=torch.Generator().manual_seed(1))

    def test_dropout_draws_the_same_numbers(self) -> None:
        report = self.check(lambda: gpt(dropout=0.1), self.ids, self.ids)
        dropouts = [number for number, op in enumerate(report.problem.ops) if
                    op.name.startswith(("native_dropout", "bernoulli")) and "backward" not in op.name]
        self.assertEqual(len(dropouts), 6)
        self.assertTrue(all(report.plan.steps.count(number) == 1 for number in dropouts))

    def test_batch_norm_counts_each_step_once(self) -> None:
        self.check(Norms, torch.randn(64, 32, generator=torch.Generator().manual_seed(1)), saves=False)

    def test_in_place(self) -> None:
        self.check(InPlace, torch.randn(64, 32, generator=torch.Generator().manual_seed(1)), saves=False)

    def test_checkpoint_in_the_model_is_replanned(self) -> None:
        self.check(lambda: gpt(checkpoint=True), self.ids, self.ids)

    def test_autocast(self) -> None:
        class Cast(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.model = llama()

            def forward(self, ids: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
                with torch.autocast("cpu", dtype=torch.bfloat16):
                    return self.model(ids, targets)

        self.check(Cast, self.ids, self.ids)

    def test_values_that_escape(self) -> None:
        """The caller holds the logits too; their gradient comes from outside."""
        class Escape(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.a, self.b = nn.Linear(32, 256), nn.Linear(256, 32)

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                y = F.gelu(self.a(x))
                return y, self.b(y).relu()

        torch.manual_seed(0)
        model, x = Escape(), torch.randn(64, 32)
        results = []
        for backend in (unplanned(), llmmem.torch.backend("min")):
            torch._dynamo.reset()
            model.zero_grad()
            y, z = torch.compile(model, backend=backend)(x)
            (y.square().mean() + z.sum()).backward()
            results.append([parameter.grad.clone() for parameter in model.parameters()])
        self.assertTrue(all(torch.equal(a, b) for a, b in zip(*results)))

    def test_dynamic_shapes_are_planned_at_the_hint(self) -> None:
        torch._dynamo.reset()
        torch.manual_seed(0)
        model, backend = gpt(), llmmem.torch.backend("min")
        plain = [run_step(model, unplanned(), self.ids[:, :tokens], self.ids[:, :tokens]) for tokens in (56, 48)]
        torch._dynamo.reset()
        compiled = torch.compile(model, backend=backend, dynamic=True)
        steps = [measure_step(model, compiled, self.ids[:, :tokens], self.ids[:, :tokens]) for tokens in (56, 48)]
        self.assertEqual(len(backend.reports), 1)
        self.assertTrue(backend.reports[0].symbolic)
        self.assertIn("at their hints", str(backend.reports[0]))
        for a, b in zip(plain, steps):
            self.assertTrue(is_equal(a, b))
        self.assertLess(steps[1].peak, steps[0].peak)


class Broken(nn.Module):
    """A model of two graphs: a break stands between the halves."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 256), nn.GELU(), nn.Linear(256, 64))
        self.second = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 256), nn.GELU(), nn.Linear(256, 64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.first(x)
        torch._dynamo.graph_break()
        return self.last(x)

    def last(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(x).square().mean()


class Large(nn.Module):
    """Three layers, each more than the least bucket of DDP."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.c = (nn.Linear(520, 520) for _ in range(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.c(self.b(self.a(x).relu()).relu())


class SeveralGraphsTest(unittest.TestCase):
    """Several graphs share one budget."""

    def setUp(self) -> None:
        torch.manual_seed(0)
        self.model, self.x = Broken(), torch.randn(512, 64)

    def test_the_sum_fits(self) -> None:
        plain = run_step(self.model, unplanned(), self.x)
        for budget in (plain.peak + 2_000_000, "6MB"):
            backend = llmmem.torch.backend(budget, reserve="2MB")
            step = run_step(self.model, backend, self.x)
            self.assertEqual(len(backend.reports), 2)
            self.assertTrue(all("other calls of the step share the budget" in report.of_model for report in backend.reports))
            self.assertTrue(is_equal(step, plain))
            print(f"budget {budget}: measured {step.peak}, predicted {[report.peak for report in backend.reports]}")
            self.assertLessEqual(step.peak, llmmem.torch._partition._budget(budget))

    def test_a_first_graph_that_is_evidently_no_part(self) -> None:
        """Nothing shows that the first of two models is a part of the step: it is planned alone, and the second counts what it holds."""
        def compile(backend: Any) -> Callable[[torch.Tensor], torch.Tensor]:
            torch._dynamo.reset()
            first, second = torch.compile(self.model.first, backend=backend), torch.compile(self.model.last, backend=backend)
            return lambda x: second(first(x))

        plain, outcomes = measure_step(self.model, compile(unplanned()), self.x), []
        for budget, reserve in ((plain.peak * 4 // 5, None), (plain.peak, None), (plain.peak + 2_000_000, "2MB")):
            with self.subTest(budget=budget, reserve=reserve):
                backend = llmmem.torch.backend(budget, reserve=reserve)
                try:
                    step = measure_step(self.model, compile(backend), self.x)
                except Exception as error:
                    self.assertRegex(str(error), "BudgetError|no plan within|a graph after a graph break holds")
                    outcomes.append("refused")
                    self.model.zero_grad(set_to_none=True)
                    continue
                print(f"a first graph planned alone: budget {budget} reserve {reserve} measured {step.peak} unplanned {plain.peak}")
                outcomes.append("ran")
                self.assertLessEqual(step.peak, budget)
                self.assertTrue(is_equal(step, plain))
                self.assertTrue(all(report.is_one_of_several for report in backend.reports))
        self.assertIn("ran", outcomes)

    def test_ddp_splits_a_graph(self) -> None:
        """DDP splits a graph, in one compilation, into one for each bucket of gradients. Each is planned together with those before it."""
        model, x = Large(), torch.randn(64, 520)
        model(x).square().mean().backward()
        plain = [parameter.grad for parameter in model.parameters()]
        with tempfile.TemporaryDirectory() as folder:
            torch.distributed.init_process_group("gloo", init_method=f"file://{os.path.join(folder, 'group')}", rank=0, world_size=1)
            self.addCleanup(torch.distributed.destroy_process_group)
            torch._dynamo.reset()
            backend = llmmem.torch.backend("40MB")
            step = torch.compile(nn.parallel.DistributedDataParallel(model, bucket_cap_mb=1), backend=backend)
            for _ in range(2):
                model.zero_grad(set_to_none=True)
                step(x).square().mean().backward()
        for parameter, gradient in zip(model.parameters(), plain):
            torch.testing.assert_close(parameter.grad, gradient)
        self.assertEqual(len(backend.reports), 3)
        resident = [report.resident for report in backend.reports]
        self.assertLess(resident[0], resident[1])
        self.assertLess(resident[1], resident[2])
        self.assertTrue(all(report.of_model for report in backend.reports))

    def test_what_does_not_fit_is_refused_before_it_runs(self) -> None:
        with self.assertRaises(Exception) as caught:
            run_step(self.model, llmmem.torch.backend("3.2MB"), self.x)
        self.assertRegex(str(caught.exception), "while 1 earlier call waits for its backward and .* bytes are seen to be held, it may need "
                                                "3,[0-9,]* of 3,200,000 bytes at the least")


class RefusedTest(unittest.TestCase):
    def refuse(self, text: str, model: Callable[..., torch.Tensor], *inputs: torch.Tensor, **options: Any) -> None:
        torch._dynamo.reset()
        with self.assertRaises(Exception) as caught:
            torch.compile(model, backend=llmmem.torch.backend(**{"budget": "1GB", **options}))(*inputs)
        self.assertRegex(str(caught.exception), text)

    def test_a_budget_in_the_wrong_unit(self) -> None:
        for budget, text in ((4e9, "whole bytes"), ("20 gigabytes", "GB"), (0, "positive"), (-1, "positive")):
            with self.subTest(budget=budget), self.assertRaisesRegex(ValueError, f"budget.*{text}"):
                llmmem.torch.backend(budget)
        with self.assertRaisesRegex(ValueError, "optimizer_state"):
            llmmem.torch.backend("1GB", optimizer_state=1.5)
        with self.assertRaisesRegex(ValueError, "device.*h100"):
            llmmem.torch.backend("1GB", device="h1000")
        with self.assertRaisesRegex(ValueError, "costs"):
            llmmem.torch.partitioner("1GB", costs="guessed")

    def test_an_inference_graph(self) -> None:
        from torch.fx.experimental.proxy_tensor import make_fx
        graph = make_fx(lambda primals_1: (primals_1.relu(),), tracing_mode="fake")(torch.ones(4))
        with self.assertRaisesRegex(llmmem.torch.UnsupportedGraphError, "without a backward; inference graphs"):
            llmmem.torch.partitioner("1GB")(graph, (), num_fwd_outputs=1)

    def refuse_graph(self, text: str, function: Callable[..., Any]) -> None:
        """Expects a refusal of a joint graph of one input and one gradient, without the passes of AOTAutograd."""
        from torch.fx.experimental.proxy_tensor import make_fx
        graph = make_fx(function, tracing_mode="fake")(torch.ones(4), torch.ones(4))
        with self.assertRaisesRegex(llmmem.torch.UnsupportedGraphError, text):
            llmmem.torch.partitioner("1GB")(graph, (), num_fwd_outputs=1)

    def test_collectives(self) -> None:
        import torch.distributed._functional_collectives  # registers them

        self.refuse_graph("broadcast.*of the collectives, all_gather_into_tensor, all_reduce, .* are planned", lambda primals_1, tangents_1: (
            torch.ops._c10d_functional.broadcast(primals_1 * 2, 0, "0"), tangents_1 * 2))

    def test_objects_of_unknown_classes(self) -> None:
        """They are refused by the name of their class, and meshes and groups, which graphs of DTensors pass on, are not."""
        from torch.fx.experimental.proxy_tensor import make_fx

        class DeviceMesh:
            pass

        for value, is_refused in ((threading.Event(), True), (DeviceMesh(), False)):
            graph = make_fx(lambda primals_1, tangents_1: (primals_1 * 2, tangents_1 * 2), tracing_mode="fake")(torch.ones(4), torch.ones(4))
            with graph.graph.inserting_before(next(iter(graph.graph.nodes))):
                graph.graph.placeholder("primals_0").meta["val"] = value
            graph.recompile()
            if is_refused:
                with self.assertRaisesRegex(llmmem.torch.UnsupportedGraphError, "primals_0.*is an input of class Event"):
                    llmmem.torch.partitioner("1GB")(graph, (), num_fwd_outputs=1)
            else:
                llmmem.torch.partitioner("1GB")(graph, (), num_fwd_outputs=1)

    def test_in_place_kernels_that_were_left(self) -> None:
        self.refuse_graph("relu_.*overwrites its operand", lambda primals_1, tangents_1: (
            torch.ops.aten.relu_(primals_1 * 2), tangents_1 * 2))

    def test_an_unknown_budget_leaves_nothing_compiled(self) -> None:
        """A search is cancelled half-way: the exception of progress arrives, and the next call plans again."""
        def stop(activity: str) -> None:
            raise KeyboardInterrupt(activity)

        torch.manual_seed(0)
        model, ids = gpt(), torch.zeros(2, 64, dtype=torch.int64)
        torch._dynamo.reset()
        before = threading.active_count()
        with self.assertRaises(BaseException) as caught:
            torch.compile(model, backend=llmmem.torch.backend("min", progress=stop))(ids, ids)
        # Dynamo of 2.9 raises an error of its own in its place.
        self.assertIsNotNone(find_error(caught.exception, KeyboardInterrupt))
        self.assertEqual(threading.active_count(), before)
        backend = llmmem.torch.backend("min")
        run_step(model, backend, ids, ids)
        self.assertEqual(len(backend.reports), 1)

    def test_optimizer_state_takes_its_part(self) -> None:
        torch.manual_seed(0)
        model, ids = gpt(), torch.zeros(2, 64, dtype=torch.int64)
        plain, stated = llmmem.torch.backend("10MB"), llmmem.torch.backend("10MB", optimizer_state="1MB", reserve=5)
        for backend in (plain, stated):
            run_step(model, backend, ids, ids)
        self.assertEqual(stated.reports[0].peak, plain.reports[0].peak + 1_000_005)

    def test_workspaces_that_were_not_measured_are_said(self) -> None:
        torch.manual_seed(0)
        model, x = nn.Linear(8, 8), torch.ones(4, 8)
        for workspaces in (True, False):
            torch._dynamo.reset()
            backend = llmmem.torch.backend("1MB", workspaces=workspaces)
            torch.compile(model, backend=backend)(x).sum().backward()
            report = backend.reports[0]
            self.assertEqual(report.of_model is None, workspaces)
            self.assertEqual("of the model" in str(report), not workspaces)


if __name__ == "__main__":
    unittest.main()
