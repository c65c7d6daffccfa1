"""The report of gpu_bundle.py and its promises, from kept results alone."""
import statistics

# A loss in bf16 differs from one in f32: four steps of a layer of GPT-2 124M by the CPU are 0.2 % apart at most.
WORST_PRODUCT, MOST_LOSS_ERROR = 1.0, 0.01
# The part of the measured cost of recomputation that a prediction may be off, where that is more than the spread between rounds.
MOST_COST_ERROR = 0.10
# The driver gives an allocation in pages of 2 MiB; a step has two.
MOST_ROUNDING = 2 * (2 << 20)


def table(lines, head, rows):
    lines.append("| " + " | ".join(head) + " |")
    lines.append("| --- |" + " ---: |" * (len(head) - 1))
    lines += ["| " + " | ".join(map(str, row)) + " |" for row in rows] + [""]


def report_facts(facts, lines):
    device = facts["device"]
    lines.append(f"# {device['name']}\n\nMeasured by `gpu_bundle.py` on {facts['date']}.")
    lines.append(f"Compute capability {device['capability'] / 10:.1f}, driver for CUDA {device['cuda'] // 1000}."
                 f"{device['cuda'] % 1000 // 10}, {device['multiprocessors']} multiprocessors, {device['free_bytes']} of "
                 f"{device['total_bytes']} bytes free, clocks of at most {device['clock_khz'] / 1000:.0f} MHz.")
    said = facts["nvidia_smi"]
    lines.append((", ".join(f"{key} {value}" for key, value in said.items()) if said else "nvidia-smi says nothing") +
                 f"; Python {facts['python']}, PyTorch {facts['torch'] or 'is not there'}.")
    lines.append("Copies: " + ", ".join(f"{key.replace('_gb_per_s', '').replace('_', ' ')} {value:.0f} GB/s"
                                        for key, value in facts["copies"].items()) + ".\n")


def name_of_form(row):
    if "head" in row:
        return f"{row['kind']} {row['batch']} x {row['seq']}, {row['heads']} heads of {row['head']}, {row['kv_heads']} of keys"
    sizes = " x ".join(str(row[key]) for key in ("batch", "rows", "inner", "columns"))
    return f"{row['kind']} {sizes} {row['transposed']} {row['epilogue']}"


def report_products(items, lines, broken):
    keys = [key for key in items if key.startswith("products ")]
    if not keys:
        return
    lines.append("## Products and attention\n\nEach form by itself, twice on the same random numbers: whether the bits are equal, "
                 "and the worst of 256 "
                 "elements'\n(of attention 64 queries' and 64 keys') errors against float64, in parts of what rounding explains (above 1 is wrong).\n"
                 "Others in place: the library gives other bits where its result lies on what it adds, as no sum after a product does.\n")
    for key in keys:
        if "why" in items[key]:
            lines.append(f"{key}: {items[key]['why']}\n")
            continue
        rows = []
        for row in items[key]["rows"]:
            name = name_of_form(row)
            if "why" in row:
                rows.append([name, "-", "-", "-", row["why"]])
                broken.append(f"{key}: {row['why']}")
                continue
            error = row["worst_error"]
            same = "no" if not row["equal_bits"] else "yes" if row.get("equal_in_place", True) else "yes, but others in place"
            rows.append([name, same, "not a number" if error is None else f"{error:.2g}",
                         f"{1e-3 * row['ns']:.1f}", f"{row['tflops']:.1f}"])
            if not row["equal_bits"]:
                broken.append(f"{key}: {name} has other bits the second time")
            if error is None or error > WORST_PRODUCT:
                broken.append(f"{key}: {name} errs by {error} of what rounding explains")
        lines.append(f"### {key}\n")
        table(lines, ["product", "equal bits", "worst error", "us", "TFLOP/s"], rows)


