"""What a run reads: a text, or what a file of utils/golden-families.py was computed of."""
import tensors

GOLDEN_SHAPE = {"pixels": ["--batch", "2"], "input_ids": ["--batch", "2", "--seq", "16"]}


def write_numbers(file, numbers):
    with open(file, "w") as text:
        print(*numbers, file=text)
    return file


def flags_of_golden(file, golden, prefix):
    """Returns the flags of llmmem-run for the tensors of a golden file; numbers go to files that begin with `prefix`."""
    if "pixels" in golden:
        return ["--images", file]
    flags = ["--tokens", write_numbers(prefix, golden["input_ids"])]
    for beside in ("labels", "segments"):
        if beside in golden:
            flags += ["--" + beside, write_numbers("%s.%s" % (prefix, beside), golden[beside])]
    return flags


def shape_of_golden(golden):
    """Returns the flags of llmmem-import for its batch."""
    if "pixels" in golden:
        return GOLDEN_SHAPE["pixels"]
    decoder = len(golden["labels"]) // 2 if len(golden.get("labels", ())) not in (0, len(golden["input_ids"])) else 0
    return GOLDEN_SHAPE["input_ids"] + (["--decoder-seq", str(decoder)] if decoder else [])


def flags_of(file, prefix):
    """Returns the flags of llmmem-run for a text or a golden file."""
    if file.endswith(".safetensors"):
        return flags_of_golden(file, tensors.read(file), prefix)
    return ["--data", file]
