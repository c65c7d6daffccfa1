"""What a study compares: budgets, policies, batches, sequences and devices, at most two of them with several values."""

import itertools
from dataclasses import dataclass, replace
from typing import List, Optional, Sequence, Tuple, Union

from .._planner import parse_bytes
from ._tools import StudyError

#: Policies that need no budget, in the order of a legend. `every=K` is asked for by name.
FIXED_POLICIES = ("none", "selective", "full", "sqrt", "least-peak")
DEFAULT_BUDGETS = 12
MOST_POINTS = 2000


@dataclass(frozen=True)
class Setting:
    """One model on one device. batch, sequence: None where the input says them."""

    batch: Optional[int] = None
    sequence: Optional[int] = None
    device: Optional[str] = None

    @property
    def model(self) -> Tuple[Optional[int], Optional[int]]:
        """Returns what its model depends on."""
        return self.batch, self.sequence

    @property
    def name(self) -> str:
        parts = [f"b{self.batch}" if self.batch else "", f"s{self.sequence}" if self.sequence else "", self.device or ""]
        return "-".join(part for part in parts if part)


@dataclass(frozen=True)
class Point:
    """One plan that is asked for. budget: bytes, or None where the policy needs none."""

    setting: Setting
    policy: str
    budget: Optional[int] = None

    @property
    def name(self) -> str:
        """Returns its name in files and addresses."""
        parts = [self.setting.name.replace("/", "_"), self.policy.replace("=", ""), str(self.budget) if self.budget else ""]
        return "-".join(part for part in parts if part)


