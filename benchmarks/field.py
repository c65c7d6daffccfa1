#!/usr/bin/env python3
"""Compares what llmmem.torch.predict says of training steps with what others have measured, and writes docs/Measured/Field.md.

  field.py [--page docs/Measured/Field.md] [--figures docs/Measured/field.json] [--again] [NUMBER...]

Rows are those of field_rows.py, models those of field_models.py; with NUMBERs only these rows, from 1 up. Predictions are kept in the figures, and a row that
is there is predicted again with --again alone. Nothing runs on a GPU, and no weight is in memory; a row takes some ten seconds of a processor.
Needs PyTorch, transformers and peft, and LLMMEM_LIBRARY, as test/Guests/families does:
`PYTHONPATH=python build-guests/families/bin/python benchmarks/field.py`.
"""

import argparse
import json
import os
import sys
import tempfile

# The rows were measured by versions of PyTorch that keep cuBLAS's workspaces, as 2.15 does where this is set.
os.environ["TORCH_CUBLAS_WORKSPACE_CACHE"] = "1"

import torch
import transformers

import llmmem.torch
from field_models import lora, qlora
from field_rows import MODELS, ROWS, SOURCES

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MIB = 1 << 20
# Times do not matter here.
T4 = {"name": "t4", "source": "NVIDIA T4 datasheet and Turing architecture paper", "memory_bytes": 16106127360, "reserve_bytes": 1000000000,
      "flops_per_ns": {"bf16": 65000, "f32": 8100, "f64": 254}, "bytes_per_ns": 320, "launch_ns": 2000,
      "gpu": {"multiprocessors": 40, "shared_bytes": 65536, "block_shared_bytes": 65536, "l2_bytes": 4194304,
              "source": "Turing architecture paper and CUDA C++ Programming Guide"},
      "library_workspace_bytes": 4194304}

PAGE = """# Compared with what others have measured

`benchmarks/field.py` writes this page: training steps that others have measured on their GPUs, and what `llmmem.torch.predict` says of the same steps
without a GPU ([recipe](../Recipes/PredictInPyTorch.md)). An error is the predicted bytes over the measured ones, less 1. Bytes are MiB, as in the
sources. Predicted by PyTorch {torch} and transformers {transformers}; the versions that were measured are others, and are named in the sources.

A row is a step of causal language modelling after the first, with labels, AdamW, adapters in f32 on q, k, v and o, and Hugging Face's checkpoints
around each block, on a Tesla T4. Weights are f16, or NF4 with a scale in f32 for each 64. *sdpa* is PyTorch's memory-efficient kernel with keys
repeated by hand, *eager* has the scores of all pairs of tokens in memory. Allocated is `torch.cuda.max_memory_allocated`, reserved
`torch.cuda.max_memory_reserved`.

| row | model | weights | attention | rank | batch | tokens | allocated | predicted | error | reserved | predicted | error | source |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|
{rows}

{summary}

What is left of the errors:

- Linear layers of NF4 are bitsandbytes', which needs a GPU: what they do is written down in `benchmarks/field_models.py`, and what their kernels take while
  they run is not known and not counted. After such a model was loaded, about 16 MiB more were allocated than its tensors have, which nothing here counts.
- Where the driver puts segments is not known, and the allocator's state after loading is not either; reserved bytes depend on both.
- Each row's report names the kernels whose workspace is not known: {unknown}.

Rows that are not here yet, since their configurations are published in part alone: torchtune's full fine-tuning of Llama-2-7B (the lengths of its
sequences), and torchtitan's Llama-3.1-8B on 8 ranks, whose model is not that of transformers. Sources:

{sources}
"""


def predict(row, device):
    with torch.device("meta"):
        model = (qlora if row.weights == "nf4" else lora)(MODELS[row.model](), row.attention, row.rank)
        ids = torch.empty(row.batch, row.tokens, dtype=torch.int64)
    found = llmmem.torch.predict(model, {"input_ids": ids, "labels": torch.empty_like(ids)}, optimizer=torch.optim.AdamW, device=device,
                                 strategies=["eager"]).strategies["eager"]
    later = found.steps[1].values()
    return {"allocated": max(peak.allocated for peak in later), "reserved": max(peak.reserved for peak in later), "unknown": list(found.unknown)}


def error_of(predicted, measured):
    return predicted / MIB / measured - 1


def write_page(path, figures):
    rows, errors = [], {"allocated": [], "reserved": []}
    for number, row in enumerate(ROWS, 1):
        found = figures["rows"].get(str(number))
        if not found:
            continue
        cells = [number, row.model, row.weights, row.attention, row.rank, row.batch, f"{row.tokens:,}"]
        for what in errors:
            error = error_of(found[what], getattr(row, what))
            errors[what].append(error)
            cells += [f"{getattr(row, what):,.0f}", f"{found[what] / MIB:,.0f}", f"{error:+.1%}"]
        rows.append("| " + " | ".join(map(str, [*cells, row.source])) + " |")
    summary = "\n".join(f"Of {what} bytes the error is {sum(map(abs, values)) / len(values):.1%} in the mean and {max(map(abs, values)):.1%} at most, over "
                        f"{len(values)} rows; {sum(abs(value) <= 0.03 for value in values)} are within 3 %." for what, values in errors.items())
    unknown = sorted({name for found in figures["rows"].values() for name in found["unknown"]})
    sources = "\n".join(f"- {name}: {address}" for name, address in SOURCES.items())
    with open(path, "w", encoding="utf-8") as file:
        file.write(PAGE.format(rows="\n".join(rows), summary=summary, sources=sources, unknown=", ".join(f"`{name}`" for name in unknown) or "none",
                               torch=figures["torch"], transformers=figures["transformers"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", default=os.path.join(ROOT, "docs", "Measured", "Field.md"))
    parser.add_argument("--figures", default=os.path.join(ROOT, "docs", "Measured", "field.json"))
    parser.add_argument("--again", action="store_true", help="predict rows again whose figures are there")
    parser.add_argument("rows", nargs="*", type=int, metavar="NUMBER")
    options = parser.parse_args()
    figures = {"rows": {}}
    if os.path.exists(options.figures):
        with open(options.figures, encoding="utf-8") as file:
            figures = json.load(file)
    figures.update(torch=torch.__version__.split("+")[0], transformers=transformers.__version__)
    with tempfile.NamedTemporaryFile("w", suffix=".json") as table:
        json.dump(T4, table)
        table.flush()
        for number in options.rows or range(1, len(ROWS) + 1):
            if options.again or str(number) not in figures["rows"]:
                row = ROWS[number - 1]
                figures["rows"][str(number)] = found = predict(row, table.name)
                print(f"{number}: {row.model} {row.weights} {row.attention} {row.batch} x {row.tokens}: " + ", ".join(
                    f"{what} {found[what] / MIB:,.0f} of {getattr(row, what):,.0f}, {error_of(found[what], getattr(row, what)):+.1%}"
                    for what in ("allocated", "reserved")), flush=True)
                with open(options.figures, "w", encoding="utf-8") as file:
                    json.dump(figures, file, indent=1, sort_keys=True)
                    file.write("\n")
                write_page(options.page, figures)
    write_page(options.page, figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
