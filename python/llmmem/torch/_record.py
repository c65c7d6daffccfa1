"""What a step holds while PyTorch itself runs: every op between the planned calls, with the storages that are alive after it."""

from typing import Any, Dict, FrozenSet, Hashable, List, Optional

import torch
from torch import fx

from ._costs import signature
from ._live import Live, Numbers, is_question, tensors_in
from ._measure import measure, node_of
from ._private import FakeTensor, FakeTensorMode, TorchDispatchMode, pytree
from ._step import Moment
from ._steps import Steps


class Recorder(TorchDispatchMode):
    """Counts the bytes that are alive after each op outside of planned calls, with the op's workspace. It is entered around steps whose
    graphs are compiled already; `measure_workspaces` and `clear` come between two of them."""

    supports_higher_order_operators = True

    def __init__(self, steps: Steps) -> None:
        super().__init__()
        self.steps, self.live, self.numbers = steps, Live(), Numbers()
        self.nodes: Dict[Hashable, fx.Node] = {}
        self.workspaces: Dict[Hashable, int] = {}
        self.is_outside, self.most = True, 0

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        return True

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Optional[Dict[str, Any]] = None) -> Any:
        if is_question(func):
            return func(*args, **(kwargs or {}))
        self.live.add(self.numbers.take())
        results = func(*args, **(kwargs or {}))
        if self.is_outside:
            self.live.add(tensors_in(pytree.tree_leaves((args, kwargs, results))))
            self.numbers.note(args, results)
            node = node_of(func, args, kwargs or {}, lambda operand: operand)
            node.meta["val"] = results
            key = signature(node)
            if key in self.workspaces or key in self.nodes:
                _release(node)
            else:
                self.nodes[key] = node
                _drop_bytes(node)
            self.most = max(self.most, self.steps.base() + self.workspaces.get(key, 0))
        return results

    def forget(self, storages: bool) -> None:
        self.numbers.take()
        self._release_nodes()
        if storages:
            self.live = Live()

    def open(self) -> None:
        self.is_outside, self.most = True, self.steps.base()

    def close(self, waiting: FrozenSet[int]) -> List[Moment]:
        self.is_outside = False
        self.live.add(self.numbers.take())
        return [Moment(max(self.most, self.steps.base()), waiting, None, False, self.steps.seen())]

    def measure_workspaces(self) -> int:
        """Runs each kind of op that was met once. Returns of how many it is not known what they take while they run."""
        found = measure(self.nodes, times=False)
        unknown = [key for key in self.nodes if key not in found]
        self.workspaces.update({key: workspace for key, (_, workspace) in found.items()})
        self.workspaces.update(dict.fromkeys(unknown, 0))
        self._release_nodes()
        return len(unknown)

    def _release_nodes(self) -> None:
        for node in self.nodes.values():
            _release(node)
        self.nodes.clear()


def _drop_bytes(node: fx.Node) -> None:
    """Puts tensors without bytes in place of real ones, so that nothing is held to be measured later."""
    fakes = FakeTensorMode()
    for other in node.graph.nodes:
        other.meta["val"] = pytree.tree_map_only(
            torch.Tensor, lambda tensor: tensor if isinstance(tensor, FakeTensor) else fakes.from_tensor(tensor), other.meta["val"])


def _release(node: fx.Node) -> None:
    """Drops the tensors, which a node and its graph, a cycle of references, would hold until Python collects it."""
    for other in node.graph.nodes:
        other.meta.clear()
