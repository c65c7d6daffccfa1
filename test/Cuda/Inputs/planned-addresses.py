#!/usr/bin/env python3
"""planned-addresses.py step.mlir log: checks that each launch in a fake driver's log has the addresses that the plan says.

Shares nothing with the lowering: offsets are read from the text of the planned step. A0 is the block of arguments and
results, one after another at multiples of 256; A1 is the arena. A launch may touch what its op reads, writes or works
in, and nothing else; what the op writes it must touch, but for results of an llm.kernel that nobody reads. A tensor map has
rows of what its op may touch: whole ones, or columns of each row.
"""

import re
import sys

SIZES = {"bf16": 2, "f16": 2, "f32": 4, "f64": 8, "i32": 4, "i64": 8, "i1": 1, "i8": 1}
LAUNCH = re.compile(r"node launch kernel_(\d+)_(\w+?)_kernel(?:_\d+)? grid .*\((.*)\)$")
# A matrix of 16 bits that a launch copies by a tensor map.
MAP = re.compile(r"map of type \d+ at (A[01])\+(\d+): (\d+) rows of (\d+), (\d+) bytes apart, boxes of \d+ x \d+")
# Several updates in one launch.
SHARED = re.compile(r"(\w+)_of_(\d+)$")
# What the library computes: its line names no op, as a call of a library has no name of its own.
PRODUCT = re.compile(r"node multiply .* (\((.*)\) bias (\S+) aux (\S+) workspace (\S+) of (\d+))$")
PRODUCTS = {"llm.linear", "llm.linear_weight_grad"}
# Kernels that a plan for a library has: what is B, A, C, D, bias and aux of the call, by the kernel's operands and results.
EPILOGUES = {"llm.kernel:linear_gelu": lambda x, w, b, h, a=None: (w, x, a or h, a or h, b, a and h),
             "llm.kernel:linear_gelu_grad": lambda dy, w, h, dh: (w, dy, dh, dh, None, h),
             "llm.kernel:linear_add": lambda x, w, *rest: (w, x, rest[-2], rest[-1], rest[0] if len(rest) > 2 else None, None)}
# The gradients of a weight and a bias.
SUM = "llm.kernel:linear_weight_grad_sum_rows"
VALUE = re.compile(r"%[\w$.-]+(?:#\d+)?")


def tensor_bytes(text):
    *extents, element = text.split("x")
    size = SIZES[element]
    for extent in extents:
        size *= int(extent)
    return size


def numbers(text, name):
    match = re.search(re.escape(name) + r" = array<i64(?:: ([-\d, ]*))?>", text)
    return [int(number) for number in match.group(1).split(",")] if match and match.group(1) else []


def operations(lines):
    """Returns (results, name, operands, text) of each op of the step; an op with a region ends where its brace does, its name is
    made of those in it, as its kernel's is, and its text has their layouts."""
    index = 0
    while index < len(lines):
        line = lines[index]
        index += 1
        match = re.match(r"    (%.*?) = \"?(llm\.\w+)\"?(.*)", line)
        if not match:
            continue
        names, op, rest = match.groups()
        text = rest
        if rest.endswith("{"):
            inner, layouts = [], []
            while not lines[index].startswith("    }"):
                inner += re.findall(r"^ +%.*? = \"?llm\.(\w+)", lines[index])
                layouts += re.findall(r" layout\(\w+\)", lines[index])
                index += 1
            # Attention reads and writes columns where they lie.
            op = "llm.kernel:" + "_".join([name for name in inner if name.startswith("attention")] or inner)
            text += lines[index] + "".join(layouts)
            operands = re.findall(r"= (%[\w$.-]+(?:#\d+)?)", rest.split(") :")[0])
        else:
            operands = VALUE.findall(rest.split(" {")[0])
        results = []
        for name in names.split(", "):
            base, _, count = name.partition(":")
            results += [f"{base}#{k}" for k in range(int(count))] if count else [base]
        yield results, op, operands, text


