#!/usr/bin/env python3
"""Compares kernels of a bundle with float64, each by itself at its real shapes: bundle_kernels.py STEP.json [--driver libcuda.so.1]

Each distinct op but attention, whose formulas llmmem-replay has: on normal numbers, results poisoned before, twice for equal
bits, against op_reference.py by PyTorch on the GPU. A line of JSON for each: worst error in parts of what rounding explains
(above 1 is wrong), whether the second run gave the same bits, or why it was not compared.

  bundle_kernels.py STEP.json --emulate MODULE.mlir      where there is no GPU: by llmmem-emulate, and numpy or PyTorch
"""

import argparse
import ctypes
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time

import op_reference

WIDTH = {"bf16": 2, "f16": 2, "f32": 4, "f64": 8, "i32": 4, "i64": 8, "i8": 1}
POISON = 0xFF  # of each byte: NaN in every type of number
ALIGNMENT = 256
# Operands that are no normal numbers, by op and position: those are positive, ids, a rate, a number of a step.
POSITIVE = {("layer_norm_grad", 2), ("rms_norm_grad", 1), ("norm_weight_grad", 2), ("adamw", 3)}
IDS = {("embedding", 0), ("embedding_grad", 0), ("loss_head", 2)}
SMALL = {("loss_head", 1)}
RATE, STEP = ("adamw", 4), ("adamw", 5)


class Failed(Exception):
    """Raised where the device refused something."""


#
# Memory as numpy or PyTorch has it
#

class Arrays:
    """Bytes and numbers of one module of arrays on one device."""

    def __init__(self, device):
        self.is_torch = device != "numpy"
        self.xp = __import__("torch" if self.is_torch else "numpy")
        self.device = device
        if self.is_torch:
            self.generator = self.xp.Generator(device).manual_seed(7)
        else:
            self.generator = self.xp.random.default_rng(7)

    def bytes(self, count):
        if self.is_torch:
            return self.xp.full((count,), POISON, dtype=self.xp.uint8, device=self.device)
        return self.xp.full(count, POISON, dtype=self.xp.uint8)

    def normal(self, count):
        if self.is_torch:
            return self.xp.randn(count, generator=self.generator, device=self.device)
        return self.generator.standard_normal(count).astype("float32")

    def below(self, most, count):
        if self.is_torch:
            return self.xp.randint(most, (count,), generator=self.generator, device=self.device, dtype=self.xp.int32)
        return self.generator.integers(0, most, count).astype("int32")

    def store(self, to, values, element):
        """Stores the numbers as bytes of their type."""
        if self.is_torch:
            types = {"bf16": self.xp.bfloat16, "f16": self.xp.float16, "f32": self.xp.float32, "i32": self.xp.int32}
            to.copy_(values.to(types[element]).view(self.xp.uint8))
        elif element == "bf16":
            bits = values.astype("float32").view("uint32")
            to[:] = ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype("uint16").view("uint8")
        else:
            to[:] = values.astype({"f16": "float16", "f32": "float32", "i32": "int32"}[element]).view("uint8")

    def load(self, what, shape, element):
        """Loads numbers as float64, and integers as they are."""
        if self.is_torch:
            types = {"bf16": self.xp.bfloat16, "f16": self.xp.float16, "f32": self.xp.float32, "i32": self.xp.int32}
            found = what.view(types[element]).reshape(shape)
            return found if element == "i32" else found.double()
        if element == "bf16":
            found = (what.view("uint16").astype("uint32") << 16).view("float32")
        else:
            found = what.view({"f16": "float16", "f32": "float32", "i32": "int32"}[element])
        return found.reshape(shape) if element == "i32" else found.reshape(shape).astype("float64")

    def copy(self, what):
        return what.clone() if self.is_torch else what.copy()

    def equal(self, a, b):
        return bool(self.xp.equal(a, b) if self.is_torch else self.xp.array_equal(a, b))

    def worst(self, found, expected, allowed):
        """Returns the worst error in parts of what is allowed; not a number where one is found."""
        return float((abs(found - expected) / (allowed + 1e-30)).max())


