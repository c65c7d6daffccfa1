"""The data of a study, as one JSON object (docs/Design/Study.md has its keys), as CSV and as a Markdown table."""

import csv
import io
import json
from typing import Any, Dict, List, Sequence

COLUMNS = ("name", "batch", "sequence", "device", "policy", "budget", "status", "needed", "peak", "arena", "resident",
           "time_ns", "recompute_ns", "recompute_ops", "time_lower_bound_ns", "peak_lower_bound", "saved_bytes", "bound",
           "planning_seconds")


def make_study(title: str, kind: str, file: str, results: Sequence[Dict[str, Any]]) -> Dict[str, Any]:
    """Makes the study from the results of a Sweep. Plans of one program share its ops and values, which are named once in `programs`."""
    programs: List[Dict[str, Any]] = []
    numbers: Dict[str, int] = {}
    points = []
    for result in results:
        point = {key: value for key, value in result.items() if key not in ("version", "timeline")}
        if result["timeline"]:
            timeline = dict(result["timeline"])
            program = {key: timeline.pop(key) for key in ("ops", "values", "kinds")}
            text = json.dumps(program)
            if text not in numbers:
                numbers[text] = len(programs)
                programs.append(program)
            point["program"] = numbers[text]
            point["timeline"] = {key: timeline[key] for key in timeline if key not in ("format", "version")}
        points.append(point)
    return {"format": "llmmem-study", "version": 1, "title": title, "input": kind, "file": file,
            "unit": "ns" if kind != "problem" else "cost", "programs": programs, "points": points}


def to_json(study: Dict[str, Any]) -> str:
    return json.dumps(study, separators=(",", ":")) + "\n"


def to_csv(study: Dict[str, Any]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(study["points"])
    return text.getvalue()


def to_markdown(study: Dict[str, Any]) -> str:
    """Returns a table with a row for each plan, by setting and bytes. The time is compared with the shortest of the setting."""
    lines = [f"# {study['title']}", ""]
    settings = list(dict.fromkeys((it["batch"], it["sequence"], it["device"]) for it in study["points"]))
    for setting in settings:
        points = [it for it in study["points"] if (it["batch"], it["sequence"], it["device"]) == setting]
        planned = sorted((it for it in points if it["status"] == "feasible"), key=lambda it: (-it["needed"], it["time_ns"]))
        least = min((it["time_ns"] for it in planned), default=0)
        words = [f"{name} {value}" for name, value in zip(("batch", "sequence", "device"), setting) if value is not None]
        lines += [f"## {', '.join(words)}", ""] if words else []
        lines += [f"| policy | budget | needs | {'step, modelled' if study['unit'] == 'ns' else 'cost'} | more | proved least |", "|---|---:|---:|---:|---:|---:|"]
        for it in planned:
            budget = size_text(it["budget"]) if it["budget"] else ""
            more = 100 * (it["time_ns"] / least - 1) if least else 0
            lines.append(f"| {it['policy']} | {budget} | {size_text(it['needed'])} | {time_text(study, it['time_ns'])} | "
                         f"{more:.2f} % | {time_text(study, it['time_lower_bound_ns'])} |")
        for it in points:
            if it["status"] != "feasible":
                word = "no plan exists" if it["status"] == "infeasible" else "no plan was found"
                lines.append(f"| {it['policy']} | {size_text(it['budget'] or 0)} | {word} | | | |")
        lines.append("")
    return "\n".join(lines)


def size_text(size: int) -> str:
    """Formats a size as the tools print it: `40.00 GB`, where GB is 10^9."""
    shown, unit = float(size), 0
    names = ("B", "kB", "MB", "GB", "TB", "PB", "EB")
    while unit + 1 < len(names) and abs(shown) >= 999.995:
        shown, unit = shown / 1000, unit + 1
    return f"{shown:.2f} {names[unit]}" if unit else f"{size} B"


def time_text(study: Dict[str, Any], time: int) -> str:
    return f"{time / 1e6:.3f} ms" if study["unit"] == "ns" else str(time)
