"""Operators with graphs or effects inside (`torch.ops.higher_order`): which of them are planned, and why the others are refused.

Such an operator is one kernel: its graphs run as it likes, and what they take is its workspace (_measure.py). One that leads to other
bytes for other data is planned for the most that any data can take: the larger branch of a `cond`, a round of a `while_loop` that follows
another.
"""

from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import torch
from torch import fx

from ._errors import UnsupportedGraphError
from ._private import HigherOrderOperator, OpOverload, is_rng_op, pytree, storage_key

aten = torch.ops.aten

# Rounds of a loop that are run to be measured: in the second and later ones the values of the round before are there, too.
ROUNDS = 3

# Operators that run the same kernels whatever the data.
_STEADY = frozenset({
    "associative_scan", "auto_functionalized", "auto_functionalized_v2", "flex_attention", "flex_attention_backward", "flex_gemm",
    "foreach_map", "hints_wrapper", "inline_asm_elementwise", "invoke_quant", "invoke_quant_packed", "map_impl", "out_dtype", "scan",
    "strict_mode", "triton_kernel_wrapper_functional"})
# Those whose data decide which graph runs, or how often.
_CHOOSING = frozenset({"cond", "switch", "while_loop"})
_EFFECT = "with_effects"
_OF_GPUS = frozenset({"inline_asm_elementwise", "triton_kernel_wrapper_functional"})
PLANNED = _STEADY | _CHOOSING | {_EFFECT}

_OUTSIDE = "leave it outside of the compiled model by a graph break (torch._dynamo.disable)"
_TRACED_AWAY = ("stands for a function that AOTAutograd traces through, and was left in the graph: give the model to torch.compile with "
                "llmmem's backend, which gets graphs without it")
_COMPILED = f"runs code that another compiler made, whose bytes are not known: {_OUTSIDE}"
_OF_PARTITION = ("saves or restores the state of random numbers, which only another partitioner adds: give llmmem the joint graph as "
                 "AOTAutograd traced it. It runs kernels that draw random numbers once, so that no state has to be saved")
_EFFECT_LEFT = "has an effect without a token that would keep its order: give llmmem a graph that went through functionalization"

REFUSED: Dict[str, str] = {
    **dict.fromkeys(("_export_tracepoint", "autograd_function_apply", "custom_function_call", "dynamo_bypassing_wrapper", "flat_apply",
                     "register_hook", "tag_activation_checkpoint", "trace_wrapped", "wrap", "wrap_activation_checkpoint",
                     "wrap_with_autocast", "wrap_with_set_grad_enabled"), _TRACED_AWAY),
    **dict.fromkeys(("aoti_call_delegate", "executorch_call_delegate", "inductor_compiled_code", "run_const_graph"), _COMPILED),
    **dict.fromkeys(("graphsafe_run_with_rng_state", "run_and_save_rng_state", "run_with_rng_state"), _OF_PARTITION),
    **dict.fromkeys(("call_torchbind", "print"), _EFFECT_LEFT),
    "control_deps": "orders kernels for Inductor, where it was put after the graph was cut: give llmmem the joint graph",
    "invoke_leaf_function": f"runs Python code that is not traced, whose bytes are not known: make it a torch.library.custom_op, or {_OUTSIDE}",
    "invoke_subgraph": ("is a region that is compiled once for all of its calls (torch.compiler.nested_compile_region), which PyTorch cuts into "
                        "forward and backward before the plan is made: compile with llmmem.torch.backend or llmmem.torch.compile, which plan what "
                        "is inside, in place of a partitioner alone"),
    "local_map_hop": f"runs a function on the shards of DTensors, with transfers that ranks could not compare: {_OUTSIDE}",
    "run_dtensor_rng_op": ("draws random numbers for a DTensor, at offsets that its mesh keeps: draw them for plain tensors, or set the "
                           "dropout of modules whose parameters are DTensors to 0"),
    "triton_kernel_wrapper_mutation": ("overwrites its operands; expected triton_kernel_wrapper_functional, which functionalization makes of "
                                       "it: give llmmem a graph that went through it"),
    "while_loop_stack_output": ("saves the values of as many rounds as the data ask for, so that no bytes can be promised: give a scan a "
                                "fixed number of rounds, or run the loop under torch.no_grad() where it needs no gradient"),
}