#
# An op's memory: the ranges of buffers that it is given, each in one piece
#

class Memory:
    """The memory of an op. Ranges of buffers that overlap lie together, as results may replace operands."""

    def __init__(self, arrays, places):
        spans = sorted((buffer, at, at + count) for buffer, at, count in places if count)
        self.pieces = []  # (buffer, begin, end, bytes)
        for buffer, begin, end in spans:
            if self.pieces and self.pieces[-1][0] == buffer and begin < self.pieces[-1][2]:
                self.pieces[-1][2] = max(self.pieces[-1][2], end)
            else:
                self.pieces.append([buffer, begin, end])
        for piece in self.pieces:
            piece.append(arrays.bytes((piece[2] - piece[1] + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT))

    def find(self, buffer, at):
        """Returns (bytes, the place in them)"""
        for its, begin, end, held in self.pieces:
            if its == buffer and begin <= at < end:
                return held, at - begin
        raise Failed(f"byte {at} of buffer {buffer} is none of what the op is given")

    def part(self, place, count):
        held, at = self.find(*place)
        return held[at:at + count]

    def poison(self):
        for piece in self.pieces:
            piece[3][:] = POISON


#
# Who runs the kernels
#

class Driver:
    """The CUDA driver, in the context that PyTorch uses."""

    def __init__(self, library, folder, programs, arrays):
        self.cuda, self.folder, self.arrays = ctypes.CDLL(library), folder, arrays
        if not arrays.is_torch:
            raise Failed("kernels of a GPU work on the memory of PyTorch, which is not there")
        self.images, self.functions = {}, {}
        self.check(self.cuda.cuInit(0), "starting the driver")
        context = ctypes.c_void_p()
        self.check(self.cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), "opening the device")
        self.check(self.cuda.cuCtxSetCurrent(context), "opening the device")
        major = ctypes.c_int()
        self.check(self.cuda.cuDeviceGetAttribute(ctypes.byref(major), 75, 0), "asking for the capability")
        self.chip = "sm_90a" if major.value == 9 else "sm_80"
        self.program = next((one for one in programs if any(image["chip"] == self.chip for image in one["modules"][0]["images"])),
                            programs[0])

    def check(self, status, what):
        if status:
            raise Failed(f"{what}: error {status} of the driver")

    def function(self, number):
        if number not in self.functions:
            kernel = self.program["kernels"][number]
            found = ctypes.c_void_p()
            self.check(self.cuda.cuModuleGetFunction(ctypes.byref(found), self.image(kernel["module"]),
                                                     kernel["name"].encode()), kernel["name"])
            self.functions[number] = found
        return self.functions[number]

    def image(self, module):
        if module not in self.images:
            images = self.program["modules"][module]["images"]
            image = next((one for one in images if one["chip"] == self.chip), images[0])
            with open(os.path.join(self.folder, image["file"]), "rb") as file:
                contents = file.read() + b"\0"
            found = ctypes.c_void_p()
            self.check(self.cuda.cuModuleLoadDataEx(ctypes.byref(found), contents, 0, None, None), image["file"])
            self.images[module] = found
        return self.images[module]

    def run(self, calls, memory, timed):
        for call in calls:
            if call[0] == "copy":
                (to, to_at), (source, at) = memory.find(*call[1]), memory.find(*call[2])
                to[to_at:to_at + call[3]] = source[at:at + call[3]]
                continue
            if call[0] != "launch":
                raise Failed(f"a call of {call[0]}")
            _, number, grid, block, shared, words, *maps = call
            function = self.function(number)
            values = [ctypes.c_uint64(self.address(memory, word)) for word in words]
            encoded = [self.encode(map, values) for map in (maps[0] if maps else [])]
            pointers = (ctypes.c_void_p * (len(values) + len(encoded)))(*(ctypes.addressof(value) for value in values),
                                                                        *(address for _, address in encoded))
            if shared > 48 << 10:
                self.check(self.cuda.cuFuncSetAttribute(function, 8, shared), "shared memory")
            self.check(self.cuda.cuLaunchKernel(function, *grid, *block, shared, None, pointers, None), "launching")
        self.check(self.cuda.cuStreamSynchronize(None), "running")

    def encode(self, map, values):
        """Encodes a tensor map as lib/Runtime/Cuda.c does. Returns what keeps its bytes, and their address, a multiple of 64."""
        argument, begin, first, rows, columns, pitch, box_rows, is_f16 = map
        address = values[argument].value + 2 * (begin + (values[first].value if first >= 0 else 0))
        storage = (ctypes.c_uint8 * 192)()
        at = (ctypes.addressof(storage) + 63) // 64 * 64
        self.check(self.cuda.cuTensorMapEncodeTiled(
            ctypes.c_void_p(at), 6 if is_f16 else 9, 2, ctypes.c_void_p(address), (ctypes.c_uint64 * 2)(columns, rows),
            (ctypes.c_uint64 * 1)(2 * pitch), (ctypes.c_uint32 * 2)(64, box_rows), (ctypes.c_uint32 * 2)(1, 1), 0, 3, 3, 0),
            "encoding a tensor map")
        return storage, at

    @staticmethod
    def address(memory, word):
        if not isinstance(word, list):
            return word & (1 << 64) - 1
        held, at = memory.find(*word)
        return held.data_ptr() + at


