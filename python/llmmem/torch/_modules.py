"""A plan as two graph modules: the joint graph in the planned order, cut into forward and backward."""

import operator
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

import torch
from torch import fx

from ._collectives import is_passed_on
from ._host_memory import HostMemory, like_storage
from ._host_plan import HostStep, Layout
from ._private import OrderedSet, extract_modules, is_primal, is_tangent, make_graph_module
from ._program import Kernel, Program

FORWARD, BACKWARD = "must_be_in_forward", "must_be_in_backward"


def write_modules(program: Program, layout: Layout, static_inputs: Sequence[int],
                  memory: Optional[HostMemory] = None) -> Tuple[fx.GraphModule, fx.GraphModule]:
    """Returns forward and backward as `partition_fn` must.

    layout: the plan's steps; the ones before the boundary are the forward. static_inputs: numbers of the primals that stay at their
    addresses. memory: of the host, where values are copied there. What the backward reads of the forward's values becomes saved tensors. AOTAutograd's
    own function cuts the graph, so that outputs, sizes and version checks come out in the order that its runtime expects.
    """
    boundary = program.boundary
    cut = layout.steps.index(boundary)
    steps: List[Union[Kernel, HostStep]] = [layout.host_step(step) or program.kernels[step - (step > boundary)]
                                            for step in layout.steps if step != boundary]
    writer = _Writer(program, memory)
    writer.write(steps[:cut], FORWARD)
    results = [writer.resolve(node) for node in program.forward_outputs]
    writer.begin_backward()
    writer.write(steps[cut:], BACKWARD)
    gradients = [writer.resolve(node) for node in program.backward_outputs]
    joint = writer.finish(results, gradients)
    primals = [node for node in joint.graph.find_nodes(op="placeholder") if is_primal(node)]
    modules = extract_modules(joint, writer.saved, writer.saved_numbers, writer.saved_objects, num_fwd_outputs=len(results),
                              static_inputs=OrderedSet(primals[number] for number in static_inputs))
    for module in modules:
        _restore_tags(module)
    return modules


def tensors_that_may_leave(program: Program) -> List[int]:
    """Returns the storages that a plan may copy to a host: those of the forward that one kernel makes, in one tensor, and that no caller
    holds."""
    held = {number for node in program.forward_outputs if isinstance(node, fx.Node) for number in program.sources(node)}
    held.update(number for kernel in program.kernels for pair in kernel.in_place for number in pair)
    makers = _makers(program)
    return sorted(number for kernel in program.kernels if kernel.is_forward for number in kernel.writes
                  if len(makers.get(number, ())) == 1 and number not in held)


def _makers(program: Program) -> Dict[int, List[fx.Node]]:
    """Returns for each storage the kernel whose one result it has, or the items of the kernel's results that have it."""
    found: Dict[int, List[fx.Node]] = {}
    kernels = {kernel.node for kernel in program.kernels}
    for node in program.module.graph.nodes:
        is_maker = node in kernels or _kernel_of_item(node, program) is not None
        if is_maker and isinstance(node.meta.get("val"), torch.Tensor) and (node, 0) in program.storage_of:
            found.setdefault(program.storage_of[node, 0], []).append(node)
    return found


