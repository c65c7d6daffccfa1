"""Whether a device computes what the CPU does, and the same bits under every budget: the first part of gpu.py."""
import concurrent.futures
import os
import sys

from promises import check
from steps import ROOT, TEXT, products_flags, run_flags, workers

sys.path.append(os.path.join(ROOT, "test", "EndToEnd", "Inputs"))
import on_device

# Tolerances are those of the emulator's tests: the rounding of the type.
TOLERANCE = {"f32": 2e-5, "bf16": 0.03}
MODELS = [(f"{name} {dtype}{', dropout' if dropout else ''}", name, seq, dtype, dropout)
          for name, seq, dropouts in [("tiny-gpt2", 40, (0, 0.1)), ("tiny-llama", 33, (0,)), ("tiny-mistral", 40, (0,)),
                                      ("tiny-qwen2", 24, (0,))]
          for dtype in ("f32", "bf16") for dropout in dropouts]
# A library rounds after what it computes with a product, so budgets that are compared bit for bit must choose alike.
PLANNING = {"generated": [], "library": products_flags("library") + ["--epilogues=fused"]}
NO_LIBRARY = "found no cuBLASLt"


def compare(bench, products, name, config, seq, dtype, dropout):
    """Returns what was found, or why not."""
    print(f"numerics of {name}", flush=True)
    flags = [flag for flag in bench.run_flags if not flag.startswith("--product")] + run_flags(products, bench.folder)
    folder = bench.place("numerics", name.replace(" ", "-").replace(",", ""))
    path = os.path.join(ROOT, "examples", "configs", config + ".json")
    try:
        near = on_device.compare(folder, TEXT, TOLERANCE[dtype], flags, path, "--batch", "2", "--layers", "2", "--seq",
                                 str(seq), "--dtype", dtype, "--dropout", str(dropout), planning=PLANNING[products])
        return {"holds": True, **near}
    except SystemExit as failure:
        return {"holds": False, "why": str(failure), "absent": NO_LIBRARY in str(failure)}


def rows_of(products):
    """Returns every model by one of those who multiply; a row is named after both."""
    return [(model[0] + (", by the library" if products == "library" else ""), products, *model[1:]) for model in MODELS]


def run(bench, results, chosen, products):
    """Compares what was not compared yet, by each of `products`. A comparison that failed is repeated."""
    os.environ["PATH"] = bench.tools + os.pathsep + os.environ["PATH"]
    left = [row for which in products for row in rows_of(which)
            if (not chosen or row[2] in chosen) and not results.part("numerics").get(row[0], {}).get("holds")]
    with concurrent.futures.ThreadPoolExecutor(workers()) as pool:
        for row, found in zip(left, pool.map(lambda row: compare(bench, row[1], row[0], *row[2:]), left)):
            results.keep("numerics", row[0], found)


def report(results, write):
    """Returns the lines of the report, and the promises."""
    rows = results.part("numerics")
    if not rows:
        return
    write("## Numbers\n")
    write("Two steps of models with two layers: loss and gradients compared with the CPU's (an element's error in parts of the")
    write("largest), and the bits of five budgets compared with those of the unplanned step on the device itself.\n")
    write("| model | worst loss | worst gradient | five budgets |")
    write("| --- | ---: | ---: | --- |")
    for name, row in rows.items():
        if row["holds"]:
            write(f"| {name} | {row['worst_loss']:.2g} | {row['worst_gradient']:.2g} | bit for bit |")
        elif row.get("absent"):
            write(f"| {name} | - | - | not run: {NO_LIBRARY} |")
        else:
            write(f"| {name} | - | - | {row['why'].splitlines()[0]} |")
        check(row["holds"] or row.get("absent"), f"numerics of {name}: {row.get('why')}")
    write("")
