"""Plans all points of a study, in parallel, keeping each as it is done."""

import concurrent.futures
import json
import os
import shutil
import tempfile
from typing import Any, Callable, Dict, List, Optional, Tuple

from .. import _temporary
from ._axes import Axes, Point, Setting
from ._points import VERSION, Input, Planner
from ._tools import StudyError, Tools

Progress = Callable[[int, int, str], None]


class Sweep:
    """Plans the points that are not done yet.

    kept: the folder of finished points, one file each, named by what its plan depends on. A study that was interrupted, or
    that asks for more, takes them from there.
    progress: called in the caller's thread with the points that are done, those that are asked for, and the last one's name.
    """

    def __init__(self, source: Input, axes: Axes, kept: str, jobs: Optional[int] = None,
                 progress: Optional[Progress] = None) -> None:
        self.source, self.axes, self.kept = source, axes, kept
        self.jobs = jobs or len(os.sched_getaffinity(0))
        self.progress = progress
        self.tools = Tools()
        self.results: Dict[Point, Dict[str, Any]] = {}
        self.models: Dict[Tuple[Optional[int], Optional[int]], "concurrent.futures.Future[None]"] = {}
        self.planned = 0  # by this run, the others were there
        self.total = 0

    def run(self) -> List[Dict[str, Any]]:
        """Returns the points, in the order of the axes. KeyboardInterrupt ends the tools that run; what is done stays in `kept`."""
        make_folder(self.kept)
        ends = self.axes.ends()
        self.total = self.axes.count()
        with _temporary.temporary_folder("llmmem-study-") as folder:
            planner = Planner(self.source, self.tools, folder)
            self._run(planner, ends)
            points = self.axes.points([self._span(setting) for setting in self.axes.settings])
            self.total = len(set(ends + points))
            self._run(planner, points)
        return [self.results[point] for point in dict.fromkeys(points + ends)]

    def _span(self, setting: Setting) -> Optional[Tuple[int, int]]:
        ends = [self.results.get(Point(setting, policy), {}).get("needed") for policy in ("least-peak", "none")]
        return (ends[0], ends[1]) if ends[0] is not None and ends[1] is not None else None

    def _run(self, planner: Planner, points: List[Point]) -> None:
        missing = []
        for point in points:
            if point in self.results:
                continue
            done = self._load(point)
            if done is None:
                missing.append(point)
            else:
                self._take(point, done)
        if not missing:
            return
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            for point in missing:
                if point.setting.model not in self.models:
                    self.models[point.setting.model] = pool.submit(planner.prepare, point.setting)
            waiting = {pool.submit(self._plan, planner, point): point for point in missing}
            try:
                for future in concurrent.futures.as_completed(waiting):
                    self.planned += 1
                    self._take(waiting[future], future.result())
            except BaseException:
                self.tools.cancel()
                for future in waiting:
                    future.cancel()
                raise

    def _plan(self, planner: Planner, point: Point) -> Dict[str, Any]:
        self.models[point.setting.model].result()
        result = planner.plan(point)
        write_text(self._path(point, ".json"), json.dumps(result, separators=(",", ":")))
        if os.path.exists(planner.trace_of(point)):
            shutil.move(planner.trace_of(point), self._path(point, ".trace.json"))
        return result

    def trace_of(self, point: Point) -> str:
        return self._path(point, ".trace.json")

    def _take(self, point: Point, result: Dict[str, Any]) -> None:
        self.results[point] = result
        if self.progress:
            self.progress(len(self.results), self.total, point.name)

    def _path(self, point: Point, ending: str) -> str:
        return os.path.join(self.kept, self.source.key(point) + ending)

    def _load(self, point: Point) -> Optional[Dict[str, Any]]:
        """Returns what an earlier run kept. A point whose file was damaged since is planned again."""
        try:
            with open(self._path(point, ".json"), encoding="utf-8") as file:
                data: Dict[str, Any] = json.load(file)
        except (OSError, ValueError):
            return None
        return data if data.get("version") == VERSION and data.get("name") == point.name else None


def make_folder(path: str) -> None:
    try:
        os.makedirs(path, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        raise StudyError(f"{path}: cannot be written ({error.strerror}); finished plans are kept there, and the page stands "
                         "next to it: give -o a path in a folder that can be written") from None


def write_text(path: str, text: str) -> None:
    """Writes `text` completely or not at all."""
    write_bytes(path, text.encode())


def write_bytes(path: str, data: bytes) -> None:
    try:
        _temporary.write_bytes(path, data)
    except OSError as error:
        raise StudyError(f"{path}: cannot be written ({error.strerror})") from None
