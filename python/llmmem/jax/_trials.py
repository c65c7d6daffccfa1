"""The layouts of a loss as programs that XLA compiles, and the choice among them."""

from typing import Any, List, Optional, Sequence, Tuple

import jax

from .._errors import BudgetError
from ._arguments import sharding_in
from ._cpu import trial_options
from ._chain import Chain
from ._layout import Layout, Part, evaluate
from ._memory import compiled_bytes, compiled_flops
from ._model import make_chain
from ._offload import OffloadedChain, named_chain
from ._policies import policy_chains
from ._program import Program, bytes_of, has_loops
from ._search import Search, Trial


class Trials:
    """Tries layouts of a loss. is_active: of which arguments the gradient is taken. shardings: how each lies on devices, or None. settings: those
    of `checkpoint`. unplanned: the bytes of the loss as it was, once it was compiled."""

    def __init__(self, program: Program, is_active: Sequence[bool], shardings: Sequence[Any], settings: Any) -> None:
        self.program, self.is_active, self.settings = program, is_active, settings
        types = program.types[:program.arguments]
        self._types = [jax.ShapeDtypeStruct(type_.shape, type_.dtype, sharding=sharding or sharding_in(type_), weak_type=type_.weak_type)
                       for type_, sharding in zip(types, shardings)]
        self._devices = max([1, *(sharding.num_devices for sharding in shardings if sharding)])
        self.base = settings.other_bytes + sum(_bytes_on_device(type_) * (2 if active else 1)
                                               for type_, active in zip(self._types, is_active)) + bytes_of(program.types[0])
        self._chain, throughout = make_chain(program, is_active)
        self.base += throughout + sum(bytes_of(program.types[number]) for number in program.constants)
        self.unplanned: Optional[int] = None
        self.count = 0

    def choose(self) -> Trial:
        """Returns the layout that is used. Raises BudgetError where none keeps the budget."""
        budget = self.settings.budget
        if self.settings.attempts == 0 or _is_inside_shard_map():
            return self._by_model()
        policies = policy_chains(self.program, self.is_active)
        search = Search([self._chain, *self._offloaded(policies), *policies], self._compile, self.settings.attempts,
                        has_loops(self.program))
        return search.find_least() if budget == "min" else search.find_within(budget, self.base)

    def _offloaded(self, policies: Sequence[Chain]) -> List[OffloadedChain]:
        """Returns the plans of the chain and of JAX's policies from which values leave for the host."""
        host, budget = self.settings.host_budget, self.settings.budget
        if host == 0:
            return []
        device = self._chain.least if budget == "min" else budget - self.base
        bounds = [(named_chain(self._chain), device + host), *((policy, policy.most) for policy in policies)]
        found = [OffloadedChain(chain, self.program, bound, host) for chain, bound in bounds]
        return [each for each in found if each.host > 0]

    def _by_model(self) -> Trial:
        chain, budget = self._chain, self.settings.budget
        bound = chain.least if budget == "min" else min(chain.most, budget - self.base)
        parts = chain.plan(bound) if bound >= 0 else None
        leaving = min((each for each in self._offloaded(policy_chains(self.program, self.is_active)) if each.most <= bound),
                      key=lambda each: each.cost(bound), default=None)
        if leaving and (parts is None or leaving.cost(bound) < chain.cost(bound)):
            return Trial(leaving.most, leaving.plan(bound), None, 0.0, leaving.cost(bound))
        if parts is None:
            raise BudgetError(f"llmmem.jax.checkpoint: no layout in the model keeps a budget of {budget:,} bytes; the least that was found there "
                              f"needs {chain.least + self.base:,}, and XLA was not asked", budget, chain.least + self.base, 0)
        return Trial(bound, parts, None, 0.0, chain.cost(bound))

    def _compile(self, parts: Optional[Tuple[Layout, ...]]) -> Tuple[int, float]:
        program, layout = self.program, parts or (Part(0, len(self.program.steps)),)
        constants = list(program.constants)

        def loss(active: Sequence[Any], others: Sequence[Any], captured: Sequence[Any]) -> Any:
            given, rest = iter(active), iter(others)
            arguments = [next(given) if is_active else next(rest) for is_active in self.is_active]
            results = evaluate(program, layout, arguments, dict(zip(constants, captured)))
            return results[0], results[1:]

        gradient = jax.jit(jax.value_and_grad(loss, has_aux=True), compiler_options=trial_options(self.settings.compiler_options))
        active = [type_ for type_, is_active in zip(self._types, self.is_active) if is_active]
        others = [type_ for type_, is_active in zip(self._types, self.is_active) if not is_active]
        captured = [jax.ShapeDtypeStruct(program.types[number].shape, program.types[number].dtype) for number in constants]
        compiled = gradient.lower(active, others, captured).compile()
        held = compiled_bytes(compiled) + self.settings.other_bytes
        self.count += 1
        if parts is None:
            self.unplanned = held
        return held, compiled_flops(compiled)

    def planned_bytes(self, trial: Trial) -> int:
        """Returns the bytes of a layout in the model, on one device where arguments say how they lie on several."""
        bound = self._chain.most if trial.bound is None else trial.bound
        return self.base + bound // self._devices

    def overhead(self, trial: Trial) -> float:
        """Returns the FLOPs that a layout computes again, as a part of those of the gradient of the loss as it was, in the model."""
        least = self._chain.cost(self._chain.most)
        return (trial.cost - least) / max(1, least + sum(self._chain.links.flops))


def _is_inside_shard_map() -> bool:
    """Says whether the loss is a part of what a device runs inside of jax.shard_map, which is no program by itself."""
    return bool(getattr(jax.sharding.get_abstract_mesh(), "manual_axes", ()))


def _bytes_on_device(type_: Any) -> int:
    if getattr(type_, "sharding", None) is None:
        return bytes_of(type_)
    shape = type_.sharding.shard_shape(type_.shape)
    return bytes_of(jax.ShapeDtypeStruct(shape, type_.dtype))
