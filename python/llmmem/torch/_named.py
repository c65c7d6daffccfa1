"""`torch.compile(model, backend="llmmem", options={"budget": "20GB"})`: the backend by its name.

PyTorch finds `by_name` through the entry point `torch_dynamo_backends` of the installed package, and calls it once for each
graph with what torch.compile was given. `options` takes the arguments of `llmmem.torch.backend`, `mode`, which torch.compile does not
take together with `options`, and Inductor's own options.
"""

import inspect
from typing import Any, Callable, Dict, List, Optional, Tuple

from torch import fx

from ._backend import Backend, backend
from ._partition import Partition

OWN_OPTIONS = frozenset(inspect.signature(Partition).parameters) | {"compiler"}

# One torch.compile hands the same dictionary over for each of its graphs, which share its budget. It is held with its backend, so
# that no other dictionary gets its identity.
_Known = Dict[int, Tuple[Dict[str, Any], Backend]]


class ByName:
    """Callable as torch.compile wants it, with a backend for each dictionary of options."""

    def __init__(self) -> None:
        self._known: _Known = {}

    def reset(self) -> None:
        """torch._dynamo.reset drops all compiled graphs, and with them what they hold of a budget."""
        self._known.clear()

    def __call__(self, module: fx.GraphModule, inputs: List[Any], *, mode: Optional[str] = None,
                 options: Optional[Dict[str, Any]] = None, name: Optional[str] = None) -> Callable[..., Any]:
        if not options or "budget" not in options:
            raise ValueError('llmmem.torch: backend="llmmem" needs a budget: torch.compile(model, backend="llmmem", '
                             'options={"budget": "20GB"}); "min" is the least that is found')
        ours = {key: value for key, value in options.items() if key in OWN_OPTIONS}
        others = {key: value for key, value in options.items() if key not in ours and key != "mode"}
        if id(options) not in self._known:
            self._known[id(options)] = options, backend(**ours)
        settings = {key: value for key, value in (("mode", mode or options.get("mode")), ("options", others), ("name", name)) if value}
        return self._known[id(options)][1](module, inputs, **settings)


by_name = ByName()
