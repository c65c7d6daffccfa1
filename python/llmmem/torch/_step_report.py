"""What was planned for a whole step, for people and for programs."""

from dataclasses import dataclass
from typing import Optional, Tuple

from ._steps import StepPlan


@dataclass(frozen=True)
class StepReport:
    """The report of one kind of step.

    budget, peak: bytes; peak is the most that the step is predicted to hold at once. calls: of planned graphs. graphs: different ones
    among them. plans: different plans. saved: of each call, in their order, the bytes of the tensors that it alone saves. on_host: of each call,
    the most bytes that it has on the host. cost,
    base_cost: nanoseconds by the prices, of all calls, and with nothing recomputed. sees_all: whether what PyTorch runs
    between the calls is counted. unknown_workspaces: kernels of the graphs and ops between the calls of which it is not known what they
    take while they run.
    """

    budget: int
    peak: int
    calls: int
    graphs: int
    plans: int
    saved: Tuple[int, ...]
    on_host: Tuple[int, ...]
    cost: int
    base_cost: int
    sees_all: bool
    unknown_workspaces: int

    @staticmethod
    def of(plan: StepPlan, sees_all: bool, unknown_workspaces: int) -> "StepReport":
        """unknown_workspaces: of the ops between the calls."""
        chosen = {(graph.name, point) for graph, point in zip(plan.graphs, plan.points)}
        graphs = {graph.name: graph for graph in plan.graphs}
        unknown_workspaces += sum(graph.unknown_workspaces for graph in graphs.values())
        return StepReport(plan.budget, plan.peak, len(plan.graphs), len(graphs), len(chosen),
                          tuple(point.held for point in plan.points), tuple(point.on_host for point in plan.points), plan.cost,
                          sum(op.cost for graph in plan.graphs for op in graph.problem.ops), sees_all, unknown_workspaces)

    @property
    def of_model(self) -> Optional[str]:
        """Returns None where the peak accounts for what runs, or why no budget counts as kept."""
        if not self.sees_all:
            return "what PyTorch runs and holds between the planned graphs is not seen by a backend; llmmem.torch.compile counts it"
        if self.unknown_workspaces:
            return f"what {self.unknown_workspaces} kernels and ops take while they run was not measured"
        return None

    @property
    def overhead(self) -> float:
        """Returns what recomputation adds, as a part of the cost of every kernel once."""
        return self.cost / max(self.base_cost, 1) - 1

    def __str__(self) -> str:
        lines = [f"llmmem: a step of {self.calls} calls of {self.graphs} graphs in {self.plans} plans: budget {self.budget:,} bytes, "
                 f"predicted peak {'of the model ' if self.of_model else ''}{self.peak:,}; the calls save {sum(self.saved):,} in "
                 f"addition to arguments and results; cost +{self.overhead:.2%}"]
        if any(self.on_host):
            lines.append(f"llmmem: the host holds {sum(self.on_host):,} bytes of the calls together at most")
        if self.of_model:
            lines.append(f"llmmem: bytes are of the model, and no budget counts as kept: {self.of_model}")
        return "\n".join(lines)
