"""The data of problems and plans, as plain objects."""

import json
import os
from dataclasses import dataclass, field, replace
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from ._files import read_text


@dataclass
class Value:
    """A value that ops read or write.

    bytes: its size. name: for reports. resident: an input that is held throughout, outside the arena.
    """

    bytes: int
    name: str = ""
    resident: bool = False


@dataclass
class Op:
    """An op of the program.

    reads, writes: numbers of values; a value has at most one writer, before its readers.
    cost: the cost of one run. workspace: bytes that are held only while the op runs.
    in_place: pairs (written, read): the written value may take the bytes of the read one, where this is its last read.
    recompute: False where the op must run exactly once.
    block: the layer, from 0, or None. phase: "forward", "backward", "update" or None.
    micro_batch: the number of the micro-batch that the op belongs to, or None.
    """

    reads: Sequence[int]
    writes: Sequence[int]
    cost: int = 0
    workspace: int = 0
    in_place: Sequence[Tuple[int, int]] = ()
    recompute: bool = True
    block: Optional[int] = None
    phase: Optional[str] = None
    name: str = ""
    micro_batch: Optional[int] = None


@dataclass
class Tiling:
    """One variant of the ops of a form that work in chunks: (op, cost, workspace) of each, which replace its own."""

    ops: Sequence[Tuple[int, int, int]] = ()


@dataclass
class Form:
    """One of several variants of a step, which give the same results.

    tilings: at least one, all of the same ops; the cheapest, which has the largest workspaces, comes first.
    values, ops, keep: what the step consists of in this form; without ops, it is what the problem itself states.
    selected: numbers of the forward ops whose results the policy "selective" recomputes.
    """

    tilings: Sequence[Tiling] = (Tiling(),)
    values: Sequence[Value] = ()
    ops: Sequence[Op] = ()
    keep: Sequence[int] = ()
    selected: Sequence[int] = ()


@dataclass(frozen=True)
class FormNumber:
    """Names one of a problem's forms, and one of its tilings."""

    form: int
    tiling: int


@dataclass(frozen=True)
class Host:
    """The memory of a host, to which a plan may copy values and back. Costs of the problem are nanoseconds then.

    budget: bytes that the arena on the host must not exceed. to_host, to_device: bytes per second of the link, each way. latency: nanoseconds
    of each copy. may_leave: numbers of the values that may leave the device, or None for every value that an op writes.
    """

    budget: int
    to_host: int
    to_device: int
    latency: int = 0
    may_leave: Optional[Sequence[int]] = None


@dataclass
class Problem:
    """A program as the planner sees it: values with sizes, and ops that read and write them.

    values: by number. ops: in program order. keep: numbers of the values that are held at the end.
    budget: bytes that resident values and arena must not exceed, or None. alignment: of offsets, in bytes.
    forms: the variants that the planner may choose from. Exactly one has no ops of its own: what this problem states. Without
        any, that is the only one.
    choice: "plan" lets the cheapest plan decide; "ops_once" takes the form whose ops cost least, the same under every budget.
    guessed_phases: whether the phases of ops are guessed, so that a plan without them is tried as well.
    host: the memory that values may be copied to, or None. It is no part of the JSON: llmmem-plan has flags for it.
    """

    values: List[Value]
    ops: List[Op]
    keep: Sequence[int] = ()
    budget: Optional[int] = None
    alignment: int = 1
    forms: Sequence[Form] = ()
    choice: str = "plan"
    guessed_phases: bool = False
    host: Optional[Host] = None

    @staticmethod
    def from_json(text: Union[str, bytes, Mapping[str, Any]]) -> "Problem":
        """Reads a llmmem-problem of version 1, as a text or as json.loads returns it. Ids become numbers in the order
        of the lists."""
        data = text if isinstance(text, Mapping) else json.loads(text)
        if data.get("format") != "llmmem-problem" or data.get("version") != 1:
            raise ValueError('expected "format": "llmmem-problem" and "version": 1')
        try:
            values, ops, keep, _ = _graph_of(data)
            forms = [_form_of(form, data) for form in data.get("forms", ())]
        except KeyError as missing:
            raise ValueError(f"the problem has no {missing}") from None
        return Problem(values, ops, keep, data.get("budget"), data.get("alignment", 1), forms, data.get("choice", "plan"),
                       data.get("guessed_phases", False))

    @staticmethod
    def load(path: Union[str, "os.PathLike[str]"]) -> "Problem":
        """Reads a llmmem-problem from a file, such as `llmmem-opt --emit-problem` writes."""
        return Problem.from_json(read_text(path))

    def to_json(self) -> str:
        """Returns the text that llmmem-plan reads; its ids are the numbers."""
        data: Dict[str, Any] = {"format": "llmmem-problem", "version": 1, "alignment": self.alignment}
        if self.budget is not None:
            data["budget"] = self.budget
        data.update(_graph_json(self.values, self.ops, self.keep))
        if self.choice != "plan":
            data["choice"] = self.choice
        if self.guessed_phases:
            data["guessed_phases"] = True
        if self.forms:
            data["forms"] = [_form_json(form) for form in self.forms]
        return json.dumps(data)

    def in_form(self, number: Optional[FormNumber]) -> "Problem":
        """Returns the step in one of its forms alone, or as it is stated where `number` is None."""
        if number is None:
            return replace(self, forms=(), choice="plan", guessed_phases=False)
        if not 0 <= number.form < max(len(self.forms), 1):
            raise ValueError(f"form: is {number.form}; the problem has {max(len(self.forms), 1)}")
        form = self.forms[number.form] if self.forms else Form()
        if not 0 <= number.tiling < len(form.tilings):
            raise ValueError(f"tiling: is {number.tiling}; form {number.form} has {len(form.tilings)}")
        values, ops, keep = (form.values, list(form.ops), form.keep) if form.ops else (self.values, list(self.ops), self.keep)
        for op, cost, workspace in form.tilings[number.tiling].ops:
            ops[op] = replace(ops[op], cost=cost, workspace=workspace)
        return Problem(list(values), ops, keep, self.budget, self.alignment, host=self.host)


