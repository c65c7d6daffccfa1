"""A joint graph that was traced on a CPU, as it is on CUDA, on a machine without a GPU.

Each node runs again on tensors of CUDA that have shapes and no bytes, so that its results have the types and layouts that they have there.
Attention is another kernel on a GPU, by the rules of PyTorch's native/transformers/cuda/sdp_utils.cpp: flash attention of bf16 and f16 without
a mask, the one that PyTorch calls memory-efficient otherwise.
"""

import operator
from typing import Any, Callable, Dict, Tuple

import torch
from torch import fx

from ._errors import UnsupportedGraphError
from ._private import FakeTensorMode, pytree

aten = torch.ops.aten
CUDA = torch.device("cuda", 0)
MOST_FLASH_WIDTH = 256
FLASH_TYPES = (torch.bfloat16, torch.float16)


def on_cuda(module: fx.GraphModule) -> fx.GraphModule:
    """Returns a copy of a joint graph whose tensors are those of CUDA. Raises UnsupportedGraphError for sizes that are symbols, and where a
    node cannot be run on CUDA."""
    return _Converter(module).run()


class _Converter:
    """copies: of the nodes. seeds: of each attention's forward, the nodes with its random numbers, which the backward reads."""

    def __init__(self, module: fx.GraphModule) -> None:
        self.module, self.graph = module, fx.Graph()
        self.copies: Dict[fx.Node, fx.Node] = {}
        self.seeds: Dict[fx.Node, Tuple[fx.Node, fx.Node]] = {}

    def run(self) -> fx.GraphModule:
        with FakeTensorMode(allow_non_fake_inputs=True):
            for node in self.module.graph.nodes:
                self.copies[node] = self._convert(node)
        return fx.GraphModule(self.module, self.graph)

    def _convert(self, node: fx.Node) -> fx.Node:
        if node.op == "output":
            copy = self.graph.output(self._mapped(node.args[0]))
            copy.meta.update(node.meta)
        elif node.op == "call_function":
            copy = self._call(node)
        else:
            copy = self.graph.node_copy(node)
            copy.meta["val"] = pytree.tree_map_only(torch.Tensor, _moved, self._value(node))
        return copy

    def _value(self, node: fx.Node) -> Any:
        if "val" in node.meta:
            return node.meta["val"]
        return operator.attrgetter(str(node.target))(self.module) if node.op == "get_attr" else None

    def _call(self, node: fx.Node) -> fx.Node:
        special: Dict[Any, Callable[[fx.Node], fx.Node]] = {
            aten._scaled_dot_product_flash_attention_for_cpu.default: self._attention,
            aten._scaled_dot_product_flash_attention_for_cpu_backward.default: self._attention_backward}
        if node.target in special:
            return special[node.target](node)
        args, kwargs = pytree.tree_map_only(torch.device, lambda _: CUDA, (node.args, node.kwargs))
        args, kwargs = self._mapped(args), self._mapped(kwargs)
        if node.target in (aten.view.default, aten._unsafe_view.default) and not _can_view(args[0].meta["val"], args[1]):
            # Another kernel has left another layout, of which `reshape`, which the model has called, makes a copy.
            args = (self._add(node, aten.clone.default, args[:1], {"memory_format": torch.contiguous_format}), *args[1:])
        return self._add(node, node.target, args, kwargs)

    def _add(self, like: fx.Node, target: Any, args: Any, kwargs: Any) -> fx.Node:
        """Adds a call, whose value is found by running it, with the rest of what is known of `like`."""
        copy = self.graph.call_function(target, args, kwargs)
        copy.meta.update(like.meta)
        try:
            copy.meta["val"] = target(*_values(args), **_values(kwargs))
        except (RuntimeError, NotImplementedError, TypeError) as error:
            raise UnsupportedGraphError(f"llmmem.torch: {like.name} ({target}): cannot be run on CUDA's tensors: {error}") from error
        return copy

    def _mapped(self, arguments: Any) -> Any:
        return fx.map_arg(arguments, self.copies.__getitem__)

    def _attention(self, node: fx.Node) -> fx.Node:
        q, k, v = (self.copies[source] for source in node.args[:3])
        dropout, is_causal, mask, scale = self._options(node, 3)
        if is_flash(q.meta["val"], mask):
            copy = self._add(node, aten._scaled_dot_product_flash_attention.default, (q, k, v, dropout, is_causal), {"scale": scale})
            places = 6, 7
        else:
            copy = self._add(node, aten._scaled_dot_product_efficient_attention.default, (q, k, v, mask, True, dropout, is_causal),
                             {"scale": scale})
            places = 2, 3
        seed, offset = (self._add(copy, operator.getitem, (copy, place), {}) for place in places)
        self.seeds[copy] = seed, offset
        return copy

    def _attention_backward(self, node: fx.Node) -> fx.Node:
        gradient, q, k, v, result, sums = (self.copies[source] for source in node.args[:6])
        dropout, is_causal, mask, scale = self._options(node, 6)
        forward = sums
        while forward not in self.seeds:
            forward = forward.args[0]
        seed, offset = self.seeds[forward]
        if is_flash(q.meta["val"], mask):
            lengths = q.meta["val"].shape[2], k.meta["val"].shape[2]
            return self._add(node, aten._scaled_dot_product_flash_attention_backward.default, (
                gradient, q, k, v, result, sums, None, None, *lengths, dropout, is_causal, seed, offset), {"scale": scale})
        return self._add(node, aten._scaled_dot_product_efficient_attention_backward.default, (
            gradient, q, k, v, mask, result, sums, seed, offset, dropout, [True, True, True, False], is_causal), {"scale": scale})

    def _options(self, node: fx.Node, place: int) -> Tuple[float, bool, Any, Any]:
        """Returns what follows the tensors: dropout, whether later keys are hidden, the mask, the scale."""
        given = {**dict(zip(("dropout_p", "is_causal"), node.args[place:])), **node.kwargs}
        return (given.get("dropout_p", 0.0), given.get("is_causal", False), self._mapped(given.get("attn_mask")), given.get("scale"))


def _moved(tensor: torch.Tensor) -> torch.Tensor:
    if not all(isinstance(size, int) for size in tensor.shape):
        raise UnsupportedGraphError("llmmem.torch: sizes are symbols: compile with dynamic=False")
    storage = torch.empty(tensor.untyped_storage().nbytes() // max(tensor.itemsize, 1), dtype=tensor.dtype, device=CUDA)
    return storage.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())


def _can_view(tensor: torch.Tensor, shape: Any) -> bool:
    try:
        tensor.view(shape)
    except (RuntimeError, ValueError):
        return False
    return True


def _values(arguments: Any) -> Any:
    return fx.map_arg(arguments, lambda source: source.meta["val"])


def is_flash(value: torch.Tensor, mask: Any) -> bool:
    """Returns whether attention whose queries are `value` is flash attention on a GPU."""
    return mask is None and value.dtype in FLASH_TYPES and value.shape[-1] <= MOST_FLASH_WIDTH
