"""Nested compile regions (`torch.compiler.nested_compile_region`), put back in place of each of their calls.

PyTorch cuts a region into forward and backward by itself, before a plan is made, with the same saved tensors for all calls. In place, each
call is planned like other kernels: what is saved of one may be recomputed in another.
"""

import operator
from typing import Dict, List

import torch
from torch import fx


def inline_regions(module: fx.GraphModule) -> None:
    """Changes a graph of Dynamo, and the graphs in it, so that no call of a region is left."""
    graph, region = module.graph, torch.ops.higher_order.invoke_subgraph
    for _, child in list(module.named_children()):
        if isinstance(child, fx.GraphModule):
            inline_regions(child)
    calls = graph.find_nodes(op="call_function", target=region)
    for call in calls:
        _inline(module, call)
    if calls:
        graph.lint()
        module.recompile()


def _inline(module: fx.GraphModule, call: fx.Node) -> None:
    inner = module.get_submodule(call.args[0].target)  # type: ignore[union-attr, arg-type]
    assert isinstance(inner, fx.GraphModule)
    made: Dict[fx.Node, fx.Node] = dict(zip(inner.graph.find_nodes(op="placeholder"), call.args[2:]))  # type: ignore[arg-type]
    with module.graph.inserting_before(call):
        for node in inner.graph.nodes:
            if node.op == "get_attr":
                made[node] = module.graph.get_attr(_adopt(module, inner, str(node.target)))
                made[node].meta.update(node.meta)
            elif node.op not in ("placeholder", "output"):
                made[node] = module.graph.node_copy(node, made.__getitem__)
    results = fx.node.map_arg(next(iter(inner.graph.find_nodes(op="output"))).args[0], made.__getitem__)
    for item in list(call.users):
        assert item.target is operator.getitem
        item.replace_all_uses_with(results[item.args[1]])
        module.graph.erase_node(item)
    module.graph.erase_node(call)


def _adopt(module: fx.GraphModule, inner: fx.GraphModule, target: str) -> str:
    """Gives an attribute of a region's graph to the outer graph, and returns its name there."""
    names: List[str] = target.split(".")
    value = operator.attrgetter(target)(inner)
    number = 0
    while hasattr(module, name := f"{'_'.join(names)}_of_region_{number}"):
        if getattr(module, name) is value:
            return name
        number += 1
    setattr(module, name, value)
    return name
