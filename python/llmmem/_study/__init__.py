"""llmmem-study and `llmmem.study`: what memory costs in time, over many plans of one model.

`command` is the command, `_axes` says which plans there are, `_sweep` runs the tools for them, `_data` gathers, `_page` and
the folder page/ draw.
"""

from ._frames import Study, study
from ._tools import StudyError

__all__ = ["Study", "StudyError", "study"]