class Emulated:
    """llmmem-emulate: the same kernels, from the module that a bundle is made of."""

    def __init__(self, module, emulator, program, arrays):
        self.module, self.emulator, self.program, self.arrays = module, emulator, program, arrays

    def run(self, calls, memory, timed):
        name = self.program["kernels"][next(call[1] for call in calls if call[0] == "launch")]["name"]
        function = name[:name.rindex("_kernel")]
        buffers = [(place, count) for place, count in zip(timed["places"], timed["place_bytes"]) if count]
        with tempfile.TemporaryDirectory() as folder:
            for number, (place, count) in enumerate(buffers):
                with open(os.path.join(folder, str(number)), "wb") as file:
                    part = memory.part(place, count)
                    file.write((part.cpu().numpy() if self.arrays.is_torch else part).tobytes())
            done = subprocess.run([self.emulator, self.module, f"--function={function}", f"--buffers={folder}"], text=True,
                                  capture_output=True)
            if done.returncode:
                raise Failed(f"{function}: {done.stderr.strip().splitlines()[-1] if done.stderr else done.returncode}")
            # Operands first: results may be in their place.
            for number, (place, count) in enumerate(buffers):
                with open(os.path.join(folder, str(number)), "rb") as file:
                    contents = bytearray(file.read())
                values = self.arrays.xp.frombuffer(contents, dtype=self.arrays.xp.uint8)
                memory.part(place, count)[:] = values


#
# Ops
#

def distinct(program):
    """Returns (entry, calls) of each distinct op, the first of its key."""
    seen, calls, starts = set(), program["calls"], {}
    for number, call in enumerate(calls):
        if call[0] == "mark":
            starts[call[1]] = number + 1
    for number, timed in enumerate(program["timed"]):
        if timed["key"] and timed["key"] not in seen and "attention" not in timed:
            seen.add(timed["key"])
            yield timed, calls[starts[number]:starts[number + 1] - 1]


def role_of(key, operand):
    """Returns what the operand is to the first op that reads it: its name and position."""
    return next(((name, reads.index(operand)) for name, reads, _ in key.ops if operand in reads), ("", 0))


def values_of(arrays, key, operand):
    shape, element = key.operands[operand]
    count, role = 1, role_of(key, operand)
    for extent in shape:
        count *= extent
    if role in IDS:
        table = key.operands[1][0] if role[0] != "embedding_grad" else key.results[0][0]
        words = table[1] if role[0] == "loss_head" and not key.ops[0][2].get("layout") else table[0]
        return arrays.below(words, count)
    numbers = arrays.normal(count)
    if role == RATE or role == STEP:
        return numbers * 0 + (1e-3 if role == RATE else 3)
    return abs(numbers) + 0.5 if role in POSITIVE else numbers * 0.05 if role in SMALL else numbers