class Plan:
    def __init__(self, path):
        lines = open(path).read().split("\n")
        start = next(k for k, line in enumerate(lines) if "func.func @step(" in line)
        end = next(k for k in range(start, len(lines)) if lines[k].startswith("    return "))
        self.places, self.sizes, self.donations, offset = {}, {}, {}, 0
        header = re.split(r"\) -> \(", lines[start])
        for name, tensor, notes in re.findall(r"(%arg\d+): tensor<([^>]*)>(?: \{(.*?)\})?(?=, %arg|$)", header[0]):
            self.places[name], self.sizes[name] = ("A0", offset), tensor_bytes(tensor)
            donated = re.search(r"llm\.donated = (\d+)", notes or "")
            if donated:
                self.donations[int(donated.group(1))] = name
            offset += (tensor_bytes(tensor) + 255) // 256 * 256
        self.returned = VALUE.findall(lines[end].split(" :")[0])
        types = re.findall(r"tensor<([^>]*)>", lines[end].split(" : ")[1])
        self.targets = {}
        for number, tensor in enumerate(types):
            if number not in self.donations:
                self.targets[number] = ("A0", offset)
                offset += (tensor_bytes(tensor) + 255) // 256 * 256
        self.ops = list(operations(lines[start:end]))
        self.read = set(self.returned)
        for results, op, operands, text in self.ops:
            self.read.update(operands)
            self.place(results, operands, text)

    def place(self, results, operands, text):
        sizes = numbers(text, "llm.bytes")
        if not sizes:
            types = re.findall(r"tensor<([^>]*)>", text.rsplit(" : ", 1)[-1].rsplit("->", 1)[-1])
            sizes = [tensor_bytes(tensor) for tensor in types]
        for k, (result, offset) in enumerate(zip(results, numbers(text, "llm.offsets"), strict=True)):
            self.sizes[result] = sizes[k]
            self.places[result] = ("A1", offset) if offset >= 0 else self.in_argument(result, operands, text)

    def in_argument(self, result, operands, text):
        """Returns the bytes of an argument: the one that the result is donated to, or accumulates into, or looks at."""
        if result in self.returned and self.returned.index(result) in self.donations:
            return self.places[self.donations[self.returned.index(result)]]
        into = re.search(r"into\((%[\w$.-]+(?:#\d+)?)\)", text)
        return self.places[into.group(1) if into else operands[0]]


def launches_of(path):
    for line in open(path):
        launch, product = LAUNCH.match(line), PRODUCT.match(line)
        if launch or product:
            number, op, arguments = launch.groups() if launch else (-1, None, product.group(1))
            places = [(block, int(offset)) for block, offset in re.findall(r"(A[01])\+(\d+)", MAP.sub("", arguments))]
            yield int(number), op, places, line.strip()


def is_for_library(op, text):
    return op in PRODUCTS or ((op in EPILOGUES or op == SUM) and "llm.library_workspace" in text)


def is_launch_of(op, launch):
    return launch[1] == op.removeprefix("llm.").removeprefix("kernel:")


def calls_first(launches, at, op, text):
    """Returns the launches of the call that begins here: its first kernel begins the next call of the same function. Products of a
    library belong to it where they stand between its launches or make the whole call."""
    if is_for_library(op, text) and launches[at][1] is None:
        adds = op == SUM and at + 1 < len(launches) and is_launch_of(op, launches[at + 1])
        return launches[at:at + 1 + adds]
    own = next((k for k in range(at, len(launches)) if launches[k][1] is not None), None)
    if own is None or not is_launch_of(op, launches[own]):
        return []
    number, _, _, line = launches[own]
    first, end = line.split()[2], own + 1
    for k in range(own + 1, len(launches)):
        if launches[k][1] is not None and (launches[k][0] != number or launches[k][3].split()[2] == first):
            break
        if launches[k][1] is not None:
            end = k + 1
    return launches[at:end]


def does_several(launch):
    return launch[1] is not None and SHARED.match(launch[1])


def sharing(op, shared):
    """Returns the launches that do several ops of this kind each."""
    return [places for _, what, places, _ in shared if SHARED.match(what).group(1) == op[1].removeprefix("llm.")]


def check_shared(plan, at, shared):
    """Checks launches that do several of the ops from `at` on: each op has all its places in one. Returns how many ops they do."""
    count = sum(int(SHARED.match(what).group(2)) for _, what, _, _ in shared)
    ops = [op for op in plan.ops[at:] if sharing(op, shared)][:count]
    allowed = set()
    for op in ops:
        results, name, operands, text = op
        needed = {plan.places[value] for value in operands + results}
        if not any(needed <= set(places) for places in sharing(op, shared)):
            sys.exit(f"no launch does {name} {text[:200]} at {sorted(needed)}")
        allowed |= needed
    for _, _, places, line in shared:
        if not set(places) <= allowed:
            sys.exit(f"may not touch {set(places) - allowed}: {line}")
    return len(ops)


def check_workspace(op, line):
    """Checks that a library has the last bytes of the op's workspace, as many as it was given."""
    _, name, _, text = op
    place, size = PRODUCT.match(line).groups()[-2:]
    given = re.search(r"llm\.library_workspace = (\d+)", text)
    bytes = int(given.group(1)) if given else 0
    begin = sum(numbers(text, "llm.workspace")) - bytes
    if (place, int(size)) != ((f"A1+{begin}", bytes) if bytes else ("0x0", 0)):
        sys.exit(f"{name} gives {bytes} bytes of workspace at A1+{begin} to a library: {line}")


