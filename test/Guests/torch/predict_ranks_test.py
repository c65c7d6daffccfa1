"""Of one of two ranks, none of which exists, the peaks are predicted that are measured on ranks that do: to the byte where transfers take
nothing, and at gloo's least."""

import gc
import unittest
from typing import Any, Callable, List, Optional, Tuple

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.profiler import ProfilerActivity, profile

import llmmem.torch
from llmmem.torch._simulated import blocks_of, shard_blocks, wrap_blocks
from models import gpt, llama
from ranks_test import RANKS, batch, local, run_ranks

STEPS = 5
ADAMW = torch.optim.AdamW


def keep_gathered(model: nn.Module, mesh: Any) -> None:
    for block in blocks_of(model, ""):
        fully_shard(block, mesh=mesh, reshard_after_forward=False)
    fully_shard(model, mesh=mesh)


def in_bf16(model: nn.Module, mesh: Any) -> None:
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for block in blocks_of(model, ""):
        fully_shard(block, mesh=mesh, mp_policy=policy)
    fully_shard(model, mesh=mesh, mp_policy=policy)


def bytes_of(tensors: Any) -> int:
    return sum({local(tensor).untyped_storage().data_ptr(): local(tensor).untyped_storage().nbytes() for tensor in tensors}.values())


def measure(strategy: str, shard: Optional[Callable[..., None]], steps: int = STEPS) -> List[int]:
    """Returns the peak of each step on this rank, without what is made before the first."""
    torch.manual_seed(0)
    model, mesh, ids = llama(layers=3), init_device_mesh("cpu", (RANKS,)), batch(0)
    if strategy.endswith("checkpointed"):
        wrap_blocks(model)
    if strategy == "ddp":
        model = nn.parallel.DistributedDataParallel(model)
    else:
        (shard or shard_blocks)(model, mesh)
    update, peaks = ADAMW(model.parameters()), []
    for _ in range(steps):
        gc.collect()
        there = bytes_of([*model.parameters(), *model.buffers(), ids, *(value for state in update.state.values() for value in state.values())])
        with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
            model(ids, ids).backward()
            update.step()
            model.zero_grad(set_to_none=True)
        peaks.append(there + llmmem.torch.peak_bytes(profiler))
    return peaks


def predict(strategy: str, shard: Optional[Callable[..., None]] = None) -> Tuple[int, int]:
    ids = batch(0)
    found = llmmem.torch.predict(llama(layers=3), (ids, ids), optimizer=ADAMW, ranks=RANKS, strategies=[strategy], shard=shard)
    first, later = ([peak.allocated for peak in step.values()] for step in found.strategies[strategy].steps)
    return max(first), max(later)


def run_alone(test: unittest.TestCase, work: Callable[[], Any]) -> Any:
    """Returns what `work` returns in a process that is no rank. This one may run no backward, since autograd's threads cannot be forked."""
    def run(rank: int) -> Any:
        dist.destroy_process_group()
        return None if rank else work()

    return run_ranks(test, run)[0][0]


class PredictRanksTest(unittest.TestCase):
    def test_transfers_that_take_nothing(self) -> None:
        cases = (("fsdp2", None), ("fsdp2-checkpointed", None), ("fsdp2", keep_gathered), ("fsdp2", in_bf16))

        def work() -> Any:
            from torch.testing._internal.distributed.fake_pg import FakeStore
            dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=RANKS)
            measured = [tuple(measure(strategy, shard, 2)) for strategy, shard in cases]
            dist.destroy_process_group()
            return measured, [predict(strategy, shard) for strategy, shard in cases]

        for (strategy, shard), measured, predicted in zip(cases, *run_alone(self, work)):
            print(f"{strategy} {shard.__name__ if shard else ''}: predicted {predicted} measured {measured}")
            self.assertEqual(predicted, measured)

    def test_gloo(self) -> None:
        """Its workers let go of tensors late, so that the least of several steps is compared."""
        strategies = ("ddp", "fsdp2", "fsdp2-checkpointed")
        # DDP has made its buckets before the first step.
        outside = {"ddp": sum(parameter.nbytes for parameter in llama(layers=3).parameters())}

        def work(rank: int) -> Any:
            measured = {strategy: [peak + outside.get(strategy, 0) for peak in measure(strategy, None)] for strategy in strategies}
            dist.destroy_process_group()
            return measured, {strategy: predict(strategy) for strategy in strategies}

        for ((measured, predicted),) in run_ranks(self, work):
            for strategy, (first, later) in predicted.items():
                print(f"{strategy}: predicted {first, later} measured {measured[strategy]}")
                self.assertEqual(later, min(measured[strategy][2:]))
                self.assertLessEqual(first, measured[strategy][0])

    def test_more_ranks_hold_less(self) -> None:
        """On a GPU, with more ranks than anybody has; streams have blocks of their own, and kinds add up."""
        ids = batch(0)
        found = run_alone(self, lambda: [
            llmmem.torch.predict(gpt(layers=2, hidden=128), (ids, ids), optimizer=ADAMW, device="h100", ranks=ranks,
                                 strategies=["fsdp2"]).strategies["fsdp2"] for ranks in (2, 256)])
        for strategy in found:
            for peak in (peak for step in strategy.steps for peak in step.values()):
                self.assertEqual(sum(peak.by_kind.values()), peak.allocated)
                self.assertGreaterEqual(peak.reserved, peak.allocated)
            self.assertGreater(strategy.steps[1]["backward"].by_kind["gathered parameters"], 0)
        few, many = (strategy.steps[1]["forward"].by_kind for strategy in found)
        self.assertLess(many["optimizer state"], few["optimizer state"])
        self.assertEqual(few["activations"], many["activations"])

    def test_this_process_is_left_as_it_was(self) -> None:
        def work() -> Any:
            model, ids = llama(layers=2), batch(0)
            llmmem.torch.predict(model, (ids, ids), ranks=2, strategies=["fsdp2"])
            return dist.is_initialized(), all(type(parameter) is nn.Parameter for parameter in model.parameters())

        self.assertEqual(run_alone(self, work), (False, True))

    def test_wrong_arguments(self) -> None:
        ids = batch(0)
        with self.assertRaisesRegex(ValueError, '"fsdp2" needs ranks='):
            llmmem.torch.predict(llama(), (ids, ids), strategies=["fsdp2"])
        with self.assertRaisesRegex(ValueError, "ranks: is 0; expected a number from 1 up"):
            llmmem.torch.predict(llama(), (ids, ids), ranks=0)
        with self.assertRaisesRegex(ValueError, "no list of equal blocks .* which would be sharded one by one; give shard="):
            llmmem.torch.predict(nn.Linear(4, 4), torch.ones(2, 4), ranks=2, strategies=["fsdp2"])

        def work(rank: int) -> Tuple[str, str]:
            texts = []
            for wrapped in (False, True):
                model = llama(layers=2)
                if wrapped:
                    shard_blocks(model, init_device_mesh("cpu", (RANKS,)))
                with self.assertRaises(ValueError) as caught:
                    llmmem.torch.predict(model, (ids, ids), ranks=2, strategies=["fsdp2"])
                texts.append(str(caught.exception))
            return texts[0], texts[1]

        for (texts,) in run_ranks(self, work):
            self.assertRegex(texts[0], "this process is a rank of a group already")
            self.assertRegex(texts[1], "is wrapped already .*give the model itself and ranks=")


if __name__ == "__main__":
    unittest.main()