def report_expected(bundle, items, lines, broken):
    rows = []
    for entry in bundle["steps"]:
        run = items.get(f"check {entry['name']}")
        if run and "why" in run:
            rows.append([entry["name"], run["why"], "-", "-"])
            broken.append(f"{entry['name']}: {run['why']}")
        elif run:
            # A loss that is no number is written as none.
            near = all(loss is not None and abs(loss - expected) <= MOST_LOSS_ERROR * abs(expected)
                       for loss, expected in zip(run["losses"], entry["expected"]))
            rows.append([entry["name"], run["by"], " ".join(f"{expected:.4f}" for expected in entry["expected"]),
                         " ".join("-" if loss is None else f"{loss:.4f}" for loss in run["losses"])])
            if not near:
                broken.append(f"{entry['name']}: losses {run['losses']}, the CPU's in f32 {entry['expected']}")
    if rows:
        lines.append("## Losses compared with the CPU's\n\nbf16 on the device, f32 on the CPU: within "
                     f"{100 * MOST_LOSS_ERROR:.0f} %.\n")
        table(lines, ["step", "products", "the CPU's", "the device's"], rows)


def check_bits(model, runs, broken):
    """Returns whether all budgets of one who multiplies give the bits of the first."""
    for products in ("library", "generated"):
        same = [(entry, run) for entry, run in runs if entry["products"] == products]
        if len(same) < 2:
            continue
        (whole, first), *others = same
        for entry, run in others:
            if run["losses"] != first["losses"] or run["digest"] != first["digest"]:
                broken.append(f"{model}, {products}: {entry['label']} has other bits than {whole['label']}")


def times_of(entry, items, what):
    """Returns the seconds of an entry's runs, or of its rounds."""
    own = (items[key] for key in items if key.split()[-1] == entry["name"] and key.split()[0] == what)
    return [one["device_seconds"] for one in own if "device_seconds" in one]


def settled_times(entry, items):
    """Returns the times of rounds, which compute no digests, or else those of the run."""
    return times_of(entry, items, "round") or times_of(entry, items, "run")


def cells_of(entry, run, items, peak, broken):
    seconds = statistics.median(settled_times(entry, items))
    memory = run["memory"]
    error = memory["reserved"] - entry["needed"]
    if not 0 <= error <= MOST_ROUNDING:
        broken.append(f"{entry['name']}: {entry['needed']} bytes predicted, {memory['reserved']} measured")
    share = f"{100 * entry['flops'] / seconds / peak:.1f}" if peak and seconds else "-"
    predicted = 1e-6 * entry["predicted_ns"]
    first, last = ("-" if loss is None else f"{loss:.5f}" for loss in (run["losses"][0], run["losses"][-1]))
    return [entry["label"], run["by"], first, last,
            f"{entry['tokens'] / seconds:.0f}" if seconds else "-", share, f"{predicted:.3f}", f"{1e3 * seconds:.3f}",
            entry["recomputed"], entry["needed"], memory["reserved"], memory["library"], memory["code"], memory["graph"]]


def cost_of(whole, entry, items, what):
    """Returns the ms that a plan takes beyond the one that recomputes nothing, and their spread; None where one of them did not run so."""
    times = [times_of(one, items, what) for one in (whole, entry)]
    if not all(times):
        return None
    return tuple(1e3 * ms for ms in (statistics.median(times[1]) - statistics.median(times[0]),
                                     sum(max(of_one) - min(of_one) for of_one in times)))


def report_recomputation(model, runs, items, lines, broken):
    """Writes what a plan's recomputation costs compared with the step that recomputes nothing, predicted and measured. It is judged where
    rounds say how far times of one step lie apart, and in steps with pauses, as prices are taken."""
    rows = []
    for products in ("library", "generated"):
        same = [entry for entry, _ in runs if entry["products"] == products]
        whole = next((entry for entry in same if entry["recomputed"] == 0), None)
        for entry in (one for one in same if whole and one["recomputed"] > 0):
            predicted = 1e-6 * (entry["predicted_ns"] - whole["predicted_ns"])
            full, settled = (cost_of(whole, entry, items, what) for what in ("run", "round"))
            cells = [f"{predicted:.3f}", f"{full[0]:.3f}" if full else "-", *([f"{ms:.3f}" for ms in settled] if settled else ["-", "-"])]
            rows.append([entry["label"], products, *cells])
            if full and settled and abs(predicted - full[0]) > max(MOST_COST_ERROR * full[0], settled[1]):
                broken.append(f"{model}: recomputation of {entry['label']}, {products}, costs {full[0]:.3f} ms, {predicted:.3f} predicted")
    if rows:
        lines.append("What recomputation costs: the time beyond that of the step that recomputes nothing, in runs, between whose steps the card\n"
                     "waits, at its full clock; and in rounds, when the card has lowered its clock to hold its power. The spread is that of both\n"
                     "steps' times between rounds.\n")
        table(lines, ["plan", "products", "ms predicted", "ms", "ms settled", "spread settled"], rows)


