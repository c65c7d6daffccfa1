"""Every private name of PyTorch that llmmem.torch uses, and what differs between the versions that have them.

The rest of llmmem.torch takes them from here (utils/lint.py refuses them elsewhere), so that another version of PyTorch is a matter of
this file. What is imported late is what not every user needs: Dynamo, Inductor, and the wrappers of several ranks.
"""

import contextlib
import importlib
import inspect
import sys
from typing import Any, Callable, ContextManager, Dict, Iterator, List, Optional, Sequence, Set, Tuple, Type

import torch
from torch import fx

# The versions whose private names are known; test/Guests/torch/versions says which of them are tested.
OLDEST, NEWEST = (2, 8), (2, 15)


def check_version(version: str = torch.__version__) -> None:
    """Raises ImportError for a version of PyTorch whose private names are not known."""
    numbers = tuple(int(number) for number in version.split("+")[0].split(".")[:2])
    if not OLDEST <= numbers <= NEWEST:
        raise ImportError(describe_versions(version))


def describe_versions(version: str = torch.__version__) -> str:
    """Says which versions are supported, and what to install in place of another."""
    oldest, newest, following = (".".join(map(str, numbers)) for numbers in (OLDEST, NEWEST, (NEWEST[0], NEWEST[1] + 1)))
    return (f"llmmem.torch uses private names of PyTorch, and knows those of {oldest} to {newest}; this is {version}: "
            f"pip install 'torch>={oldest},<{following}'")


check_version()

try:
    from torch._functorch import partitioners
    from torch._functorch.partitioners import _extract_fwd_bwd_modules, _is_primal as is_primal, _is_tangent as is_tangent
    from torch._guards import CompileContext, TracingContext, compile_context, tracing
    from torch._library.fake_class_registry import FakeScriptObject
    from torch._ops import HigherOrderOperator, OpOverload
    from torch._subclasses import FakeTensor, FakeTensorMode
    from torch.fx._lazy_graph_module import _make_graph_module as make_graph_module
    from torch.fx.experimental.symbolic_shapes import StrictMinMaxConstraint
    from torch.utils import _pytree as pytree
    from torch.utils._ordered_set import OrderedSet
    from torch.utils._python_dispatch import (TorchDispatchMode, _disable_current_modes as disable_current_modes,
                                              is_traceable_wrapper_subclass_type as is_wrapper)
except ImportError as _error:
    raise ImportError(f"{describe_versions()} ({_error})") from _error

__all__ = ["CompileContext", "FakeScriptObject", "FakeTensor", "FakeTensorMode", "HigherOrderOperator", "OpOverload", "OrderedSet",
           "StrictMinMaxConstraint", "TorchDispatchMode", "TracingContext", "compile_context", "disable_current_modes",
           "is_primal", "is_tangent", "is_wrapper", "make_graph_module", "partitioners", "pytree", "tracing"]

# Names of modules that are imported when they are first asked for. Where a version lacks the name, the module's entry in _ABSENT stands
# for it.
_LATE = {"aot_autograd": "torch._dynamo.backends.common",
         "compile_fx": "torch._inductor.compile_fx",
         "memory": "torch._inductor",
         "V": "torch._inductor.virtualized",
         "CustomPartitionerFn": "torch._inductor.custom_graph_pass",  # From 2.9 on.
         "CustomSchedulerPass": "torch._inductor.custom_graph_pass"}  # In 2.13; in 2.11 any function will do.
_ABSENT: Dict[str, Any] = {"CustomPartitionerFn": object, "CustomSchedulerPass": object}


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(_LATE[name])
    found = getattr(module, name, _ABSENT.get(name))
    if found is None:
        found = importlib.import_module(f"{_LATE[name]}.{name}")
    return found


# Tensors and autograd.


def storage_key(tensor: torch.Tensor) -> int:
    """Returns the identity of a storage while it is alive. Raises NotImplementedError or RuntimeError where a tensor has none."""
    return tensor.untyped_storage()._cdata


# Returns whether the storage of a weak reference was freed.
is_gone = torch.UntypedStorage._expired

