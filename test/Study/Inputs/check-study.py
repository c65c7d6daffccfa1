#!/usr/bin/env python3
"""check-study.py STUDY CONFIG BATCH SEQ: each point of a study is what llmmem-opt alone reports, and adds up."""

import json
import subprocess
import sys
import tempfile


def report_of(model, point):
    flags = [f"--checkpoint-device={point['device']}"]
    flags += [f"--checkpoint-policy={point['policy']}"] if point["policy"] != "budget" else []
    flags += [f"--checkpoint-budget={point['budget']}"] if point["budget"] else []
    with tempfile.NamedTemporaryFile() as file:
        subprocess.run(["llmmem-opt", *flags, model, "-o", "/dev/null", f"--memory-report-json={file.name}"], check=True)
        return json.load(open(file.name, encoding="utf-8"))


def check(study, point, report):
    resident = sum(report["resident"].values())
    wanted = {"needed": resident + report["resident_padding"] + report["arena"], "peak": report["peak"]["bytes"],
              "time_ns": report["step"]["time_ns"] + report["recompute"]["time_ns"], "recompute_ops": report["recompute"]["ops"],
              "time_lower_bound_ns": report["certificate"]["cost_lower_bound_ns"], "saved_bytes": report["saved"]["bytes"]}
    assert {key: point[key] for key in wanted} == wanted, (point["name"], wanted)
    timeline, program = point["timeline"], study["programs"][point["program"]]
    # The timeline's sum, its kinds at the peak and its decisions are those of the report, which is made from the program.
    assert timeline["peak"] == point["peak"] + point["resident_padding"]
    live = {}
    for value, kind, begin, end, size, *_ in timeline["buffers"]:
        if begin <= timeline["peak_step"] <= end:
            name = program["kinds"][kind]
            live[name] = live.get(name, 0) + size
    reported = {}
    for entry in report["peak"]["live"]:
        reported[entry["kind"]] = reported.get(entry["kind"], 0) + entry["bytes"]
    assert {kind: size for kind, size in live.items() if size} == {kind: size for kind, size in reported.items() if size}, (live, reported)
    kept = {program["values"][row[0]] for row in timeline["saved"] if row[7]}
    assert kept == {entry["name"] for entry in report["saved"]["tensors"] if entry["decision"] == "keep"}, point["name"]


def main():
    path, config, batch, seq = sys.argv[1:]
    study = json.load(open(path, encoding="utf-8"))
    assert study["format"] == "llmmem-study" and study["version"] == 1 and study["points"]
    with tempfile.NamedTemporaryFile(suffix=".mlir") as model:
        subprocess.run(["llmmem-import", config, "--batch", batch, "--seq", seq, "-o", model.name], check=True)
        for point in study["points"]:
            check(study, point, report_of(model.name, point))


if __name__ == "__main__":
    main()
