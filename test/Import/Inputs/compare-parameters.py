"""Compares the parameters of an imported graph with those of a checkpoint: names, shapes, order of neither.

compare-parameters.py model.mlir checkpoint.safetensors   (tensors named param.<public name>)
"""

import json
import re
import struct
import sys

with open(sys.argv[1]) as text:
    signature = text.read().split("func.func", 1)[1].split(") ->", 1)[0]
imported = {}
for dims, attributes in re.findall(r": tensor<([0-9x]*)x?(?:f32|bf16|f64|i32)> \{([^}]*)\}", signature):
    if 'llm.role = "param"' in attributes:
        name = re.search(r'llm\.name = "([^"]*)"', attributes).group(1)
        imported[name] = [int(dim) for dim in dims.strip("x").split("x")]

with open(sys.argv[2], "rb") as file:
    (length,) = struct.unpack("<Q", file.read(8))
    header = json.loads(file.read(length))
published = {name[len("param."):]: tensor["shape"] for name, tensor in header.items() if name.startswith("param.")}

for name in sorted(imported.keys() | published.keys()):
    if imported.get(name) != published.get(name):
        sys.exit(f"{name}: imported {imported.get(name)}, published {published.get(name)}")
print(f"{len(published)} parameters agree")
