"""Saved tensors that wait on a host for the backward: predicted is measured on both sides, bits are those of the unplanned step, and budgets
are kept that recomputation alone does not reach, or that it keeps at a higher price."""

import gc
import unittest
from unittest import mock

import torch
from torch import nn
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.partitioners import default_partition

import llmmem.torch
from cuda_plans_test import HOPPER
from llmmem.torch._fake_cuda import on_cuda
from llmmem.torch._host_memory import HostMemory, _Copies
from models import gpt, is_equal, llama, measure_step, run_step

IDS = torch.randint(0, 256, (2, 64), generator=torch.Generator().manual_seed(0))
HOST, LINK = 50_000_000, "100GB/s"


def make(block=gpt, layers=2):
    torch.manual_seed(0)
    return block(layers=layers)


def unplanned(model):
    return run_step(model, aot_autograd(fw_compiler=llmmem.torch.run_in_order, partition_fn=default_partition), IDS, IDS)


class BudgetTest(unittest.TestCase):
    def check(self, model, plain, budget, **options):
        """Returns the report of a planned step whose prediction, bits and plan hold."""
        backend = llmmem.torch.backend(budget, **options)
        step = run_step(model, backend, IDS, IDS)
        report = backend.reports[0]
        host = report.host.peak if report.host else 0
        print(f"{type(model.blocks[0]).__name__} budget {budget} {options}: predicted {report.peak} and {host} on the host, measured {step.peak} "
              f"and {backend.most_on_host}, time +{report.overhead:.2%}")
        self.assertEqual(report.peak, step.peak)
        self.assertEqual(host, backend.most_on_host)
        self.assertTrue(is_equal(step, plain))
        self.assertEqual([], llmmem.verify(report.problem, report.plan, budget if isinstance(budget, int) else None))
        return report

    def test_both_memories_are_predicted(self):
        for block in (gpt, llama):
            model = make(block)
            plain = unplanned(model)
            alone = self.check(model, plain, "min")
            least = self.check(model, plain, "min", host_budget=HOST, link=LINK)
            self.assertLessEqual(least.overhead, alone.overhead)
            # Below what recomputation alone reaches, or else there at a lower price.
            self.assertLessEqual(least.peak, alone.peak)
            budget = (alone.peak + plain.peak) // 2
            without, copied = (self.check(model, plain, budget, **options) for options in ({}, {"host_budget": HOST, "link": LINK}))
            self.assertLess(copied.cost, without.cost)
            self.assertGreater(copied.host.copies, 0)
            self.assertLessEqual(copied.peak, budget)

    def test_a_small_host_takes_what_it_holds(self):
        model = make()
        plain = unplanned(model)
        alone = llmmem.torch.backend("min")
        run_step(model, alone, IDS, IDS)
        budget = (alone.reports[0].peak + plain.peak) // 2
        report = self.check(model, plain, budget, host_budget=70_000, link=LINK)
        self.assertTrue(0 < report.host.peak <= 70_000)
        # A link on which no copy is worth its time leaves the plan that recomputes.
        slow = self.check(model, plain, budget, host_budget=HOST, link="1kB/s")
        self.assertEqual((0, 0), (slow.host.copies, slow.host.peak))

    def test_a_model_whose_least_is_a_product_that_cannot_run_again(self):
        """Dropout draws once, so its masks can only be kept, or leave."""
        torch.manual_seed(0)
        layers = [layer for _ in range(4) for layer in (nn.Linear(64, 64), nn.Dropout(0.5), nn.Tanh())]
        model, x = nn.Sequential(*layers, nn.Flatten(0)), torch.randn(512, 64)

        def least(**options):
            torch._dynamo.reset()
            backend = llmmem.torch.backend("min", **options)
            compiled = torch.compile(model, backend=backend)
            run = lambda x: compiled(x).square().mean()  # noqa: E731
            run(x).backward()
            model.zero_grad(set_to_none=True)
            torch.manual_seed(1)
            loss = run(x)
            loss.backward()
            gradients = [parameter.grad for parameter in model.parameters()]
            model.zero_grad(set_to_none=True)
            return backend.reports[0], [loss.detach(), *gradients]

        (alone, values), (report, others) = least(), least(host_budget=HOST, link=LINK)
        print(f"masks: least {alone.peak} alone, {report.peak} with {report.host.peak} on the host")
        self.assertLess(report.peak, alone.peak - 100_000)
        self.assertTrue(all(map(torch.equal, values, others)))


