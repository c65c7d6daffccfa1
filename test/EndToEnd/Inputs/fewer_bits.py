"""Generates with weights in fewer bits, which are rounded when they are loaded, and with the numbers that these stand for, computed
here in Python's floats and loaded as f32: tokens and the bits of logits must be equal, token by token and with prompts in chunks.

  fewer_bits.py folder config.json format [flags of both imports]

The weights are random; some groups are zeros, have one large number, or have numbers in the middle of two. Prints what was
rounded, and how far logits are from those of the weights as they were.
"""
import json
import math
import os
import random
import re
import struct
import sys

import chain
import tensors

PROMPTS = "3,1,4,1,5,9,2,6,5;2,7,1"
LARGEST = {"int8": 127, "f8e4m3": 448, "f8e5m2": 57344}


def single(number):
    return struct.unpack("<f", struct.pack("<f", number))[0]


def parameters(path):
    """Returns the shape by name, element type, and whether a checkpoint has it turned, of the parameters of a step."""
    with open(path) as file:
        text = file.read()
    found = {}
    for match in re.finditer(r'tensor<((?:\d+x)+)(\w+)> \{([^}]*)\}', text):
        attributes = match.group(3)
        name = re.search(r'llm.name = "([^"]+)"', attributes)
        if name and 'llm.role = "param"' in attributes:
            found[name.group(1)] = ([int(x) for x in match.group(1).split("x")[:-1]], match.group(2), "llm.transposed" in attributes)
    return found


def write(path, weights, shapes):
    """Writes weights as public checkpoints have them: a name with a place for a number gets a tensor for each slice."""
    header, data = {}, b""
    for name, numbers in weights.items():
        shape, _, is_turned = shapes[name]
        count = 1
        if is_turned:
            rows, columns = shape
            numbers = [numbers[row * columns + column] for column in range(columns) for row in range(rows)]
            shape = [columns, rows]
        if ".*." in name:
            count, shape = shape[0], shape[1:]
        size = len(numbers) // count
        for number in range(count):
            part = struct.pack("<%df" % size, *numbers[number * size : (number + 1) * size])
            header[name.replace("*", str(number))] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(part)]}
            data += part
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def small_float(kind, value):
    """Returns the f8 nearest to a number, ties to even: a multiple of its last place."""
    bits, least = (3, -6) if kind == "f8e4m3" else (2, -14)
    place = 2.0 ** (max(least, math.frexp(value)[1] - 1) - bits)
    return round(value / place) * place


def round_group(kind, group):
    """Returns what the elements of a group are once it is held as `kind`."""
    if kind == "int4":
        low, high = min(0.0, min(group)), max(0.0, max(group))
        scale = single((high - low) / 15)
        if scale == 0:
            return [0.0] * len(group)
        zero = min(15, max(0, round(-low / scale)))
        return [single((min(15, max(0, round(x / scale) + zero)) - zero) * scale) for x in group]
    largest = LARGEST[kind]
    scale = single(max(map(abs, group)) / largest)
    if scale == 0:
        return [0.0] * len(group)
    quotients = [min(largest, max(-largest, x / scale)) for x in group]
    return [single((round(q) if kind == "int8" else small_float(kind, q)) * scale) for q in quotients]


def round_tensor(kind, size, numbers):
    return [x for first in range(0, len(numbers), size) for x in round_group(kind, numbers[first : first + size])]


def some_weights(shapes):
    source = random.Random(5)
    weights = {}
    for name, (shape, _, _) in shapes.items():
        count = 1
        for extent in shape:
            count *= extent
        numbers = [single(source.gauss(0, 0.2)) for _ in range(count)]
        if len(shape) >= 2:
            numbers[:32] = [0.0] * 32
            numbers[32] = 50.0
            numbers[64:96] = [127.0] + [i - 15.5 for i in range(31)]
        elif name.endswith("weight"):
            numbers = [1 + x for x in numbers]
        weights[name] = numbers
    return weights


def generate(folder, name, steps, weights):
    logits = os.path.join(folder, name + ".logits")
    printed = chain.run("llmmem-run", *steps, "--load", weights, "--tokens", PROMPTS, "--generate", "8", "--temperature", "0",
                        "--json", "--save-logits", logits, "--optimize=false", "--gemm=builtin")
    return [json.loads(line)["tokens"] for line in printed.splitlines()], tensors.read(logits)


def main(folder, config, form, *flags):
    os.makedirs(folder, exist_ok=True)
    kind, group = form.split(":")

    def step(name, *more):
        model, planned = (os.path.join(folder, name + suffix) for suffix in (".model.mlir", ".mlir"))
        chain.run("llmmem-import", config, *flags, *more, "--dtype", "f32", "--context", "24", "--batch", "2", "-o", model)
        chain.run("llmmem-opt", "--checkpoint-policy=none", model, "-o", planned)
        return planned

    modes = {"decode": ["--mode", "decode"], "prefill": ["--mode", "prefill", "--seq", "4"]}
    plain = {mode: step(mode, *more) for mode, more in modes.items()}
    packed = {mode: step("packed-" + mode, *more, "--weights", form) for mode, more in modes.items()}
    shapes, held = parameters(plain["decode"]), parameters(packed["decode"])
    weights = some_weights(shapes)
    elements, rounded = {}, 0
    for name, numbers in weights.items():
        elements[name] = numbers
        if name + ".scales" in held:
            elements[name] = round_tensor(kind, int(group), numbers)
            rounded += 1
    paths = {name: os.path.join(folder, name + ".safetensors") for name in ("weights", "elements")}
    write(paths["weights"], weights, shapes)
    write(paths["elements"], elements, shapes)
    for steps in (["decode"], ["prefill", "decode"]):
        expected = generate(folder, "plain", [plain[mode] for mode in steps], paths["elements"])
        actual = generate(folder, "packed", [packed[mode] for mode in steps], paths["weights"])
        if actual != expected:
            chain.stop("%s by %s: tokens %s, expected %s, or other bits of logits" % (form, steps, actual[0], expected[0]))
    exact = generate(folder, "exact", [plain["decode"]], paths["weights"])[1]
    errors = [tensors.relative_error(actual[1][name], exact[name]) for name in exact]
    print("%d of %d parameters rounded to %s: the bits of their elements" % (rounded, len(weights), form))
    print("logits are off by %.4f" % max(errors))


if __name__ == "__main__":
    main(*sys.argv[1:])
