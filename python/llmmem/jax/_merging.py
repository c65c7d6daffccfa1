"""One straight line of primitives of several, in which nothing is computed twice."""

from typing import Any, Dict, List, Sequence, Tuple

from jax.extend.core import Literal

from ._program import Program, Step, bodies_of


class Merger:
    """Adds programs to a first one. A primitive that has the operands and settings of an earlier one gives what that gave."""

    def __init__(self, program: Program) -> None:
        self.steps: List[Step] = []
        self.types: List[Any] = list(program.types)
        self.constants: Dict[int, Any] = dict(program.constants)
        self._known: Dict[Any, Tuple[int, ...]] = {}
        self._same: Dict[int, int] = {}
        self.results = [self._place(result) for result in self._add(program.steps, {number: number for number in range(len(self.types))}, program.results)]

    def add_input(self, type_: Any) -> int:
        self.types.append(type_)
        return len(self.types) - 1

    def merge(self, program: Program, operands: Sequence[Any]) -> List[Any]:
        """Adds a program, and returns its results. operands: numbers or literals here, one for each of its arguments."""
        number_of = dict(enumerate(operands))
        for number, constant in program.constants.items():
            number_of[number] = self.add_input(program.types[number])
            self.constants[number_of[number]] = constant
        for step in program.steps:
            for number in step.results:
                number_of[number] = self.add_input(program.types[number])
        return self._add(program.steps, number_of, program.results)

    def _place(self, operand: Any) -> Any:
        return operand if isinstance(operand, Literal) else self._same.get(operand, operand)

    def _add(self, steps: Sequence[Step], number_of: Dict[int, Any], results: Sequence[Any]) -> List[Any]:
        def here(operand: Any) -> Any:
            return operand if isinstance(operand, Literal) else self._place(number_of[operand])

        for step in steps:
            operands, made = tuple(map(here, step.operands)), tuple(number_of[number] for number in step.results)
            key = _key(step, operands)
            if key is not None and key in self._known:
                self._same.update(zip(made, self._known[key]))
                continue
            self.steps.append(Step(step.equation, operands, made))
            if key is not None:
                self._known[key] = made
        return [here(result) for result in results]


def _key(step: Step, operands: Sequence[Any]) -> Any:
    """Returns what two primitives have in common that give the same, or None where that is not known."""
    equation = step.equation
    if equation.effects or any(body.consts for body in bodies_of(equation)):
        return None
    return (equation.primitive.name, str(equation.params), tuple(str(variable.aval) for variable in equation.outvars),
            tuple((str(operand.val), str(operand.aval)) if isinstance(operand, Literal) else operand for operand in operands))
