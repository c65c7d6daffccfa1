"""Ranks that run collectives of one graph must plan it alike: before a plan is used, all of its groups compare what they planned.

The comparison goes through the store by which the ranks of a group found each other, and not through a collective: a rank that has
refused its graph, or that planned another one, would leave the others waiting without a word.
"""

import datetime
import hashlib
import json
from typing import Any, Dict, List, Optional, Sequence, Tuple

from torch import fx

from .._errors import BudgetError
from .._model import Plan, Problem
from . import _collectives
from ._errors import UnsupportedGraphError
from ._private import resolve_group, store_of

# How long a rank waits for the plans of the others, whose search may take longer than its own.
SECONDS = 300.0


class Agreement:
    """The comparison of one plan. nodes: of the graph. Without collectives, and where ranks are simulated, it does nothing."""

    def __init__(self, nodes: Sequence[fx.Node], seconds: Optional[float] = None) -> None:
        self.seconds = SECONDS if seconds is None else seconds
        self.rounds: List[Tuple[str, Any, int]] = []  # the name of a group, the group, and its round
        for name in _collectives.groups(list(nodes)):
            from torch.distributed import get_backend
            group = resolve_group(name)
            if group.size() > 1 and get_backend(group) != "fake":
                # The store counts the comparisons of each rank, so that each has keys of its own.
                self.rounds.append((name, group, store_of(group).add(f"llmmem/rounds/{group.rank()}", 1)))

    def refuse(self, error: BudgetError) -> None:
        """Tells the other ranks that this one has no plan."""
        self._publish({"refused": str(error)})

    def compare(self, facts: Dict[str, str]) -> None:
        """Raises BudgetError where another rank has no plan, and UnsupportedGraphError where one planned something else, with the first
        of the facts that differs."""
        self._publish(facts)
        for name, group, number in self.rounds:
            for rank in range(group.size()):
                if rank != group.rank():
                    self._compare(facts, name, group, number, rank)

    def _publish(self, facts: Dict[str, str]) -> None:
        for _, group, number in self.rounds:
            store_of(group).set(_key(number, group.rank()), json.dumps(facts))

    def _compare(self, facts: Dict[str, str], name: str, group: Any, number: int, rank: int) -> None:
        store, key = store_of(group), _key(number, rank)
        try:
            store.wait([key], datetime.timedelta(seconds=self.seconds))
        except RuntimeError:
            raise UnsupportedGraphError(
                f"llmmem.torch: rank {rank} of the group {name!r} has not planned this graph within {self.seconds:g} s, which has "
                "collectives of that group: all of its ranks must compile the same model in the same order, for the same sizes") from None
        other = json.loads(store.get(key))
        if "refused" in other:
            raise BudgetError(f"llmmem.torch: rank {rank} of the group {name!r} has no plan: {other['refused']}", 0, None, 0)
        for fact, own in facts.items():
            if other.get(fact) != own:
                raise UnsupportedGraphError(
                    f"llmmem.torch: ranks of the group {name!r} must plan a graph with its collectives alike, but their {fact} differ: "
                    f"{own} on rank {group.rank()}, {other.get(fact)} on rank {rank}")


def facts_of(budget: Any, problem: Problem, plan: Plan, nodes: Sequence[fx.Node]) -> Dict[str, str]:
    """Returns what ranks must have in common, most telling first."""
    transfers = [f"{node.target}{tuple(node.meta['val'].shape)}" for node in nodes if _collectives.is_start(node)]
    ops = [(list(op.reads), list(op.writes), op.recompute) for op in problem.ops]
    return {"budgets": "none" if budget is None else str(budget),
            "collectives": f"{len(transfers)} ({_digest(transfers)})",
            "kernels": f"{len(nodes)} ({_digest(ops)})",
            "sizes of tensors": _digest([value.bytes for value in problem.values]),
            "prices of kernels": _digest([(op.cost, op.workspace) for op in problem.ops]),
            "plans": f"{len(plan.steps)} steps ({_digest(list(plan.steps))})"}


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:12]


def _key(number: int, rank: int) -> str:
    return f"llmmem/{number}/{rank}"