def check_sum(plan, op, group):
    """Checks that the call of a weight's gradient sums the factor that is dy into the bias's gradient. One that goes on from a sum so
    far it finds in the workspace, from where a launch adds it."""
    (x, dy, *so_far), (dw, db), text = op[2], op[0], op[3]
    summed = ("A1", numbers(text, "llm.workspace")[0]) if so_far else plan.places[db]
    factors = [dy, x] if "layout(in_out)" in text else [x, dy]
    expected = [plan.places[value] for value in [*factors, so_far[0] if so_far else dw, dw]] + [summed]
    if group[0][2][:5] != expected or not re.search(r" beta %d .* aux 0x0 " % bool(so_far), group[0][3]):
        sys.exit(f"{op[1]} {text[:200]}\nexpected {expected}: {group[0][3]}")
    added = [set(places) for _, _, places, _ in group[1:]]
    if added != ([{summed, plan.places[so_far[1]], plan.places[db]}] if so_far else []):
        sys.exit(f"{op[1]} {text[:200]}\nadds {summed} to {so_far}: {group}")


def check_epilogue(plan, op, line):
    """Checks that the call's matrices are those of the kernel, each in its own place; aux is never where C is written."""
    results, name, operands, text = op
    place = lambda value: "%s+%d" % plan.places[value] if value else "0x0"
    expected = [place(value) for value in EPILOGUES[name](*operands, *results)]
    _, matrices, bias, aux, _, _ = PRODUCT.match(line).groups()
    if [*matrices.split(", "), bias, aux] != expected or aux == expected[3]:
        sys.exit(f"{name} {text[:200]}\nexpected {expected}: {line}")


def check_maps(op, ranges, line, is_one):
    """Checks that each map lies within one range; that of an op's only launch begins in the first row."""
    for block, *matrix in MAP.findall(line):
        begin, rows, columns, pitch = map(int, matrix)
        end = begin + (rows - 1) * pitch + 2 * columns

        def has(place, first, size):
            lies_in_row = begin - first + 2 * columns <= pitch
            return place == block and first <= begin and end <= first + size and (lies_in_row or not is_one)

        if not any(has(*where) for where in ranges):
            sys.exit(f"{op[1]} {op[3][:200]}\nmay not map {block}+{begin}: {line}\nplanned: {sorted(ranges)}")


def check_op(plan, op, group):
    results, name, operands, text = op
    allowed = {plan.places[value] for value in operands + results}
    workspace = numbers(text, "llm.workspace")
    ranges = [(*plan.places[value], plan.sizes[value]) for value in operands + results]
    ranges += [("A1", *workspace)] if workspace else []
    touched = set()
    if name == SUM and group[0][1] is None:
        check_sum(plan, op, group)
    for _, launched, places, line in group:
        if launched is None:
            check_workspace(op, line)
        if launched is None and name in EPILOGUES:
            check_epilogue(plan, op, line)
        check_maps(op, ranges, line, len(group) == 1)
        for place in places:
            # One launch gets whole buffers; of several some get parts.
            parts = ranges if len(group) > 1 else ranges[len(operands + results):]
            inside = any(place[0] == block and 0 <= place[1] - begin < size for block, begin, size in parts)
            if place not in allowed and not inside:
                sys.exit(f"{name} {text[:200]}\nmay not touch {place}: {line}\nplanned: {sorted(allowed)} {workspace}")
        touched.update(places)
    for result in results:
        if plan.places[result] not in touched and (not name.startswith("llm.kernel:") or result in plan.read):
            sys.exit(f"{name} does not write {result} at {plan.places[result]}: {group}")


def main():
    plan = Plan(sys.argv[1])
    launches = list(launches_of(sys.argv[2]))
    names = {}
    for number, launched, _, line in launches:
        if launched:
            names.setdefault(number, set()).add(line.split()[2])
    at, views, shared = 0, 0, []
    for number, op in enumerate(plan.ops):
        results, name, operands, text = op
        if not shared and at < len(launches) and does_several(launches[at]):
            end = next((k for k in range(at, len(launches)) if not does_several(launches[k])), len(launches))
            shared, left, at = launches[at:end], check_shared(plan, number, launches[at:end]), end
        if shared and sharing(op, shared):
            left -= 1
            shared = shared if left else []
            continue
        group = calls_first(launches, at, name, text) if at < len(launches) else []
        if not group:
            views += 1
            if any(plan.places[result] != plan.places[operands[0]] for result in results):
                sys.exit(f"{name} is no view, and has no launch: {text[:300]}")
            continue
        check_op(plan, op, group)
        at += len(group)
    copies = [(plan.places[plan.returned[number]], target) for number, target in sorted(plan.targets.items())]
    for number, argument in plan.donations.items():
        if plan.places[plan.returned[number]] != plan.places[argument]:
            copies.append((plan.places[plan.returned[number]], plan.places[argument]))
    made = [(places[0], places[1]) for _, _, places, _ in launches[at:]]
    if made != copies:
        sys.exit(f"the step ends with copies {made}, planned {copies}")
    products = sum(launched is None for _, launched, _, _ in launches)
    print(f"{len(launches) - products} launches of {sum(map(len, names.values()))} kernels"
          f"{f' and {products} products of a library' if products else ''} for {len(plan.ops) - views} ops at the planned addresses; "
          f"{views} views")


if __name__ == "__main__":
    main()
