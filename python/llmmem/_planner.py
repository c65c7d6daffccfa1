"""plan, verify, check, explain and pack: plain objects in, plain objects out, arrays of C between."""

import array
import ctypes
import itertools
import queue
import struct
import threading
from ctypes import POINTER, byref, c_char_p, c_int32, c_int64, c_uint8
from dataclasses import replace
from typing import Any, Callable, Iterable, List, Mapping, Optional, Sequence, Tuple, TypeVar, Union

from . import _library as c
from ._model import (Claim, Copy, Form, FormNumber, HostPlan, Offset, Op, Packing, Plan, Problem, SavedValue, Violation,
                     Witness)

STATUSES = ("feasible", "infeasible", "unknown")
VERDICTS = ("checked", "not checked", "refused")
CHOICES = ("plan", "ops_once")
TYPECODES = {c_uint8: "B", c_int32: "i", c_int64: "q"}
PHASES = {None: 0, "none": 0, "forward": 1, "backward": 2, "update": 3}
Result = TypeVar("Result")


def parse_bytes(text: str) -> int:
    """Returns the bytes of "123", "40GB" or "37.25GiB". GB is 10^9 and GiB is 2^30; the result is exact, or rounded down."""
    number = c_int64()
    c.call(c.library.llmmem_parse_bytes, text.encode(), byref(number))
    return number.value


def parse_link(text: str) -> Tuple[int, int]:
    """Returns the bytes per second to the host and back of "25GB/s", or of "25GB/s,20GB/s"."""
    host = c.Host()
    c.call(c.library.llmmem_parse_link, text.encode(), byref(host))
    return host.to_host, host.to_device


def plan(problem: Union[Problem, Mapping[str, Any]], budget: Union[int, str, None] = None, *,
         policy: Optional[str] = None, seconds: float = 10.0,
         progress: Optional[Callable[[str], None]] = None, proof: bool = False) -> Plan:
    """Plans `problem`, in the best form where it has several, and verifies the plan.

    problem: a Problem, or the JSON of a llmmem-problem, as json.loads reads it.
    budget: bytes that resident values and arena must not exceed, which replace the problem's own: a number, a text ("4GB",
        "37.25GiB"), or "min" for the least that can be found. Without a budget the result is the best order with nothing recomputed.
    policy: "budget" is the default; "least-peak", "none", "every=K", "sqrt" and "full" are for comparison.
    seconds: bounds the search. It is mapped to a count of work, so equal arguments give equal plans.
    progress: called with each activity, in this thread.
    proof: whether the plan has the proof of its bounds, which `check` reads.

    The status of the plan says whether it fits. Raises ValueError where an argument is wrong.
    """
    asked = _problem(problem)
    if budget == "min":
        if policy not in (None, "least-peak"):
            raise ValueError("budget: 'min' chooses for itself; leave policy out")
        asked, policy = replace(asked, budget=None), "least-peak"
    elif budget is not None:
        asked = replace(asked, budget=_budget(budget))
    # The library reads 0 as its default.
    if not isinstance(seconds, (int, float)) or not seconds > 0:
        raise ValueError(f"seconds: expected a positive number, not {seconds!r}")
    if asked.host is not None:
        return _plan_with_host(asked, policy, seconds, progress, proof)
    given, chosen = _FormArrays(asked), c.FormNumber()
    made, proved = POINTER(c.Plan)(), ctypes.c_void_p()

    def work(is_cancelled: Any, report: Any) -> None:
        options = c.PlanOptions(policy=policy.encode() if policy else None, seconds=seconds, progress=report,
                                is_cancelled=is_cancelled)
        c.call(c.library.llmmem_make_plan_of_forms, byref(given.forms), byref(options), byref(made), byref(chosen),
               byref(proved) if proof else None)

    _run(work, progress)
    try:
        form = FormNumber(chosen.form, chosen.tiling) if given.are_several else None
        return _plan_of(made.contents, _text(ctypes.string_at(proved)) if proved else None, form)
    finally:
        c.library.llmmem_free_plan(made)
        c.library.llmmem_free_text(proved)


