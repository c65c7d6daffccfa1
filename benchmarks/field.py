#!/usr/bin/env python3
"""Compares what llmmem.torch.predict says of training steps with what others have measured, and writes docs/Measured/Field.md.

  field.py [--page docs/Measured/Field.md] [--figures docs/Measured/field.json] [--again] [NUMBER...]

Rows are those of field_rows.py, models those of field_models.py and field_titan.py; with NUMBERs only these rows, from 1 up, and 0 for torchtitan's.
Predictions are kept in the figures, and a row that
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

import field_titan
import llmmem.torch
from field_models import lora, qlora
from field_rows import MODELS, ROWS, SOURCES, TITAN_GIB

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MIB, GIB = 1 << 20, 1 << 30
TITAN = "0"
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

- Linear layers of NF4 are bitsandbytes', which needs a GPU: what they do is written down in `benchmarks/field_models.py`, and what their kernels
  take while they run is not known and not counted. After such a model was loaded, about 16 MiB more were allocated than its tensors have, which
  nothing here counts.
- CUDA's softmax reads f16 and writes f32 in one kernel, where the CPU's, whose kernels are traced, makes f32 of its operand first: with weights of f16
  and eager attention more is predicted than was measured.
- Where the driver puts segments is not known, and the allocator's state after loading is not either; reserved bytes depend on both.
- Each row's report names the kernels whose workspace is not known: {unknown}.

The comparison has mended a prediction: rows 2 and 3, of eager attention, were predicted 9.5 and 15.7 % too low. What was missing is the product
that CUDA's backward of softmax makes in a tensor of its own (`python/llmmem/torch/_workspaces.py`).

## One of 8 ranks

torchtitan's benchmark of December 2024 trains Llama-3.1-8B on 8 H100 with FSDP2, 2 sequences of 8,192 tokens on each, "selective" checkpoints by
op, and reports the memory that its log shows, which is what PyTorch's allocator has reserved (`benchmarks/field_titan.py`). GiB.

| step | allocated, predicted | reserved | reserved, predicted | error | source |
|---|---|---|---|---|---|
{titan}

Its compiled step (77.0 GiB) is not predicted: Inductor fuses kernels, and what its code holds is known when it is compiled for a GPU alone. Nor is
torchtune's full fine-tuning of Llama-2-7B, of which the lengths of the sequences are not published.

## Sources

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


def predict_titan():
    """Predicts torchtitan's step on one of its ranks."""
    with torch.device("meta"):
        model = field_titan.Titan(8192)
        ids = torch.empty(2, 8192, dtype=torch.int64)
    found = llmmem.torch.predict(model, (ids, torch.empty_like(ids)), loss=field_titan.loss, optimizer=torch.optim.AdamW, device="h100", ranks=8,
                                 strategies=["fsdp2"], shard=field_titan.shard).strategies["fsdp2"]
    return {"allocated": found.peak, "reserved": found.reserved, "unknown": list(found.unknown)}


def error_of(predicted, measured):
    return predicted / MIB / measured - 1


def describe_titan(found):
    if not found:
        return ""
    return (f"| FSDP2, kernels one by one | {found['allocated'] / GIB:.1f} | {TITAN_GIB} | {found['reserved'] / GIB:.1f} | "
            f"{found['reserved'] / GIB / TITAN_GIB - 1:+.1%} | e |")


def summarize(what, errors):
    return (f"Of {what} bytes the error is {sum(errors) / len(errors):.1%} in the mean and {max(errors):.1%} at most, over {len(errors)} rows; "
            f"{sum(error <= 0.03 for error in errors)} are within 3 %.")


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
    summary = "\n".join(summarize(what, list(map(abs, values))) for what, values in errors.items())
    unknown = sorted({name for found in figures["rows"].values() for name in found["unknown"]})
    sources = "\n".join(f"- {name}: {address}" for name, address in SOURCES.items())
    with open(path, "w", encoding="utf-8") as file:
        file.write(PAGE.format(rows="\n".join(rows), summary=summary, sources=sources,
                               titan=describe_titan(figures["rows"].get(TITAN)), unknown=", ".join(f"`{name}`" for name in unknown) or "none",
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
        for number in options.rows or range(len(ROWS) + 1):
            if options.again or str(number) not in figures["rows"]:
                found = predict(ROWS[number - 1], table.name) if number else predict_titan()
                figures["rows"][str(number)] = found
                print(f"{number}: allocated {found['allocated'] / MIB:,.0f}, reserved {found['reserved'] / MIB:,.0f} MiB", flush=True)
                with open(options.figures, "w", encoding="utf-8") as file:
                    json.dump(figures, file, indent=1, sort_keys=True)
                    file.write("\n")
                write_page(options.page, figures)
    write_page(options.page, figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
