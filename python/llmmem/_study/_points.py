"""One plan of a study: the tools are run, and what they report is gathered. No number is computed here that a tool says."""

import glob
import hashlib
import json
import os
from typing import Any, Dict, List, Optional, Sequence

from .._files import read_text
from ._axes import Point, Setting
from ._tools import StudyError, Tools, find_tool

VERSION = 1  # of what is kept of a point; files of another version are not read


class Input:
    """A config.json, a model in MLIR or a problem.json, and the flags that its tools get in addition to those of an axis."""

    def __init__(self, path: str, import_flags: Sequence[str] = (), opt_flags: Sequence[str] = (), seconds: float = 10) -> None:
        self.path, self.import_flags, self.opt_flags, self.seconds = path, list(import_flags), list(opt_flags), seconds
        try:
            self.text = read_text(path)
        except (OSError, UnicodeDecodeError) as error:
            raise StudyError(f"{path}: cannot be read ({getattr(error, 'strerror', None) or error}); expected a config.json, "
                             "a model.mlir or a problem.json") from None
        self.kind = self._kind()
        self.tools = {"config": ["llmmem-import", "llmmem-opt", "llmmem-plan"], "model": ["llmmem-opt", "llmmem-plan"],
                      "problem": ["llmmem-plan"]}[self.kind]
        for tool in self.tools:
            find_tool(tool)

    def _kind(self) -> str:
        if not self.text.lstrip().startswith("{"):
            if not self.text.strip():
                raise StudyError(f"{self.path}: is empty; expected a config.json, a model.mlir or a problem.json")
            return "model"
        try:
            data = json.loads(self.text)
        except (ValueError, RecursionError) as error:
            if "func.func" in self.text:  # a module may begin with a brace: {-# resources #-}
                return "model"
            raise StudyError(f"{self.path}: is no JSON ({error})") from None
        name = data.get("format")
        if name not in (None, "llmmem-problem"):
            raise StudyError(f"{self.path}: is a {name}; expected a config.json, a model.mlir or a problem.json "
                             "(llmmem-opt --emit-problem writes one)")
        return "problem" if name else "config"

    def key(self, point: Point) -> str:
        """Returns what the plan of `point` depends on; equal keys have equal plans."""
        stamps = [(tool, os.stat(find_tool(tool)).st_size, os.stat(find_tool(tool)).st_mtime_ns) for tool in self.tools]
        facts = [VERSION, self.text, self.import_flags, self.opt_flags, self.seconds, stamps, point.setting.name, point.policy,
                 point.budget]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:24]


class Planner:
    """Plans points of one input. `folder` holds intermediate files."""

    def __init__(self, source: Input, tools: Tools, folder: str) -> None:
        self.source, self.tools, self.folder = source, tools, folder

    def prepare(self, setting: Setting) -> None:
        """Makes the model of a config.json."""
        if self.source.kind == "config":
            self.tools.run("llmmem-import", [self.source.path, "--batch", str(setting.batch), "--seq", str(setting.sequence),
                                             *self.source.import_flags, "-o", self._model(setting)])

    def plan(self, point: Point) -> Dict[str, Any]:
        files = {kind: os.path.join(self.folder, f"{point.name}.{kind}")
                 for kind in ("problem", "plan", "report", "timeline", "trace")}
        if self.source.kind == "problem":
            facts = self._plan_problem(point, files)
        else:
            facts = self._plan_model(point, files)
        timeline = None
        if facts["status"] == "feasible":
            problem = self.source.path if self.source.kind == "problem" else files["problem"]
            if self.source.kind != "problem":
                self.tools.run("llmmem-plan", ["--check", problem, files["plan"], f"--timeline={files['timeline']}",
                                               f"--trace={files['trace']}"])
            timeline = _load(files["timeline"])
        setting = point.setting
        head = {"name": point.name, "batch": setting.batch, "sequence": setting.sequence, "device": setting.device,
                "policy": point.policy, "budget": point.budget}
        return {"version": VERSION, **head, **facts, "timeline": timeline}

    def trace_of(self, point: Point) -> str:
        return os.path.join(self.folder, f"{point.name}.trace")

    def _model(self, setting: Setting) -> str:
        name = f"model-b{setting.batch}-s{setting.sequence}.mlir"
        return os.path.join(self.folder, name) if self.source.kind == "config" else self.source.path

    def _plan_model(self, point: Point, files: Dict[str, str]) -> Dict[str, Any]:
        asked = [f"--checkpoint-policy={point.policy}"] if point.policy != "budget" else []
        asked += [f"--checkpoint-budget={point.budget}"] if point.budget else []
        self.tools.run("llmmem-opt", [
            *asked, f"--checkpoint-device={point.setting.device}", f"--checkpoint-seconds={self.source.seconds:g}",
            *self.source.opt_flags, self._model(point.setting), "-o", os.devnull, f"--memory-report-json={files['report']}",
            f"--emit-problem={files['problem']}", f"--emit-plan={files['plan']}"])
        self._refuse_functions(point)
        return facts_of_report(_load(files["report"]))

    def _refuse_functions(self, point: Point) -> None:
        """Refuses a step of several functions, as pipeline stages are. Each function after the first has files of its own."""
        beside = glob.glob(os.path.join(glob.escape(self.folder), glob.escape(point.name) + ".*.problem"))
        if beside:
            name = sorted(path.split(".")[-2] for path in beside)[-1]
            raise StudyError(f"the step is several functions, @{name} among them, and a study is of one: write the problem of each "
                             f"with llmmem-opt --emit-problem=problem.json, and study one, as problem.{name}.json")

    def _plan_problem(self, point: Point, files: Dict[str, str]) -> Dict[str, Any]:
        asked = [f"--policy={point.policy}", f"--seconds={self.source.seconds:g}", f"--timeline={files['timeline']}",
                 f"--trace={files['trace']}"]
        if point.budget:
            asked.append(f"--budget={point.budget}")
        done = self.tools.run("llmmem-plan", [self.source.path, *asked, "-o", files["plan"]])
        plan = _load(files["plan"])
        has_plan = plan["steps"] or plan["status"] == "feasible"  # a step without ops has a plan without steps
        resident = _load(files["timeline"])["resident"] if has_plan else None
        return facts_of_plan(plan, resident, done.stderr)