def _plan_with_host(problem: Problem, policy: Optional[str], seconds: float, progress: Optional[Callable[[str], None]],
                    proof: bool) -> Plan:
    if proof:
        raise ValueError("proof: plans with a host have none yet; leave proof or host out")
    if problem.forms:
        raise ValueError("host: the problem has forms; plan one of them (Problem.in_form), or leave host out")
    given, host = _ProblemArrays(problem), _HostArrays(problem)
    made, on_host = POINTER(c.Plan)(), POINTER(c.HostPlan)()

    def work(is_cancelled: Any, report: Any) -> None:
        options = c.PlanOptions(policy=policy.encode() if policy else None, seconds=seconds, progress=report,
                                is_cancelled=is_cancelled)
        c.call(c.library.llmmem_make_plan_with_host, byref(given.problem), byref(host.host), byref(options), byref(made), byref(on_host))

    _run(work, progress)
    try:
        return replace(_plan_of(made.contents, None, None), host=_host_plan_of(on_host.contents))
    finally:
        c.library.llmmem_free_plan(made)
        c.library.llmmem_free_host_plan(on_host)


def verify(problem: Union[Problem, Mapping[str, Any]], plan: Plan,
           budget: Union[int, str, None] = None) -> List[Violation]:
    """Returns every rule that `plan` breaks, in step order, and nothing where it holds. The code that checks shares nothing with the
    planner, and the plan may come from anywhere. `budget` is as in `plan`."""
    asked = _problem(problem).in_form(plan.form)
    given, made = _ProblemArrays(asked), _PlanArrays(plan)
    if budget is not None:
        given.problem.budget = _budget(budget)
    found = POINTER(c.Violations)()
    if asked.host is not None and plan.host is not None:
        on_host = _host_plan(plan.host)
        host = _HostArrays(asked)
        c.call(c.library.llmmem_verify_plan_with_host, byref(given.problem), byref(host.host), byref(made.plan), byref(on_host), byref(found))
    else:
        c.call(c.library.llmmem_verify_plan, byref(given.problem), byref(made.plan), byref(found))
    try:
        items = found.contents.items[:found.contents.count]
        return [Violation(it.step if it.step >= 0 else None, it.rule.decode(), _text(it.message)) for it in items]
    finally:
        c.library.llmmem_free_violations(found)


def check(problem: Union[Problem, Mapping[str, Any]], plan: Plan, proof: Optional[str] = None,
          budget: Union[int, str, None] = None) -> List[Claim]:
    """Checks what `plan` claims of all plans, with its proof, by code that shares nothing with the planner. Returns one entry for
    each of "plan", "cost", "peak", and "infeasible" where the plan says so.

    proof: replaces the plan's own; it is the JSON of a llmmem-proof in which values and ops have their numbers as ids.
    budget: as in `plan`. Raises ValueError where there is no proof, or where it is no llmmem-proof.

    >>> import llmmem
    >>> problem = llmmem.Problem(values=[llmmem.Value(8)], ops=[llmmem.Op([], [0], cost=3)], budget=8)
    >>> [claim.verdict for claim in check(problem, plan(problem, proof=True))]
    ['checked', 'checked', 'checked']
    """
    _refuse_host(plan, "its bounds have no proof yet")
    proof = plan.proof if proof is None else proof
    if proof is None:
        raise ValueError("proof: the plan has none; plan with proof=True")
    given, made = _ProblemArrays(_problem(problem).in_form(plan.form)), _PlanArrays(plan)
    if budget is not None:
        given.problem.budget = _budget(budget)
    found = POINTER(c.Claims)()
    c.call(c.library.llmmem_check_proof, byref(given.problem), byref(made.plan), proof.encode(), byref(found))
    try:
        return [Claim(_text(it.claim), VERDICTS[it.verdict], _text(it.message))
                for it in found.contents.items[:found.contents.count]]
    finally:
        c.library.llmmem_free_claims(found)


def explain(problem: Union[Problem, Mapping[str, Any]], plan: Plan) -> List[SavedValue]:
    """Returns what `plan` does with each saved value, the largest first, and what the other choice would have cost. The plan must
    hold under the problem's own budget, and have no host."""
    _refuse_host(plan, "what copies would have cost otherwise is not told yet")
    given, made = _ProblemArrays(_problem(problem).in_form(plan.form)), _PlanArrays(plan)
    found = POINTER(c.Explanation)()
    c.call(c.library.llmmem_explain_plan, byref(given.problem), byref(made.plan), byref(found))
    try:
        return [SavedValue(it.value, it.bytes, it.runs, it.steps_held, it.steps_idle, it.other_cost,
                           bool(it.can_recompute)) for it in found.contents.items[:found.contents.count]]
    finally:
        c.library.llmmem_free_explanation(found)


