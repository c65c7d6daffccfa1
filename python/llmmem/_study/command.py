"""The command llmmem-study."""

import argparse
import os
import shlex
import signal
import sys
import time
from typing import Any, List, Optional

from ._axes import make_axes
from ._data import size_text
from ._from_torch import write_problem
from ._run import Request, finish, start
from ._tools import Cancelled, StudyError

OK, BAD_INPUT, NO_PLAN = 0, 1, 2

EPILOG = """
examples:
  llmmem-study examples/configs/gpt2.json --batch 8 --seq 1024 -o study.html
  llmmem-study model.mlir --budgets 16GB,20GB,24GB --policies budget,full
  llmmem-study examples/configs/gpt2.json --batch 4,8,16 --seq 1024 --budgets 8 -o batches.html
  llmmem-study --torch train:make_step --batch 2 --seq 8192 -o study.html     a model of PyTorch
  llmmem-study problem.json -o study.html       what llmmem-opt --emit-problem wrote, or another compiler

At most two of --budgets, --policies, --batch, --seq and --devices have several values. Next to study.html stand
study.json, study.csv and study.md. Finished plans are kept in study.points/: a study that was interrupted goes on from
there, and one that asks for more plans only that.

EXIT CODES
  0    the study is written
  1    bad input: the message says what was expected
  2    no point has a plan; the study is written and says why
  130  Ctrl-C: what is done is kept, and the same command goes on from there; 143 is the same for SIGTERM
"""


class Parser(argparse.ArgumentParser):
    """Prints so that a failed write is an error; argparse itself ignores it."""

    def print_help(self, file: Any = None) -> None:
        print(self.format_help(), end="", file=file, flush=True)


def make_parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="llmmem-study", description="Plans a model under many budgets and policies, and draws what memory costs in time: "
        "one page that opens anywhere, and its data.", epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("input", nargs="?", help="config.json, model.mlir or problem.json")
    parser.add_argument("--torch", metavar="package.module:function",
                        help="instead of an input: a function of (batch, tokens) that returns (model, inputs) of PyTorch, or (model, inputs, loss) with "
                        "a loss of (model, *inputs); the step becomes study.problem.json")
    parser.add_argument("-o", dest="output", default="study.html", metavar="file",
                        help="the page, or study.json for the data alone (default: study.html)")
    parser.add_argument("--batch", metavar="B[,B]", help="sequences in a step, of a config.json; with --torch one number")
    parser.add_argument("--seq", metavar="S[,S]", help="tokens in a sequence, of a config.json; with --torch one number")
    parser.add_argument("--budgets", metavar="N|bytes[,bytes]",
                        help="how many to spread from the least to what keeping everything needs (default: 12), or sizes: 16GB,24GB")
    parser.add_argument("--policies", metavar="all|name[,name]",
                        help="budget, none, selective, full, sqrt, least-peak, every=K (default: all, or budget where another axis "
                        "has several values)")
    parser.add_argument("--devices", metavar="name[,name]", help="tables that price ops, as of llmmem-opt (default: h100)")
    parser.add_argument("--import", dest="import_flags", metavar="flags", default="",
                        help="more flags of llmmem-import, in one word: --import='--dtype bf16'")
    parser.add_argument("--opt", dest="opt_flags", metavar="flags", default="",
                        help="more flags of llmmem-opt, in one word: --opt='--mesh=dp=4 --zero=3'")
    parser.add_argument("--title", help="of the page (default: the name of the model, or of the input)")
    parser.add_argument("--exports", metavar="folder",
                        help="write each plan there as a trace for Perfetto and as a snapshot for pytorch.org/memory_viz")
    parser.add_argument("--jobs", type=int, metavar="N", help="plans at a time (default: one for each core)")
    parser.add_argument("--seconds", type=float, default=10, metavar="N", help="bound on the search for one plan (default: 10)")
    return parser