class _Writer:
    """Writes the new joint graph. `made` maps nodes of the old graph to what stands for them now: a kernel's newest run,
    or an alias of it. on_host: the place of each storage that was copied to the host."""

    def __init__(self, program: Program, memory: Optional[HostMemory] = None) -> None:
        self.program, self.memory = program, memory
        self.makers = _makers(program) if memory is not None else {}
        self.on_host: Dict[int, fx.Node] = {}
        self.graph = fx.Graph()
        self.tag = FORWARD
        self.made: Dict[fx.Node, fx.Node] = {}
        self.aliases: Dict[fx.Node, Tuple[Tuple[fx.Node, ...], fx.Node]] = {}
        self.from_forward: Dict[fx.Node, None] = {}
        self.saved: List[fx.Node] = []
        self.saved_numbers: List[fx.Node] = []
        self.saved_objects: List[fx.Node] = []
        self.primals = set()
        for node in program.module.graph.nodes:
            if node.op in ("placeholder", "get_attr"):
                self.made[node] = self.graph.node_copy(node)
        self.items: Dict[fx.Node, List[fx.Node]] = {}
        for node in program.module.graph.nodes:
            kernel = _kernel_of_item(node, program)
            if kernel is not None:
                self.items.setdefault(kernel, []).append(node)

    def write(self, steps: Sequence[Union[Kernel, HostStep]], tag: str) -> None:
        self.tag = tag
        for kernel in steps:
            if isinstance(kernel, HostStep):
                self._copy_between(kernel)
                continue
            node = self._copy(kernel.node)
            self.made[kernel.node] = node
            # Items are taken out at once, since the tuple holds all of them until the last is taken out.
            for item in self.items.get(kernel.node, ()):
                self.made[item] = self._copy(item)

    def begin_backward(self) -> None:
        """Makes the forward's values saved tensors where they are read from now on."""
        self.tag = BACKWARD
        self.aliases.clear()
        self.from_forward = {node: None for node in [*self.made.values(), *self.on_host.values()]
                             if node.op != "get_attr" and not is_tangent(node)}

    def resolve(self, node: Optional[fx.Node]) -> Any:
        """Returns what stands for a node of the old graph; an alias is made here."""
        if not isinstance(node, fx.Node):
            return node
        if node in self.made:
            return self._read(self.made[node])
        operands = tuple(self.resolve(source) for source in node.all_input_nodes)
        known = self.aliases.get(node)
        if known is None or known[0] != operands:
            known = self.aliases[node] = operands, self._copy(node)
        return known[1]

    def _read(self, found: fx.Node) -> fx.Node:
        """Makes what the backward reads of the forward a saved tensor."""
        if found in self.from_forward:
            numbers = isinstance(found.meta.get("val"), (torch.SymInt, torch.SymFloat, torch.SymBool))
            saved = self.saved_numbers if numbers else self.saved_objects if is_passed_on(found) else self.saved
            if found not in saved:
                saved.append(found)
        return found

    def _copy_between(self, step: HostStep) -> None:
        """Writes the start or the end of a copy. Each gives on what it copied to, so that its readers come after it."""
        number, memory = step.copy.value, self.memory
        assert memory is not None
        (maker,) = self.makers[number]
        value = maker.meta["val"]
        if step.is_end:
            operands = [self._read(self.made[maker]), self._read(self.on_host[number])]
            target = memory.end_to_host if step.copy.is_to_host else memory.end_to_device
            operands = operands[::-1] if step.copy.is_to_host else operands
        else:
            operands = [self._read(self.made[maker])] if step.copy.is_to_host else [self._read(self.on_host[number]), value.device]
            target = memory.start_to_host if step.copy.is_to_host else memory.start_to_device
        node = self.graph.call_function(target, tuple(operands))
        node.meta["val"] = like_storage(value, "cpu" if step.copy.is_to_host else value.device)
        node.meta["partitioner_tag"], node.meta["llmmem_tag"] = self.tag, None
        if step.copy.is_to_host:
            self.on_host[number] = node
        else:
            self.made[maker] = node

    def _copy(self, node: fx.Node) -> fx.Node:
        copy = self.graph.node_copy(node, self.resolve)
        copy.meta["llmmem_tag"] = copy.meta.get("partitioner_tag")
        copy.meta["partitioner_tag"] = self.tag
        return copy

    def finish(self, results: List[Any], gradients: List[Any]) -> fx.GraphModule:
        old = next(iter(self.program.module.graph.find_nodes(op="output")))
        output = self.graph.output((*results, *gradients))
        output.meta.update(old.meta)
        # No code is made of the joint graph itself.
        return make_graph_module(self.program.module, self.graph)


def copy_graph(graph: fx.Graph) -> fx.Graph:
    """Returns a copy of the graph with nodes of its own and the same metadata."""
    copy = fx.Graph()
    values: Dict[fx.Node, fx.Node] = {}
    output = copy.graph_copy(graph, values)
    old = next(iter(graph.find_nodes(op="output")))
    copy.output(output).meta.update(old.meta)
    return copy


def _kernel_of_item(node: fx.Node, program: Program) -> Optional[fx.Node]:
    """Returns the kernel of whose tuple, or of a tuple in that, a node is an item; None where it is none."""
    if node.target is not operator.getitem or node not in program.aliases:
        return None
    source = node.args[0]
    is_kernel = source.op == "call_function" and source not in program.aliases
    return source if is_kernel else _kernel_of_item(source, program)


def _restore_tags(module: fx.GraphModule) -> None:
    """Removes the tags that only the cut needed."""
    for node in module.graph.nodes:
        if "llmmem_tag" in node.meta:
            tag = node.meta.pop("llmmem_tag")
            node.meta.pop("partitioner_tag", None)
            if tag is not None:
                node.meta["partitioner_tag"] = tag
