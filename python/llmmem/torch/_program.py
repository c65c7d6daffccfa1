"""A joint graph of forward and backward as kernels that read and write storages.

A *kernel* is a node that takes bytes of its own when it runs. An *alias* takes none: a view, an item of a tuple, a
number made of sizes. Aliases are not planned; each reader gets its own copy of them, just before it. Storages are those
of the fake tensors that tracing left in the graph, so two nodes that alias are one storage here as they are at run time.
"""

import operator
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Sequence, Set, Tuple

import torch
from torch import fx

from ._collectives import (GLOO_WORKERS, PASSED_ON, class_name, is_collective, is_passed_on, is_start, is_wait, keeps_operand,
                           knows_workspace, refusal, staging)
from . import _higher_order as higher_order
from ._errors import UnsupportedGraphError
from ._private import (READS_OF_A_NUMBER, HigherOrderOperator, OpOverload, changed_inputs, is_mutable, is_rng_op, is_seed_or_offset,
                       is_tangent, must_be_in_forward, overwrites_input, pytree, storage_key, traced_in_forward)

aten = torch.ops.aten


@dataclass
class Storage:
    """A storage. bytes: its whole size, at the sizes' hints. resident: whether it is a parameter, buffer or input of the caller.
    node: the node whose value it first is."""

    bytes: int
    node: fx.Node
    resident: bool = False


@dataclass
class Kernel:
    """A kernel. reads, writes: numbers of storages, without repetition. may_recompute: whether running it twice changes nothing.
    is_ordered: whether it has an effect or draws random numbers; all such kernels keep their order. in_place: pairs of a written storage
    and the read one whose bytes it has."""

    node: fx.Node
    reads: List[int]
    writes: List[int]
    is_forward: bool
    may_recompute: bool = True
    is_ordered: bool = False
    in_place: List[Tuple[int, int]] = field(default_factory=list)


@dataclass
class Program:
    """What the planner needs to know of a joint graph.

    kernels: the forward's, then the backward's, each in the order of the graph. forward_outputs, backward_outputs: nodes, or None where
    there is no gradient. tangents: numbers of the storages that the caller's backward hands in, one for each. mutated: of those that the
    forward overwrites. copied: of results that AOTAutograd's runtime copies into inputs after the forward, and drops. is_part: whether it is
    a part of a step, which counts tangents until its backward has returned. symbolic_bytes: of the storages whose size is no number; the
    plan is made at their hints. Many fields: they are all that is read of a graph.
    """

    module: fx.GraphModule
    storages: List[Storage] = field(default_factory=list)
    kernels: List[Kernel] = field(default_factory=list)
    storage_of: Dict[Tuple[fx.Node, int], int] = field(default_factory=dict)
    aliases: Set[fx.Node] = field(default_factory=set)
    forward_outputs: List[Optional[fx.Node]] = field(default_factory=list)
    backward_outputs: List[Optional[fx.Node]] = field(default_factory=list)
    tangents: List[int] = field(default_factory=list)
    mutated: Set[int] = field(default_factory=set)
    copied: Set[int] = field(default_factory=set)
    is_part: bool = False
    symbolic: bool = False
    symbolic_bytes: List[torch.SymInt] = field(default_factory=list)

    @property
    def boundary(self) -> int:
        """Returns the number of the forward's kernels."""
        return sum(kernel.is_forward for kernel in self.kernels)

    @property
    def lingering(self) -> int:
        """Returns the bytes that transfers may hold longer than their waits."""
        transfers = [kernel for kernel in self.kernels if is_start(kernel.node) and knows_workspace(kernel.node)]
        return GLOO_WORKERS * max((sum(
            self.storages[number].bytes for number in {*kernel.writes, *(kernel.reads if keeps_operand(kernel.node) else ())}
            if not self.storages[number].resident) for kernel in transfers), default=0)

    def sources(self, node: fx.Node) -> List[int]:
        """Returns the storages whose bytes hold `node`'s value."""
        return [self.storage_of[node, index] for index in range(len(tensors_of(node))) if (node, index) in self.storage_of]


def tensors_of(node: fx.Node) -> List[Optional[torch.Tensor]]:
    """Returns the tensors of the node's value, those of tuples and dictionaries in order, with None for what is no tensor."""
    value = node.meta.get("val")
    leaves = pytree.tree_leaves(value) if isinstance(value, (tuple, list, dict)) else [value]
    return [leaf if isinstance(leaf, torch.Tensor) else None for leaf in leaves]


def hint(size: Any) -> int:
    """Returns a number, or the hint of a symbol."""
    return int(size.node.hint) if isinstance(size, torch.SymInt) else int(size)


