"""`python -I -m llmmem.torch`: what llmmem-fit, llmmem-plan and llmmem-study ask of PyTorch."""

import argparse
import json
import sys
from typing import Any, Dict, List, Optional

from .._errors import BudgetError
from .._planner import parse_bytes
from ._errors import UnsupportedGraphError, find_error
from ._predict import STRATEGIES, predict
from ._prediction import Prediction
from ._source import DTYPES, OPTIMIZERS, Source, read_source
from ._problem_of import problem_of

OK, BAD_INPUT, NO_PLAN = 0, 1, 2

EPILOG = """
MODEL is package.module:function, of (batch, tokens) or of nothing, which returns (model, inputs) or (model, inputs, loss); or a config.json of
transformers. Nothing of it is run with numbers, and no weight is in memory.

examples:
  python -I -m llmmem.torch predict config.json --batch 4 --seq 1024 --device rtx4090
  python -I -m llmmem.torch predict train:make_step --batch 2 --seq 8192 --device h100 --ranks 8 --strategies fsdp2
  python -I -m llmmem.torch problem config.json --batch 4 --seq 1024 -o problem.json
  llmmem-plan problem.json --budget 8GB; llmmem-study problem.json -o study.html

EXIT CODES
  0    done
  1    bad input: the message says what was expected
  2    no way to train could be predicted, or no plan fits the budget; the message says why
"""


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -I -m llmmem.torch", epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     description="Predicts what a training step of PyTorch holds, and writes it as the planner's problem.")
    commands = parser.add_subparsers(dest="command", required=True)
    predicting = commands.add_parser("predict", help="print the bytes that ways to train will hold")
    writing = commands.add_parser("problem", help="write the step as a problem of llmmem-plan and llmmem-study")
    for command in (predicting, writing):
        command.add_argument("model", metavar="MODEL")
        command.add_argument("--batch", type=_count, default=1, help="sequences in a step, of one rank (default: 1)")
        command.add_argument("--seq", type=_count, default=1024, help="tokens in a sequence (default: 1024)")
        command.add_argument("--device", default="cpu", help="name or file of a device table (default: cpu)")
        command.add_argument("--dtype", choices=list(DTYPES), help="of the parameters (default: the model's own)")
        command.add_argument("--optimizer", choices=list(OPTIMIZERS), default="adamw", help="(default: adamw)")
    predicting.add_argument("--strategies", metavar="name[,name]", help=f"of {', '.join(STRATEGIES)} (default: all that apply)")
    predicting.add_argument("--budget", metavar="bytes", help="of the planned step, such as 24GB, or min")
    predicting.add_argument("--ranks", type=_count, metavar="N", help="how many ranks hold the model")
    predicting.add_argument("--json", action="store_true", help="JSON instead of text")
    writing.add_argument("--graph", type=_count, metavar="K", help="which graph of a step that PyTorch cuts into several")
    writing.add_argument("-o", dest="output", default="-", metavar="file", help="where to write (default: -, stdout)")
    return parser


def _count(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"is {text!r}; expected a number from 1 up")
    return int(text)


def main(arguments: Optional[List[str]] = None) -> int:
    try:
        options = make_parser().parse_args(arguments)
    except SystemExit as end:
        return BAD_INPUT if end.code else OK
    try:
        source = read_source(options.model, options.batch, options.seq, options.dtype)
        return _predict(options, source) if options.command == "predict" else _write_problem(options, source)
    except BudgetError as error:
        return _fail(error, NO_PLAN)
    except (ValueError, OSError, UnsupportedGraphError) as error:
        return _fail(error, BAD_INPUT)


def _fail(error: object, code: int) -> int:
    print(f"llmmem.torch: error: {str(error).replace('llmmem.torch: ', '', 1)}", file=sys.stderr)
    return code


def _predict(options: argparse.Namespace, source: Source) -> int:
    """Predicts each strategy by itself, so that one that cannot be predicted leaves the others."""
    budget = options.budget if options.budget in (None, "min") else parse_bytes(options.budget)
    names = options.strategies.split(",") if options.strategies else [
        name for name in STRATEGIES if (name != "planned" or budget is not None) and (options.ranks or not name.startswith(("ddp", "fsdp2")))]
    found: Dict[str, Any] = {}
    refused: Dict[str, str] = {}
    made = None
    for name in names:
        try:
            made = predict(source.model, source.inputs, optimizer=OPTIMIZERS[options.optimizer], device=options.device, strategies=[name],
                           budget=budget, loss=source.loss, ranks=options.ranks)
            found.update(made.strategies)
        except Exception as error:
            known = find_error(error, (BudgetError, UnsupportedGraphError, ValueError, NotImplementedError))
            if known is None:
                raise
            refused[name] = str(known).strip()
    if made is None:
        return _fail("; ".join(dict.fromkeys(refused.values())), NO_PLAN)
    prediction = Prediction(options.device, options.optimizer != "none", {name: found[name] for name in names if name in found})
    print(_as_json(options, source, prediction, refused) if options.json else
          "\n".join([str(prediction), *(f"llmmem: {name}: {why}" for name, why in refused.items())]), flush=True)
    return OK


def _as_json(options: argparse.Namespace, source: Source, prediction: Prediction, refused: Dict[str, str]) -> str:
    content = json.loads(prediction.to_json())
    content.update(model=options.model, parameters=source.parameters, dtype=source.dtype, batch=options.batch, seq=options.seq,
                   optimizer=options.optimizer, ranks=options.ranks, refused=refused)
    return json.dumps(content, indent=1)


def _write_problem(options: argparse.Namespace, source: Source) -> int:
    problem = problem_of(source, OPTIMIZERS[options.optimizer], options.device, options.graph)
    if options.output == "-":
        print(problem.to_json(), flush=True)
    else:
        with open(options.output, "w", encoding="utf-8") as file:
            file.write(problem.to_json() + "\n")
    return OK