# Whether compiled backwards are given their tangents in a list, of which autograd's engine lets go.
RELEASES_TANGENTS = hasattr(torch.autograd.Function, "boxed_grads_call")


# Where what was saved says itself which hooks packed it; 2.8 tells neither that nor the tensor.
KNOWS_HOOKS = hasattr(torch._C._autograd.SavedTensor, "unpack_hook")


def has_hooks() -> bool:
    """Returns whether hooks pack what is saved now, as those of a checkpoint do."""
    return torch._C._autograd._top_saved_tensors_default_hooks(False) is not None


def note_hooks(node: Any) -> None:
    """Remembers whether hooks pack what a node of autograd saves now, where PyTorch does not say it later."""
    if not KNOWS_HOOKS:
        node._is_packed_by_hooks = has_hooks()


def saved_tensors(node: Any) -> List[Any]:
    """Returns what a node of autograd saved and no hook packed elsewhere; nothing once its backward has run, and under 2.8 nothing once one
    of these tensors was overwritten."""
    try:
        packed = node._raw_saved_tensors
        if KNOWS_HOOKS:
            kept = [saved.data for saved in packed if saved.unpack_hook is None]
        else:
            kept = [] if getattr(node, "_is_packed_by_hooks", False) else node.saved_tensors
    except RuntimeError:
        return []
    return [*kept, *getattr(node, "_tensors_no_vc_check", ())]


def saved_scalars(node: Any) -> List[torch.Tensor]:
    """Returns the tensors of one number that a node of autograd saved, as far as its backward has not run. Numbers are not given to hooks, and
    what hooks packed is not unpacked here: a checkpoint would run its forward again. Under 2.8 nothing is known while there are hooks."""
    found: List[Any] = []
    for name in dir(node):
        try:
            if name.startswith("_raw_saved_") and KNOWS_HOOKS:
                saved = getattr(node, name)
                found += [each.data for each in (saved if isinstance(saved, tuple) else (saved,)) if each.unpack_hook is None]
            elif name.startswith("_saved_") and not KNOWS_HOOKS and not has_hooks():
                found.append(getattr(node, name))
        except RuntimeError:
            continue
    return [value for value in found if isinstance(value, torch.Tensor) and value.dim() == 0]


def outermost_call() -> Tuple[Optional[torch.nn.Module], List[Any]]:
    """Returns the module whose call is the outermost one on Python's stack, and the arguments of that call; None where no module is called."""
    found, frame = None, inspect.currentframe()
    while frame is not None:
        if frame.f_code.co_name == "_call_impl" and frame.f_code.co_filename == torch.nn.modules.module.__file__:
            found = frame
        frame = frame.f_back
    names = found.f_locals if found is not None else {}
    return names.get("self"), pytree.tree_leaves((names.get("args"), names.get("kwargs")))


def profiler_is_enabled() -> bool:
    return torch._C._autograd._profiler_enabled()


# Graphs.


def op_name(operator: OpOverload) -> str:
    """Returns the name of an operator without its namespace, with the overload's where that is not the default."""
    return operator._opname if operator._overloadname == "default" else str(operator)


def is_view(operator: OpOverload) -> bool:
    """Returns whether all results of an operator are views of its operands."""
    results = operator._schema.returns
    return bool(results) and all(result.alias_info is not None and not result.alias_info.is_write for result in results)


def is_mutable(operator: OpOverload) -> bool:
    return operator._schema.is_mutable


# Operators that read a number out of a tensor.
READS_OF_A_NUMBER = (torch.ops.aten._local_scalar_dense.default, torch.ops.aten.item.default)


def takes_a_list(function: Callable[[List[Any]], Any]) -> Callable[[List[Any]], Any]:
    """Says that a compiled function takes its arguments in a list, which it empties."""
    function._boxed_call = True  # type: ignore[attr-defined]
    return function


if hasattr(fx.graph, "_BoxedCodeGen"):
    from torch.fx.graph import _BoxedCodeGen as BoxedCodeGen