def is_higher_order(node: fx.Node) -> bool:
    return isinstance(node.target, HigherOrderOperator)


def refusal(node: fx.Node) -> Optional[str]:
    """Returns why an operator with graphs or effects inside cannot be planned, and what to do instead; None where it can."""
    name = name_of(node)
    if name not in PLANNED:
        return REFUSED.get(name, f"is an operator with graphs or effects inside of which nothing is known: {_OUTSIDE}")
    inner = [name_of(other) for other in nodes_inside(node) if is_higher_order(other)]
    refused = next((other for other in inner if other not in PLANNED), None)
    if refused:
        return f"has {refused} inside, which {REFUSED.get(refused, 'is not known')}"
    chosen = next((other for other in inner if other in _CHOOSING), None)
    if chosen:
        return f"has {chosen} inside, whose data decide what runs there: replace that one by torch.where, or {_OUTSIDE}"
    return None


def refuse_loops(module: fx.GraphModule) -> None:
    """Raises UnsupportedGraphError for a loop of a graph of Dynamo that needs a gradient. AOTAutograd may fail to trace its backward, with
    an error that does not say why."""
    for node in module.graph.find_nodes(op="call_function", target=torch.ops.higher_order.while_loop):
        results = pytree.tree_leaves(node.meta.get("example_value"))
        if any(isinstance(result, torch.Tensor) and result.requires_grad for result in results):
            raise UnsupportedGraphError(f"llmmem.torch: {node.name} (while_loop): {REFUSED['while_loop_stack_output']}")


def name_of(node: fx.Node) -> str:
    return node.target.name()  # type: ignore[union-attr]


def value_of(node: fx.Node) -> Any:
    """Returns what stands for a node's value in `meta`; of an attribute that is a graph, that graph."""
    if node.op == "get_attr" and "val" not in node.meta:
        value: Any = node.graph.owning_module
        for name in str(node.target).split("."):
            value = getattr(value, name)
        return value
    return node.meta.get("val")


def graphs_of(node: fx.Node) -> List[fx.GraphModule]:
    """Returns the graphs that an operator is given."""
    values = [value_of(source) for source in node.all_input_nodes if source.op == "get_attr"]
    return [value for value in values if isinstance(value, fx.GraphModule)]


def has_graphs(node: fx.Node) -> bool:
    return is_higher_order(node) and bool(graphs_of(node))


def nodes_inside(node: fx.Node) -> Iterator[fx.Node]:
    """Yields the nodes of an operator's graphs, and of the graphs in those."""
    for graph in graphs_of(node):
        for inner in graph.graph.nodes:
            yield inner
            yield from nodes_inside(inner)


def is_effect(node: fx.Node) -> bool:
    return is_higher_order(node) and name_of(node) == _EFFECT


def runs_once(node: fx.Node) -> bool:
    """Returns whether an operator has an effect or draws random numbers, itself or inside."""
    return is_effect(node) or any(is_rng_op(inner) or inner.op == "call_function" and inner.is_impure()
                                  for inner in nodes_inside(node)) or _draws(_op_of(node))


def _op_of(node: fx.Node) -> Any:
    """Returns the operator that is run for its mutable form, or None."""
    return node.args[0] if name_of(node) in ("auto_functionalized", "auto_functionalized_v2") else None


def _draws(op: Any) -> bool:
    return op is not None and torch.Tag.nondeterministic_seeded in op.tags


def is_print(node: fx.Node) -> bool:
    """Returns whether an effect prints, for which PyTorch takes no tensor's bytes."""
    return is_effect(node) and node.args[1] in (aten._print.default, torch.ops.higher_order.print)


# Makes the operands of one run out of an operator's own.
Run = Callable[[Tuple[Any, ...]], Tuple[Any, ...]]