@dataclass(frozen=True)
class Axes:
    """budgets: sizes in bytes, or how many of them to spread from the least that a plan needs to what keeping everything needs."""

    budgets: Union[int, Tuple[int, ...]]
    policies: Tuple[str, ...]
    settings: Tuple[Setting, ...]

    @property
    def spreads_budgets(self) -> bool:
        return isinstance(self.budgets, int)

    def count(self) -> int:
        """Returns how many plans there are at most."""
        budgets = self.budgets if isinstance(self.budgets, int) else len(self.budgets)
        fixed = {policy for policy in self.policies if policy != "budget"} | {point.policy for point in self.ends()}
        return len(self.settings) * (budgets + len(fixed))

    def ends(self) -> List[Point]:
        """Returns what must be planned before budgets can be spread."""
        if not self.spreads_budgets or "budget" not in self.policies:
            return []
        return [Point(setting, policy) for setting in self.settings for policy in ("none", "least-peak")]

    def points(self, spans: Sequence[Optional[Tuple[int, int]]]) -> List[Point]:
        """Returns all plans. spans: for each setting the least and the most bytes over which budgets are spread."""
        points: List[Point] = []
        for setting, span in zip(self.settings, spans):
            for policy in self.policies:
                if policy == "budget":
                    points += [Point(setting, "budget", size) for size in self._sizes(span)]
                else:
                    points.append(Point(setting, policy))
        return points

    def _sizes(self, span: Optional[Tuple[int, int]]) -> List[int]:
        if not isinstance(self.budgets, int):
            return list(self.budgets)
        if span is None:
            return []
        least, most = span
        if self.budgets == 1 or most <= least:
            return [most]
        return [least + (most - least) * number // (self.budgets - 1) for number in range(self.budgets)]


def make_axes(budgets: Union[int, str, Sequence[Union[int, str]], None] = None,
              policies: Union[str, Sequence[str], None] = None,
              batch: Union[int, str, Sequence[int], None] = None, sequence: Union[int, str, Sequence[int], None] = None,
              devices: Union[str, Sequence[str], None] = None) -> Axes:
    """Checks what was asked for; each argument is one value, a list, or a text with commas."""
    batches = [_whole("batch", text) for text in _list(batch)] or [None]
    sequences = [_whole("seq", text) for text in _list(sequence)] or [None]
    names = [str(name) for name in _list(devices)] or [None]
    for axis, values in (("batch", batches), ("seq", sequences), ("devices", names)):
        if len(set(values)) < len(values):
            raise StudyError(f"--{axis}: has a value twice; each makes a curve of its own")
    settings = tuple(Setting(*values) for values in itertools.product(batches, sequences, names))
    # Budgets and policies are the two axes of one model; they make room for others.
    several = sum(len(values) > 1 for values in (batches, sequences, names))
    chosen = _policies(policies, several)
    sizes = _budgets(budgets, several, "budget" in chosen)
    axes = Axes(sizes, chosen, settings)
    several += (len(chosen) > 1) + ("budget" in chosen and (sizes if isinstance(sizes, int) else len(sizes)) > 1)
    if several > 2:
        raise StudyError(f"{several} axes have several values, and a picture has two; give one value for all but two of "
                         "--budgets, --policies, --batch, --seq and --devices")
    if axes.count() > MOST_POINTS:
        raise StudyError(f"{axes.count()} plans are too many for one page; give at most {MOST_POINTS}")
    return axes


def with_input(axes: Axes, is_config: bool, is_problem: bool) -> Axes:
    """Returns the same axes, checked against what the input can be asked for."""
    first = axes.settings[0]
    if not is_config and (first.batch or first.sequence):
        raise StudyError("--batch and --seq are of a config.json; a model.mlir or a problem.json has its own")
    if is_config and not (first.batch and first.sequence):
        raise StudyError("a config.json says no batch and no sequence; give --batch 8 --seq 1024")
    if is_problem and first.device:
        raise StudyError("--devices: a problem.json has its costs already; give the model that it was made from")
    if is_problem or first.device:
        return axes
    return replace(axes, settings=tuple(replace(setting, device="h100") for setting in axes.settings))


def _list(given: Union[int, str, Sequence[Union[int, str]], None]) -> List[Union[int, str]]:
    if given is None:
        return []
    if isinstance(given, str):
        return [part.strip() for part in given.split(",")]
    return [given] if isinstance(given, int) else list(given)


def _whole(axis: str, text: Union[int, str, None]) -> int:
    try:
        number = int(str(text))
    except ValueError:
        number = 0
    if number < 1:
        raise StudyError(f"--{axis}: '{text}' is no whole number from 1 up; write for example --{axis} 8 or --{axis} 1,2,4")
    return number


def _policies(given: Union[str, Sequence[str], None], several: int) -> Tuple[str, ...]:
    if given is None:
        return ("budget",) if several else ("budget", *FIXED_POLICIES)
    names = tuple(str(name) for name in _list(given))
    if names == ("all",):
        return ("budget", *FIXED_POLICIES)
    for name in names:
        kind, _, number = name.partition("=")
        if name not in ("budget", *FIXED_POLICIES) and not (kind == "every" and number.isdigit() and int(number) > 0):
            raise StudyError(f"--policies: unknown policy '{name}', expected all or some of budget, "
                             f"{', '.join(FIXED_POLICIES)} and every=K, K at least 1")
    return tuple(dict.fromkeys(names))


def _budgets(given: Union[int, str, Sequence[Union[int, str]], None], several: int,
             wanted: bool) -> Union[int, Tuple[int, ...]]:
    if not wanted:
        if given is not None:
            raise StudyError("--budgets: none of --policies takes a budget; add the policy budget")
        return ()
    if given is None:
        if several > 1:
            raise StudyError("two other axes have several values, so there is one budget; give --budgets 24GB")
        return DEFAULT_BUDGETS
    texts = [str(text) for text in _list(given)]
    if len(texts) == 1 and texts[0].isdigit() and int(texts[0]) < 1000:
        return _whole("budgets", texts[0])
    try:
        return tuple(sorted({parse_bytes(text) for text in texts}))
    except ValueError as error:
        raise StudyError(f"--budgets: {error}; or how many to spread, --budgets 12") from None