class ProgressLine:
    """Shows one line that changes on a terminal, else a line for each plan."""

    def __init__(self, stream: Any) -> None:
        self.stream, self.changes, self.begin = stream, stream.isatty(), time.monotonic()

    def __call__(self, done: int, total: int, name: str) -> None:
        text = f"{done} of {total} plans, {time.monotonic() - self.begin:.0f} s: {name}"
        self.stream.write(f"\r\x1b[2K{text}" if self.changes else text + "\n")
        self.stream.flush()

    def end(self) -> None:
        if self.changes:
            self.stream.write("\r\x1b[2K")
            self.stream.flush()


class Terminated(KeyboardInterrupt):
    """Raised by SIGTERM."""


def _terminate(number: int, frame: Any) -> None:
    raise Terminated


def fail(message: object) -> int:
    print(f"llmmem-study: error: {message}", file=sys.stderr)
    return BAD_INPUT


def main(arguments: Optional[List[str]] = None) -> int:
    try:
        options = make_parser().parse_args(arguments)
    except SystemExit as end:
        return BAD_INPUT if end.code else OK
    except OSError as error:
        return fail(f"cannot write 'stdout': {error.strerror}")
    if options.jobs is not None and options.jobs < 1:
        return fail("--jobs: expected a whole number from 1 up")
    if not options.seconds >= 0 or options.seconds == float("inf"):
        return fail("--seconds: expected a number from 0 up")
    signal.signal(signal.SIGTERM, _terminate)
    progress = ProgressLine(sys.stderr)
    sweep = None
    try:
        request = make_request(options)
        sweep = start(request, progress)
        study = finish(request, sweep, sweep.run())
    except (StudyError, ValueError) as error:
        progress.end()
        return fail(error)
    except (KeyboardInterrupt, Cancelled) as reason:
        progress.end()
        done = f"{len(sweep.results)} of {sweep.total} plans are done and kept in {sweep.kept}" if sweep else "nothing was planned"
        print(f"llmmem-study: interrupted: {done}; the same command goes on from there", file=sys.stderr)
        return 128 + (signal.SIGTERM if isinstance(reason, Terminated) else signal.SIGINT)
    progress.end()
    try:
        summarize(request, sweep.planned, study, time.monotonic() - progress.begin)
    except OSError as error:
        return fail(f"cannot write 'stdout': {error.strerror}")
    return OK if any(point["status"] == "feasible" for point in study["points"]) else NO_PLAN


def make_request(options: argparse.Namespace) -> Request:
    """Returns what was asked for. A step of PyTorch is traced first."""
    if (options.input is None) == (options.torch is None):
        raise StudyError("expected one input: a config.json, a model.mlir, a problem.json, or --torch package.module:function")
    axes = [options.budgets, options.policies, options.batch, options.seq, options.devices]
    path, title = options.input, options.title
    if options.torch is not None:
        path = os.path.splitext(options.output)[0] + ".problem.json"
        title = title or options.torch
        write_problem(options.torch, options.batch or "1", options.seq or "1024", options.devices or "h100", path)
        axes[2:] = [None, None, None]  # The problem has them.
    return Request(path, make_axes(*axes), options.output, title, options.exports, options.jobs, options.seconds,
                   shlex.split(options.import_flags), shlex.split(options.opt_flags))


def summarize(request: Request, planned: int, study: Any, seconds: float) -> None:
    points = study["points"]
    feasible = [point for point in points if point["status"] == "feasible"]
    print(f"{len(points)} points, {len(feasible)} with a plan, {planned} of them planned now, in {seconds:.1f} s")
    if feasible:
        least, most = (choose(feasible, key=lambda point: point["needed"]) for choose in (min, max))
        print(f"from {size_text(least['needed'])} to {size_text(most['needed'])}")
    print("wrote " + ", ".join(request.written), flush=True)


if __name__ == "__main__":
    sys.exit(main())
