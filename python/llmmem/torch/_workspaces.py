"""What kernels of CUDA take only while they run, from PyTorch's source, where no GPU is at hand to measure it.

Each entry names the file of PyTorch (2.8 to 2.15) that allocates, under aten/src/ATen, and the function there, and gives the blocks that are
alive together at most. Where versions differ, the larger of both counts.
A kernel that is not here, or whose operands take a path that is not here, is unknown: then no budget counts as kept.
"""

import math
import re
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import torch
from torch import fx

from .._caching_allocator import MIN_BLOCK
from ._machine import Machine, setting
from ._program import hint, tensors_of

aten = torch.ops.aten

Blocks = Tuple[int, ...]
NONE: Blocks = ()

# PyTorch 2.15 allocates what cuBLAS may use for each call, and gives it back; earlier versions keep it for each handle and stream.
KEEPS_WORKSPACES = tuple(int(part) for part in torch.__version__.split(".")[:2]) < (2, 15)
# A thread has a handle of its own; forward and backward run in two.
THREADS = 2


def workspace(node: fx.Node, machine: Optional[Machine], kernel: Any = None) -> Optional[Blocks]:
    """Returns the sizes of the blocks that a kernel takes in addition to its results, at most and while it runs, rounded as the allocator
    rounds them; None where that is not known. kernel: the operator that runs in place of the node's."""
    packet = kernel or getattr(node.target, "overloadpacket", None)
    if packet is None or machine is None:
        return None
    entry = _ENTRIES.get(packet)
    if entry is None:
        return NONE if torch.Tag.pointwise in node.target.tags or packet in _WITHOUT or _updates_lists(str(packet)) else None
    blocks = entry(node, machine)
    return None if blocks is None else tuple(-(-size // MIN_BLOCK) * MIN_BLOCK for size in blocks if size)


def _updates_lists(name: str) -> bool:
    """Returns whether an operator runs element by element over lists of tensors (native/cuda/MultiTensorApply.cuh, whose lists are arguments
    of the kernel)."""
    return name.startswith(("aten._foreach_", "aten._fused_adam", "aten._fused_sgd")) and "norm" not in name


def kept_workspaces(nodes: Sequence[fx.Node], machine: Optional[Machine]) -> Blocks:
    """Returns the blocks that matrix products leave allocated for the next ones, in the versions that keep them."""
    if machine is None or not _keeps() or not any(map(is_product, nodes)):
        return NONE
    return (blas_bytes(machine), lt_bytes()) * THREADS


def is_product(node: fx.Node) -> bool:
    """Returns whether cuBLAS may compute a node."""
    return getattr(node.target, "overloadpacket", None) in _PRODUCTS


def blas_bytes(machine: Machine) -> int:
    """What cuBLAS is given (cuda/CublasHandlePool.cpp, parseChosenWorkspaceSize): CUBLAS_WORKSPACE_CONFIG, or :4096:2:16:8, and 32 MiB since
    Hopper, which earlier versions give to Hopper alone."""
    pairs = re.findall(r":([0-9]+):([0-9]+)", setting("CUBLAS_WORKSPACE_CONFIG") or "")
    if pairs:
        return sum(int(size) * 1024 * int(count) for size, count in pairs)
    return 32 << 20 if machine.major >= 9 else (2 * 4096 + 8 * 16) * 1024


def lt_bytes() -> int:
    """What cuBLASLt is given for products with an epilogue (parseCUDABlasLtWorkspaceSize): 1 MiB, or CUBLASLT_WORKSPACE_SIZE in KiB."""
    given = setting("CUBLASLT_WORKSPACE_SIZE")
    return (int(given) if given and given.isdigit() else 1024) * 1024


def _keeps() -> bool:
    return KEEPS_WORKSPACES or setting("TORCH_CUBLAS_WORKSPACE_CACHE") == "1"


def _product(node: fx.Node, machine: Machine) -> Blocks:
    """native/cuda/Blas.cpp: operands that no leading dimension describes are copied (prepare_matrix_for_cublas and
    prepare_batch_matrix_for_cublas)."""
    matrices = _operands(node)[-2:]
    copies = [_bytes(matrix) for matrix in matrices if not _is_blas_matrix(matrix)]
    return (*copies, *(() if _keeps() else (max(blas_bytes(machine), lt_bytes()),)))


def _is_blas_matrix(matrix: torch.Tensor) -> bool:
    (rows, columns), strides = matrix.shape[-2:], matrix.stride()[-2:]
    return any(hint(strides[inner]) == 1 and hint(strides[1 - inner]) >= max(1, hint((rows, columns)[inner])) for inner in (0, 1))


def _flash_forward(node: fx.Node, machine: Machine) -> Optional[Blocks]:
    """native/transformers/cuda/flash_attn/flash_api.cpp, mha_fwd: few blocks of queries are split over the keys (set_params_splitkv), and
    with dropout, which is not split, the state of random numbers is allocated a second time before the first is freed."""
    q, k = _operands(node)[:2]
    batch, heads, queries, width = map(hint, q.shape)
    keys = hint(k.shape[2])
    if width % 8 or queries == 1 and hint(k.shape[1]) != heads:
        return None  # It would be padded, or the heads of one query would become queries.
    if _argument(node, "dropout_p", 3, 0.0):
        return (16,)
    splits = _splits(batch * heads * -(-queries // 64), 2 * machine.processors,
                     -(-keys // (256 if width <= 64 else 128 if width <= 128 else 64)))
    if splits == 1:
        return NONE
    rows = 4 * splits * batch * heads * queries
    return rows, rows * _rounded_width(width)


def _splits(blocks: int, processors: int, key_blocks: int) -> int:
    """flash_api.cpp, num_splits_heuristic: the fewest splits whose last wave is nearly as full as that of any number of splits."""
    if blocks >= 0.8 * processors:
        return 1
    eligible = [splits for splits in range(1, min(128, processors, key_blocks) + 1)
                if splits == 1 or -(-key_blocks // splits) != -(-key_blocks // (splits - 1))]
    waves = {splits: blocks * splits / processors for splits in eligible}
    fullness = {splits: wave / math.ceil(wave) for splits, wave in waves.items()}
    return next((splits for splits in eligible if fullness[splits] >= 0.85 * max(fullness.values())), 1)


def _flash_backward(node: fx.Node, machine: Machine) -> Optional[Blocks]:
    """flash_api.cpp, mha_bwd: softmax_d and dq_accum in f32, and dk and dv of each query head where key heads are fewer; and
    native/transformers/cuda/attention_backward.cu, _flash_attention_backward, which lets the gradient and the result be contiguous."""
    gradient, q, k, _, result = _operands(node)[:5]
    batch, heads, queries, width = map(hint, q.shape)
    if width % 8:
        return None
    rounded = -(-queries // 128) * 128
    rows = 4 * batch * heads * rounded
    parts = -(-machine.processors // (batch * heads)) if torch.are_deterministic_algorithms_enabled() else 1
    blocks = [rows, parts * rows * _rounded_width(width)]
    if hint(k.shape[1]) != heads:
        blocks += [batch * hint(k.shape[2]) * heads * width * q.itemsize] * 2
    return (*blocks, *(_bytes(tensor) for tensor in (gradient, result) if not _is_contiguous(tensor, (0, 2, 1, 3))))


def _efficient_forward(node: fx.Node, machine: Machine) -> Optional[Blocks]:
    """native/transformers/cuda/attention.cu, _efficient_attention_forward, and the kernels of mem_eff_attention/kernels/cutlassF.h: heads
    wider than 128 are summed in f32 in memory (kNeedsOutputAccumulatorBuffer), where the result has fewer bits."""
    q, _, v = _operands(node)[:3]
    batch, heads, queries = map(hint, q.shape[:3])
    width = hint(v.shape[-1])
    return NONE if q.itemsize == 4 or width <= 128 else (4 * batch * heads * queries * width,)


def _rounded_width(width: int) -> int:
    """flash_api.cpp, head_size_rounded: earlier versions round widths from 129 to 160 to multiples of 32."""
    step = 32 if width <= 128 else 64
    return -(-width // step) * step


def _embedding_backward(node: fx.Node, machine: Machine) -> Optional[Blocks]:
    """native/cuda/Embedding.cu, embedding_dense_backward_cuda, sorts more than 3,072 indices, and EmbeddingBackwardKernel.cu,
    embedding_backward_cuda_kernel, sums the rows of equal ones in f32 in pieces of 10."""
    gradient, indices = _operands(node)[:2]
    count, rows, width = hint(indices.numel()), int(node.args[2]), hint(gradient.shape[-1])
    if _argument(node, "scale_grad_by_freq", 4, False):
        return None
    copies = tuple(_bytes(tensor) for tensor in (gradient, indices) if not _is_contiguous(tensor))
    if count <= 3072:
        return copies
    index, segments = count * indices.itemsize, min(count, rows)
    pieces = count // 10 + segments
    sums = pieces * width * (8 if gradient.dtype == torch.float64 else 4)
    # Sorting has the indices' order as a third array. It is over before the sums begin.
    sorting = (index, *_sort_buffers(count, 2 * indices.itemsize))
    summing = (index, 512, 512, segments * indices.itemsize, segments * indices.itemsize, pieces * indices.itemsize, sums,
               *_sort_buffers(count, 0))
    return (*copies, index, index, *max(sorting, summing, key=sum))


def _sort_buffers(count: int, item: int) -> Blocks:
    """cub's device-wide sorts and scans (cub/device/dispatch/dispatch_radix_sort.cuh): a second buffer of all items, and for each tile of at
    least 1,024 of them a counter of 4 bytes for each of 256 digits, for at most 8 passes 256 sums of 8 bytes."""
    return (count * item + 4 * 256 * -(-count // 1024) + 8 * 256 * 8,)


def _reduction(node: fx.Node, machine: Machine) -> Optional[Blocks]:
    """native/cuda/Reduce.cuh, setReduceConfig: where the sums of an output are shared by several blocks of threads, these meet in a buffer.
    Which elements are loaded together depends on addresses, so that the most of each choice is taken."""
    value = _operands(node)[0]
    results = [tensor for tensor in tensors_of(node) if tensor is not None]
    elements, outputs = hint(value.numel()), hint(results[0].numel())
    if elements * value.itemsize >= 1 << 31 or not _is_contiguous(value) and not _is_dense(value):
        return None  # Such sums are cut into several, or by an order of dimensions that is not followed here.
    if not outputs or not elements:
        return NONE
    return _most_meeting(elements // outputs, outputs, max(4, value.itemsize, results[0].itemsize), machine)


def _most_meeting(inputs: int, outputs: int, element: int, machine: Machine) -> Blocks:
    return max((_meeting(inputs, outputs, element, is_inner, vector, machine)
                for is_inner, vectors in ((True, (1, 2, 4, 8, 16)), (False, (1, 2, 4))) for vector in vectors), key=sum)


def _meeting(inputs: int, outputs: int, element: int, is_inner: bool, vector: int, machine: Machine) -> Blocks:
    """is_inner: whether threads of a row of a block sum one output; else each has `vector` outputs of its own."""
    most = 512 if is_inner else 512 // vector
    across, down = (inputs, outputs) if is_inner else (outputs, inputs)
    across = max(across // vector, 1)
    width = min(_power_of_two(across, most), 32)
    height = min(_power_of_two(down, most), most // width)
    width = min(_power_of_two(across, most), most // height)
    input_step, output_step = (width, 1) if is_inner else (1, width)
    is_split = -(-inputs // input_step) >= min(height * 16, 256)
    input_step, output_step = (input_step * height, output_step) if is_split else (input_step, output_step * height)
    each = -(-inputs // input_step)
    grid = -(-(outputs // (1 if is_inner else vector)) // output_step)
    wanted = machine.processors * (machine.threads // (width * height))
    if not is_split or each < 256 or not 0 < grid <= wanted:
        return NONE
    blocks = max(min(-(-wanted // grid), -(-each // 16)), -(-each // 256))
    size = element * outputs * blocks * (1 if is_inner else width * vector)
    return NONE if blocks <= 1 else (size, 4 * grid)


def _power_of_two(number: int, most: int) -> int:
    """Returns the largest that is at most `number`, and at most `most`."""
    return min(1 << (max(number, 1).bit_length() - 1), most)


def _is_dense(value: torch.Tensor) -> bool:
    return hint(value.untyped_storage().nbytes()) >= hint(value.numel()) * value.itemsize and 0 not in map(hint, value.stride())


def _norm_backward(node: fx.Node, machine: Machine) -> Optional[Blocks]:
    """native/cuda/layer_norm_kernel.cu, LaunchGammaBetaBackwardCUDAKernel: the gradients of weights of more than 65,536 short rows are
    summed in parts of 32 rows or more, and these by a sum that makes a second result."""
    value = _operands(node)[1]
    width = math.prod(map(hint, node.args[2]))
    rows = hint(value.numel()) // max(width, 1)
    if rows <= 64 * 1024 or width // 32 >= machine.processors // 2:
        return _copies(node, machine)
    gradients = [tensor for tensor in tensors_of(node)[1:] if tensor is not None]
    parts = min(32 * 1024 // -(-width // 32), -(-rows // 32))
    sums = tuple(parts * _bytes(gradient) for gradient in gradients)
    return (*_copies(node, machine), *sums, *map(_bytes, gradients[:1]), *_most_meeting(parts, width, 4, machine))


def _copies(node: fx.Node, machine: Machine) -> Blocks:
    """Kernels that read their operands as one row of numbers copy the others (native/cuda/SoftMax.cu, host_softmax and
    host_softmax_backward; layer_norm_kernel.cu, layer_norm_cuda and layer_norm_backward_cuda; NLLLoss2d.cu and Loss.cu)."""
    return tuple(_bytes(tensor) for tensor in _operands(node) if not _is_contiguous(tensor))


def _softmax_backward(node: fx.Node, machine: Machine) -> Blocks:
    """native/cuda/SoftMax.cu, softmax_backward_cuda_out: the product of the gradient and the result is a tensor of its own."""
    return (_bytes(_operands(node)[0]), *_copies(node, machine))


def _index(node: fx.Node, machine: Machine) -> Optional[Blocks]:
    """native/TensorAdvancedIndexingUtils.h, make_info: numbers of 64 bits are followed as they are, those of 32 are copied to 64 once they
    have one shape; masks are made numbers first, as many as there are true ones."""
    indices = _operands(node)[1:]
    if any(tensor.dtype in (torch.bool, torch.uint8) for tensor in indices):
        return None
    count = math.prod(torch.broadcast_shapes(*(tuple(map(hint, tensor.shape)) for tensor in indices)))
    return tuple(8 * count for tensor in indices if tensor.dtype == torch.int32)


def _rows(node: fx.Node, machine: Machine) -> Blocks:
    """native/Embedding.cpp, embedding_symint: indices that do not lie in one row are copied (reshape)."""
    return tuple(_bytes(tensor) for tensor in _operands(node)[1:] if not _is_contiguous(tensor))


def _scan(node: fx.Node, machine: Machine) -> Blocks:
    """native/ReduceOps.cpp, impl_func_cum_ops: the operand becomes one of the result's type; and native/cuda/ScanUtils.cuh, scan_dim: rows are
    scanned by threads of their own, but one row of all elements by cub."""
    value, result = _operands(node)[0], next(tensor for tensor in tensors_of(node) if tensor is not None)
    count = hint(value.numel())
    changed = (_bytes(result),) if value.dtype != result.dtype else NONE
    is_one_row = not value.dim() or count == hint(value.shape[_argument(node, "dim", 1, 0)])
    return (*changed, *_copies(node, machine), *(_sort_buffers(count, 0) if is_one_row else NONE))


def _operands(node: fx.Node) -> List[torch.Tensor]:
    found: List[torch.Tensor] = []
    fx.map_arg((node.args, node.kwargs), lambda source: found.extend(
        tensor for tensor in [source.meta.get("val")] if isinstance(tensor, torch.Tensor)))
    return found


def _is_contiguous(tensor: torch.Tensor, order: Optional[Sequence[int]] = None) -> bool:
    """Returns whether the elements lie one after the other, with the dimensions in `order`. Reads hints alone, and runs nothing."""
    expected = 1
    for dimension in reversed(order or range(tensor.dim())):
        size = hint(tensor.shape[dimension])
        if size != 1 and hint(tensor.stride()[dimension]) != expected:
            return False
        expected *= size
    return True


def _argument(node: fx.Node, name: str, place: int, default: Any) -> Any:
    return node.args[place] if len(node.args) > place else node.kwargs.get(name, default)


def _bytes(tensor: torch.Tensor) -> int:
    return hint(tensor.numel()) * tensor.itemsize


def _known(*names: str) -> List[Any]:
    """Returns the operators that this version of PyTorch has."""
    return [getattr(aten, name) for name in names if hasattr(aten, name)]


_PRODUCTS = {aten.mm, aten.addmm, aten.bmm, aten.baddbmm, aten.addbmm, aten.mv, aten.addmv, aten.dot}

_ENTRIES: Dict[Any, Callable[[fx.Node, Machine], Optional[Blocks]]] = {
    **dict.fromkeys((aten.mm, aten.addmm, aten.bmm, aten.baddbmm), _product),
    aten._scaled_dot_product_flash_attention: _flash_forward,
    aten._scaled_dot_product_flash_attention_backward: _flash_backward,
    aten._scaled_dot_product_efficient_attention: _efficient_forward,
    aten.embedding_dense_backward: _embedding_backward,
    **dict.fromkeys((aten.sum, aten.mean, aten.amax, aten.amin, aten.prod, aten.any, aten.all), _reduction),
    **dict.fromkeys((aten.native_layer_norm_backward, *_known("_fused_rms_norm_backward")), _norm_backward),
    **dict.fromkeys((aten.native_layer_norm, aten._fused_rms_norm, aten._softmax, aten._log_softmax, aten._log_softmax_backward_data,
                     aten.nll_loss_forward, aten.nll_loss_backward), _copies),
    aten._softmax_backward_data: _softmax_backward,
    aten.index: _index,
    **dict.fromkeys((aten.embedding, aten.index_select), _rows),
    **dict.fromkeys((aten.cumsum, aten.cumprod), _scan)}

# They write their results element by element (native/TensorIterator.cpp, which allocates nothing else on a GPU), or one piece after the
# other (native/cuda/Shape.cu, native/cuda/Indexing.cu, native/cuda/Dropout.cu, native/cuda/MultiTensorApply.cuh).
_WITHOUT = {
    aten._to_copy, aten.clone, aten.copy, aten.copy_, aten.empty, aten.empty_strided, aten.full, aten.full_like, aten.zeros,
    aten.zeros_like, aten.ones, aten.ones_like, aten.empty_like, aten.new_empty, aten.new_empty_strided, aten.new_zeros, aten.new_full,
    aten.new_ones, aten.arange, aten.scalar_tensor, aten.lift_fresh_copy, aten.cat, aten.stack, aten.gather, aten.select_backward,
    aten.slice_backward, aten.select_scatter, aten.slice_scatter, aten.constant_pad_nd, aten.native_dropout, aten.native_dropout_backward,
    aten.tril, aten.triu, aten.repeat, aten.flip, aten.rand, aten.rand_like, aten.randn, aten.randn_like, aten.bernoulli, aten.fill,
    aten.detach, aten.view, aten._unsafe_view, aten.softplus_backward, aten.expand, aten.permute}