else:
    class BoxedCodeGen(fx.graph.CodeGen):  # type: ignore[no-redef]
        """Makes functions that take their arguments in a list and empty it. PyTorch has its own in 2.11."""

        def gen_fn_def(self, free_vars: List[str], maybe_return_annotation: str, **unused: Any) -> str:
            lines = [f"def {self._func_name}(self, arguments){maybe_return_annotation}:", "    taken = iter(arguments)"]
            lines += [f"    {name.split(':')[0].split('=')[0].strip()} = next(taken)" for name in free_vars if name != "self"]
            # The iterator would hold the list, and an empty one costs nothing.
            return "\n".join([*lines, "    arguments.clear()"])


# Joint graphs of AOTAutograd.

HAS_FORWARD_TAGS = hasattr(partitioners, "_has_tag_is_forward")


def is_seed_or_offset(node: fx.Node) -> bool:
    return partitioners._is_fwd_seed_offset(node) or partitioners._is_bwd_seed_offset(node)


def is_rng_op(node: fx.Node) -> bool:
    """Returns whether a node draws random numbers."""
    if hasattr(partitioners, "is_rng_op"):  # In 2.15; it tells attention without dropout from that with it.
        return partitioners.is_rng_op(node)
    return torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())


def must_be_in_forward(node: fx.Node) -> bool:
    if hasattr(partitioners, "_must_be_in_forward"):
        return partitioners._must_be_in_forward(node)
    # 2.8 tags what must be in the backward alone.
    return node.target is torch.ops.aten.copy_.default and not _is_tagged_backward(node)


def _is_tagged_backward(node: fx.Node) -> bool:
    return node.meta.get("partitioner_tag") in ("is_backward", "must_be_in_backward")


def traced_in_forward(graph: fx.Graph) -> Set[fx.Node]:
    """Returns the nodes that tracing made in the forward, and those that must stay there."""
    if HAS_FORWARD_TAGS:
        return {node for node in graph.nodes if partitioners._has_tag_is_forward(node) or must_be_in_forward(node)}
    # 2.9 tags the backward alone; what reads a tangent is a part of it, too.
    backward: Set[fx.Node] = set()
    for node in graph.nodes:
        if is_tangent(node) or _is_tagged_backward(node) or not backward.isdisjoint(node.all_input_nodes):
            backward.add(node)
    return {node for node in graph.nodes if node not in backward and node.op == "call_function"}


def overwrites_input(graph: fx.Graph, num_forward_outputs: int) -> List[bool]:
    """Says of each result of the forward whether AOTAutograd's runtime overwrites an input with it, and hands it to nobody."""
    described = _descriptions(graph, num_forward_outputs)
    if described is None:  # They are the first ones.
        return [number < len(_overwritten_numbers()) for number in range(num_forward_outputs)]
    results, overwriting = described
    return [isinstance(result, overwriting) for result in results]


def changed_inputs(graph: fx.Graph, num_forward_outputs: int) -> Set[fx.Node]:
    """Returns the inputs that AOTAutograd's runtime overwrites after the forward, with results of the graph."""
    primals = [node for node in graph.find_nodes(op="placeholder") if is_primal(node)]
    described = _descriptions(graph, num_forward_outputs)
    if described is None:
        return {primals[number] for number in _overwritten_numbers()}
    results, overwriting = described
    changed = {result.mutated_input for result in results if isinstance(result, overwriting)}
    return {node for node in primals if node.meta.get("desc") in changed}


def _descriptions(graph: fx.Graph, num_forward_outputs: int) -> Optional[Tuple[List[Any], type]]:
    """Returns what AOTAutograd says of each result of the forward, and the class of those that overwrite inputs; None for 2.8, which knows
    of the inputs alone."""
    try:
        from torch._functorch._aot_autograd.descriptors import InputMutationAOTOutput
    except ImportError:
        return None
    output = next(iter(graph.find_nodes(op="output")))
    return pytree.arg_tree_leaves(output.meta.get("desc", []))[:num_forward_outputs], InputMutationAOTOutput


def _overwritten_numbers() -> Sequence[int]:
    return getattr(getattr(TracingContext.try_get(), "fw_metadata", None), "mutated_inp_runtime_indices", ())


