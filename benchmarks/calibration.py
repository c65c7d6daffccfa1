"""From profiles of steps to a device table (include/llmmem/Device/DeviceModel.h)."""
import collections
import re
import statistics


# Kinds of kernels that a library multiplies for.
PRODUCTS = re.compile("linear|loss_head|attention_scores|attention_values")


def by_library(calls):
    """Returns the products among calls of a step whose products a library multiplied, named as such."""
    return [dict(call, key="library " + call["key"], kind="library " + call["kind"])
            for call in calls if PRODUCTS.match(call["kind"])]


def median_by_kernel(calls):
    """Returns the nanoseconds of each kernel: the median over its calls, an op's and its clones'. Launches that ops share have no
    key: what each of them takes alone is priced by its kind."""
    by_key = collections.defaultdict(list)
    for call in filter(lambda call: call["key"], calls):
        by_key[call["key"]].append(call["ns"])
    return {key: max(1, round(statistics.median(times))) for key, times in sorted(by_key.items())}


def rate(calls, kinds, unit):
    """Returns the FLOPs or bytes a nanosecond over all calls of some kinds; None where there are none."""
    chosen = [call for call in calls if call["kind"] in kinds]
    taken = sum(call["ns"] for call in chosen)
    return sum(call[unit] for call in chosen) / taken if taken else None


def bandwidth(calls):
    """Returns the bandwidth of the kind that moves bytes fastest, among kinds that move a gigabyte or the most that there is."""
    moved = collections.Counter()
    for call in calls:
        moved[call["kind"]] += call["bytes"]
    least = min(1e9, max(moved.values()))
    return max(rate(calls, {kind}, "bytes") for kind, size in moved.items() if size >= least)


def roofline(call, table):
    flops = table["flops_per_ns"][call["dtype"]]
    return max(call["flops"] / flops, call["bytes"] / table["bytes_per_ns"])


def factors(calls, table):
    """Returns how many times the roofline the calls of each kind took, all of their time without launches by all of its."""
    measured, modelled = collections.Counter(), collections.Counter()
    for call in calls:
        if roofline(call, table) > 0:
            measured[call["kind"]] += max(call["ns"] - table["launch_ns"], 1)
            modelled[call["kind"]] += roofline(call, table)
    return {kind: min(1e6, max(1e-3, round(measured[kind] / modelled[kind], 3))) for kind in sorted(measured)}


def fit(calls, base, name, source, exact):
    """Returns a table with the rates of `base`, and what `calls` took: by kind, and where `exact` by kernel."""
    kept = ("memory_bytes", "reserve_bytes", "host", "devices_per_node")
    table = {"name": name, "source": source, "flops_per_ns": base["flops_per_ns"],
             "bytes_per_ns": base["bytes_per_ns"], "launch_ns": base["launch_ns"],
             "epilogues": base.get("epilogues", "auto"),
             "library_workspace_bytes": base.get("library_workspace_bytes", 0), "links": base.get("links", []),
             **{key: base[key] for key in kept if key in base}}
    table["kernels"] = factors(calls, table)
    if exact:
        table["measured"] = median_by_kernel(calls)
    return table