class CallsTest(unittest.TestCase):
    def backend(self, model, host_budget):
        least = llmmem.torch.backend("min", host_budget=HOST, link=LINK)
        run_step(model, least, IDS, IDS)
        torch._dynamo.reset()
        peak = least.reports[0].peak
        backend = llmmem.torch.backend(4 * peak, host_budget=host_budget or least.reports[0].host.peak, link=LINK)
        with mock.patch.object(backend.partition, "planned_budget", peak):
            compiled = torch.compile(model, backend=backend)
            compiled(IDS, IDS).backward()
        model.zero_grad(set_to_none=True)
        gc.collect()
        return backend, compiled

    def test_two_forwards_have_places_of_their_own(self):
        model = make()
        backend, compiled = self.backend(model, HOST)
        loss = compiled(IDS, IDS)
        loss.backward()
        once = [parameter.grad.clone() for parameter in model.parameters()]
        model.zero_grad(set_to_none=True)
        held = backend.most_on_host
        first, second = compiled(IDS, IDS), compiled(IDS, IDS)
        self.assertGreater(backend.partition.memory.in_use, held)
        first.backward()
        self.assertTrue(all(torch.equal(parameter.grad, gradient) for parameter, gradient in zip(model.parameters(), once)))
        second.backward()
        del first, second
        self.assertEqual(0, backend.partition.memory.in_use)

    def test_a_full_host_refuses_before_it_takes_memory(self):
        model = make()
        backend, compiled = self.backend(model, None)
        loss = compiled(IDS, IDS)
        with self.assertRaisesRegex(Exception, r"have [\d,]+ bytes on the host, and this one may take [\d,]+ of [\d,]+ there"):
            compiled(IDS, IDS)
        loss.backward()

    def test_a_dropped_forward_frees_its_places(self):
        model = make()
        backend, compiled = self.backend(model, None)
        loss = compiled(IDS, IDS)
        self.assertGreater(backend.partition.memory.in_use, 0)
        del loss
        gc.collect()
        self.assertEqual(0, backend.partition.memory.in_use)
        compiled(IDS, IDS).backward()


class StepTest(unittest.TestCase):
    def test_calls_share_the_host(self):
        plain = unplanned(make(llama, 3))
        for regions in (False, True):
            with self.subTest(regions=regions):
                torch._dynamo.reset()
                model, reports = make(llama, 3), []
                compiled = llmmem.torch.compile(model, budget=plain.peak * 3 // 4, inputs=(IDS, IDS), on_report=reports.append, host_budget="600kB",
                                                link=LINK, regions=model.blocks if regions else None)
                step = measure_step(model, compiled, IDS, IDS)
                report = next(report for report in reports if isinstance(report, llmmem.torch.StepReport))
                print(f"regions {regions}: predicted {report.peak}, measured {step.peak}; on the host {report.on_host}, cost +{report.overhead:.2%}")
                self.assertTrue(is_equal(step, plain))
                self.assertEqual(report.peak, step.peak)
                self.assertEqual(3 if regions else 1, report.calls)
                self.assertTrue(0 < sum(report.on_host) <= 600_000)


class RefusalsTest(unittest.TestCase):
    def refused(self, message, budget="2MB", **options):
        with self.assertRaisesRegex(Exception, message):
            run_step(make(layers=1), llmmem.torch.backend(budget, **options), IDS, IDS)

    def test_wrong_options(self):
        self.refused("link: '25GB/s' leads to no memory", link="25GB/s")
        self.refused("host_budget: must be positive, not -1", host_budget=-1, link=LINK)
        self.refused("link: 'fast' is not a rate of a link", host_budget=HOST, link="fast")
        self.refused("host_budget: 50,000,000 bytes of a host are of use where", None, host_budget=HOST, link=LINK)
        self.refused("50,000,000 bytes, but the device's table has no link to a host; give what it moves", host_budget=HOST)
        self.refused("the host's budget of 1 bytes holds none of the values that may leave the device; the smallest has", host_budget=1, link=LINK)
        self.refused('what the caching allocator reserves is not simulated', host_budget=HOST, link=LINK, budget_of="reserved")

    def test_no_plan(self):
        self.refused(r"no plan within 1,000 bytes: every plan needs at least [\d,]+; the least that was found is", 1000, host_budget=HOST, link=LINK)

    def test_inductor(self):
        self.refused("host_budget: Inductor would reorder and fuse around copies", host_budget=HOST, link=LINK, compiler="inductor")
        partitioner = llmmem.torch.partitioner("2MB", host_budget=HOST, link=LINK)
        with torch._inductor.config.patch(custom_partitioner_fn=partitioner), self.assertRaisesRegex(Exception, "host_budget: Inductor would"):
            run_step(make(layers=1), "inductor", IDS, IDS)