def extract_modules(joint: fx.GraphModule, saved: List[fx.Node], numbers: List[fx.Node], objects: List[fx.Node], *,
                    num_fwd_outputs: int, static_inputs: OrderedSet) -> Tuple[fx.GraphModule, fx.GraphModule]:
    """Cuts a joint graph into forward and backward. saved, numbers, objects: what passes from one to the other."""
    # Meshes and groups have an argument of their own in 2.13; in 2.11 graphs hand on tensors and numbers alone.
    others = (objects,) if objects else ()
    if not HAS_FORWARD_TAGS:
        for node in (*saved, *numbers):  # 2.9 refuses to hand on what is tagged as the forward's.
            node.meta.pop("partitioner_tag", None)
    return _extract_fwd_bwd_modules(joint, saved, numbers, *others, num_fwd_outputs=num_fwd_outputs,
                                    static_lifetime_input_nodes=static_inputs)


# Dynamo and Inductor.


def file_of(module: str) -> Optional[str]:
    """Returns the file of one of Dynamo's modules."""
    return importlib.import_module(f"torch._dynamo.{module}").__file__


def fallback_errors() -> Tuple[Type[Exception], ...]:
    """Returns the errors of a backend for which Dynamo runs the function without it. They are those of tracing."""
    return importlib.import_module("torch._dynamo.exc").exceptions_allowed_to_be_fallback


def recompile_limit() -> int:
    return importlib.import_module("torch._dynamo.config").recompile_limit


def is_known_to_inductor() -> bool:
    """Returns whether this version's Inductor keeps its own account, as that of PyTorch 2.13 and 2.15 does. What 2.9 and 2.11 compile
    takes a partitioner, too, and held 3,678,600 bytes where its account had 2,808,980 (test/Guests/torch/results_test.py)."""
    return hasattr(importlib.import_module("torch._inductor.custom_graph_pass"), "CustomSchedulerPass")


def inductor_config(mode: Optional[str], options: Optional[Dict[str, Any]]) -> Dict[str, Any]:
    """Returns Inductor's settings for `mode` and `options` of torch.compile, which it checks."""
    return dict(torch._TorchCompileInductorWrapper(mode, options, None).config)


def elements_of(size_variables: Any, size: Any) -> int:
    """Returns a size, at its symbols' hints, as Inductor's account of sizes has them."""
    count = getattr(size_variables, "optimization_hint", None) or size_variables.size_hint
    return count(size)


def compiles_backward_at_once() -> ContextManager[Any]:
    """Has AOTAutograd compile a backward together with its forward, not when it first runs. 2.9 does so where sizes are numbers."""
    config = importlib.import_module("torch._functorch.config")
    has_setting = hasattr(config, "force_non_lazy_backward_lowering")
    return config.patch(force_non_lazy_backward_lowering=True) if has_setting else contextlib.nullcontext()


def source_of(environment: Any, symbol: Any) -> str:
    """Returns where a symbol of sizes comes from, such as "L['x'].size()[0]"."""
    sources = environment.var_to_sources.get(symbol, ())
    if not sources:
        return str(symbol)
    return sources[0].name() if callable(sources[0].name) else sources[0].name  # A property in later versions.


def hint_of(environment: Any, symbol: Any) -> Any:
    """Returns the number that a symbol of sizes had when it was traced."""
    values = getattr(environment, "backed_var_to_val", None)
    return (environment.var_to_val if values is None else values).get(symbol)


# Groups of ranks and their wrappers.


def resolve_group(name: str) -> Any:
    """Returns the process group of a name."""
    return importlib.import_module("torch.distributed.distributed_c10d")._resolve_process_group(name)


def store_of(group: Any) -> Any:
    """Returns the store by which the ranks of a group found each other."""
    return importlib.import_module("torch.distributed.distributed_c10d")._world.pg_map[group][1]


def active_ddp() -> Any:
    """Returns the DistributedDataParallel whose forward runs, or None."""
    return torch.nn.parallel.DistributedDataParallel._active_ddp_module