def pack(lower: Iterable[int], upper: Iterable[int], sizes: Iterable[int], *, alignment: int = 1,
         capacity: Union[int, str, None] = None, seconds: float = 0.0) -> Packing:
    """Finds offsets for buffers at which no two that are held at once overlap.

    lower, upper: [n] positions; each buffer is held from `lower` up to, and without, `upper`. sizes: [n] bytes.
    capacity: the search ends once the arena is no larger. seconds: bounds the search after the heuristics, as a count of work.

    >>> pack([0, 1, 2], [2, 3, 4], [4, 4, 4]).arena
    8
    """
    given = [_numbers(c_int64, list(numbers)) for numbers in (lower, upper, sizes)]
    starts, ends, bytes_of = given
    if not len(starts) == len(ends) == len(bytes_of):
        raise ValueError(f"lower, upper and sizes must be equally long; they have {len(starts)}, {len(ends)} and "
                         f"{len(bytes_of)} numbers")
    offsets, arena, bound = (c_int64 * len(starts))(), c_int64(), c_int64()
    within = 0 if capacity is None else _budget(capacity, "capacity")

    def work(is_cancelled: Any, report: Any) -> None:
        options = c.PackOptions(alignment=alignment, capacity=within, seconds=seconds, is_cancelled=is_cancelled)
        c.call(c.library.llmmem_pack, len(starts), *(_pointer(c_int64, numbers) for numbers in given), byref(options),
               offsets, byref(arena), byref(bound))

    _run(work, None)
    return Packing(list(offsets), arena.value, bound.value)


def _run(work: Callable[[Any, Any], None], progress: Optional[Callable[[str], None]]) -> None:
    """Runs `work` in a thread, so that signals reach this one meanwhile: an interrupt, or an exception of `progress`,
    cancels the search, waits for its end, and is raised."""
    cancelled = threading.Event()
    events: "queue.SimpleQueue[Any]" = queue.SimpleQueue()
    is_cancelled = c.Question(lambda user: cancelled.is_set())
    report = c.Progress(lambda user, activity: events.put(_text(activity))) if progress else c.Progress()

    def target() -> None:
        try:
            work(is_cancelled, report)
            events.put(None)
        except BaseException as error:  # the caller's thread raises it
            events.put(error)

    thread = threading.Thread(target=target, name="llmmem")
    thread.start()
    try:
        while isinstance(event := events.get(), str):
            if progress:
                progress(event)
    except BaseException:
        cancelled.set()
        raise
    finally:
        thread.join()
    if event is not None:
        raise event


def _refuse_host(plan: Plan, why: str) -> None:
    if plan.host is not None:
        raise ValueError(f"plan: has a host, and {why}; verify checks it")


def _text(text: bytes) -> str:
    return text.decode(errors="replace")


def _problem(problem: Union[Problem, Mapping[str, Any]]) -> Problem:
    if isinstance(problem, Problem):
        return problem
    if isinstance(problem, Mapping):
        return Problem.from_json(problem)
    raise TypeError(f"problem: expected a Problem or the JSON of one, not {type(problem).__name__}")


def _budget(budget: Union[int, str], name: str = "budget") -> int:
    if isinstance(budget, str):
        try:
            return parse_bytes(budget)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    if isinstance(budget, bool) or not hasattr(budget, "__index__"):
        raise ValueError(f"{name}: expected whole bytes or a text such as '4GB', not {budget!r}")
    if budget <= 0:
        raise ValueError(f"{name}: must be positive, not {budget}")
    return budget.__index__()


def _numbers(kind: Any, numbers: Sequence[Any]) -> "array.array[int]":
    """Makes an array of C. ctypes would truncate numbers that are too large for it."""
    try:
        return array.array(TYPECODES[kind], numbers)
    except OverflowError:
        bits = 8 * ctypes.sizeof(kind)
        least, end = (0, 1 << bits) if kind is c_uint8 else (-1 << (bits - 1), 1 << (bits - 1))
        number = next(number for number in numbers if not least <= number.__index__() < end)
        raise ValueError(f"{number} does not fit into {bits} bits") from None


def _pointer(kind: Any, numbers: "array.array[int]") -> Any:
    """Returns where `numbers` begin; they must outlive the pointer. A type of ctypes for each length would take longer to make than the
    array."""
    return ctypes.cast(numbers.buffer_info()[0], POINTER(kind))