def report_torch(model, entry, items, peak, rows, notes):
    for mode in ("eager", "compiled", "checkpointed", "both"):
        row = items.get(f"torch {model} {mode}")
        if row and "why" in row:
            notes.append(f"PyTorch {mode}: {row['why']}")
        elif row:
            seconds = statistics.median(row["seconds"])
            is_whole = row["layers"] == row["of"]
            share = f"{100 * entry['flops'] / seconds / peak:.1f}" if peak and is_whole else "-"
            what = f"PyTorch {mode}" + ("" if is_whole else f", {row['layers']} of {row['of']} layers")
            rows.append([what, row["torch"], "-", "-", f"{entry['tokens'] / seconds:.0f}", share, "-",
                         f"{1e3 * seconds:.3f}", "-", "-", row["bytes"], "-", "-", "-"])


def report_headline(bundle, items, lines):
    """Writes the largest step, which fits in no other way, and the one that PyTorch's checkpointing fits."""
    entries = [entry for entry in bundle["steps"] if entry.get("headline")]
    known = [(entry, statistics.median(settled_times(entry, items))) for entry in entries
             if settled_times(entry, items) and "memory" in items.get(f"run {entry['name']}", {})]
    if not known:
        return
    entry, seconds = min(known, key=lambda pair: pair[1])
    memory = items[f"run {entry['name']}"]["memory"]
    lines.append(f"**{entry['title']}**, batch {entry['batch']}, sequence {entry['seq']}, AdamW with f32 masters, planned under "
                 f"{entry['label']}: {entry['tokens'] / seconds:.0f} tokens/s in {memory['reserved']} bytes ({entry['products']} products).")
    for mode in ("checkpointed", "both"):
        row = items.get(f"torch {entry['model']} {mode}")
        if row and "why" in row:
            lines.append(f"PyTorch {mode}: {row['why']}.")
        elif row:
            lines.append(f"PyTorch {mode}: {entry['tokens'] / statistics.median(row['seconds']):.0f} tokens/s with {row['layers']} of "
                         f"{row['of']} layers in {row['bytes']} bytes.")
    lines.append("")


def report_steps(bundle, items, peak, lines, broken):
    models = list(dict.fromkeys(entry["model"] for entry in bundle["steps"] if not entry.get("expected")))
    lines.append("## Steps\n\nTimes are the device's, of a replay between two events, the median of the second half of the steps; share is that of "
                 "the\ndatasheet's dense bf16, model FLOPs as Chowdhery et al. 2022 count them. Bytes are those that the device has less: by the two\n"
                 "allocations of the step, in pages of 2 MiB; in addition by the library and what the driver needs, by the kernels' code,\n"
                 "and by the graph and what was loaded when it ran. PyTorch's are the most that it had allocated; it trains in the same\n"
                 "precision: parameters in bf16, masters and moments in f32.\n")
    for model in models:
        entries = [entry for entry in bundle["steps"] if entry["model"] == model]
        known = [(entry, items[f"run {entry['name']}"]) for entry in entries if f"run {entry['name']}" in items]
        runs = [(entry, run) for entry, run in known if "why" not in run]
        rows, notes = [cells_of(entry, run, items, peak, broken) for entry, run in runs], []
        for entry, run in known:
            if "why" in run:
                notes.append(f"{entry['label']}, {entry['products']}: {run['why']}")
                if run.get("fits", True):
                    broken.append(f"{entry['name']}: {run['why']}")
        check_bits(model, runs, broken)
        report_torch(model, entries[0], items, peak, rows, notes)
        if not rows and not notes:
            continue
        lines.append(f"### {entries[0]['title']}, batch {entries[0]['batch']}, sequence {entries[0]['seq']}\n")
        table(lines, ["plan", "products", "first loss", "last loss", "tokens/s", "% of peak", "ms predicted", "ms", "recomputed ops",
                      "bytes predicted", "bytes", "library", "code", "graph"], rows)
        lines += [f"- {note}" for note in notes] + ([""] if notes else [])
        report_recomputation(model, runs, items, lines, broken)


def sections(items, lines, kind, title):
    """Begins a section for each item of a kind, and gives those that ran; why another did not stands in its section."""
    for key in (key for key in items if key.startswith(kind + " ")):
        lines.append(f"## {title(key)}\n")
        if "why" in items[key]:
            lines.append(items[key]["why"] + "\n")
        else:
            yield key, items[key]


