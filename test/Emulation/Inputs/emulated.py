"""Runs a small model on the emulator: near the CPU's run, and the same bits under budgets as unplanned.

  emulated.py budgets [--library] folder text tolerance config.json [flags of llmmem-import]

`text`: or what a golden family was computed of, NAME.safetensors. `budgets`: how many. `--library`: planned for a library and its epilogues, whose products the emulator computes as they
are documented.
`tolerance`: how far a loss, and an element of a gradient in parts of the largest one, may be from the CPU's. Prints a
line for each run.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "EndToEnd", "Inputs"))
import on_device

arguments = sys.argv[1:]
budgets = int(arguments.pop(0))
library = arguments[0] == "--library"
folder, text, tolerance, *model = arguments[library:]
device = ["--device=emulate"] + (["--products=library"] if library else [])
planning = ["--products=library", "--epilogues=fused"] if library else []
on_device.compare(folder, text, float(tolerance), device, *model, planning=planning, budgets=budgets)
