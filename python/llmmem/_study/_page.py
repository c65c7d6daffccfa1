"""The page: one HTML file with the data, D3 and the code that draws, which loads nothing."""

import base64
import gzip
import html
import os
import re
from typing import Any, Dict, Optional

from ._data import to_json
from ._tools import StudyError

HERE = os.path.join(os.path.dirname(__file__), "page")
#: In the order in which they use each other.
SCRIPTS = ("text.js", "study.js", "colours.js", "chart.js", "frontier.js", "timeline.js", "arena.js", "strip.js", "ledger.js",
           "points.js", "main.js")
D3_PLACES = (os.path.join(HERE, "d3", "d3.min.js"), "/usr/share/nodejs/d3/dist/d3.min.js", "/usr/share/javascript/d3/d3.min.js")


def find_d3(named: Optional[str] = None) -> str:
    """Returns the path of d3.min.js. LLMMEM_D3 names it; else it is the wheel's own or Debian's node-d3."""
    named = named or os.environ.get("LLMMEM_D3")
    for path in (named,) if named else D3_PLACES:
        if os.path.isfile(path):
            return path
    raise StudyError(f"D3, which draws the page, is not {'at ' + named if named else 'found'}; `apt install node-d3` has it, or "
                     "name a d3.min.js of version 5 or newer in LLMMEM_D3; -o study.json gives the data without a page")


def make_page(study: Dict[str, Any], d3: str) -> str:
    """Returns the text of the page. d3: the path of D3, which the page contains with its licence."""
    # The file has a fixed mtime, so that equal studies have equal pages.
    data = base64.b64encode(gzip.compress(to_json(study).encode(), mtime=0)).decode()
    parts = {"TITLE": html.escape(study["title"]), "STYLE": _read("page.css"), "D3_LICENCE": _licence(d3), "D3": _script(d3),
             "DATA": data, "SCRIPTS": "\n".join(_read(name) for name in SCRIPTS)}
    # All are replaced in one pass, so that what is inserted is not searched again.
    return re.sub("@(" + "|".join(parts) + ")@", lambda match: parts[match.group(1)], _read("page.html"))


def _read(name: str) -> str:
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        return file.read()


def _script(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if "</script" in text.lower() or "d3js.org" not in text[:200]:
        raise StudyError(f"{path}: is no d3.min.js as D3 is given out")
    return text


def _licence(path: str) -> str:
    """Returns D3's licence, which every copy of D3 must carry."""
    for licence in ("/usr/share/doc/node-d3/copyright", os.path.join(os.path.dirname(path), "LICENSE"),
                    os.path.join(os.path.dirname(os.path.dirname(path)), "LICENSE")):
        if os.path.isfile(licence):
            with open(licence, encoding="utf-8") as file:
                return file.read().replace("--", "- -")
    raise StudyError(f"{path}: D3's licence is not next to it; put its LICENSE there, since every copy of D3 must carry it")