def bytes_of(shape, element):
    count = WIDTH[element]
    for extent in shape:
        count *= extent
    return count


def compare(arrays, runner, timed, calls):
    key = op_reference.Key(timed["key"])
    if not op_reference.is_known(key):
        raise op_reference.Unknown(f"no formula for {key.kind}")
    operands, results = len(key.operands), len(key.results)
    places = timed["places"][:operands + results]
    memory = Memory(arrays, [(*place, count) for place, count in zip(timed["places"], timed["place_bytes"]) if count])
    parts = [memory.part(place, bytes_of(*what)) for place, what in zip(places, key.operands + key.results)]
    numbers = [values_of(arrays, key, k) for k in range(operands)]

    def fill():
        memory.poison()
        for part, values, (_, element) in zip(parts, numbers, key.operands):
            arrays.store(part, values, element)

    fill()
    given = [arrays.load(arrays.copy(part), *what) for part, what in zip(parts, key.operands)]
    runner.run(calls, memory, timed)
    first = [arrays.copy(part) for part in parts[operands:]]
    fill()
    runner.run(calls, memory, timed)
    expected = op_reference.compute(arrays.xp, key, timed.get("yields"), given)
    # A kernel is not given the place of a result that nothing reads, and does not write it.
    given_places = [word for call in calls for word in (call[5] if call[0] == "launch" else call[1:3])]
    worst, same = [], True
    for part, again, what, known, place in zip(first, parts[operands:], key.results, expected, places[operands:]):
        if len(key.ops) == 1 or place in given_places:
            worst.append(arrays.worst(arrays.load(part, *what), *known))
            same &= arrays.equal(part, again)
    # max() would drop a NaN that follows a number.
    bad = next((error for error in worst if error != error), None)
    return {"equal_bits": same, "worst_error": None if bad is not None else max(worst)}


def choose_arrays(arguments):
    if arguments.emulate:
        return Arrays("cpu" if importlib.util.find_spec("torch") and not arguments.numpy else "numpy")
    if not importlib.util.find_spec("torch"):
        raise Failed("PyTorch is not there")
    return Arrays(arguments.device)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step")
    parser.add_argument("--driver", default="libcuda.so.1", help="the CUDA driver (default: libcuda.so.1)")
    parser.add_argument("--device", default="cuda", help="of PyTorch's memory (default: cuda)")
    parser.add_argument("--emulate", metavar="MODULE", help="run them from this module by the emulator")
    parser.add_argument("--emulator", default="llmmem-emulate")
    parser.add_argument("--numpy", action="store_true", help="with --emulate: by numpy, even where PyTorch is")
    parser.add_argument("--only", type=lambda text: tuple(text.split(",")), default=("",),
                        help="ops whose kinds begin with one of these, separated by commas")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin none after so long")
    arguments = parser.parse_args()
    begin = time.monotonic()
    with open(arguments.step) as file:
        bundle = json.load(file)
    programs = [one for one in bundle["programs"] if one["products"] == "generated"]
    try:
        arrays = choose_arrays(arguments)
        folder = os.path.join(os.path.dirname(os.path.abspath(arguments.step)), bundle["kernels"])
        runner = (Emulated(arguments.emulate, arguments.emulator, programs[0], arrays) if arguments.emulate else
                  Driver(arguments.driver, folder, programs, arrays))
    except (Failed, OSError, RuntimeError) as why:
        sys.exit(f"bundle_kernels: {str(why).splitlines()[0]}")
    for timed, calls in distinct(runner.program):
        if not timed["kind"].startswith(arguments.only):
            continue
        line = {"kind": timed["kind"], "key": timed["key"]}
        try:
            if time.monotonic() - begin > arguments.seconds:
                raise op_reference.Unknown("there was no time for it")
            line |= compare(arrays, runner, timed, calls)
        except (op_reference.Unknown, Failed) as why:
            line["why"] = str(why)
        except RuntimeError as why:  # PyTorch's, where memory is too small
            line["why"] = str(why).splitlines()[0]
        print(json.dumps(line), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
