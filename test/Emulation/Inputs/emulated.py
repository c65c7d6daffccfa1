"""Runs a small model on the emulator: near the CPU's run, and the same bits under budgets as unplanned.

  emulated.py budgets [--library] [--missing=EPILOGUE,...] [--plan=FLAG] folder text tolerance config.json [flags of llmmem-import]

`text`: or what a golden family was computed of, NAME.safetensors. `budgets`: how many. `--library`: planned for a library and its epilogues, whose products the emulator computes as they
are documented. `--missing`: but for those with such epilogues, for which the library has no algorithm. `--plan`: a flag of llmmem-opt for every plan.
`tolerance`: how far a loss, and an element of a gradient in parts of the largest one, may be from the CPU's. Prints a
line for each run.
"""
import os
import sys

for folder in ("EndToEnd", "Cuda"):
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", folder, "Inputs"))
import missing_products
import on_device

arguments = sys.argv[1:]
budgets = int(arguments.pop(0))
library = arguments[0] == "--library"
arguments = arguments[library:]
missing = arguments.pop(0).split("=")[1].split(",") if arguments[0].startswith("--missing=") else []
plan = [arguments.pop(0).split("=", 1)[1]] if arguments[0].startswith("--plan=") else []
folder, text, tolerance, *model = arguments


def without_missing(planned):
    if missing and not missing_products.write(planned, planned, missing):
        sys.exit("no product has such an epilogue")


device = ["--device=emulate"] + (["--products=library"] if library else [])
planning = plan + (["--products=library", "--epilogues=fused"] if library else [])
on_device.compare(folder, text, float(tolerance), device, *model, planning=planning, budgets=budgets,
                  change=without_missing)