def _phases(ops: List[Op]) -> List[int]:
    try:
        return [PHASES[op.phase] for op in ops]
    except KeyError:
        number, op = next(entry for entry in enumerate(ops) if entry[1].phase not in PHASES)
        raise ValueError(f"ops[{number}].phase: is {op.phase!r}; expected 'forward', 'backward', 'update' or None") from None


class _Arrays:
    """Arrays of C, which live as long as this object."""

    def __init__(self) -> None:
        self._kept: List["array.array[int]"] = []

    def _array(self, kind: Any, numbers: Sequence[Any]) -> Any:
        self._kept.append(_numbers(kind, numbers))
        return _pointer(kind, self._kept[-1])


class _ProblemArrays(_Arrays):
    """A problem as arrays of C."""

    def __init__(self, problem: Problem) -> None:
        super().__init__()
        values, ops = problem.values, problem.ops
        self.problem = c.Problem(
            budget=0 if problem.budget is None else _budget(problem.budget), alignment=problem.alignment,
            num_values=len(values), num_ops=len(ops), num_keep=len(problem.keep),
            value_bytes=self._array(c_int64, [value.bytes for value in values]),
            value_resident=self._array(c_uint8, [1 if value.resident else 0 for value in values]),
            value_names=self._names([value.name for value in values]),
            op_costs=self._array(c_int64, [op.cost for op in ops]),
            op_workspaces=self._array(c_int64, [op.workspace for op in ops]),
            op_recompute=self._array(c_uint8, [1 if op.recompute else 0 for op in ops]),
            op_blocks=self._array(c_int64, [-1 if op.block is None else op.block for op in ops]),
            op_phases=self._array(c_uint8, _phases(ops)),
            op_micro_batches=self._array(c_int64, [-1 if op.micro_batch is None else op.micro_batch for op in ops]),
            op_names=self._names([op.name for op in ops]), keep=self._array(c_int32, list(problem.keep)))
        self.problem.op_reads_begin, self.problem.op_reads = self._lists([op.reads for op in ops])
        self.problem.op_writes_begin, self.problem.op_writes = self._lists([op.writes for op in ops])
        self.problem.op_in_place_begin, self.problem.op_in_place = self._lists(
            [list(itertools.chain.from_iterable(op.in_place)) if len(op.in_place) else () for op in ops])

    def _lists(self, lists: List[Sequence[int]]) -> Tuple[Any, Any]:
        begin = [0, *itertools.accumulate(map(len, lists))]
        return self._array(c_int64, begin), self._array(c_int32, list(itertools.chain.from_iterable(lists)))

    def _names(self, names: List[str]) -> Any:
        """Returns pointers into one text, because ctypes makes an object of each text that it is given."""
        if not any(names):
            return None
        texts = [name.encode() + b"\0" for name in names]
        whole = array.array("B", b"".join(texts))
        begin = itertools.accumulate(map(len, texts), initial=whole.buffer_info()[0])
        places = array.array("Q", list(begin))
        self._kept += [whole, places]
        return _pointer(c_char_p, places)


class _HostArrays(_Arrays):
    """The host of a problem as arrays of C."""

    def __init__(self, problem: Problem) -> None:
        super().__init__()
        host, count = problem.host, len(problem.values)
        assert host is not None
        self.host = c.Host(budget=_budget(host.budget, "host: budget"), to_host=host.to_host, to_device=host.to_device, latency=host.latency)
        if host.may_leave is None:
            return
        wrong = [number for number in host.may_leave if not 0 <= number < count]
        if wrong:
            raise ValueError(f"host: may_leave: has {wrong[0]}; the problem has {count} values")
        allowed = set(host.may_leave)
        self.host.may_leave = self._array(c_uint8, [number in allowed for number in range(count)])


