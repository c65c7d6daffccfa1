"""Which backwards must come first: autograd runs that of a call only after those of the calls that read its results."""

from typing import Any, Dict, FrozenSet, Iterable, List, Set


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