def _graph_of(data: Mapping[str, Any]) -> Tuple[List[Value], List[Op], List[int], Dict[int, int]]:
    """Returns values, ops, what is kept, and the numbers of ops by their ids."""
    number = {value["id"]: index for index, value in enumerate(data["values"])}
    values = [Value(value["bytes"], value.get("name", ""), value.get("resident", False)) for value in data["values"]]
    ops = [Op(reads=[number[value] for value in op["reads"]],
              writes=[number[value] for value in op["writes"]],
              cost=op.get("cost", 0), workspace=op.get("workspace", 0),
              in_place=[(number[write], number[read]) for write, read in op.get("in_place", ())],
              recompute=op.get("recompute", True), block=op.get("block"), phase=op.get("phase"),
              name=op.get("name", ""), micro_batch=op.get("micro_batch")) for op in data["ops"]]
    return (values, ops, [number[value] for value in data.get("keep", ())],
            {op["id"]: index for index, op in enumerate(data["ops"])})


def _form_of(form: Mapping[str, Any], stated: Mapping[str, Any]) -> Form:
    values, ops, keep, number = _graph_of(form if "ops" in form else stated)
    tilings = [Tiling([(number[entry["op"]], entry.get("cost", 0), entry.get("workspace", 0)) for entry in tiling])
               for tiling in form["tilings"]]
    selected = [number[op] for op in form.get("selected", ())]
    return Form(tilings, values, ops, keep, selected) if "ops" in form else Form(tilings, selected=selected)


def _graph_json(values: Sequence[Value], ops: Sequence[Op], keep: Sequence[int]) -> Dict[str, Any]:
    entries = []
    for number, op in enumerate(ops):
        entry: Dict[str, Any] = {
            "id": number, "name": op.name, "cost": op.cost, "workspace": op.workspace, "reads": list(op.reads),
            "writes": list(op.writes), "in_place": [list(pair) for pair in op.in_place], "recompute": op.recompute}
        for key in ("block", "phase", "micro_batch"):
            if getattr(op, key) is not None:
                entry[key] = getattr(op, key)
        entries.append(entry)
    return {"values": [{"id": number, "bytes": value.bytes, "name": value.name, "resident": value.resident}
                       for number, value in enumerate(values)],
            "ops": entries, "keep": list(keep)}


def _form_json(form: Form) -> Dict[str, Any]:
    data: Dict[str, Any] = {"tilings": [[{"op": op, "cost": cost, "workspace": workspace}
                                         for op, cost, workspace in tiling.ops] for tiling in form.tilings]}
    if form.ops:
        data.update(_graph_json(form.values, form.ops, form.keep))
    if form.selected:
        data["selected"] = list(form.selected)
    return data


@dataclass(frozen=True)
class Offset:
    """The place of a value, or of a step's workspace where value is None: `offset` bytes from the arena's start. `step` is
    the number of the step that writes the value, or -1 where the value is an input."""

    step: int
    value: Optional[int]
    offset: int

    def __init__(self, step: int, value: Optional[int], offset: int) -> None:
        # What dataclass writes for frozen ones takes twice as long, and a plan has thousands.
        fields = self.__dict__
        fields["step"] = step
        fields["value"] = value
        fields["offset"] = offset


