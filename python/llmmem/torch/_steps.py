"""The training steps of everything that one backend compiled: which calls they make, what is held meanwhile, and the plan of each call.

An *episode* is what happens from a forward before which no call waited for its backward to the next such forward: a step,
or one part of it where gradients accumulate. The first episode of a kind runs at the least bytes and is written down;
then one plan covers all of its calls (_step.py). Before each forward the bytes that can be seen are counted again, so that a call of
which the plan did not know is refused before it takes memory.
"""

import gc
import weakref
from dataclasses import dataclass, field, replace
from typing import Any, Callable, Dict, FrozenSet, Iterable, List, Optional, Sequence, Tuple, TYPE_CHECKING

import torch

from .._errors import BudgetError
from .._model import Host, Problem
from ._curve import curve_of, front, plan_within
from ._host_memory import HostMemory
from ._lifetimes import caller_bytes
from ._live import CalledModule, Live, Storage, device_type, key_of, made_by, saved_by, tensors_in
from ._order import calls_after, parameters_before
from ._step import Moment, Point, bytes_of, choose, least_budget, peak_of, slack_of

if TYPE_CHECKING:
    from ._record import Recorder


@dataclass
class Graph:
    """What is known of a compiled graph. Equal graphs are one, whoever compiled them. problem: the planner's. least: the Point of
    the fewest bytes. unknown_workspaces: kernels of which it is not known what they take while they run. host: the memory that all calls of the
    step share, of which the problem's host is a part. curve: the Points that a step chooses from, once they are asked for."""

    name: str
    problem: Problem
    least: Point
    seconds: float = 10.0
    is_symmetric: bool = False
    unknown_workspaces: int = 0
    host: Optional[Host] = None
    _curve: Optional[List[Point]] = None

    @property
    def curve(self) -> List[Point]:
        if self._curve is None:
            problems = [self.problem] if self.problem.host is None else [self.problem, replace(self.problem, host=None)]
            found = [point for problem in problems for point in curve_of(problem, self.seconds, self.is_symmetric)]
            self._curve = front(found) or [self.least]
        return self._curve

    def share_host(self, calls: int) -> None:
        """Gives the problem the part of the host that each of so many calls may take; none where it holds nothing of what may leave."""
        if self.host is None:
            return
        part = replace(self.host, budget=self.host.budget // calls)
        smallest = min((self.problem.values[number].bytes for number in self.host.may_leave or ()), default=0)
        self.problem, self._curve = replace(self.problem, host=part if 0 < smallest <= part.budget else None), None


@dataclass
class StepPlan:
    """The plan of one kind of episode. graphs: of its calls, in the order of their forwards. points: of each call. unseen: the most bytes
    that only a recorder saw."""

    graphs: List[Graph]
    moments: List[Moment]
    points: List[Point]
    budget: int
    unseen: int = 0

    @property
    def peak(self) -> int:
        return peak_of(self.moments, self.points)

    @property
    def cost(self) -> int:
        return sum(point.cost for point in self.points)

    def room_of(self, graph: Graph, point: Point) -> Optional[int]:
        """Returns the bytes that the calls of `graph` which take `point` may need at most in addition to their arguments; None where there
        are none."""
        numbers = frozenset(number for number, other in enumerate(self.graphs) if other is graph and self.points[number] == point)
        if not numbers:
            return None
        forward, _, backward = slack_of(self.moments, self.points, numbers, self.budget)
        return min(forward, backward + sum(caller_bytes(graph.problem)))

    def knows(self, graph: Graph, number: int, waiting: FrozenSet[int]) -> bool:
        """Returns whether the step makes this call while `waiting` wait, and knows of all of those."""
        return number < len(self.graphs) and self.graphs[number] is graph and waiting <= self.moments[self._moment_of(number)].waiting

    def more(self, number: int, seen: int) -> int:
        """Returns by how much the bytes that are seen when the forward of a call begins are more than were when the step was planned."""
        return max(seen - self.moments[self._moment_of(number)].seen, 0)

    def needed_from(self, number: int, seen: int) -> int:
        """Returns the most bytes that the forward of a call and all that follows take, if as much more is held to the end."""
        moments = self.moments[self._moment_of(number):]
        return max(bytes_of(moment, self.points) for moment in moments) + self.more(number, seen)

    def _moment_of(self, number: int) -> int:
        """Returns where in `moments` the forward of a call stands."""
        return next(index for index, moment in enumerate(self.moments) if moment.call == number and not moment.is_backward)


@dataclass
class Call:
    """A call that waits for its backward. given: storages of its arguments and results. private: of what only it saved."""

    number: int
    graph: Graph
    point: Point
    gradients: int
    given: List[Storage] = field(default_factory=list)
    private: List[Storage] = field(default_factory=list)
    nodes: List["weakref.ref[Any]"] = field(default_factory=list)
    is_done: bool = False

    def waits(self) -> bool:
        return not self.is_done and any(reference() is not None for reference in self.nodes)


class Steps:
    """The steps of one backend. budget: bytes. reserved: bytes that are held in addition to all that can be seen. seconds: bounds each
    search of the planner. on_plan: called with each StepPlan before it is used.
    Many fields: they are the state of the step that runs."""

    def __init__(self, budget: Optional[int], reserved: int, seconds: float, on_plan: Callable[[StepPlan], None]) -> None:
        self.budget, self.reserved, self.seconds, self.on_plan = budget, reserved, seconds, on_plan
        self.live, self.called = Live(), CalledModule()
        self.graphs: Dict[str, Graph] = {}
        self.plans: List[StepPlan] = []
        self.waiting: List[Call] = []
        # Of the episode that runs; kept: results that no later call was given, which the caller may hold until the episode ends.
        self.kept: Dict[int, Storage] = {}
        self.current: Optional[StepPlan] = None
        self.started: List[Graph] = []
        self.moments: List[Moment] = []
        self.recorder: Optional["Recorder"] = None
        # Without a budget, whether that of each kind of step is the least that is found for it.
        self.finds_least = False
        # Whether a compiler is given one number for both phases of a call.
        self.is_symmetric = False
        # Whether something was compiled since garbage was collected: that leaves cycles, which may hold inputs and results of an earlier step.
        self.has_garbage = False
        # Whether a recorder saw the step, and how many ops of it have workspaces that are not known.
        self.sees_all, self.unknown_workspaces = False, 0
        # The bytes that are held outside of the graphs, as the user says by `reserve`; 0 where nothing was said.
        self.outside = 0
        # Whether a call that no plan knows is refused though it fits.
        self.is_strict = False
        # What calls have there is none of the device's bytes.
        self.memory: Optional[HostMemory] = None

    def forget(self, storages: bool) -> None:
        """Forgets the episode that runs, and every storage if `storages` says so."""
        if storages:
            self.live = Live()
        self.waiting, self.started, self.moments, self.current, self.kept = [], [], [], None, {}

    # Forward.

    def begin(self, graph: Graph, arguments: Sequence[Any]) -> Point:
        """Begins a call. Returns the plan that it takes. Raises BudgetError where the budget might not cover it."""
        self.waiting = [call for call in self.waiting if call.waits()]
        if not self.waiting:
            self.end_episode()
            if not self.sees_all and self.recorder is None:
                self.called.look(device_type(tensors_in(arguments)))
        self._see(arguments)
        for tensor in tensors_in(arguments):
            self.kept.pop(key_of(tensor), None)
        number = len(self.started)
        try:
            plan, seen = self._take_plan(graph, number, arguments)
            may_be_garbage = plan is None and bool(self.plans) and self.has_garbage
        except BudgetError:
            may_be_garbage = True
        if may_be_garbage:
            gc.collect()
            self.has_garbage = False
            plan, seen = self._take_plan(graph, number, arguments)
        if number == 0 or plan is None:
            self.current = plan
        self.close_segment()
        self.moments.append(Moment(self.base(), self._numbers(), number, False, seen))
        self.started.append(graph)
        return graph.least if plan is None else plan.points[number]

    def end(self, graph: Graph, point: Point, arguments: Sequence[Any], results: Any) -> None:
        """Ends the forward of the call that was begun last."""
        made, nodes = made_by(arguments, results)
        given = self._add(tensors_in([*arguments, *made]))
        if self.recorder is None:  # It sees what is held.
            self.kept.update((key_of(tensor), given[key_of(tensor)]) for tensor in made)
        private = self._add(tensor for node in nodes for tensor in saved_by(node, self.memory) if key_of(tensor) not in given)
        call = Call(len(self.started) - 1, graph, point, _new_gradients(arguments), list(given.values()), list(private.values()),
                    [weakref.ref(node) for node in nodes])
        for node in nodes:
            self._watch_backward(call, node)
        self.waiting.append(call)
        self._open_segment()

    # Backward.

    def _watch_backward(self, call: Call, node: Any) -> None:
        node.register_prehook(lambda gradients: self._begin_backward(call, gradients))
        node.register_hook(lambda gradients, _: self._end_backward(call, gradients))

    def _begin_backward(self, call: Call, gradients: Sequence[Any]) -> None:
        if call.is_done:  # The graph was retained, and runs again.
            return
        given = tensors_in(gradients)
        self._add(given)
        self.close_segment()
        _, tangents = caller_bytes(call.graph.problem)
        # Autograd makes zeros of a gradient that is not there, and AOTAutograd copies one of another layout.
        there = sum(tensor.numel() * tensor.itemsize for tensor in given if tensor.is_contiguous())
        self.moments.append(Moment(self.base() + max(tangents - there, 0), self._numbers() | {call.number}, call.number, True, self.seen()))

    def _end_backward(self, call: Call, gradients: Sequence[Any]) -> None:
        self._add(tensors_in(gradients))
        if call.is_done:
            return
        call.is_done = True
        self.waiting = [other for other in self.waiting if other.waits()]
        self._open_segment()

    # Bytes.

    def _add(self, tensors: Iterable[torch.Tensor]) -> Dict[int, Storage]:
        listed = list(tensors)
        if self.recorder:
            self.recorder.live.add(listed)
        return self.live.add(listed)

    def seen(self) -> int:
        """Returns the bytes that are held whatever the plan, as far as calls show them; no recorder is asked."""
        return self._bytes(self.live)

    def base(self) -> int:
        """Returns the bytes that are held whatever the plan."""
        return self._bytes(self.recorder.live) if self.recorder else self.seen()

    def _bytes(self, live: Live) -> int:
        waiting = [call for call in self.waiting if call.waits()]
        given = {id(storage): storage for call in waiting for storage in call.given}
        given.update((id(storage), storage) for storage in self.kept.values())
        private = [storage for call in waiting for storage in call.private]
        # Arguments and results that this plan does not need another one may, and results that this caller drops another may hold.
        gone = sum(storage.bytes for storage in given.values() if not storage.is_alive())
        return self.reserved + live.bytes_without(private) + self.called.bytes_without(live) + gone

    def _see(self, arguments: Sequence[Any]) -> None:
        tensors = tensors_in(arguments)
        late = {key_of(tensor): Storage(tensor).bytes for tensor in tensors
                if tensor.is_leaf and not self.live.has(tensor) and not self.called.live.has(tensor)}
        if late and self.recorder is None:
            # Parameters of a later graph were there before a call showed them.
            more = sum(late.values())
            self.moments = [replace(moment, base=moment.base + more, seen=moment.seen + more) for moment in self.moments]
        self._add(tensors)
        self._add(tensors_in(tensor.grad for tensor in tensors if tensor.is_leaf and tensor.grad is not None))

    def _numbers(self) -> FrozenSet[int]:
        return frozenset(call.number for call in self.waiting if call.waits())

    def close_segment(self) -> None:
        """Ends what PyTorch ran since the last call."""
        if self.recorder:
            self.moments += self.recorder.close(self._numbers())

    def _open_segment(self) -> None:
        if self.recorder:
            self.recorder.open()

    # Plans.

    def _take_plan(self, graph: Graph, number: int, arguments: Sequence[Any]) -> Tuple[Optional[StepPlan], int]:
        """Returns the plan that knows this call, and the bytes that are seen to be held. Raises BudgetError where there is none, and the call
        might not fit."""
        seen = self.seen()
        plans = [plan for plan in ([self.current] if number else self.plans) if plan is not None]
        waiting = self._numbers()
        fitting = [plan for plan in plans if plan.knows(graph, number, waiting) and plan.needed_from(number, seen) <= plan.budget]
        if not fitting and self.budget is not None:
            self._check_outside(arguments)
            known = [plan for plan in self.plans if plan.knows(graph, number, waiting)]
            self._check_unknown(graph, arguments, seen, min((plan.more(number, seen) for plan in known), default=None))
        return min(fitting, key=lambda plan: plan.cost, default=None), seen

    def _check_outside(self, arguments: Sequence[Any]) -> None:
        """Raises BudgetError where layers before the call are trained outside of all graphs, and nobody says what they take: then the layers
        after it, such as the head and the loss, may be outside too, of which nothing can be seen before they run. What is said must
        cover the gradients of those parameters, and the parameters where no module shows that they are held."""
        if self.sees_all:
            return
        outside = self._outside(arguments)
        parameters = sum(storage.bytes for storage in outside)
        least = parameters + sum(storage.bytes for storage in outside if storage.key not in self.called.live.storages)
        if least > self.outside:
            assert self.budget is not None
            raise BudgetError(_refusal_outside(parameters, least, self.outside, self.budget), self.budget, None, 0)

    def _outside(self, arguments: Sequence[Any]) -> List[Storage]:
        """Returns the parameters that are trained before a call, and that no graph was given."""
        tensors = tensors_in(arguments)
        given = {key_of(tensor) for tensor in tensors}
        found = parameters_before(tensor.grad_fn for tensor in tensors)
        return list({key_of(leaf): Storage(leaf) for leaf in found if key_of(leaf) not in given and not self.live.has(leaf)}.values())

    def _check_unknown(self, graph: Graph, arguments: Sequence[Any], seen: int, more: Optional[int]) -> None:
        """Raises BudgetError where a call that no plan knows might not fit, at the least bytes, with those that wait. Each other call holds
        its saved tensors until its backward, and the gradients of its parameters afterwards, which no call has whose backward must come
        later. more: where a plan knows the call, the bytes by which more is held than was when it was made."""
        new = Call(-1, graph, graph.least, _new_gradients(arguments))
        calls, after = [*self.waiting, new], self._calls_after(arguments)
        results, _ = caller_bytes(graph.problem)
        needed = sum(call.point.held for call in self.waiting) + graph.least.forward
        for call in calls:
            _, tangents = caller_bytes(call.graph.problem)
            others = sum(other.point.held if other.number in after[call.number] else max(other.point.held, other.gradients)
                         for other in calls if other is not call)
            needed = max(needed, results + call.point.backward + tangents + others)
        needed += seen + max((plan.unseen for plan in self.plans), default=0)
        assert self.budget is not None
        if needed > self.budget or self.is_strict and self.plans:
            raise BudgetError(_refusal(len(self.waiting), seen, needed, self.budget, bool(self.plans), more), self.budget, needed, 0)

    def _calls_after(self, arguments: Sequence[Any]) -> Dict[int, FrozenSet[int]]:
        """Returns for each call that waits, and for the one with these arguments, whose number is -1, the calls whose backward comes later."""
        nodes = {call.number: [node for node in (reference() for reference in call.nodes) if node is not None] for call in self.waiting}
        made = {node: number for number, own in nodes.items() for node in own}
        sources = {number: [source for node in own for source, _ in node.next_functions] for number, own in nodes.items()}
        sources[-1] = [tensor.grad_fn for tensor in tensors_in(arguments)]
        return {number: calls_after(begin, made) - {number} for number, begin in sources.items()}

    def end_episode(self) -> None:
        """Plans the episode that is over, unless a plan covered all of it."""
        graphs, moments, current = self.started, self.moments, self.current
        self.close_segment()
        self.started, self.moments, self.current, self.kept = [], [], None, {}
        if graphs and is_complete(moments, len(graphs)) and current is None and (self.budget is not None or self.finds_least):
            budget = least_of_step(graphs, moments) if self.budget is None else self.budget
            made = make_plan(graphs, moments, budget, self.seconds)
            self.plans.insert(0, made)
            self.on_plan(made)


def is_complete(moments: Sequence[Moment], calls: int) -> bool:
    """Returns whether each of so many calls had its backward, or had its results dropped before a later call began, which is noticed there where
    another step keeps them."""
    done = {moment.call for moment in moments if moment.is_backward}
    forwards = [moment for moment in moments if moment.call is not None and not moment.is_backward]
    return bool(done) and all(number in done or any(moment.call > number and number not in moment.waiting for moment in forwards)
                              for number in range(calls))


def least_of_step(graphs: Sequence[Graph], moments: Sequence[Moment]) -> int:
    """Returns the least budget that a plan of an episode is found for."""
    _share_host(graphs, moments)
    return least_budget(moments, _curves(graphs))


def _share_host(graphs: Sequence[Graph], moments: Sequence[Moment]) -> None:
    """Shares the host alike among the calls that may have tensors there at once."""
    at_once = max((len(moment.waiting | {moment.call} - {None}) for moment in moments), default=1)
    for graph in {id(graph): graph for graph in graphs}.values():
        graph.share_host(max(at_once, 1))


def _curves(graphs: Sequence[Graph]) -> List[List[Point]]:
    return [[*graph.curve, graph.least] for graph in graphs]


def make_plan(graphs: List[Graph], moments: List[Moment], budget: int, seconds: float) -> StepPlan:
    """Plans all calls of an episode together. Raises BudgetError where nothing that was found fits."""
    _share_host(graphs, moments)
    least = [graph.least for graph in graphs]
    unseen = max((moment.base - moment.seen for moment in moments), default=0)
    if len(graphs) == 1:
        # One call needs no curve: what the others hold is all known.
        only = plan_within(graphs[0].problem, slack_of(moments, least, frozenset([0]), budget), seconds,
                           graphs[0].is_symmetric)
        if only is not None:
            return StepPlan(graphs, moments, [only], budget, unseen)
    curves = _curves(graphs)
    points = choose(moments, curves, budget)
    if points is None:
        found = least_budget(moments, curves)
        raise BudgetError(f"llmmem.torch: no plan was found for a step of {len(graphs)} calls within {budget:,} bytes: the least that was "
                          f"found is {found:,}, of which {max(moment.base for moment in moments):,} are held whatever the plan: give "
                          "a larger budget, or a smaller batch", budget, found, 0)
    return StepPlan(graphs, moments, _refine(graphs, moments, points, budget, seconds), budget, unseen)


def _refine(graphs: List[Graph], moments: List[Moment], points: List[Point], budget: int, seconds: float) -> List[Point]:
    """Plans each group of calls that share graph and Point once more for all bytes that the others leave."""
    for name, point in dict.fromkeys((graph.name, point) for graph, point in zip(graphs, points)):
        numbers = frozenset(number for number, graph in enumerate(graphs) if graph.name == name and points[number] == point)
        graph = graphs[min(numbers)]
        if point.cost > sum(op.cost for op in graph.problem.ops):
            better = plan_within(graph.problem, slack_of(moments, points, numbers, budget), seconds, graph.is_symmetric)
            if better is not None and better.cost < point.cost:
                points = [better if number in numbers else old for number, old in enumerate(points)]
    return points


def _new_gradients(arguments: Iterable[Any]) -> int:
    """Returns the bytes of the gradients that a backward leaves and that are not there yet."""
    return sum(tensor.numel() * tensor.itemsize for tensor in tensors_in(arguments)
               if tensor.is_leaf and tensor.requires_grad and tensor.grad is None)


def _refusal_outside(parameters: int, least: int, reserve: int, budget: int) -> str:
    said = f"; reserve={reserve} does not cover it" if reserve else ""
    what = "their gradients" if least == parameters else "these, their gradients"
    return (f"llmmem.torch: parameters of {parameters:,} bytes are trained outside of the graphs of this backend, as where blocks are compiled one "
            f"by one, and what runs there is not seen, so that nothing says whether the step keeps {budget:,} bytes{said}: compile the whole model "
            "in place of its blocks, or the blocks with llmmem.torch.compile(..., regions=...), which sees it all, or give reserve=, the bytes "
            f"of {what}, and what else is held by all that runs outside, {least} at least")


def _refusal(waiting: int, seen: int, needed: int, budget: int, has_plan: bool, more: Optional[int]) -> str:
    known = ("no plan covers this call yet" if not has_plan else "the step that was planned does not make this call" if more is None else
             f"{more:,} bytes more are held before this call than when its step was planned, and its plan does not leave them")
    waits = "1 earlier call waits for its" if waiting == 1 else f"{waiting} earlier calls wait for their"
    held = f"while {waits} backward and" if waiting else "while"
    return (f"llmmem.torch: {known}; {held} {seen:,} bytes are seen to be held, it may "
            f"need {needed:,} of {budget:,} bytes at the least: give a larger budget or a smaller batch, run each backward before the next "
            "forward, or drop what an earlier step left (`del outputs`)")