class Cuda:
    """Writes down what streams are asked for."""

    def __init__(self):
        self.done = []
        self.current = Stream(self, "current")

    def Stream(self, device):
        return Stream(self, f"side {len(self.done)}")

    def current_stream(self, device):
        return self.current

    def stream(self, stream):
        self.done.append(f"on {stream.name}")
        return mock.MagicMock()


class Stream:
    def __init__(self, cuda, name):
        self.cuda, self.name = cuda, name

    def wait_stream(self, other):
        self.cuda.done.append(f"{self.name} waits for {other.name}")

    def record_event(self):
        self.cuda.done.append(f"{self.name} is marked")
        return self.name

    def wait_event(self, event):
        self.cuda.done.append(f"{self.name} waits for the mark of {event}")


class CudaTest(unittest.TestCase):
    def test_copies_have_streams_and_events(self):
        cuda, device = Cuda(), torch.device("cuda", 0)
        copies, source, target = _Copies(cuda), torch.arange(4), torch.zeros(4, dtype=torch.long)
        copies.start(target, source, device, is_to_host=True)
        copies.end(target, device)
        copies.end(target, device)  # Nothing is left to wait for.
        self.assertEqual(["side 0 waits for current", "on side 0", "side 0 is marked", "current waits for the mark of side 0"], cuda.done)
        self.assertTrue(torch.equal(source, target))
        copies.start(source, target, device, is_to_host=False)
        self.assertEqual(2, len(copies.streams))

    def test_places_come_back_as_they_left(self):
        memory = HostMemory(10_000)
        tensor = torch.randn(8, 6).t()[1:, ::2]
        place = memory.end_to_host(memory.start_to_host(tensor), tensor)
        back = memory.end_to_device(memory.start_to_device(place, tensor.device), place)
        self.assertTrue(torch.equal(tensor, back))
        self.assertEqual((tensor.stride(), tensor.storage_offset()), (back.stride(), back.storage_offset()))
        self.assertTrue(memory.holds(place) and not memory.holds(back))
        self.assertEqual(8 * 6 * 4, memory.in_use)
        del place
        self.assertEqual((0, 8 * 6 * 4), (memory.in_use, memory.most))
        with self.assertRaisesRegex(llmmem.torch.BudgetError, "a copy of 12,000 bytes to the host finds 0 of 10,000 bytes in use there"):
            memory.start_to_host(torch.zeros(3000))

    def test_a_step_of_an_h200_uses_the_link_of_its_table(self):
        def report_of(budget, **options):
            partitioner = llmmem.torch.partitioner(budget, device="h200", **options)

            def divide(module, joint_inputs, **given):
                partitioner(on_cuda(module), joint_inputs, **given)
                return default_partition(module, joint_inputs, **given)

            run_step(make().to(torch.bfloat16), aot_autograd(fw_compiler=llmmem.torch.run_in_order, partition_fn=divide), IDS, IDS)
            return partitioner.reports[0]

        with mock.patch("llmmem.torch._partition.machine_of", return_value=HOPPER):
            free = report_of(None)
            report = report_of(free.peak - 200_000, host_budget=HOST)
        self.assertEqual((55 * 10**9, 10_000), (report.problem.host.to_host, report.problem.host.latency))
        self.assertEqual([], llmmem.verify(report.problem, report.plan, free.peak - 200_000))
        self.assertGreater(report.host.copies, 0)
        self.assertLessEqual(report.usage.allocated, report.budget)


if __name__ == "__main__":
    unittest.main()
