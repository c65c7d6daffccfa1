"""The programs of the package: `llmmem` and the names that are links to it elsewhere start the program next to this file."""

import os
import sys

_WITHOUT = ("llmmem: this package has the planner alone, llmmem-plan; the wheel with every program is built by utils/wheel, "
            "and `utils/build` builds them in a checkout")


def main() -> None:
    """Becomes the program by the name that it was called by. `llmmem study` is Python's own."""
    if sys.argv[1:2] == ["study"] and os.path.basename(sys.argv[0]) == "llmmem":
        from ._study.command import main as study
        del sys.argv[1]
        sys.exit(study())
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "llmmem")
    if not os.path.exists(program):
        sys.exit(_WITHOUT)
    os.environ.setdefault("LLMMEM_PYTHON", sys.executable)  # What this Python has installed, `llmmem fit --torch` can ask.
    os.execv(program, [os.path.basename(sys.argv[0]), *sys.argv[1:]])