@dataclass(frozen=True)
class Witness:
    """Says why there is no plan. `bytes`, resident values included, is the least that is known to be needed at `op`, or by
    the whole step where op is None. `proved` says that no plan at all exists."""

    why: str
    bytes: int
    op: Optional[int]
    proved: bool


@dataclass(frozen=True)
class Copy:
    """A copy that a plan may run: of a value to `host_value`, a number beyond those of the problem's values, or back. cost: nanoseconds."""

    value: int
    host_value: int
    is_to_host: bool
    cost: int


@dataclass(frozen=True)
class HostPlan:
    """What a plan with a host has in addition.

    copies: those that may run. Step number len(problem.ops) + i of the plan runs copies[i].
    peak, arena, peak_lower_bound: bytes on the host, as those of Plan are on the device.
    time: nanoseconds at which the last step ends; copies run at the same time as ops, one at a time in each direction. base_time: of every op
    once, without copies. time_lower_bound: it is proved that no plan under both budgets takes less.
    """

    copies: Sequence[Copy]
    peak: int
    arena: int
    peak_lower_bound: int
    time: int
    base_time: int
    time_lower_bound: int


@dataclass(frozen=True)
class Plan:
    """An execution order with repeats, and offsets in one arena.

    status: "feasible", "infeasible" where it is proved that no plan fits, or "unknown" where none was found.
    steps: numbers of ops in execution order; an op that is recomputed occurs again.
    offsets: the offset of each value that is not resident, in the order of the steps. workspaces: the steps that have one.
    peak: the largest sum of live bytes, resident ones and workspaces included. arena: its size in bytes.
    cost: the cost of all steps; base_cost: the cost of every op once.
    cost_lower_bound: it is proved that no plan under this budget costs less. peak_lower_bound: none has a lower peak.
    seconds: the time that planning took. witness: says why there is no plan, or None.
    proof: where it was asked for, the JSON that proves the bounds, or that there is no plan; `check` reads it.
    form: the form that was planned, where the problem has several; bounds hold for all of them.
    host: what happens on the host, where the problem has one. Then `cost` has the copies, and `peak` and `arena` are the device's.
    Many fields: each is a key of the plan that llmmem-plan writes.
    """

    status: str
    steps: List[int]
    offsets: List[Offset]
    workspaces: List[Offset]
    peak: int
    arena: int
    cost: int
    base_cost: int
    cost_lower_bound: int
    peak_lower_bound: int
    seconds: float = 0.0
    witness: Optional[Witness] = None
    proof: Optional[str] = None
    form: Optional[FormNumber] = None
    host: Optional[HostPlan] = None

    @property
    def is_feasible(self) -> bool:
        """Returns whether the plan fits the budget."""
        return self.status == "feasible"

    @property
    def recompute_cost(self) -> int:
        """Returns what recomputation adds to the cost of every op once."""
        return self.cost - self.base_cost

    @property
    def gap(self) -> float:
        """Returns how far the cost lies above the proved bound, as a part of base_cost: 0.01 is a percent of the step."""
        return (self.cost - self.cost_lower_bound) / max(self.base_cost, 1)


@dataclass(frozen=True)
class Violation:
    """A rule that a plan breaks: its step (None for the plan as a whole), its short stable name, and a message for people."""

    step: Optional[int]
    rule: str
    message: str


@dataclass(frozen=True)
class Claim:
    """What a plan claims: "plan" claims its numbers and offsets, "cost" and "peak" that no plan has less, and "infeasible" that
    there is none. verdict: "checked" where it holds, whoever made the plan and the proof; "not checked"; "refused" where the plan or
    the proof is wrong. message: says what holds, or why it does not."""

    claim: str
    verdict: str
    message: str


@dataclass(frozen=True)
class SavedValue:
    """Says what a plan does with one saved value of `bytes`.

    runs: how often its writer runs; 1 where the value is kept. steps_held: the steps during which it is held, over all runs.
    steps_idle: of a kept value, the steps of the longest range between two uses; of a recomputed one, the steps without it.
    other_cost: of a kept value, the cost of recomputing it there; of a recomputed one, what keeping it would save.
    can_recompute: of a kept value, whether its writer may run again.
    """

    value: int
    bytes: int
    runs: int
    steps_held: int
    steps_idle: int
    other_cost: int
    can_recompute: bool


@dataclass(frozen=True)
class Packing:
    """Offsets of buffers, in their order. arena: the end of the highest; lower_bound: the largest sum of live bytes."""

    offsets: List[int] = field(default_factory=list)
    arena: int = 0
    lower_bound: int = 0
