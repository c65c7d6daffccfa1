"""A study from its input to its files."""

import os
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Sequence

from ._axes import Axes, with_input
from ._data import make_study, to_csv, to_json, to_markdown
from ._page import find_d3, make_page
from ._points import Input
from ._snapshot import make_snapshot
from ._sweep import Progress, Sweep, make_folder, write_bytes, write_text
from ._title import title_of
from ._tools import StudyError


@dataclass
class Request:
    """What llmmem-study is asked for.

    output: the page, PATH.html, next to PATH.json, PATH.csv and PATH.md; or PATH.json, and there is no page.
    exports: a folder for a trace and a snapshot of each plan, or None. flags: further flags of llmmem-import and of llmmem-opt.
    """

    path: str
    axes: Axes
    output: str = "study.html"
    title: Optional[str] = None
    exports: Optional[str] = None
    jobs: Optional[int] = None
    seconds: float = 10
    import_flags: Sequence[str] = ()
    opt_flags: Sequence[str] = ()
    written: List[str] = field(default_factory=list)

    @property
    def stem(self) -> str:
        return os.path.splitext(self.output)[0]

    @property
    def kept(self) -> str:
        """Returns the folder of finished plans."""
        return self.stem + ".points"


def start(request: Request, progress: Optional[Progress] = None) -> Sweep:
    """Returns the sweep that `request` asks for. Everything that can be wrong is checked before anything is planned."""
    ending = os.path.splitext(request.output)[1]
    if ending not in (".html", ".json"):
        raise StudyError(f"-o {request.output}: expected a page, study.html, or its data alone, study.json")
    source = Input(request.path, request.import_flags, request.opt_flags, request.seconds)
    if source.kind != "config" and request.import_flags:
        raise StudyError("--import: these flags are for a config.json")
    if source.kind == "problem" and request.opt_flags:
        raise StudyError("--opt: these flags are for a config.json or a model.mlir")
    axes = with_input(request.axes, source.kind == "config", source.kind == "problem")
    if os.path.abspath(request.path) in (request.stem + ending for ending in (".json", ".csv", ".md", ".html")):
        raise StudyError(f"-o {request.output}: {request.path} would be overwritten; give another name")
    if ending == ".html":
        find_d3()
    if os.path.isdir(request.output):
        raise StudyError(f"-o {request.output}: is a folder; give the page a name in it")
    make_folder(request.kept)
    if request.exports:
        make_folder(request.exports)
    return Sweep(source, axes, request.kept, request.jobs, progress)


def finish(request: Request, sweep: Sweep, results: Sequence[Dict[str, Any]]) -> Dict[str, Any]:
    """Writes the files of a study that has run, and says in `request.written` which."""
    source = sweep.source
    study = make_study(request.title or title_of(request.path, source.kind, source.text), source.kind, os.path.basename(request.path), results)
    texts = {".json": to_json(study), ".csv": to_csv(study), ".md": to_markdown(study)}
    if request.output.endswith(".html"):
        texts[".html"] = make_page(study, find_d3())
    for ending, text in texts.items():
        write_text(request.stem + ending, text)
        request.written.append(request.stem + ending)
    if request.exports:
        export(request, sweep, study)
    return study


def export(request: Request, sweep: Sweep, study: Dict[str, Any]) -> None:
    points = {point.name: point for point in sweep.results}
    for entry in study["points"]:
        if "timeline" not in entry:
            continue
        base = os.path.join(request.exports or "", entry["name"])
        with open(sweep.trace_of(points[entry["name"]]), encoding="utf-8") as file:
            write_text(base + ".trace.json", file.read())
        write_bytes(base + ".snapshot.pickle", make_snapshot(study, entry))
    request.written.append(os.path.join(request.exports or "", ""))
