"""What llmmem raises inside other frameworks, whichever it is."""

from typing import Optional


class BudgetError(RuntimeError):
    """No plan fits the budget.

    budget: bytes that were given. least_bytes: of the plan with the smallest footprint that was found; a budget of so many bytes
    has a plan. proved_bytes: every plan needs at least so many. All are of our model of memory.
    """

    def __init__(self, message: str, budget: int, least_bytes: Optional[int], proved_bytes: int) -> None:
        super().__init__(message)
        self.budget, self.least_bytes, self.proved_bytes = budget, least_bytes, proved_bytes
