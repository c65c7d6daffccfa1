"""The device tables that llmmem ships, for scripts that run without its tools."""
import json
import os

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lib", "Device", "Tables")


def load(name):
    with open(os.path.join(FOLDER, name + ".json"), encoding="utf-8") as file:
        return json.load(file)


def peak_of(name):
    """Dense FLOPs a second in bf16 of a table's device."""
    return load(name)["flops_per_ns"]["bf16"] * 1e9
