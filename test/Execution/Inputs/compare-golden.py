"""Compares what a run wrote with the golden tensors of a family.

  compare-golden.py golden.safetensors run.jsonl gradients.safetensors after3.safetensors

Prints one line a check: what was compared, and the largest error next to what is allowed. The last line says how many
tensors were compared, or which failed.
"""
import json
import struct
import sys

# In f32 Adam turns the rounding noise of a gradient that is mathematically zero into steps of up to the learning
# rate: GPT-2's key bias has such a gradient (softmax is shift invariant).
ZERO_GRADIENT = {"transformer.h.%d.attn.c_attn.bias" % layer: range(32, 64) for layer in range(2)}


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    length = struct.unpack("<Q", data[:8])[0]
    tensors = {}
    for name, entry in json.loads(data[8 : 8 + length]).items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        code, size = {"F64": ("d", 8), "F32": ("f", 4), "I64": ("q", 8), "I32": ("i", 4)}[entry["dtype"]]
        tensors[name] = struct.unpack("<%d%s" % ((end - begin) // size, code), data[8 + length + begin : 8 + length + end])
    return tensors


def error(actual, expected, leave_out=()):
    """Returns the largest difference relative to the largest element."""
    assert len(actual) == len(expected)
    largest = max(abs(x) for x in expected)
    return max((abs(a - b) for i, (a, b) in enumerate(zip(actual, expected)) if i not in leave_out), default=0) / largest


def main(golden_path, log_path, gradients_path, after_path):
    golden, gradients, after = read(golden_path), read(gradients_path), read(after_path)
    with open(log_path) as file:
        losses = [json.loads(line)["loss"] for line in file]
    failed, compared = [], 0
    for step, loss in enumerate(losses[:3]):
        difference = abs(loss - golden["losses"][step])
        print("loss of step %d: error %.1e of 1e-5" % (step + 1, difference))
        if not difference < 1e-5:
            failed.append("loss of step %d" % (step + 1))
    for kind, tensors in (("grad.", gradients), ("after3.", after)):
        worst = (0.0, "")
        for name in (name[len(kind) :] for name in golden if name.startswith(kind)):
            leave_out = ZERO_GRADIENT.get(name, ()) if kind == "after3." else ()
            difference = error(tensors[name], golden[kind + name], leave_out)
            worst = max(worst, (difference, name))
            compared += 1
            if not difference < 1e-4:
                failed.append("%s%s (%.1e)" % (kind, name, difference))
        print("%s*: error %.1e of 1e-4, at %s" % ((kind,) + worst))
    print("failed: " + ", ".join(failed) if failed else "all %d tensors and %d losses agree" % (compared, len(losses)))
    return 1 if failed else 0


sys.exit(main(*sys.argv[1:]))
