"""What was planned, for people and for programs."""

from dataclasses import dataclass
from typing import Optional, Tuple

from .._caching_allocator import Usage
from .._model import Plan, Problem
from ._reserved import describe


@dataclass(frozen=True)
class HostUse:
    """What a plan has on a host. budget, peak: bytes there. copies: how many run. moved: their bytes, both ways together."""

    budget: int
    peak: int
    copies: int
    moved: int

    def __str__(self) -> str:
        return f"{self.copies} copies move {self.moved:,} bytes to the host and back, which holds {self.peak:,} of {self.budget:,} at most"


@dataclass(frozen=True)
class Report:
    """The report of one compiled graph. All bytes are exact sums of storages, in the order of the modules.

    of_model: None where the peak accounts for what runs: kernels run one by one in this order with their workspaces measured, or
    Inductor's account of its code is known. Else it says why the bytes are those of the model alone, so that no budget counts as kept.

    budget, resident, peak: bytes; resident: parameters, buffers, inputs and what is reserved; peak has them too.
    least_bytes_proved: no plan needs less. saved_bytes: held between forward and backward, inputs aside. results: of the
    forward's results, which the caller holds, and of the tangents that outlive their last reader.
    cost, base_cost, cost_lower_bound: nanoseconds by the prices of the graph: of the plan, of every kernel once, and
    proved for every plan under the budget; with a host those at which the last kernel or copy ends, since copies run at the same time as
    kernels. recomputed: kernels that run again. recomputed_flops: of those runs.
    seconds_read, seconds_priced, seconds_planned, seconds_written: what compiling took. symbolic: sizes are symbols; bytes
    hold up to their hints, and calls with larger ones compile again. unknown_workspaces: kernels
    of which it is not known, and not counted, what they take while they run. compiled_peak: bytes that Inductor's
    code holds at most by its own account, where it compiled the plan. runs_in_order: its kernels run one by one in the planned
    order. is_one_of_several: other graphs or calls share the budget. is_first_step: this is the least for a step of which nothing was known;
    it is planned again after it. is_sharded: modules were given to fully_shard. has_collectives: ranks transfer tensors in it.
    unknown_kernels: names of those of unknown_workspaces. usage: of CUDA, what PyTorch's caching allocator allocates and reserves for the plan. arena: where
    the pool serves the plan instead (use_pool), what it reserves for that. host: of a plan with a host, what it has there.
    Many fields: each is a figure that users read.
    """

    budget: Optional[int]
    resident: int
    peak: int
    least_bytes_proved: int
    saved_bytes: int
    results: int
    cost: int
    base_cost: int
    cost_lower_bound: int
    kernels: int
    recomputed: int
    recomputed_flops: int
    flops: int
    seconds_read: float
    seconds_priced: float
    seconds_planned: float
    seconds_written: float
    symbolic: bool
    unknown_workspaces: int
    problem: Problem
    plan: Plan
    compiled_peak: Optional[int] = None
    runs_in_order: bool = False
    is_one_of_several: bool = False
    is_first_step: bool = False
    is_sharded: bool = False
    has_collectives: bool = False
    unknown_kernels: Tuple[str, ...] = ()
    usage: Optional[Usage] = None
    arena: Optional[int] = None
    host: Optional[HostUse] = None

    @property
    def of_model(self) -> Optional[str]:
        if self.is_one_of_several:
            return "other calls of the step share the budget; step_reports has the peak of them all, where it is known"
        if self.is_sharded:
            return ("of what PyTorch runs and holds between planned graphs, where fully_shard has its hooks, the buffers of its parameters "
                    "alone are counted")
        if not self.runs_in_order and self.compiled_peak is None:
            return "whoever compiles the plan may fuse and reorder"
        if self.unknown_workspaces:
            names = f" ({', '.join(self.unknown_kernels)})" if self.unknown_kernels else ""
            return (f"what {self.unknown_workspaces} kernels{names} take in addition to their results while they run is not known, and "
                    "not counted")
        if self.has_collectives:
            return "how long gloo holds what it transfers was measured and not proved"
        return None

    @property
    def overhead(self) -> float:
        """Returns what recomputation adds, as a part of the cost of every kernel once."""
        return self.cost / max(self.base_cost, 1) - 1

    @property
    def gap(self) -> float:
        """Returns how far the cost lies above the proved bound, as a part of the cost of every kernel once."""
        return (self.cost - self.cost_lower_bound) / max(self.base_cost, 1)

    def __str__(self) -> str:
        budget = "no budget" if self.budget is None else f"budget {self.budget:,} bytes"
        lines = [
            f"llmmem: {self.kernels} kernels, {budget}, predicted peak {'of the model ' if self.of_model else ''}{self.peak:,} bytes "
            f"({self.resident:,} resident, "
            f"{self.saved_bytes:,} saved for the backward)",
            f"llmmem: {self.recomputed} kernels run again: cost +{self.overhead:.2%}, proved bound "
            f"+{self.cost_lower_bound / max(self.base_cost, 1) - 1:.2%}, gap {self.gap:.2%}; FLOPs "
            f"+{self.recomputed_flops / max(self.flops, 1):.2%}; planned in {self.seconds_planned:.2f} s"]
        if self.host is not None:
            lines.append(f"llmmem: {self.host}")
        if self.compiled_peak is not None:
            lines.append(f"llmmem: Inductor's fused order needs {self.compiled_peak:,} bytes by its own account")
        if self.is_first_step:
            lines.append("llmmem: this graph is a part of its step, whose first run takes the least bytes; all parts are planned together "
                         "after it")
        lines += describe(self.usage, self.resident, self.arena)
        if self.symbolic:
            lines.append("llmmem: sizes are symbols; the plan is made at their hints, and the peak holds up to them: larger ones "
                         "are planned again")
        if self.of_model:
            lines.append(f"llmmem: bytes are of the model, and no budget counts as kept: {self.of_model}")
        return "\n".join(lines)