def storage_bytes(tensor: torch.Tensor) -> int:
    """Returns the bytes of the whole storage, at the hints."""
    return hint(tensor.untyped_storage().nbytes())


def made_bytes(node: fx.Node, multiple: int = 1) -> int:
    """Returns the bytes of the storages that a node makes, each rounded up to a multiple of `multiple`. What it gives on of its operands is
    not made by it."""
    given = {storage_key(tensor) for source in node.all_input_nodes for tensor in tensors_of(source) if tensor is not None}
    made = {storage_key(tensor): -(-storage_bytes(tensor) // multiple) * multiple for tensor in tensors_of(node) if tensor is not None}
    return sum(size for key, size in made.items() if key not in given)


def read(module: fx.GraphModule, num_forward_outputs: int) -> Program:
    """Takes a joint graph apart. Raises UnsupportedGraphError, with the node, for what cannot be planned."""
    return _Reader(module, num_forward_outputs).run()


def _refuse(node: fx.Node, why: str) -> UnsupportedGraphError:
    trace = (node.meta.get("stack_trace") or "").strip().split("\n")
    place = f"\n  at {trace[-2].strip()}: {trace[-1].strip()}" if len(trace) > 1 else ""
    return UnsupportedGraphError(f"llmmem.torch: {node.name} ({node.target}): {why}{place}")


def _is_number(node: fx.Node) -> bool:
    return isinstance(node.meta.get("val"), (torch.SymInt, torch.SymFloat, torch.SymBool, int, float, bool))


class _Reader:
    def __init__(self, module: fx.GraphModule, num_forward_outputs: int) -> None:
        self.program = Program(module)
        outputs = next(iter(module.graph.find_nodes(op="output"))).args[0]
        flat = list(pytree.arg_tree_leaves(outputs))
        self.program.forward_outputs = flat[:num_forward_outputs]
        self.program.backward_outputs = flat[num_forward_outputs:]
        # Fake storages by identity. The graph holds them, so no identity is reused. One identity has several storages where tracing made a
        # tangent of the storage of an input or of another tangent; when it runs, each tangent is a tensor of its own.
        self.numbers_of: Dict[int, List[int]] = {}
        self.reads_of: Dict[fx.Node, List[int]] = {}
        self.overwrites_input = overwrites_input(module.graph, num_forward_outputs)
        self.changed_inputs = changed_inputs(module.graph, num_forward_outputs)

    def run(self) -> Program:
        program = self.program
        if not any(isinstance(node, fx.Node) for node in program.backward_outputs):
            raise UnsupportedGraphError(
                "llmmem.torch: the partitioner was called on a graph without a backward; inference graphs have nothing to "
                "recompute: call the model with gradients enabled, or compile it with another backend")
        forward = self._forward_nodes()
        for node in program.module.graph.nodes:
            if node.op == "placeholder":
                self._placeholder(node)
            elif node.op == "get_attr":
                self._attribute(node)
            elif node.op == "call_function":
                self._call(node, node in forward)
            elif node.op != "output":
                raise _refuse(node, f"is a {node.op}; expected a graph of functions, as AOTAutograd makes it")
        self._guard_mutations()
        program.copied = self._copied()
        program.kernels.sort(key=lambda kernel: not kernel.is_forward)
        return program

    def _copied(self) -> Set[int]:
        """Returns the storages that are results for AOTAutograd's runtime alone."""
        copied: Set[int] = set()
        given: Set[int] = set()
        for node, is_copy in zip(self.program.forward_outputs, self.overwrites_input):
            if isinstance(node, fx.Node):
                (copied if is_copy else given).update(self.program.sources(node))
        return copied - given

    def _forward_nodes(self) -> Set[fx.Node]:
        """Returns what the forward's results depend on, and what tracing ran in the forward."""
        found: Set[fx.Node] = set()
        pending = [node for node in self.program.forward_outputs if isinstance(node, fx.Node)]
        while pending:
            node = pending.pop()
            if node not in found:
                found.add(node)
                pending.extend(node.all_input_nodes)
        return found | traced_in_forward(self.program.module.graph)

    def _storage(self, node: fx.Node, index: int, tensor: torch.Tensor, resident: bool = False) -> int:
        try:
            # Reading a symbolic size adds no guard: only its hint is taken.
            key, size = storage_key(tensor), tensor.untyped_storage().nbytes()
        except (NotImplementedError, RuntimeError) as error:
            raise _refuse(node, f"is a tensor of layout {tensor.layout} without one storage ({error})") from None
        number = self._number_of(node, key)
        if number is None:
            number = self._new_storage(node, key, size, resident)
        self.program.storage_of[node, index] = number
        return number

    def _new_storage(self, node: fx.Node, key: int, size: Any, resident: bool) -> int:
        if isinstance(size, torch.SymInt) and size.node.hint is None:
            raise _refuse(node, "gives a tensor whose size depends on data, so that its bytes are not known: move it outside of the compiled "
                                "model")
        number = len(self.program.storages)
        self.numbers_of.setdefault(key, []).append(number)
        self.program.storages.append(Storage(hint(size), node, resident))
        if not isinstance(size, int):
            self.program.symbolic = True
            self.program.symbolic_bytes.append(size)
        return number

    def _number_of(self, node: fx.Node, key: int) -> Optional[int]:
        """Returns the storage of that identity; if there are several, the one that `node` reads."""
        numbers = self.numbers_of.get(key, [])
        if len(numbers) > 1:
            read = {number for source in node.all_input_nodes for number in self.reads_of[source]}
            return next((number for number in numbers if number in read), numbers[0])
        return numbers[0] if numbers else None

    def _tangent(self, node: fx.Node, tensor: torch.Tensor) -> int:
        key = _storage_key(tensor)
        if key == -1 or key not in self.numbers_of:
            number = self._storage(node, 0, tensor)
        else:
            # The whole storage is the input's; autograd hands in the elements alone.
            number = self._new_storage(node, key, tensor.numel() * tensor.itemsize, False)
            self.program.storage_of[node, 0] = number
        self.program.tangents.append(number)
        return number

    def _placeholder(self, node: fx.Node) -> None:
        value = node.meta.get("val")
        if isinstance(value, torch.Tensor):
            number = self._tangent(node, value) if is_tangent(node) else self._storage(node, 0, value, resident=True)
            if node in self.changed_inputs:
                self.program.mutated.add(number)
            self.reads_of[node] = [number]
        elif _is_number(node) or value is None:
            self.program.symbolic |= isinstance(value, torch.SymInt)
            self.reads_of[node] = []
        elif is_passed_on(node):
            self.reads_of[node] = []
        else:
            raise _refuse(node, f"is an input of class {class_name(value)}, which is not planned: of the inputs that are no tensors, numbers, "
                                f"{' and '.join(PASSED_ON)} are; effect tokens, generators, backward hooks and custom objects are not: "
                                "leave what needs this one outside of the compiled model by a graph break")
        if is_seed_or_offset(node):
            raise _refuse(node, "functionalized random numbers are not planned; set "
                                "torch._functorch.config.functionalize_rng_ops to False")

    def _attribute(self, node: fx.Node) -> None:
        value = higher_order.value_of(node)
        if is_passed_on(node) or isinstance(value, fx.GraphModule):
            self.reads_of[node] = []
            return
        if not isinstance(value, torch.Tensor):
            raise _refuse(node, f"is a {class_name(value)}; of the attributes that are no tensors, graphs and "
                                f"{' and '.join(PASSED_ON)} are planned: leave what needs this one outside of the compiled model by a "
                                "graph break")
        self.reads_of[node] = [self._storage(node, 0, value, resident=True)]

    def _call(self, node: fx.Node, is_forward: bool) -> None:
        operands = _unique(number for source in node.all_input_nodes for number in self.reads_of[source])
        if node.target is operator.getitem:
            self._item(node)
            return
        if is_wait(node):
            self._wait(node, is_forward)
            return
        self._check_target(node)
        if is_passed_on(node):
            self.program.aliases.add(node)
            self.reads_of[node] = operands
            return
        if _is_number(node):
            if node.all_input_nodes and not _is_pure_number(node):
                raise _refuse(node, "reads a number out of a tensor, so that later sizes depend on data; move it outside of "
                                    "the compiled model")
            self.program.aliases.add(node)
            self.reads_of[node] = operands
            return
        tensors = tensors_of(node)
        aliases = [tensor is not None and _storage_key(tensor) in self.numbers_of for tensor in tensors]
        is_copy = node.target is aten.copy_.default
        if any(aliases) and not is_copy:
            self._view(node, operands, aliases)
            return
        writes = [] if is_copy else _unique(
            self._storage(node, index, tensor) for index, tensor in enumerate(tensors) if tensor is not None)
        if is_copy:
            self._copy_into(node)
        ordered = is_copy or not writes or _runs_once(node)
        policy = node.meta.get("recompute")
        must_save = policy == torch.utils.checkpoint.CheckpointPolicy.MUST_SAVE
        if is_start(node) and (size := staging(node)):
            self.program.storages.append(Storage(size, node))
            writes = [*writes, len(self.program.storages) - 1]
        self.program.kernels.append(Kernel(node, operands, writes, is_forward, not (ordered or must_save), ordered))
        self.reads_of[node] = self.reads_of[node.args[0]] if is_copy else writes

    def _wait(self, node: fx.Node, is_forward: bool) -> None:
        """Makes the wait of a transfer a kernel, so that a repeated start has a wait of its own. It gives the start's buffer on."""
        refused = refusal(node)
        if refused:
            raise _refuse(node, refused)
        value = tensors_of(node)[0]
        assert value is not None
        number = self.reads_of[node.args[0]][0]
        started = next((kernel for kernel in self.program.kernels if number in kernel.writes), None)
        operands = [] if started is None or not is_start(started.node) else [
            *started.writes, *(started.reads if keeps_operand(started.node) else ())]
        written = self._new_storage(node, _storage_key(value), value.untyped_storage().nbytes(), False)
        self.program.storage_of[node, 0] = written
        self.program.kernels.append(Kernel(node, _unique([number, *operands]), [written], is_forward, in_place=[(written, number)]))
        self.reads_of[node] = [written]

    def _item(self, node: fx.Node) -> None:
        source, key = node.args
        first = _first_leaf(source.meta["val"], key)
        numbers: List[int] = []
        for place, tensor in enumerate(tensors_of(node)):
            number = self.program.storage_of.get((source, first + place))
            if number is None and tensor is not None:
                number = self._number_of(node, _storage_key(tensor))
            if number is not None:
                self.program.storage_of[node, place] = number
                numbers.append(number)
            elif tensor is not None or _is_number(node):
                raise _refuse(node, "is an item of a tuple whose storage is not known")
        self.program.aliases.add(node)
        self.reads_of[node] = _unique(numbers)

    def _view(self, node: fx.Node, operands: Sequence[int], aliases: Sequence[bool]) -> None:
        if not all(aliases):
            raise _refuse(node, "gives both a view of an operand and a tensor of its own")
        if node.is_impure():
            raise _refuse(node, "gives its operand on and has an effect")
        for index, tensor in enumerate(tensors_of(node)):
            self._storage(node, index, tensor)
        self.program.aliases.add(node)
        self.reads_of[node] = _unique([*self.program.sources(node), *operands])

    def _copy_into(self, node: fx.Node) -> None:
        target = node.args[0]
        if target.op != "placeholder":
            raise _refuse(node, "overwrites a value that is no input; expected a graph that went through functionalization")
        if not must_be_in_forward(node):
            raise _refuse(node, "overwrites an input in the backward; such graphs are not planned")
        self.program.mutated.add(self.program.storage_of[target, 0])
        self._storage(node, 0, tensors_of(target)[0])

    def _check_target(self, node: fx.Node) -> None:
        target = node.target
        if not isinstance(target, (OpOverload, HigherOrderOperator)):
            return
        refused = higher_order.refusal(node) if higher_order.is_higher_order(node) else refusal(node) if is_collective(node) else None
        if refused:
            raise _refuse(node, refused)
        if isinstance(target, OpOverload) and is_mutable(target) and target is not aten.copy_.default:
            raise _refuse(node, "overwrites its operand; only the copies into inputs that functionalization leaves are planned")

    def _guard_mutations(self) -> None:
        """Refuses a backward that reads an input which the forward overwrites, and lets such readers run once."""
        program = self.program
        for kernel in program.kernels:
            if program.mutated.isdisjoint(kernel.reads):
                continue
            kernel.may_recompute = False
            if not kernel.is_forward:
                number = next(number for number in kernel.reads if number in program.mutated)
                raise _refuse(kernel.node, f"the backward reads {program.storages[number].node.name}, an input that the "
                                           "forward overwrites")


def _storage_key(tensor: torch.Tensor) -> int:
    try:
        return storage_key(tensor)
    except (NotImplementedError, RuntimeError):
        return -1


def _first_leaf(value: Any, key: Any) -> int:
    """Returns the number of the first leaf of an item of a tuple or dictionary among the leaves of the whole."""
    items = list(value.items()) if isinstance(value, dict) else list(enumerate(value))
    before = items[:[name for name, _ in items].index(key)]
    return sum(len(pytree.tree_leaves(item)) for _, item in before)


def _runs_once(node: fx.Node) -> bool:
    """Returns whether a kernel has an effect or draws random numbers. Starts of transfers repeat with their waits."""
    if higher_order.is_higher_order(node):
        return higher_order.runs_once(node)
    return is_rng_op(node) or node.is_impure() and not is_start(node)


def _is_pure_number(node: fx.Node) -> bool:
    """Returns whether the number is computed from sizes, not from data."""
    return node.target not in READS_OF_A_NUMBER and not (
        getattr(node.target, "tags", None) and torch.Tag.data_dependent_output in node.target.tags)


def _unique(numbers: Any) -> List[int]:
    return list(dict.fromkeys(numbers))
