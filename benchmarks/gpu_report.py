"""The table of gpu.py and its promises, from kept results alone."""
import statistics

from gpu_table import MOST_BYTES_ERROR, MOST_COST_ERROR, TORCH_MODES
from promises import check

HEAD = ["", "tokens/s", "% of peak", "step ms", "bytes predicted", "measured", "deviation %", "recompute ms predicted",
        "measured", "deviation %"]


def middle(row, key):
    return statistics.median(one[key] for one in row["rounds"])


def spread(row):
    """Returns how far rounds of one plan are apart, in seconds: no cost can be told more exactly."""
    times = [one["device_seconds"] for one in row["rounds"]]
    return max(times) - min(times)


def cells_of_plan(name, label, row, whole, facts, peak):
    seconds = middle(row, "seconds")
    predicted, measured = row["facts"]["needed"], row["rounds"][-1]["bytes"]
    bytes_error = measured / predicted - 1
    check(abs(bytes_error) <= MOST_BYTES_ERROR, f"{name}, {label}: {predicted} bytes predicted, {measured} measured")
    cells = [label, f"{facts['tokens'] / seconds:.0f}", f"{100 * facts['flops'] / seconds / peak:.1f}" if peak else "-",
             f"{1e3 * seconds:.3f}", predicted, measured, f"{100 * bytes_error:+.2f}"]
    if row is whole:
        return cells + ["-", "-", "-"]
    expected = 1e-9 * (row["facts"]["time_ns"] - whole["facts"]["time_ns"])
    added = middle(row, "device_seconds") - middle(whole, "device_seconds")
    noise = max(spread(row), spread(whole))
    check(abs(added - expected) <= max(MOST_COST_ERROR * expected, noise),
          f"{name}, {label}: recomputation predicted {1e3 * expected:.3f} ms, measured {1e3 * added:.3f} ms")
    error = f"{100 * (added / expected - 1):+.1f}" if expected else "-"
    return cells + [f"{1e3 * expected:.3f}", f"{1e3 * added:.3f}", error]


def cells_of_torch(mode, row, facts, peak):
    if "why" in row:
        return [f"PyTorch {mode}", *["-"] * 9], f"PyTorch {mode}: {row['why']}"
    seconds = statistics.median(row["seconds"])
    return [f"PyTorch {row['torch']} {mode}", f"{facts['tokens'] / seconds:.0f}",
            f"{100 * facts['flops'] / seconds / peak:.1f}" if peak else "-", f"{1e3 * seconds:.3f}", "-", row["bytes"],
            *["-"] * 4], None


def report_model(name, rows, facts, peak, write):
    write(f"### {facts['title']}, batch {facts['batch']}, sequence {facts['seq']}\n")
    write("| " + " | ".join(HEAD) + " |")
    write("| --- |" + " ---: |" * (len(HEAD) - 1))
    whole, notes = rows["plans"]["100 %"], []
    for label, row in rows["plans"].items():
        if row["rounds"]:
            cells = cells_of_plan(name, label, row, whole, facts, peak)
        else:
            cells = [label, *["-"] * 9]
            notes.append(f"{label}: {row.get('why', 'not run yet')}")
        write("| " + " | ".join(map(str, cells)) + " |")
    for mode in TORCH_MODES:
        cells, note = cells_of_torch(mode, rows["torch"].get(mode, {"why": "not run yet"}), facts, peak)
        notes += [note] if note else []
        write("| " + " | ".join(map(str, cells)) + " |")
    write("")
    for note in notes:
        write(f"- {note}")
    prices = [row["facts"]["device"] for row in rows["plans"].values() if "facts" in row]
    write(f"- prices: {prices[0]['source']}; {min(price['measured_ops'] for price in prices)} ops or more of each plan as "
          f"measured, {max(price['modelled_ops'] for price in prices)} at most by the formula\n")


def report(results, peak, write):
    """`peak`: FLOPs a second of the datasheet; None where it is not known."""
    if not results.part("table"):
        return
    write("## Steps\n")
    write("bf16, AdamW with f32 masters, no dropout. Percent are those of the bytes that the unplanned step saves for its")
    write("backward. Tokens and share of peak by the host's clock; model FLOPs as Chowdhery et al. 2022 count them, causal")
    write("attention half, over the datasheet's dense bf16. Recompute cost is the device's time of a step less the unplanned")
    write(f"step's: within {100 * MOST_COST_ERROR:.0f} % of the prediction, or of the spread between rounds. Bytes are those "
          f"that the device has\nless: within {100 * MOST_BYTES_ERROR:.0f} %.\n")
    for name, rows in results.part("table").items():
        report_model(name, rows, results.part("titles")[name], peak, write)
