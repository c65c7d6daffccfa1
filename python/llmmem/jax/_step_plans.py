"""The plans of a step: each of its forms, as llmmem-opt plans it for some bytes and as XLA compiles that."""

from dataclasses import dataclass, replace
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

import jax
import jax.export

from .._errors import BudgetError
from ._cpu import trial_options
from ._forms import Form, forms_of
from ._memory import compiled_bytes
from ._tool import Module, plan_text

# More than any step needs.
_UNLIMITED = 1 << 62


@dataclass(frozen=True)
class Candidate:
    """A planned step. needed: bytes in the model. facts: the report of llmmem-opt. held: bytes by XLA's account, or None where it was not asked."""

    form: str
    exported: jax.export.Exported
    needed: int
    facts: Dict[str, Any]
    held: Optional[int] = None

    @property
    def time(self) -> int:
        """The modelled time of the step, with what runs again."""
        return int(self.facts["step"]["time_ns"]) + int(self.facts["recompute"]["time_ns"])


class Planner:
    """Plans the forms of a step. given: arguments and keywords, as types. options: flags of llmmem-opt."""

    def __init__(self, step: Callable[..., Any], donate_argnums: Any, given: Tuple[Any, Any], options: Sequence[str],
                 compiler_options: Dict[str, Any]) -> None:
        self.arguments, self.keywords = given
        self.donate_argnums, self.options, self.compiler_options = donate_argnums, options, compiler_options
        self.forms: List[Form] = forms_of(step, *given, options)
        self._modules: Dict[str, Module] = {}
        self._plans: Dict[Any, Candidate] = {}
        self._held: Dict[str, int] = {}

    def _module(self, form: Form) -> Module:
        if form.name not in self._modules:
            self._modules[form.name] = Module(form.function, self.donate_argnums, self.arguments, self.keywords)
        return self._modules[form.name]

    def plan(self, form: Form, bound: Union[int, str]) -> Candidate:
        """Returns the plan of a form for so many bytes of the model, or for the least. Raises BudgetError where there is none."""
        if (form.name, bound) not in self._plans:
            module = self._module(form)
            text, facts = plan_text(module.text, bound, self.options)
            needed = sum(facts["resident"].values()) + facts["resident_padding"] + facts["arena"]
            self._plans[form.name, bound] = Candidate(form.name, module.replaced(text), needed, facts)
        return self._plans[form.name, bound]

    def free(self, form: Form) -> Candidate:
        """Returns a form in which nothing runs again."""
        return self.plan(form, _UNLIMITED)

    def as_written(self) -> Candidate:
        """Returns the step as it was written, with what llmmem-opt says about it."""
        form = self.forms[0]
        return replace(self.free(form), exported=self._module(form).exported)

    def best_within(self, bound: int) -> Candidate:
        """Returns the plan of the least modelled time among those of all forms for so many bytes. Raises BudgetError where there is none."""
        best: Optional[Candidate] = None
        errors: List[BudgetError] = []
        for form in sorted(self.forms, key=lambda form: self.free(form).time):
            if best and self.free(form).time >= best.time:
                break
            try:
                found = self.plan(form, bound)
            except BudgetError as error:
                errors.append(error)
                continue
            if best is None or found.time < best.time:
                best = found
        if best is None:
            raise min(errors, key=lambda error: error.least_bytes)
        return best

    def least(self) -> List[Candidate]:
        """Returns the plan of the fewest bytes of each form, the fewest first."""
        return sorted((self.plan(form, "min") for form in self.forms), key=lambda found: found.needed)

    def measured(self, found: Candidate) -> Candidate:
        """Returns a plan with the bytes that XLA gives it."""
        jitted = jax.jit(found.exported.call, donate_argnums=self.donate_argnums, compiler_options=trial_options(self.compiler_options))
        return replace(found, held=compiled_bytes(jitted.lower(*self.arguments, **self.keywords).compile()))
