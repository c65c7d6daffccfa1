"""Runs kernels of CUDA once each where a GPU is at hand, timed by its events, and asks PyTorch's allocator what they took."""

import statistics
from typing import Any, Callable, Dict, Hashable, Optional, Tuple

import torch
from torch import fx

from .._caching_allocator import MIN_BLOCK
from ._pool_in_use import pool_in_use
from ._program import made_bytes

ROUNDS, RUNS = 3, 5


class Meter:
    """Time and memory of a device. cuda: torch.cuda, or what has its functions."""

    def __init__(self, cuda: Any = torch.cuda) -> None:
        self.cuda = cuda

    def nanoseconds(self, run: Callable[[], Any]) -> int:
        """Returns the median of several rounds, each of several runs between two events."""
        return round(statistics.median(self._round(run) for _ in range(ROUNDS)) * 1e6 / RUNS)

    def _round(self, run: Callable[[], Any]) -> float:
        begin, end = (self.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(RUNS):
            run()
        end.record()
        end.synchronize()
        return float(begin.elapsed_time(end))

    def peak(self, run: Callable[[], Any]) -> int:
        """Returns the most bytes that were allocated while `run` ran, less those before it."""
        pool = pool_in_use() if self.cuda is torch.cuda else None
        if pool is not None:
            pool.reset_usage()
            before = pool.usage().allocated
            run()
            return int(pool.usage().most_allocated - before)
        self.cuda.reset_peak_memory_stats()
        before = self.cuda.memory_allocated()
        run()
        return int(self.cuda.max_memory_allocated() - before)


def measure_on_cuda(nodes: Dict[Hashable, fx.Node], operands: Callable[[fx.Node], Any], times: bool,
                    meter: Optional[Meter] = None) -> Dict[Hashable, Tuple[int, int]]:
    """Returns (nanoseconds, workspace in bytes) of each node's kernel, and omits those that refuse their operands. operands: makes a node's
    (args, kwargs). times: whether to take times, which is 0 otherwise. The state of random numbers stays as it was."""
    meter = meter or Meter()
    found: Dict[Hashable, Tuple[int, int]] = {}
    for key, node in nodes.items():
        try:
            args, kwargs = operands(node)

            def run(target: Any = node.target, args: Any = args, kwargs: Any = kwargs) -> Any:
                return target(*args, **kwargs)

            # The first run loads the kernel, and gives libraries what they keep.
            run()
            found[key] = meter.nanoseconds(run) if times else 0, max(meter.peak(run) - made_bytes(node, MIN_BLOCK), 0)
        except (RuntimeError, IndexError, ValueError):
            continue
    return found
