"""The arguments of a loss: those that JAX traces, those that it does not, and the modules of flax.nnx, which a loss may change."""

import inspect
import sys
from dataclasses import dataclass
from typing import Any, Callable, Dict, FrozenSet, List, Optional, Sequence, Set, Tuple, Union

import jax

from ._errors import UnsupportedLossError


@dataclass(frozen=True)
class _Static:
    """A static argument, which JAX takes for one leaf. kind: its type, since True equals 1."""

    kind: type
    value: Any


def static_arguments(function: Callable[..., Any], argnums: Union[int, Sequence[int]],
                     argnames: Union[str, Sequence[str]]) -> FrozenSet[Union[int, str]]:
    """Returns the numbers and names of static arguments. As in jax.jit, a number stands for the name of that parameter too, and a name for its
    number. Raises ValueError where the function has no such parameter."""
    numbers = {argnums} if isinstance(argnums, int) else set(argnums)
    names = {argnames} if isinstance(argnames, str) else set(argnames)
    if not numbers and not names:
        return frozenset()
    parameters = inspect.signature(function).parameters.values()
    kinds = {parameter.kind for parameter in parameters}
    by_number = [each.name for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    by_name = [each.name for each in parameters if each.kind in (each.KEYWORD_ONLY, each.POSITIONAL_OR_KEYWORD)]
    for number in numbers:
        if not -len(by_number) <= number < len(by_number) and (number < 0 or inspect.Parameter.VAR_POSITIONAL not in kinds):
            raise ValueError(f"llmmem.jax.checkpoint: static_argnums: {number} is none of the {len(by_number)} positional parameters of the loss")
    if inspect.Parameter.VAR_KEYWORD not in kinds and not names.issubset(by_name):
        raise ValueError(f"llmmem.jax.checkpoint: static_argnames: '{min(names.difference(by_name))}' is no parameter of the loss, whose are "
                         f"{', '.join(by_name)}")
    numbers = {number % len(by_number) if number < 0 else number for number in numbers}
    names.update(by_number[number] for number in numbers if number < len(by_number))
    return frozenset([*numbers, *names, *(number for number, name in enumerate(by_number) if name in names)])


class Arguments:
    """Arguments and keywords of one call as leaves. Arrays and Python's numbers and bools are traced, as jax.jit does. Arguments whose number or
    name is in `static`, and leaves that JAX has no type for, stay what they are and are part of the signature."""

    def __init__(self, arguments: Sequence[Any], keywords: Dict[str, Any], static: FrozenSet[Union[int, str]] = frozenset()) -> None:
        def given(place: Union[int, str], argument: Any) -> Any:
            return _Static(type(argument), argument) if place in static else argument

        self._given: Any = (tuple(given(place, argument) for place, argument in enumerate(arguments)),
                            {name: given(name, argument) for name, argument in keywords.items()})
        self._graph: Any = None
        state = self._given
        if _has_modules(self._given):
            # Python's numbers next to modules would be static there.
            self._graph, state = _nnx().split(jax.tree.map(_number_as_array, self._given, is_leaf=_is_module))
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
            values = (leaf.value if isinstance(leaf, _Static) else leaf for leaf in self._static)
            named = next((value for value in values if getattr(type(value), "__hash__", None) is None), self._graph)
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
            return _call(function, given), []
        merged = _nnx().merge(self._graph, given)
        result = _call(function, merged)
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


def _call(function: Callable[..., Any], given: Any) -> Any:
    arguments, keywords = given

    def value(argument: Any) -> Any:
        return argument.value if isinstance(argument, _Static) else argument

    return function(*map(value, arguments), **{name: value(argument) for name, argument in keywords.items()})


def sharding_of(leaf: Any) -> Optional[Any]:
    """Returns how an array lies on several devices, or None."""
    sharding = None if isinstance(leaf, jax.core.Tracer) else getattr(leaf, "sharding", None)
    return sharding if sharding is not None and sharding.num_devices > 1 else None


def sharding_in(type_: Any) -> Any:
    """Returns the sharding that a type has on a mesh with explicit axes, or None."""
    sharding = getattr(type_, "sharding", None)
    return sharding if sharding is not None and any(sharding.spec) else None


def _is_traced(leaf: Any) -> bool:
    return hasattr(leaf, "dtype") and hasattr(leaf, "shape") or isinstance(leaf, (int, float, complex))


def _positional(path: Sequence[Any]) -> Optional[int]:
    """Returns the number of the positional argument that a leaf is in, or None."""
    first, second = (getattr(key, "idx", getattr(key, "key", None)) for key in path[:2])
    return second if first == 0 else None


def _nnx() -> Any:
    return sys.modules.get("flax.nnx")


def _has_modules(given: Any) -> bool:
    """Says whether there is a module of flax.nnx. Without an import of it there is none."""
    nnx = _nnx()
    return nnx is not None and any(map(_is_module, jax.tree.leaves(given, is_leaf=_is_module)))


def _is_module(node: Any) -> bool:
    return isinstance(node, _nnx().Module)


def _number_as_array(leaf: Any) -> Any:
    return jax.numpy.asarray(leaf) if isinstance(leaf, (int, float, complex)) else leaf
