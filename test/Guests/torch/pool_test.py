"""The pool as PyTorch's allocator: planned steps of CUDA over a driver whose memory is the host's, and kernels measured by a GPU's means."""

import ctypes
import gc
import os
import types
import unittest
from unittest import mock

import torch
from cuda_plans_test import on_h200
from torch import fx
from torch._subclasses import FakeTensorMode

from llmmem.torch import _pool, _pool_in_use
from llmmem.torch._measure_cuda import Meter, measure_on_cuda
from llmmem.torch._reserved import _events

DRIVER = os.path.join(os.path.dirname(os.path.abspath(os.environ["LLMMEM_LIBRARY"])), "libllmmem-fake-cuda.so")


class Step:
    """A planned step, whose allocations are made as its kernels make them. The order comes from the allocator's simulation."""

    def __init__(self, pool):
        self.pool = pool
        self.report, self.prices = on_h200("min")
        self.allocations = _pool.allocations_of(self.report.problem, self.report.plan, self.prices)
        self.plan = pool.add(self.allocations)
        events = list(_events(self.report.problem, self.report.plan, self.prices, ()))
        # The tangents, which autograd makes at the boundary, are not of the plan's kernels; for 0 bytes nothing is allocated.
        nothing = {event.key for event in events if event.bytes == 0}
        cut = self.report.plan.steps.index(next(number for number, op in enumerate(self.report.problem.ops) if op.name == "boundary"))
        self.events = [event for event in events if event.key[0] not in ("resident", "library", cut) and event.key not in nothing]

    def run(self, before_each=lambda number: None):
        """Returns the addresses of the allocations in their order. What is alive at the end is freed."""
        live, found, stream = {}, [], 8
        self.pool.begin(self.plan, 0, self.allocations.boundary, stream)
        for event in self.events:
            if event.bytes is None:
                self.pool.free(live.pop(event.key))
                continue
            if len(found) == self.allocations.boundary:
                self.pool.begin(self.plan, self.allocations.boundary, len(self.allocations.places), stream)
            before_each(len(found))
            found.append(self.pool.allocate(event.bytes, stream))
            live[event.key] = found[-1]
        self.pool.end()
        for address in live.values():
            self.pool.free(address)
        return found


class PoolTest(unittest.TestCase):
    def setUp(self):
        self.pool = _pool.Pool(driver=DRIVER)
        self.addCleanup(self.pool.close)

    def test_reserved_bytes_are_the_arena(self):
        step = Step(self.pool)
        first, second = step.run(), step.run()
        self.assertEqual(first, second)
        usage, places = self.pool.usage(), step.allocations.places
        self.assertEqual((2 * len(places), 0, 0, 0), (usage.planned, usage.unknown, usage.taken, usage.unused))
        self.assertEqual((step.allocations.arena,) * 2, (usage.most_reserved, usage.arenas))
        self.assertEqual([offset for _, _, offset in places], [address - min(first) for address in first])
        # Best fit reserves more for the same order.
        self.assertGreater(step.report.usage.reserved, step.report.resident + step.allocations.arena)

    def test_unknown_allocations_are_counted_and_disturb_nothing(self):
        step = Step(self.pool)
        first, extra = step.run(), []
        second = step.run(lambda number: extra.append(self.pool.allocate(1536, 8)) if number % 50 == 7 else None)
        usage = self.pool.usage()
        self.assertEqual(first, second)
        self.assertEqual((len(extra), 1536 * len(extra)), (usage.unknown, usage.most_elsewhere))
        self.assertEqual(step.allocations.arena + 1536 * len(extra), usage.most_reserved)

    def test_driver_that_is_absent_is_named(self):
        with self.assertRaisesRegex(RuntimeError, "found no CUDA driver: no-such"):
            _pool.Pool(driver="no-such.so")

    def test_functions_of_pytorch_allocate_from_the_pool_of_the_process(self):
        library = ctypes.CDLL(_pool.library_path())
        library.llmmem_torch_allocate.restype = ctypes.c_void_p
        library.llmmem_torch_allocate.argtypes = ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p
        library.llmmem_torch_free.argtypes = ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p
        with mock.patch.dict(os.environ, LLMMEM_CUDA_DRIVER=DRIVER):
            address = library.llmmem_torch_allocate(1000, 0, 8)
        pool = _pool.Pool()
        plan = pool.add(_pool.Allocations(2048, [(0, 1024, 1024)], 1))
        pool.begin(plan, 0, 1, 8)
        served = library.llmmem_torch_allocate(300, 0, 8), library.llmmem_torch_allocate(1024, 0, 8)
        self.assertEqual((1, 1, 1024 + 512 + 1024), (pool.usage().planned, pool.usage().unknown, pool.usage().allocated))
        for address in (address, *served):
            library.llmmem_torch_free(address, 0, 0, 8)
        self.assertEqual(0, pool.usage().allocated)
        self.assertIsNone(library.llmmem_torch_allocate(0, 0, 8))

    def test_pytorch_finds_the_functions(self):
        torch.cuda.memory.CUDAPluggableAllocator(_pool.library_path(), "llmmem_torch_allocate", "llmmem_torch_free")