def is_split_by_ddp(traced: Any) -> bool:
    """Returns whether the graph that is compiled is one of those into which DDP splits another."""
    if hasattr(traced, "ddp_optimizer_ctx"):
        return traced.ddp_optimizer_ctx is not None
    # 2.8 does not say so; it splits every graph of a DDP whose forward runs.
    return active_ddp() is not None and bool(importlib.import_module("torch._dynamo.config").optimize_ddp)


def has_communication_hooks(ddp: Any) -> bool:
    return bool(ddp._comm_hooks)


def _states() -> Dict[torch.nn.Module, Any]:
    """Returns weak references to what fully_shard and replicate keep for the modules that they were given."""
    return importlib.import_module("torch.distributed._composable_state")._module_state_mapping


def _state_of(module: torch.nn.Module) -> Any:
    return importlib.import_module("torch.distributed._composable_state")._get_module_state(module)


def sharded_groups() -> List[Any]:
    """Returns FSDP2's groups of parameters that are gathered together, of all modules that were given to fully_shard and still exist."""
    states = sys.modules.get("torch.distributed.fsdp._fully_shard._fsdp_state")
    if states is None:
        return []
    alive = {id(state): state for reference in list(_states().values()) if isinstance(state := reference(), states.FSDPState)}
    return [group for state in alive.values() for group in _groups_of(state)]


def _groups_of(state: Any) -> Iterator[Any]:
    if hasattr(state, "_fsdp_param_groups"):
        return iter(state._fsdp_param_groups)
    return iter([] if state._fsdp_param_group is None else [state._fsdp_param_group])  # In 2.11 a state has at most one.


def is_sharded_module(module: torch.nn.Module) -> bool:
    return module in _states()


def is_in_forward(group: Any) -> bool:
    """Returns whether the model of one of FSDP2's groups is in its forward."""
    states = map(_state_of, group.modules)
    return any(state is not None and state._state_ctx.iter_forward_root is not None for state in states)


def prefetched(module: torch.nn.Module) -> int:
    """Returns how many gathers FSDP2 runs ahead of a module's."""
    state = _state_of(module)
    return 0 if state is None else 1 + max(len(state._states_to_forward_prefetch), len(state._states_to_backward_prefetch))


def shard_of(parameter: Any) -> torch.Tensor:
    """Returns this rank's part of one of FSDP2's parameters, with what fills it up."""
    return parameter._sharded_param_data


def is_gathered_by_itself(parameter: Any) -> bool:
    return hasattr(parameter._sharded_local_tensor, "fsdp_pre_all_gather")


def full_name(parameter: Any) -> Optional[str]:
    return parameter._param_fqn


def gathered(group: Any) -> List[torch.Tensor]:
    """Returns the gathered parameters of one of FSDP2's groups; they have no bytes while it is sharded."""
    return [parameter._unsharded_param for parameter in group.fsdp_params if hasattr(parameter, "_unsharded_param")]


def max_reduce_scatter_buffers(group: Any) -> int:
    """Returns how many inputs of reduce-scatters FSDP2 keeps. It is a setting in 2.13; in 2.11 each waits for the one before it."""
    return getattr(group.comm_ctx, "reduce_scatter_max_input_buffers", 1)


def local_part(tensor: torch.Tensor) -> torch.Tensor:
    """Returns this rank's part of a DTensor, or the tensor itself."""
    return getattr(tensor, "_local_tensor", tensor)


def resized_by_groups() -> List[torch.Tensor]:
    """Returns the tensors whose storages FSDP2 lets shrink to nothing and grow again: what its groups gather parameters into."""
    return [tensor for group in sharded_groups() for parameter in group.fsdp_params for tensor in parameter.all_gather_outputs]


@contextlib.contextmanager
def simulated_group(ranks: int) -> Iterator[None]:
    """Makes this process the first of so many ranks, none of which exists, for the time being."""
    import torch.distributed as distributed
    importlib.import_module("torch.distributed._tools.fake_collectives")
    store = importlib.import_module("torch.testing._internal.distributed.fake_pg").FakeStore()
    distributed.init_process_group("fake", store=store, rank=0, world_size=ranks)
    try:
        yield
    finally:
        distributed.destroy_process_group()