class _FormArrays(_Arrays):
    """All forms of a problem as arrays of C."""

    def __init__(self, problem: Problem) -> None:
        super().__init__()
        if problem.choice not in CHOICES:
            raise ValueError(f"choice: is {problem.choice!r}; expected 'plan' or 'ops_once'")
        listed = list(problem.forms) or [Form()]
        if sum(not form.ops for form in listed) != 1:
            raise ValueError("forms: exactly one must have no ops of its own: what the problem states")
        self.are_several = len(listed) > 1 or len(listed[0].tilings) > 1
        self._graphs = [
            _ProblemArrays(Problem(list(form.values), list(form.ops), form.keep, problem.budget, problem.alignment)
                           if form.ops else problem) for form in listed]
        self._forms = [self._form(number, form, graph) for number, (form, graph) in enumerate(zip(listed, self._graphs))]
        pointers = (POINTER(c.Form) * len(listed))(*(ctypes.pointer(form) for form in self._forms))
        self.forms = c.Forms(num_forms=len(listed), choice=CHOICES.index(problem.choice),
                             guessed_phases=bool(problem.guessed_phases))
        self.forms.forms = ctypes.cast(pointers, POINTER(POINTER(c.Form)))

    def _form(self, number: int, form: Form, graph: _ProblemArrays) -> c.Form:
        if not form.tilings:
            raise ValueError(f"forms[{number}]: has no tiling; Tiling() is the form as it is")
        ops = [op for op, _, _ in form.tilings[0].ops]
        rows = [{op: (cost, workspace) for op, cost, workspace in tiling.ops} for tiling in form.tilings]
        if any(sorted(row) != sorted(ops) or len(tiling.ops) != len(ops) for row, tiling in zip(rows, form.tilings)):
            raise ValueError(f"forms[{number}]: all tilings must name the same ops, each once")
        return c.Form(num_tilings=len(rows), num_tiled_ops=len(ops), num_selected=len(form.selected),
                      problem=ctypes.pointer(graph.problem), selected=self._array(c_int32, list(form.selected)),
                      tiled_ops=self._array(c_int32, ops),
                      tiled_costs=self._array(c_int64, [row[op][0] for row in rows for op in ops]),
                      tiled_workspaces=self._array(c_int64, [row[op][1] for row in rows for op in ops]))


class _PlanArrays(_Arrays):
    """A plan as arrays of C."""

    def __init__(self, plan: Plan) -> None:
        super().__init__()
        if plan.status not in STATUSES:
            raise ValueError(f"status: is {plan.status!r}; expected 'feasible', 'infeasible' or 'unknown'")
        witness = plan.witness
        self.plan = c.Plan(
            status=STATUSES.index(plan.status), num_steps=len(plan.steps), num_offsets=len(plan.offsets),
            num_workspaces=len(plan.workspaces), peak=plan.peak, arena=plan.arena, cost=plan.cost,
            base_cost=plan.base_cost, cost_lower_bound=plan.cost_lower_bound, peak_lower_bound=plan.peak_lower_bound,
            seconds=plan.seconds, witness=witness.why.encode() if witness else None,
            witness_bytes=witness.bytes if witness else 0, witness_proved=bool(witness and witness.proved),
            witness_op=-1 if witness is None or witness.op is None else witness.op)
        self.plan.steps = self._array(c_int32, plan.steps)
        self.plan.offsets = self._offsets(plan.offsets)
        self.plan.workspaces = self._offsets(plan.workspaces)

    @staticmethod
    def _offsets(offsets: List[Offset]) -> Any:
        entries = [c.Offset(it.step, -1 if it.value is None else it.value, it.offset) for it in offsets]
        return ctypes.cast((c.Offset * len(entries))(*entries), POINTER(c.Offset))


def _host_plan(host: HostPlan) -> c.HostPlan:
    return c.HostPlan(peak=host.peak, arena=host.arena, peak_lower_bound=host.peak_lower_bound, time=host.time, base_time=host.base_time,
                      time_lower_bound=host.time_lower_bound)


def _host_plan_of(made: c.HostPlan) -> HostPlan:
    copies = tuple(Copy(copy.value, copy.host_value, bool(copy.to_host), copy.cost) for copy in made.copies[:made.num_copies])
    return HostPlan(copies, made.peak, made.arena, made.peak_lower_bound, made.time, made.base_time, made.time_lower_bound)


def _offsets_of(items: Any, count: int) -> List[Offset]:
    if not count:
        return []
    entries = struct.iter_unpack("=iiq", ctypes.string_at(items, count * ctypes.sizeof(c.Offset)))
    return [Offset(step, value if value >= 0 else None, offset) for step, value, offset in entries]


def _plan_of(made: c.Plan, proof: Optional[str], form: Optional[FormNumber]) -> Plan:
    witness = None
    if made.witness is not None:
        witness = Witness(_text(made.witness), made.witness_bytes, made.witness_op if made.witness_op >= 0 else None,
                          bool(made.witness_proved))
    return Plan(STATUSES[made.status], made.steps[:made.num_steps], _offsets_of(made.offsets, made.num_offsets),
                _offsets_of(made.workspaces, made.num_workspaces), made.peak, made.arena, made.cost, made.base_cost,
                made.cost_lower_bound, made.peak_lower_bound, made.seconds, witness, proof, form)
