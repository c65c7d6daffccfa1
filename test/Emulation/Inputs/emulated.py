"""Runs a small model on the emulator: near the CPU's run, and the same bits under five budgets as unplanned.

  emulated.py folder text tolerance config.json [flags of llmmem-import]

`tolerance`: how far a loss, and an element of a gradient in parts of the largest one, may be from the CPU's. Prints a
line for each run.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "EndToEnd", "Inputs"))
import on_device

folder, text, tolerance, *model = sys.argv[1:]
on_device.compare(folder, text, float(tolerance), ["--device=emulate"], *model)
