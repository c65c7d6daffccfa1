"""A step of PyTorch as the problem that a study is of, by the Python that has PyTorch."""

import os
import shutil
import subprocess
import sys
from typing import Optional

from ._tools import StudyError

# As in lib/Fit/FitTorch.cpp: what is installed comes before the folders that are named.
_PROGRAM = """import os, sys
sys.path += [sys.argv.pop(1), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
try:
    from llmmem.torch._command import main
except ImportError as error:
    sys.exit(f"llmmem.torch: error: {sys.executable} cannot import {error.name or 'llmmem'} ({error}): install it there (pip install torch), "
             "or name a Python that has it in LLMMEM_PYTHON")
sys.exit(main())"""
_MARK = "llmmem.torch: error: "


def write_problem(model: str, batch: str, tokens: str, device: str, path: str) -> None:
    """Writes the step of `model`, which is package.module:function or a config.json of transformers, to `path`. Raises StudyError with what PyTorch
    or llmmem.torch said."""
    python = _python()
    if not python:
        raise StudyError("--torch: there is no python3 in PATH; name one that has PyTorch in LLMMEM_PYTHON")
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    arguments = ["problem", model, "--batch", batch, "--seq", tokens, "--device", device, "-o", path]
    try:
        done = subprocess.run([python, "-I", "-c", _PROGRAM, package, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              errors="replace", check=False)
    except OSError as error:
        raise StudyError(f"--torch: cannot start {python!r} ({error.strerror}); name a Python that has PyTorch in LLMMEM_PYTHON") from error
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        marked = [line[len(_MARK):] for line in lines if line.startswith(_MARK)]
        said = marked[-1] if marked else lines[-1] if lines else f"exit code {done.returncode}"
        raise StudyError(f"--torch: {said}")


def _python() -> Optional[str]:
    """Returns the Python that is named, that of the environment which llmmem was installed to, or the one in PATH."""
    in_environment = sys.executable if sys.prefix != sys.base_prefix else None
    return os.environ.get("LLMMEM_PYTHON") or in_environment or shutil.which("python3")
