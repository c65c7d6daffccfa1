"""Which storages are alive: weak references to those that were seen, so that nothing has to announce that one was dropped."""

import weakref
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Optional, Sequence, Tuple

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from ._private import note_hooks, outermost_call, pytree, saved_scalars, saved_tensors, storage_key

if TYPE_CHECKING:
    from ._host_memory import HostMemory


class Storage:
    """A storage that may be freed at any time. key: its identity while it is alive. bytes: its size. gradient: the bytes of
    the gradient that a parameter may have."""

    def __init__(self, tensor: torch.Tensor) -> None:
        storage = tensor.untyped_storage()
        self.reference, self.key, self.bytes = StorageWeakRef(storage), storage_key(tensor), storage.nbytes()
        self.gradient = tensor.numel() * tensor.itemsize if tensor.is_leaf and tensor.requires_grad else 0

    def is_alive(self) -> bool:
        return not self.reference.expired()


class Live:
    """The storages that were seen and are alive, by their identity."""

    def __init__(self) -> None:
        self.storages: Dict[int, Storage] = {}

    def add(self, tensors: Iterable[torch.Tensor]) -> Dict[int, Storage]:
        """Remembers the tensors' storages, and returns them."""
        found: Dict[int, Storage] = {}
        for tensor in tensors:
            key = key_of(tensor)
            known = self.storages.get(key)
            # An identity is used again once its storage was freed.
            if known is None or not known.is_alive():
                known = self.storages[key] = Storage(tensor)
            found[key] = known
        return found

    def has(self, tensor: torch.Tensor) -> bool:
        known = self.storages.get(key_of(tensor))
        return known is not None and known.is_alive()

    def bytes_without(self, private: Iterable[Storage]) -> int:
        """Returns the bytes of all that is alive but for `private`, and forgets what is not alive."""
        self.storages = {key: storage for key, storage in self.storages.items() if storage.is_alive()}
        left_out = {storage.key for storage in private if storage.is_alive()}
        return sum(storage.bytes for key, storage in self.storages.items() if key not in left_out)


class CalledModule:
    """What the module that the caller calls holds, whether a graph reads it or not: its parameters and buffers, and the inputs of the call."""

    def __init__(self) -> None:
        self.module: Callable[[], Optional[torch.nn.Module]] = lambda: None
        self.live = Live()

    def look(self, device: str) -> None:
        """Finds the module and its inputs on Python's stack, and remembers what is on a device of this type."""
        module, inputs = outermost_call()
        held = tensors_in(inputs)
        if module is not None and module is not self.module():
            self.module = weakref.ref(module)
            held += tensors_in([*module.parameters(), *module.buffers()])
        self.live.add(tensor for tensor in held if tensor.device.type == device)

    def bytes_without(self, live: Live) -> int:
        """Returns the bytes of all that is alive and not in `live`."""
        return self.live.bytes_without(live.storages.values())


class Numbers:
    """The tensors of one number that autograd saves where an operand is a number of Python. No op returns them, and a mode sees that they are
    there when the next op begins: then the results have their nodes."""

    def __init__(self) -> None:
        self.results: List[torch.Tensor] = []

    def note(self, args: Any, results: Any) -> None:
        """Holds the results of an op that may have saved some, until `take`."""
        if torch.is_grad_enabled() and any(isinstance(argument, (int, float, complex)) for argument in args):
            self.results += tensors_in(pytree.tree_leaves(results))

    def take(self) -> List[torch.Tensor]:
        """Returns those that were saved since the last call."""
        results, self.results = self.results, []
        return [scalar for result in results if result.grad_fn is not None for scalar in saved_scalars(result.grad_fn)]


def is_question(func: Any) -> bool:
    """Returns whether an op runs no kernel: it asks what a tensor is, such as its device, as autograd does while it gives a result its node, or
    it is for a profiler."""
    return getattr(func, "namespace", "") in ("prim", "profiler")


def device_type(tensors: Iterable[torch.Tensor]) -> str:
    """Returns the type of the device on which a call with these arguments runs. On a GPU some of them may be on the CPU."""
    return next((tensor.device.type for tensor in tensors if tensor.device.type != "cpu"), "cpu")


def key_of(tensor: torch.Tensor) -> int:
    return storage_key(tensor)


def tensors_in(values: Iterable[Any]) -> List[torch.Tensor]:
    return [value for value in values if isinstance(value, torch.Tensor) and value.layout == torch.strided]


def results_in(results: Any) -> List[torch.Tensor]:
    return tensors_in(results if isinstance(results, (tuple, list)) else [results])


def node_of(result: torch.Tensor) -> Optional[Any]:
    """Returns the node of the call that made `result`: that of the result, or of the tensor that the result is a view of."""
    node = result.grad_fn
    while node is not None and not isinstance(node, torch.autograd.function.BackwardCFunction):
        node = node.next_functions[0][0] if node.next_functions else None
    return node


def saved_by(node: Optional[Any], memory: "Optional[HostMemory]" = None) -> List[torch.Tensor]:
    """Returns what waits for the node's backward, and was not packed elsewhere or copied to `memory`."""
    found = [] if node is None else tensors_in(saved_tensors(node))
    return found if memory is None else [tensor for tensor in found if not memory.holds(tensor)]


def made_by(arguments: Sequence[Any], results: Any) -> Tuple[List[torch.Tensor], List[Any]]:
    """Returns the results that are no arguments, and the nodes of autograd that they come from."""
    given = {key_of(tensor) for tensor in tensors_in(arguments)}
    made = [tensor for tensor in results_in(results) if key_of(tensor) not in given]
    nodes = {id(node): node for node in map(node_of, made) if node is not None}
    for node in nodes.values():
        note_hooks(node)
    return made, list(nodes.values())
