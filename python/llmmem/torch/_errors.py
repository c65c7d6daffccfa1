"""What llmmem.torch raises. All of them reach the caller of a compiled model inside torch.compile's own error, whose text
has theirs."""

from typing import Any, Optional, Tuple, Union


class UnsupportedGraphError(RuntimeError):
    """Raised where the graph has something that cannot be planned. The message names the node and says what to do."""


def find_error(error: Optional[BaseException], kinds: Union[type, Tuple[type, ...]]) -> Any:
    """Returns the error itself, or the one that it was raised from, which is of one of `kinds`; None where there is none."""
    while error is not None and not isinstance(error, kinds):
        error = getattr(error, "inner_exception", None) or error.__cause__ or error.__context__
    return error