def facts_of_report(report: Dict[str, Any]) -> Dict[str, Any]:
    """Takes the facts of a point from a llmmem-memory-report (docs/Design/Reports.md)."""
    bounds = report["certificate"]
    facts: Dict[str, Any] = {"status": report["status"], "peak_lower_bound": bounds["peak_lower_bound"],
                             "planning_seconds": report["planning_seconds"]}
    if report["status"] != "feasible":
        facts["least_budget_found"] = report.get("least_budget_found")
        return facts
    resident, overlap = sum(report["resident"].values()), report["overlap"]
    lower = overlap["time_lower_bound_ns"]
    facts.update(
        needed=resident + report["resident_padding"] + report["arena"], peak=report["peak"]["bytes"], arena=report["arena"],
        resident=resident, resident_padding=report["resident_padding"], roles=report["resident"],
        time_ns=overlap["time_ns"], once_ns=report["step"]["time_ns"], recompute_ns=report["recompute"]["time_ns"],
        recompute_ops=report["recompute"]["ops"], bound=bounds["bound"],
        time_lower_bound_ns=bounds["cost_lower_bound_ns"] if lower is None else lower,
        saved_bytes=report["saved"]["bytes"], parameters=report["parameters"], live_at_peak=_live(report["peak"]["live"]),
        chunks=report["chunks"], epilogues=next((it["choice"] for it in report["epilogues"] if it["taken"]), None),
        device_source=report["device"]["source"])
    return facts


def facts_of_plan(plan: Dict[str, Any], resident: Optional[int], said: str) -> Dict[str, Any]:
    """Takes the same facts from a llmmem-plan, whose costs have any one unit."""
    memory = plan["memories"][0] if "memories" in plan else plan
    facts: Dict[str, Any] = {"status": plan["status"], "peak_lower_bound": memory["peak_lower_bound"],
                             "planning_seconds": plan["seconds"]}
    if plan["status"] != "feasible" or resident is None:
        facts["why"] = plan.get("witness", {}).get("why", said.strip()[:200])
        return facts
    facts.update(
        needed=resident + memory["arena"], peak=memory["peak"], arena=memory["arena"], resident=resident, resident_padding=0,
        roles={"resident": resident}, time_ns=plan.get("time", plan["cost"]), once_ns=plan["base_cost"],
        recompute_ns=plan["cost"] - plan["base_cost"], recompute_ops=len(plan["steps"]) - len(set(plan["steps"])),
        time_lower_bound_ns=plan.get("time_lower_bound", plan["cost_lower_bound"]))
    return facts


def _live(entries: List[Dict[str, Any]]) -> List[Dict[str, Any]]:
    return [{key: entry[key] for key in ("name", "bytes", "kind", "block")} for entry in entries]


def _load(path: str) -> Dict[str, Any]:
    with open(path, encoding="utf-8") as file:
        data: Dict[str, Any] = json.load(file)
        return data
