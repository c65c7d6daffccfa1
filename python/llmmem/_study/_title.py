"""What people call the model of an input: the title of a page that nobody gave one."""

import json
import os
import re

#: Where the hub's cache keeps a model: models--ORGANISATION--NAME/snapshots/REVISION/config.json.
HUB_FOLDER = re.compile(r"models--([^/]+?)--([^/]+)/snapshots/")


def title_of(path: str, kind: str, text: str) -> str:
    """Returns the model's own name, where its config has one, or what the file or its folder is called.

    Example: models/Llama-3.2-1B/config.json is Llama-3.2-1B, and examples/configs/gpt2.json is gpt2.
    """
    own = json.loads(text).get("_name_or_path") if kind == "config" else None
    if isinstance(own, str) and re.fullmatch(r"\w[\w.-]*(/\w[\w.-]*)?", own):
        return own
    whole = os.path.abspath(path)
    hub = HUB_FOLDER.search(whole)
    if hub:
        return "/".join(hub.groups())
    stem = os.path.splitext(os.path.basename(path))[0]
    named = stem[: -len(".config")] if stem.endswith(".config") else stem
    return (os.path.basename(os.path.dirname(whole)) or named) if named in ("config", "model", "problem") else named
