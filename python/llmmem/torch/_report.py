"""What was planned, for people and for programs."""

from dataclasses import dataclass
from typing import Optional

from .._model import Plan, Problem


@dataclass(frozen=True)
class Report:
    """Of one compiled graph. All bytes are our model's: exact sums of storages, by the order that the modules have.

    budget, resident, peak: bytes; resident: parameters, buffers, inputs and what is reserved; peak has them too.
    least_bytes_proved: no plan needs less. saved_bytes: held between forward and backward, inputs aside. results: of the
    forward's results and of the tangents, which the caller holds.
    cost, base_cost, cost_lower_bound: nanoseconds by the prices of the graph: of the plan, of every kernel once, and
    proved for every plan under the budget. recomputed: kernels that run again. recomputed_flops: of those runs.
    seconds_read, seconds_priced, seconds_planned, seconds_written: what compiling took. symbolic: sizes are symbols; bytes
    hold at their hints. unknown_workspaces: kernels
    of which it is not known, and not counted, what they take while they run. compiled_peak: bytes that Inductor's
    code holds at most by its own account, where it compiled the plan.
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

    @property
    def overhead(self) -> float:
        """What recomputation adds, as a part of every kernel once."""
        return self.cost / max(self.base_cost, 1) - 1

    @property
    def gap(self) -> float:
        """How far the cost is above the proved bound, as a part of every kernel once."""
        return (self.cost - self.cost_lower_bound) / max(self.base_cost, 1)

    def __str__(self) -> str:
        budget = "no budget" if self.budget is None else f"budget {self.budget:,} bytes"
        lines = [
            f"llmmem: {self.kernels} kernels, {budget}, predicted peak {self.peak:,} bytes ({self.resident:,} resident, "
            f"{self.saved_bytes:,} saved for the backward)",
            f"llmmem: {self.recomputed} kernels run again: cost +{self.overhead:.2%}, proved bound "
            f"+{self.cost_lower_bound / max(self.base_cost, 1) - 1:.2%}, gap {self.gap:.2%}; FLOPs "
            f"+{self.recomputed_flops / max(self.flops, 1):.2%}; planned in {self.seconds_planned:.2f} s"]
        if self.compiled_peak is not None:
            lines.append(f"llmmem: Inductor's fused order needs {self.compiled_peak:,} bytes by its own account")
        if self.symbolic:
            lines.append("llmmem: sizes are symbols; the plan is made, and the peak holds, at their hints")
        if self.unknown_workspaces:
            lines.append(f"llmmem: what {self.unknown_workspaces} kernels take beside their results while they run was not "
                         "measured, and is not counted")
        return "\n".join(lines)
