"""What autograd's graph says of calls: which backwards must come first, since autograd runs that of a call only after those of the calls that
read its results, and which parameters are trained before a call, outside of all others."""

from typing import Any, Dict, FrozenSet, Iterable, List, Set

from torch import nn
from torch.autograd.function import BackwardCFunction


def calls_after(nodes: Iterable[Any], made: Dict[Any, int]) -> FrozenSet[int]:
    """Returns the numbers of the calls whose backward cannot have run when that of `nodes` does, since gradients reach them through it.

    nodes: of autograd. made: the number of each call by the nodes that it made. A backward that frees what it read, as each does unless its
    graph is retained, does not run a second time.
    """
    found: List[int] = []
    pending: List[Any] = [node for node in nodes if node is not None]
    seen: Set[Any] = set()
    while pending:
        node = pending.pop()
        if node in seen:
            continue
        seen.add(node)
        if node in made:
            found.append(made[node])
        pending += [source for source, _ in node.next_functions if source is not None]
    return frozenset(found)


def parameters_before(nodes: Iterable[Any]) -> List[nn.Parameter]:
    """Returns the parameters that gradients reach from `nodes` of autograd without a compiled call in between. A custom function
    is taken for a call."""
    found: List[nn.Parameter] = []
    pending: List[Any] = [node for node in nodes if node is not None]
    seen: Set[Any] = set()
    while pending:
        node = pending.pop()
        if node in seen or isinstance(node, BackwardCFunction):
            continue
        seen.add(node)
        leaf = getattr(node, "variable", None)
        if isinstance(leaf, nn.Parameter):
            found.append(leaf)
        pending += [source for source, _ in node.next_functions if source is not None]
    return found