class ServedTest(unittest.TestCase):
    def test_forward_and_backward_begin_their_places(self):
        pool = mock.Mock()
        pool.add.return_value = 3
        served = _pool.Served(pool, _pool.Allocations(1024, [(0, 512, 0), (2, 512, 512), (2, 512, 0)], 1))
        modules = tuple(fx.GraphModule(torch.nn.Module(), fx.Graph()) for _ in range(2))
        _pool.serve(modules, served)
        with mock.patch("torch.cuda.current_stream", return_value=types.SimpleNamespace(cuda_stream=8)):
            for module in modules:
                self.assertEqual("result", _pool.served_run(module, lambda arguments: "result")([]))
            with self.assertRaises(ZeroDivisionError):
                _pool.served_run(modules[0], lambda arguments: 1 // 0)([])
        self.assertEqual([mock.call(3, 0, 1, 8), mock.call(3, 1, 3, 8), mock.call(3, 0, 1, 8)], pool.begin.call_args_list)
        self.assertEqual((1, 3), (pool.add.call_count, pool.end.call_count))
        modules = served = module = None
        gc.collect()
        pool.remove.assert_called_once_with(3)

    def test_plans_keep_their_budget_with_the_arena(self):
        with mock.patch.object(_pool_in_use, "_pools", [mock.Mock()]):
            free, _ = on_h200(None)
            budget = int(0.8 * free.peak)
            kept, _ = on_h200(budget)
        self.assertLessEqual(kept.resident + kept.arena, budget)
        self.assertIsNone(kept.usage)
        self.assertIn(f"the pool reserves {kept.arena:,} bytes", str(kept))

    def test_usage_needs_the_pool(self):
        with self.assertRaisesRegex(RuntimeError, "call llmmem.torch.use_pool"):
            _pool.pool_usage()


class Device:
    """What the meter uses of torch.cuda, with a clock of 1 ms a run and a workspace of 4,096 bytes for each."""

    def __init__(self):
        self.runs, self.held, self.most = 0, 1000, 0

    def Event(self, enable_timing):
        event = types.SimpleNamespace(at=0, synchronize=lambda: None)
        event.record = lambda: setattr(event, "at", self.runs)
        event.elapsed_time = lambda end: float(end.at - event.at)
        return event

    def reset_peak_memory_stats(self):
        self.most = self.held

    def memory_allocated(self):
        return self.held

    def max_memory_allocated(self):
        return self.most

    def run(self):
        self.runs += 1
        self.most = max(self.most, self.held + 512 + 4096)


class MeterTest(unittest.TestCase):
    def test_times_and_workspaces_are_those_of_the_device(self):
        device, graph = Device(), fx.Graph()
        node, other = graph.call_function(lambda: device.run()), graph.call_function(lambda: [][0])
        with FakeTensorMode():
            node.meta["val"] = torch.empty(100, device="cuda")
        found = measure_on_cuda({"a": node, "b": other}, lambda node: ((), {}), True, Meter(device))
        self.assertEqual({"a": (1_000_000, 4096)}, found)
        self.assertEqual({"a": (0, 4096)}, measure_on_cuda({"a": node}, lambda node: ((), {}), False, Meter(device)))


if __name__ == "__main__":
    unittest.main()
