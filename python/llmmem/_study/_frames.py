"""`llmmem.study`: a study as a frame of pandas and figures of matplotlib, both imported where they are asked for."""

import os
import shlex
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Sequence, Union

from .._temporary import temporary_folder
from ._axes import make_axes
from ._data import COLUMNS, to_markdown
from ._run import Request, finish, start
from ._sweep import Progress

#: Okabe and Ito's colours, which people of any colour vision tell apart, and muted ones of resident bytes; the page has the same.
KIND_COLOURS = {"saved": "#0072b2", "gradient": "#d55e00", "temporary": "#009e73",
                "workspace": "#cc79a7", "input": "#e69f00"}
RESIDENT_COLOURS = {"param": "#51606c", "gradient": "#a3978a", "optimizer_state": "#8088ab"}
OTHER_RESIDENT_COLOUR = "#c3c6c9"


def study(path: Union[str, "os.PathLike[str]"], *, batch: Union[int, Sequence[int], None] = None,
          seq: Union[int, Sequence[int], None] = None, budgets: Union[int, str, Sequence[Union[int, str]], None] = None,
          policies: Union[str, Sequence[str], None] = None, devices: Union[str, Sequence[str], None] = None,
          output: Optional[str] = None, import_flags: str = "", opt_flags: str = "", seconds: float = 10.0,
          jobs: Optional[int] = None, progress: Optional[Progress] = None) -> "Study":
    """Plans `path` (a config.json, a model.mlir or a problem.json) under many budgets and policies.

    budgets: how many to spread (12), or sizes in bytes or as text. policies: "all", or names. output: a page to write, with
    its data next to it; without it nothing is kept. The other arguments are the flags of llmmem-study. At most two of batch,
    seq, budgets, policies and devices have several values.

    Raises StudyError where an argument is wrong. Points without a plan are in the result, with their status.
    """
    with temporary_folder("llmmem-study-") as folder:
        request = Request(os.fspath(path), make_axes(budgets, policies, batch, seq, devices),
                          output or os.path.join(folder, "study.json"), None, None, jobs, seconds, shlex.split(import_flags),
                          shlex.split(opt_flags))
        sweep = start(request, progress)
        return Study(finish(request, sweep, sweep.run()))


@dataclass(frozen=True)
class Study:
    """A study that has run. data: the llmmem-study as json.loads reads it (docs/Design/Study.md)."""

    data: Dict[str, Any]

    @property
    def points(self) -> List[Dict[str, Any]]:
        return list(self.data["points"])

    @property
    def frame(self) -> Any:
        """Returns a pandas.DataFrame with a row for each point; bytes and ns are integers."""
        import pandas
        frame = pandas.DataFrame([{name: point.get(name) for name in COLUMNS} for point in self.points], columns=list(COLUMNS))
        return frame.convert_dtypes()

    def markdown(self) -> str:
        return to_markdown(self.data)

    def frontier(self, axes: Any = None) -> Any:
        """Draws bytes against time and returns the matplotlib axes. Plans under budgets are lines, and the other policies are points."""
        from matplotlib import pyplot
        axes = axes or pyplot.figure(layout="constrained").subplots()
        planned = [it for it in self.points if it["status"] == "feasible"]
        for setting in dict.fromkeys((it["batch"], it["sequence"], it["device"]) for it in planned):
            mine = [it for it in planned if (it["batch"], it["sequence"], it["device"]) == setting]
            line = sorted((it for it in mine if it["policy"] == "budget"), key=lambda it: int(it["needed"]))
            label = " ".join(str(part) for part in setting if part is not None)
            self._draw(axes, line, "time_ns", f"budget {label}", marker="o", markersize=3)
            self._draw(axes, line, "time_lower_bound_ns", f"proved least {label}", linestyle=":")
        for policy in dict.fromkeys(it["policy"] for it in planned if it["policy"] != "budget"):
            self._draw(axes, [it for it in planned if it["policy"] == policy], "time_ns", policy, marker="s", linestyle="")
        axes.set_xlabel("bytes needed (GB)")
        axes.set_ylabel("step, modelled (ms)" if self.data["unit"] == "ns" else "cost")
        axes.legend()
        return axes

    def _draw(self, axes: Any, points: Sequence[Dict[str, Any]], key: str, label: str, **how: Any) -> None:
        scale = 1e6 if self.data["unit"] == "ns" else 1
        if points:
            axes.plot([it["needed"] / 1e9 for it in points], [it[key] / scale for it in points], label=label, **how)

    def timeline(self, name: str, axes: Any = None) -> Any:
        """Draws the live bytes of the point `name`, stacked by kind, and returns the matplotlib axes."""
        from matplotlib import pyplot
        point = next((it for it in self.points if it["name"] == name and "timeline" in it), None)
        if point is None:
            raise ValueError(f"there is no plan '{name}'; expected {' or '.join(it['name'] for it in self.points if 'timeline' in it)}")
        axes = axes or pyplot.figure(layout="constrained").subplots()
        kinds, timeline = self.data["programs"][point["program"]]["kinds"], point["timeline"]
        held = {kind: [0] * (len(timeline["steps"]) + 1) for kind in kinds}
        for _, kind, begin, end, size, *_ in timeline["buffers"]:
            held[kinds[kind]][begin] += size
            held[kinds[kind]][end + 1] -= size
        for changes in held.values():
            for step in range(1, len(changes)):
                changes[step] += changes[step - 1]
        residents = _residents(point)
        stacks = [[size] * len(timeline["steps"]) for size in residents.values()] + [held[kind][:-1] for kind in kinds]
        axes.stackplot([row[2] / 1e6 for row in timeline["steps"]], [[size / 1e9 for size in stack] for stack in stacks],
                       labels=[f"resident: {role}" for role in residents] + kinds, step="post",
                       colors=[RESIDENT_COLOURS.get(role, OTHER_RESIDENT_COLOUR) for role in residents] + [KIND_COLOURS[kind] for kind in kinds])
        axes.set_xlabel("time, modelled (ms)" if self.data["unit"] == "ns" else "cost")
        axes.set_ylabel("live bytes (GB)")
        axes.legend()
        return axes


def _residents(point: Dict[str, Any]) -> Dict[str, int]:
    """Returns resident bytes by role. Where roles name more than the device holds, as with state on the host, there is one entry."""
    roles, resident = point["roles"], point["timeline"]["resident"]
    if sum(roles.values()) > resident:
        return {"resident": resident}
    return {role: size for role, size in {**roles, "padding": resident - sum(roles.values())}.items() if size}
