"""The Python of a recipe under docs/Recipes. Not a test."""

import os
import re
from typing import List

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def python_blocks(recipe: str) -> List[str]:
    """Returns the recipe's code, block by block, as it stands."""
    with open(os.path.join(ROOT, "docs", "Recipes", recipe), encoding="utf-8") as file:
        return re.findall(r"^```python\n(.*?)^```", file.read(), re.M | re.S)