def capitalized(key):
    return key[0].upper() + key[1:]


def report_kernels(items, lines, broken):
    for key, item in sections(items, lines, "kernels", capitalized):
        lines.append("Each op by itself on poisoned results, twice, against float64 by PyTorch; errors in parts of what rounding explains.\n")
        rows = []
        for row in item["rows"]:
            if "why" in row:
                rows.append([row["key"], "-", row["why"]])
                continue
            error = row["worst_error"]
            rows.append([row["key"], "yes" if row["equal_bits"] else "no", "not a number" if error is None else f"{error:.2g}"])
            if not row["equal_bits"]:
                broken.append(f"{key}: {row['key']} has other bits the second time")
            if error is None or error > WORST_PRODUCT:
                broken.append(f"{key}: {row['key']} errs by {error} of what rounding explains")
        if all("why" in row for row in item["rows"]):
            broken.append(f"{key}: no op was compared")
        table(lines, ["op", "equal bits", "worst error"], rows)


def report_sanitizer(items, lines, broken):
    keys = [key for key in items if key.startswith(("memcheck ", "synccheck ", "racecheck "))]
    if not keys:
        return
    lines.append("## compute-sanitizer, on a step of generated kernels\n")
    for key in keys:
        lines.append(f"- {key}: {items[key].get('summary') or items[key]['why']}")
        # Exit code 9 is what it was asked to end with where it finds something.
        if items[key].get("why", "").startswith("exit code 9"):
            broken.append(f"{key}: {items[key]['why']}")
    lines.append("")


def report_dearest(items, lines):
    for _, item in sections(items, lines, "ncu", lambda key: f"The dearest kernels, by {key}"):
        metrics = list(next(iter(item["rows"].values())))
        table(lines, ["kernel"] + metrics, [[name] + [row[metric] or "-" for metric in metrics]
                                            for name, row in item["rows"].items()])


def report_prices(items, lines):
    keys = [key for key in items if key.startswith("prices ")]
    if not keys:
        return
    lines.append("## Prices\n\nWhat each op adds to a step: its time between events, without what events cost; their sum next to the step's replay. "
                 "`calibrate --calls` makes a device table of the file.\n")
    table(lines, ["step", "ops", "ms of all", "ms of the step", "file"],
          [[key, "-", "-", "-", items[key]["why"]] if "why" in items[key] else
           [key[len("prices "):], items[key]["ops"], f"{1e-6 * items[key]['ns']:.3f}", f"{1e-6 * items[key]['step_ns']:.3f}",
            items[key]["file"]] for key in keys])


def report_profiles(items, lines):
    for _, item in sections(items, lines, "profile", capitalized):
        all_ns = item["ns"] or 1
        rows = sorted(item["kinds"].items(), key=lambda pair: -pair[1]["ns"])
        table(lines, ["kernels", "calls", "ms", "share %", "TFLOP/s", "GB/s"],
              [[kind, row["calls"], f"{1e-6 * row['ns']:.3f}", f"{100 * row['ns'] / all_ns:.1f}",
                f"{1e-3 * row['flops'] / (row['ns'] or 1):.1f}", f"{row['bytes'] / (row['ns'] or 1):.0f}"] for kind, row in rows])


def report(bundle, items, left):
    """Returns (text, broken promises)."""
    lines, broken = [], []
    if "device" not in items.get("facts", {}):
        return f"Nothing is known yet. Not run: {', '.join(left)}.\n", broken
    report_facts(items["facts"], lines)
    name = items["facts"]["device"]["name"]
    peak = next((value for key, value in bundle.get("peaks", {}).items() if key in name.lower()), None)
    report_headline(bundle, items, lines)
    report_products(items, lines, broken)
    report_kernels(items, lines, broken)
    report_expected(bundle, items, lines, broken)
    report_steps(bundle, items, peak, lines, broken)
    report_profiles(items, lines)
    report_dearest(items, lines)
    report_prices(items, lines)
    report_sanitizer(items, lines, broken)
    lines.append("## Promises\n\n" + ("".join(f"- broken: {promise}\n" for promise in broken) or "All that were checked hold.\n"))
    if left:
        lines.append("Not run yet: " + ", ".join(left) + ".\n")
    return "\n".join(lines), broken
