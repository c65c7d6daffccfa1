"""llmmem's tools as processes: where they are, how one is run, and how all that run are ended."""

import os
import shutil
import subprocess
import sys
import threading
from typing import List, Sequence, Set


class StudyError(ValueError):
    """Raised for bad input. The message says what was expected, and what to do."""


class Cancelled(Exception):
    """Raised where the study was interrupted while a tool ran."""


def find_tool(name: str) -> str:
    """Returns the path of `llmmem-opt` or another tool. LLMMEM_OPT names it; else it is in PATH, or next to the program that runs."""
    variable = name.upper().replace("-", "_")
    neighbours = os.path.dirname(os.path.abspath(sys.argv[0]))
    tool = os.environ.get(variable) or shutil.which(name) or shutil.which(name, path=neighbours)
    if not tool or not os.path.exists(tool):
        raise StudyError(f"there is no {name}; build llmmem, and put build/bin into PATH or name the tool in {variable}")
    return tool


class Tools:
    """Runs tools. `cancel`, from any thread, ends those that run and lets no other start."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: Set["subprocess.Popen[str]"] = set()
        self._cancelled = False

    def run(self, name: str, arguments: Sequence[str]) -> "subprocess.CompletedProcess[str]":
        """Runs a tool. Exit codes 0 and 2 (no plan) are answers; any other raises StudyError with what the tool said."""
        command = [find_tool(name), *arguments]
        with self._lock:
            if self._cancelled:
                raise Cancelled
            # The tool has its own session: Ctrl-C reaches the study, which then ends its tools.
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       text=True, errors="replace", start_new_session=True)
            self._running.add(process)
        try:
            out, err = process.communicate()
        finally:
            with self._lock:
                self._running.discard(process)
        if self._cancelled:
            raise Cancelled
        if process.returncode not in (0, 2):
            raise StudyError(_said(name, err, process.returncode))
        return subprocess.CompletedProcess(command, process.returncode, out, err)

    def cancel(self) -> None:
        with self._lock:
            self._cancelled = True
            for process in self._running:
                process.terminate()


def _said(name: str, text: str, code: int) -> str:
    """Returns the first lines of a tool's message. A signal has a negative code and mostly no message."""
    lines: List[str] = [line for line in text.strip().split("\n") if line][:3]
    return "\n".join(lines) if lines else f"{name} ended with exit code {code} and no message"
