"""The arguments of a loss: those that JAX traces, those that it does not, and the modules of flax.nnx, which a loss may change."""

import sys
from typing import Any, Dict, List, Optional, Sequence, Set, Tuple, Union

import jax

from ._errors import UnsupportedLossError


class Arguments:
    """Arguments and keywords of one call as leaves. Arrays and floating-point numbers are traced. Python's bools and whole numbers, and what
    JAX has no type for, stay what they are, as static arguments of jax.jit do, and are part of the signature."""

    def __init__(self, arguments: Sequence[Any], keywords: Dict[str, Any]) -> None:
        self._given: Any = (tuple(arguments), keywords)
        self._graph: Any = None
        state = self._given
        if _has_modules(self._given):
            self._graph, state = _nnx().split(self._given)
        paths, self._tree = jax.tree_util.tree_flatten_with_path(state)
        leaves = [leaf for _, leaf in paths]
        self._places = [place for place, leaf in enumerate(leaves) if _is_traced(leaf)]
        self._arguments_of = [_positional(paths[place][0]) for place in self._places]
        self.traced: List[Any] = [leaves[place] for place in self._places]
        self._static = [None if _is_traced(leaf) else leaf for leaf in leaves]

    @property
    def types(self) -> List[Any]:
        return [jax.typeof(leaf) for leaf in self.traced]

    @property
    def key(self) -> Any:
        """What calls have in common that are planned once."""
        static = tuple((type(leaf), leaf) for leaf in self._static)
        try:
            hash((static, self._graph))
        except TypeError:
            named = next((leaf for leaf in self._static if getattr(type(leaf), "__hash__", None) is None), self._graph)
            raise UnsupportedLossError(f"llmmem.jax.checkpoint: an argument of {type(named)} is no array, and has no hash by which its plan could "
                                       "be found again; pass arrays, or close over it") from None
        return self._tree, self._graph, static, tuple(self.types)

    def is_active(self, argnums: Union[int, Sequence[int]]) -> List[bool]:
        """Says which traced leaves the gradient is taken with respect to. argnums: as in jax.grad."""
        count = len(self._given[0])
        wanted: Set[int] = {argnums} if isinstance(argnums, int) else set(argnums)
        outside = [number for number in wanted if not -count <= number < count]
        if outside:
            raise ValueError(f"llmmem.jax.checkpoint: argnums: {outside[0]} is none of {count} positional arguments; arguments by name have no "
                             "gradient, as in jax.grad")
        chosen = {number % count for number in wanted}
        return [argument in chosen and bool(jax.numpy.issubdtype(type_.dtype, jax.numpy.inexact))
                for argument, type_ in zip(self._arguments_of, self.types)]

    def call(self, function: Any, traced: Sequence[Any]) -> Tuple[Any, List[Any]]:
        """Returns what the function gives with these values for the traced leaves, and the traced leaves of its modules after it."""
        leaves = list(self._static)
        for place, value in zip(self._places, traced):
            leaves[place] = value
        given = jax.tree.unflatten(self._tree, leaves)
        if self._graph is None:
            arguments, keywords = given
            return function(*arguments, **keywords), []
        arguments, keywords = merged = _nnx().merge(self._graph, given)
        result = function(*arguments, **keywords)
        after, tree = jax.tree.flatten(_nnx().state(merged))
        if tree != self._tree:
            raise UnsupportedLossError("llmmem.jax.checkpoint: the loss gives a module of flax.nnx other variables than it had, as `sow` does; "
                                       "return them with has_aux=True instead")
        return result, [after[place] for place in self._places]

    def update(self, changed: Dict[int, Any]) -> None:
        """Gives the modules these values for some of the traced leaves."""
        if not changed:
            return
        leaves = list(self._static)
        for number, place in enumerate(self._places):
            leaves[place] = changed.get(number, self.traced[number])
        state = jax.tree.unflatten(self._tree, leaves)
        for place, given in ((0, dict(enumerate(self._given[0]))), (1, self._given[1])):
            for name, argument in given.items():
                if _has_modules(argument):
                    _nnx().update(argument, state[place][name])


def sharding_of(leaf: Any) -> Optional[Any]:
    """Returns how an array lies on several devices, or None."""
    sharding = None if isinstance(leaf, jax.core.Tracer) else getattr(leaf, "sharding", None)
    return sharding if sharding is not None and sharding.num_devices > 1 else None


def _is_traced(leaf: Any) -> bool:
    return hasattr(leaf, "dtype") and hasattr(leaf, "shape") or isinstance(leaf, (float, complex))


def _positional(path: Sequence[Any]) -> Optional[int]:
    """Returns the number of the positional argument that a leaf is in, or None."""
    first, second = (getattr(key, "idx", getattr(key, "key", None)) for key in path[:2])
    return second if first == 0 else None


def _nnx() -> Any:
    return sys.modules.get("flax.nnx")


def _has_modules(given: Any) -> bool:
    """Says whether there is a module of flax.nnx. Without an import of it there is none."""
    nnx = _nnx()
    return nnx is not None and any(isinstance(leaf, nnx.Module)
                                   for leaf in jax.tree.leaves(given, is_leaf=lambda node: isinstance(node, nnx.Module)))