def runs_of(node: fx.Node) -> List[Run]:
    """Returns the ways in which data let an operator run, of which a plain one has one; none where it must not be run to be measured, or runs
    on GPUs alone."""
    if not is_higher_order(node):
        return [_unchanged] if isinstance(node.target, OpOverload) else []
    name = name_of(node)
    if is_effect(node) or name in _OF_GPUS:
        return []
    if name == "cond":
        return [lambda args, chosen=chosen: (chosen, *args[1:]) for chosen in (True, False)]  # type: ignore[misc]
    if name == "switch":
        branches = len(node.args[1])  # type: ignore[arg-type]
        return [lambda args, chosen=chosen: (torch.tensor(chosen), *args[1:]) for chosen in range(branches)]  # type: ignore[misc]
    if name == "while_loop":
        return [lambda args: (_holds_for(args[0], ROUNDS), *args[1:])]
    return [_unchanged]


def _unchanged(operands: Tuple[Any, ...]) -> Tuple[Any, ...]:
    return operands


def _holds_for(condition: Callable[..., Any], rounds: int) -> Callable[..., Any]:
    """Returns a condition that takes what `condition` takes, and holds `rounds` times whatever it says."""
    left = [rounds]

    def holds(*values: Any) -> Any:
        said = condition(*values)
        left[0] -= 1
        # The loop keeps what the condition gave while the round runs.
        return said.fill_(left[0] >= 0) if isinstance(said, torch.Tensor) else left[0] >= 0

    return holds


def rounds_of(node: fx.Node) -> int:
    """Returns how often an operator runs each of its graphs, as far as its operands say."""
    place = {"map_impl": 1, "scan": 2, "associative_scan": 1}.get(name_of(node))
    if place is None or not node.args[place]:
        return 1
    return int(node.args[place][0].meta["val"].shape[0])  # type: ignore[index, union-attr]


def flops_inside(node: fx.Node, count: Callable[[fx.Node], int]) -> int:
    """Counts FLOPs of an operator's graphs, each by `count`; of several among which data choose, the most."""
    each = [sum(count(inner) for inner in graph.graph.nodes if inner.op == "call_function") for graph in graphs_of(node)]
    return rounds_of(node) * (max(each, default=0) if name_of(node) in _CHOOSING else sum(each))


def describe(module: fx.GraphModule) -> str:
    """Returns a text that is equal for graphs which run the same kernels on operands of the same shapes."""
    inner = [f"{name}: {describe(child)}" for name, child in sorted(module.named_children()) if isinstance(child, fx.GraphModule)]
    return "\n".join([module.code, *inner])


def live_bytes(module: fx.GraphModule, bytes_of: Callable[[torch.Tensor], int]) -> int:
    """Returns what a graph holds at most while its nodes run one by one, in addition to its operands, less its results: a floor of what
    its operator takes, where nothing is run to be measured."""
    nodes = list(module.graph.nodes)
    last = {source: number for number, node in enumerate(nodes) for source in node.all_input_nodes}
    begin: Dict[int, int] = {}
    end: Dict[int, int] = {}
    sizes: Dict[int, int] = {}
    for number, node in enumerate(nodes):
        for key, size in _storages(node, bytes_of):
            sizes.setdefault(key, size if node.op == "call_function" else 0)
            begin.setdefault(key, number)
            end[key] = max(end.get(key, number), last.get(node, number))
    results = {key for node in nodes[-1].all_input_nodes for key, _ in _storages(node, bytes_of)}
    most = max(sum(size for key, size in sizes.items() if begin[key] <= number <= end[key]) for number in range(len(nodes)))
    return max(most - sum(sizes[key] for key in results), 0)


def _storages(node: fx.Node, bytes_of: Callable[[torch.Tensor], int]) -> List[Tuple[int, int]]:
    leaves = pytree.tree_leaves(node.meta.get("val"))
    return [(storage_key(leaf), bytes_of(leaf)) for leaf in leaves if isinstance(leaf, torch.Tensor)]
