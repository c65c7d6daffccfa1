//===- ProductKernels.cpp - Kernels that are matmuls ---------------------===//

#include "Cpu/NarrowMatmul.h"
#include "Gpu/DeviceNarrowMatmul.h"
#include "Gpu/LibraryKernels.h"
#include "Gpu/MmaMatmul.h"
#include "Gpu/SplitMatmul.h"
#include "Gpu/WarpgroupMatmul.h"
#include "KernelModels.h"
#include "llmmem/Codegen/Emitter/Expectations.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Runtime/Gemm.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

namespace {

int64_t widthOf(Value tensor) { return cast<RankedTensorType>(tensor.getType()).getShape().back(); }

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Returns whether `llmmem_gemm` in include/llmmem/Runtime/Gemm.h computes a matmul of such
/// elements.
bool isOfLibraryTypes(const Matmul &p) {
  Type factor = p.a.buffer.element, sum = p.c.buffer.element;
  if (p.b.buffer.element != factor || (p.initial().buffer && p.initial().buffer.element != sum))
    return false;
  if (factor.isF32())
    return sum.isF32();
  // C is rounded once, which a library does not promise for a sum of several matmuls.
  bool isOneMatmul = factor.isBF16() && p.terms.count == 1 && p.scale == 1.0;
  return isOneMatmul && (sum.isBF16() || sum.isF32());
}

/// Returns whether a CPU's library computes the matmul. One of few rows is as fast as B is read,
/// which generated code does faster.
bool isCallOfLibrary(KernelEmitter &e, const Matmul &p) {
  return e.options().target == KernelTarget::Cpu && !p.c.buffer.access && !isNarrowMatmul(p) &&
         isMultipliedByLibrary(e.options(), p.a.buffer.element) && isOfLibraryTypes(p);
}

/// Returns the `llmmem_gemm_form` of a matmul, a constant of the module.
Buffer formOf(Operation *op, KernelEmitter &e, const Matmul &p) {
  const llmmem_gemm_form form = {
      .a = {.pitch = p.a.pitch, .transposed = p.a.transposed, .step = p.terms.stepA},
      .b = {.pitch = p.b.pitch, .transposed = p.b.transposed, .step = p.terms.stepB},
      .initial_pitch = p.initial().pitch,
      .c_pitch = p.c.pitch,
      .c_bytes = bytesOfNumber(p.c.buffer.element),
      .rows = p.rows,
      .columns = p.columns,
      .inner = p.inner,
      .terms = p.terms.count};
  using Words = std::array<int64_t, sizeof(form) / sizeof(int64_t)>;
  const Words words = llvm::bit_cast<Words>(form);
  auto module = op->getParentOfType<ModuleOp>();
  OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
  auto type = RankedTensorType::get({static_cast<int64_t>(words.size())}, top.getI64Type());
  auto stored = MemRefType::get(type.getShape(), type.getElementType());
  std::string name;
  for (unsigned k = 0; module.lookupSymbol(name = "gemm_form_" + std::to_string(k)); ++k)
    ;
  memref::GlobalOp::create(top, op->getLoc(), name, top.getStringAttr("private"), stored,
                           DenseElementsAttr::get(type, ArrayRef<int64_t>(words)),
                           /*constant=*/true, /*alignment=*/IntegerAttr());
  Value held = memref::GetGlobalOp::create(e.builder(), op->getLoc(), stored, name);
  return {held, type.getNumElements(), type.getElementType()};
}

/// Emits the call of `llmmem_gemm` in include/llmmem/Runtime/Gemm.h.
void emitLibraryCall(Operation *op, KernelEmitter &e, const Matmul &p) {
  OpBuilder &builder = e.builder();
  SmallVector<Value> arguments = {addressOf(op, e, {formOf(op, e, p)})};
  for (const Matrix &matrix : {p.a, p.b, p.initial(), p.c})
    arguments.push_back(addressOf(op, e, matrix));
  arguments.push_back(
      arith::ConstantOp::create(builder, op->getLoc(), builder.getF64FloatAttr(p.scale)));

  auto module = op->getParentOfType<ModuleOp>();
  StringRef name =
      p.a.buffer.element.isF32() ? "llmmem_library_gemm_f32" : "llmmem_library_gemm_bf16";
  auto function = module.lookupSymbol<func::FuncOp>(name);
  if (!function) {
    OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
    auto type = top.getFunctionType(ValueRange(arguments).getTypes(), {});
    function = func::FuncOp::create(top, op->getLoc(), name, type);
    function.setPrivate();
  }
  func::CallOp::create(builder, op->getLoc(), function, arguments);
}

/// Chooses what multiplies on a GPU where no library does: threads that unpack a packed matrix for
/// few rows, tensor cores for 16-bit floats (by wgmma or mma.sync, as `emitMmaMatmuls` says), and
/// threads for all else.
void emitGeneratedOnDevice(KernelEmitter &e, int64_t count, const Matmul &first,
                           function_ref<Matmul(Index)> make) {
  if (isNarrowOnDevice(first))
    return emitNarrowOnDevice(e, count, first, make);
  isMmaMatmul(first) ? emitMmaMatmuls(e, count, first, make)
                     : emitDeviceMatmuls(e, count, first, make);
}

/// Runs on a CPU.
void emitOneOfMany(Operation *op, KernelEmitter &e, const Matmul &matmul) {
  // A library's primitives of bf16 distribute work over the threads that exist when they are made.
  matmul.a.buffer.element.isBF16() ? emitGeneratedMatmul(op, e, matmul) : emitMatmul(op, e, matmul);
}

} // namespace

bool llmmem::makesTileSoftmax(KernelEmitter &e, const Matmul &p) {
  return e.options().target == KernelTarget::Gpu && isMmaMatmul(p) && !isLibraryMatmul(e, p);
}

bool llmmem::isMultipliedByLibrary(const KernelOptions &options, Type element) {
  if (options.products != MatmulSource::Library)
    return false;
  bool hasBf16 = options.target == KernelTarget::Gpu || options.bf16ByLibrary;
  return element.isF32() || (element.isBF16() && hasBf16);
}

void llmmem::emitMatmul(Operation *op, KernelEmitter &e, const Matmul &p) {
  if (isLibraryMatmul(e, p))
    emitLibraryMatmul(e, p);
  else if (e.options().target == KernelTarget::Gpu)
    emitGeneratedOnDevice(e, 1, p, [&](Index) { return p; });
  else if (isCallOfLibrary(e, p))
    emitLibraryCall(op, e, p);
  else
    emitGeneratedMatmul(op, e, p);
}

void llmmem::emitMatmuls(Operation *op, KernelEmitter &e, int64_t count,
                         function_ref<Matmul(Index)> make) {
  if (e.options().target == KernelTarget::Gpu)
    return emitGeneratedOnDevice(e, count, make(e.index(0)), make);
  forEachParallel(e, count, [&](Index number) { emitOneOfMany(op, e, make(number)); });
}

//===----------------------------------------------------------------------===//
// Linear
//===----------------------------------------------------------------------===//

Matmul llmmem::matmulOf(LinearOp op, KernelEmitter &e) {
  int64_t in = widthOf(op.getX()), out = widthOf(op.getY());
  bool transposed = op.getLayout() == WeightLayout::OutIn;
  return {
      .a = {e.operand(0), in},
      .b = {.buffer = e.operand(1),
            .pitch = transposed ? in : out,
            .transposed = transposed,
            .held =
                heldOperand(e, op.getWeightMutable(), op.getScalesMutable(), op.getZerosMutable())},
      .c = {e.result(0), out},
      .rows = e.result(0).size / out,
      .columns = out,
      .inner = in,
      .activationGroup = op.getActivationGroup(),
      .kind = PlainSum{.initial = {e.operand(op.getBiasMutable()), 0}}}; // Every row is the bias.
}

Matmul llmmem::matmulOf(LinearWeightGradOp op, KernelEmitter &e) {
  int64_t in = widthOf(op.getX()), out = widthOf(op.getDy());
  bool inOut = op.getLayout() == WeightLayout::InOut;
  Matrix x{e.operand(0), in}, dy{e.operand(1), out};
  int64_t columns = inOut ? out : in;
  Matmul product{.a = inOut ? x : dy,
                 .b = inOut ? dy : x,
                 .c = {e.result(0), columns},
                 .rows = inOut ? in : out,
                 .columns = columns,
                 .inner = e.operand(0).size / in};
  product.a.transposed = true;
  PlainSum sum = {.initial = {e.operand(op.getIntoMutable()), columns}};
  if (e.options().tensorCores == TensorCores::WarpgroupTma &&
      isWarpgroupMatmul(e.options(), product))
    sum.clusterParts = clusterPartsOf(product.rows, product.columns, product.inner);
  product.kind = sum;
  return product;
}

namespace {

struct LinearKernel : BaseModel<LinearKernel, LinearOp> {
  LogicalResult emitKernel(Operation *op, KernelEmitter &e) const {
    auto linear = cast<LinearOp>(op);
    if (linear.getActivationGroup() && e.options().target == KernelTarget::Gpu)
      return op->emitOpError("rounds its activations ('activation_group'), which no kernel of a "
                             "GPU does; import the model without --activations");
    emitMatmul(op, e, matmulOf(linear, e));
    return success();
  }
};

struct LinearWeightGradKernel : KernelModel<LinearWeightGradKernel, LinearWeightGradOp> {
  static void emit(LinearWeightGradOp op, KernelEmitter &e) { emitMatmul(op, e, matmulOf(op, e)); }

  static void emitOnDevice(LinearWeightGradOp op, KernelEmitter &e) {
    Matmul matmul = matmulOf(op, e);
    SumParts parts = sumPartsOf(op, isWarpgroupMatmul(e.options(), matmul));
    if (parts.count == 1 || matmul.clusterParts() > 1 || isLibraryMatmul(e, matmul))
      return emitMatmul(op, e, matmul);
    int64_t sums = parts.count * SumParts::distance(matmul.rows * matmul.columns);
    emitSplitMatmul(e, matmul, parts, e.workspace(0, sums, e.computeType()));
  }
};

//===----------------------------------------------------------------------===//
// Groups with a weight each
//===----------------------------------------------------------------------===//

/// Returns group `number` of those that are `elements` apart, with rows `pitch` apart; without a
/// number, all of them.
Matrix groupOf(Buffer x, int64_t pitch, int64_t elements, std::optional<Index> number) {
  Matrix matrix{x, pitch};
  matrix.stride = elements;
  if (number)
    matrix.begin = *number * elements;
  return matrix;
}

/// Emits the product of each group: one call for all of them where a library computes it.
void emitGroups(Operation *op, KernelEmitter &e, int64_t groups,
                function_ref<Matmul(std::optional<Index>)> make) {
  Matmul all = make(std::nullopt);
  if (!isLibraryMatmul(e, all))
    return emitMatmuls(op, e, groups, [&](Index number) { return make(number); });
  all.batch = groups;
  emitLibraryMatmul(e, all);
}

/// Runs on a CPU. If there are few rows most groups have none, because a token has some of many
/// experts. Places without a token are zeros, and so is their product, whose weight is then not
/// read. Threads share each product.
void emitChosenGroups(Operation *op, KernelEmitter &e, int64_t groups,
                      function_ref<Matmul(std::optional<Index>)> make) {
  forEach(e, groups, [&](Index number) {
    Matmul product = make(number);
    Index largest = e.index(-1);
    for (int64_t row = 0; row < product.rows; ++row)
      largest = maximum(largest,
                        e.loadIndex(product.choices()->numbers, *product.choices()->begin + row));
    ifThen(e, less(e.index(-1), largest), [&] { emitOneOfMany(op, e, product); });
    ifThen(e, equal(e.index(-1), largest), [&] {
      forLanes(e, product.rows * product.columns, [&](Index place, unsigned lanes) {
        e.store(product.c.buffer, *product.c.begin + place, e.splat(0.0, lanes));
      });
    });
  });
}

/// Returns the largest share of experts that are chosen: each choice of a token may be of another
/// expert.
double largestChosenShare(TypedValue<RankedTensorType> choices) {
  auto places = choices.getDefiningOp<AssignPlacesOp>();
  if (!places)
    return 1.0;
  int64_t made = places.getExperts().getType().getNumElements(),
          experts = choices.getType().getDimSize(0);
  return std::min(1.0, static_cast<double>(made) / static_cast<double>(experts));
}

struct GroupedLinearKernel : KernelModel<GroupedLinearKernel, GroupedLinearOp> {
  /// Up to this number of rows of a group its choices are read first, on a CPU.
  static constexpr int64_t kFewRows = 8;

  /// Sets the share of the weight that is read, because a group without a choice does not read its
  /// part.
  static void expectShareOfWeight(GroupedLinearOp op, KernelEmitter &e, double share) {
    expectShare(e.operand(op.getWeightMutable()).memref, share);
    for (MutableOperandRange range : {op.getScalesMutable(), op.getZerosMutable()})
      if (Buffer part = e.operand(range))
        expectShare(part.memref, share);
  }

  static void emit(GroupedLinearOp op, KernelEmitter &e) {
    int64_t groups = op.getX().getType().getDimSize(0);
    int64_t in = widthOf(op.getX()), out = widthOf(op.getY());
    int64_t rows = e.operand(0).size / groups / in;
    bool transposed = op.getLayout() == WeightLayout::OutIn;
    bool isForCpu = e.options().target == KernelTarget::Cpu;
    Buffer choices = e.operand(op.getChoicesMutable());
    auto emitAll = isForCpu && choices && rows <= kFewRows ? emitChosenGroups : emitGroups;
    double share = choices ? largestChosenShare(op.getChoices()) : 1.0;
    if (!isForCpu && choices)
      expectShareOfWeight(op, e, share);
    emitAll(op, e, groups, [&](std::optional<Index> number) -> Matmul {
      Matrix weight = groupOf(e.operand(1), transposed ? in : out, in * out, number);
      weight.transposed = transposed;
      weight.held =
          heldOperand(e, op.getWeightMutable(), op.getScalesMutable(), op.getZerosMutable());
      Matmul product{.a = groupOf(e.operand(0), in, rows * in, number),
                     .b = weight,
                     .c = groupOf(e.result(0), out, rows * out, number),
                     .rows = rows,
                     .columns = out,
                     .inner = in};
      if (choices && number)
        product.kind = RowChoices{choices, *number * rows, share};
      return product;
    });
  }
};

struct GroupedWeightGradKernel : KernelModel<GroupedWeightGradKernel, GroupedWeightGradOp> {
  static void emit(GroupedWeightGradOp op, KernelEmitter &e) {
    int64_t groups = op.getX().getType().getDimSize(0);
    int64_t in = widthOf(op.getX()), out = widthOf(op.getDy());
    int64_t rows = e.operand(0).size / groups / in;
    bool inOut = op.getLayout() == WeightLayout::InOut;
    Buffer into = e.operand(op.getIntoMutable());
    emitGroups(op, e, groups, [&](std::optional<Index> number) -> Matmul {
      Matrix x = groupOf(e.operand(0), in, rows * in, number);
      Matrix dy = groupOf(e.operand(1), out, rows * out, number);
      int64_t columns = inOut ? out : in;
      Matrix initial = into ? groupOf(into, columns, in * out, number) : Matrix();
      Matmul product{.a = inOut ? x : dy,
                     .b = inOut ? dy : x,
                     .c = groupOf(e.result(0), columns, in * out, number),
                     .rows = inOut ? in : out,
                     .columns = columns,
                     .inner = rows,
                     .kind = PlainSum{.initial = initial}};
      product.a.transposed = true;
      return product;
    });
  }
};

/// Heads are adjacent in rows, and each has its own rows of one weight.
struct HeadLinearKernel : KernelModel<HeadLinearKernel, HeadLinearOp> {
  static void emit(HeadLinearOp op, KernelEmitter &e) {
    int64_t heads = op.getHeads(), in = widthOf(op.getX()) / heads,
            out = widthOf(op.getY()) / heads;
    int64_t columns = widthOf(op.getWeight()),
            ofHead = op.getWeight().getType().getNumElements() / heads;
    int64_t first = static_cast<int64_t>(op.getFirst()) * columns;
    emitGroups(op, e, heads, [&](std::optional<Index> number) -> Matmul {
      Matrix weight = groupOf(e.operand(1), columns, ofHead, number);
      weight.begin = number ? *weight.begin + first : e.index(first);
      weight.transposed = op.getLayout() == WeightLayout::OutIn;
      weight.held =
          heldOperand(e, op.getWeightMutable(), op.getScalesMutable(), op.getZerosMutable());
      return {.a = groupOf(e.operand(0), heads * in, in, number),
              .b = weight,
              .c = groupOf(e.result(0), heads * out, out, number),
              .rows = e.operand(0).size / heads / in,
              .columns = out,
              .inner = in};
    });
  }
};

//===----------------------------------------------------------------------===//
// Attention, written out
//===----------------------------------------------------------------------===//

/// Gives the places of one head's matrices, which are the same for all ops below.
struct HeadLayout {
  int64_t queries, keys, heads, kvHeads, size;

  template <typename Op>
  HeadLayout(Op op, Value wide, Value narrow)
      : queries(rowsOf(wide)), keys(rowsOf(narrow)), heads(op.getHeads()), kvHeads(op.getKvHeads()),
        size(widthOf(wide) / heads) {}

  /// Applies to [batch, seq, width].
  static int64_t rowsOf(Value x) { return cast<RankedTensorType>(x.getType()).getDimSize(1); }

  int64_t group() const { return heads / kvHeads; }
  /// Returns head `h` of [batch, queries, heads * size].
  Matrix wide(Buffer x, Index b, Index h) const {
    return {x, heads * size, false, b * (queries * heads * size) + h * size, size};
  }
  /// Returns key/value head `g` of [batch, keys, kvHeads * size], which the query heads of its
  /// group share.
  Matrix narrow(Buffer x, Index b, Index g) const {
    return {x, kvHeads * size, false, b * (keys * kvHeads * size) + g * size,
            group() == 1 ? size : 0};
  }
  /// Returns head `h` of [batch, heads, queries, keys].
  Matrix scores(Buffer x, Index b, Index h) const {
    return {x, keys, false, (b * heads + h) * (queries * keys), queries * keys};
  }

  /// Emits a product for each query head, given the batch, the key/value head and the query head.
  void emitForHeads(Operation *op, KernelEmitter &e, int64_t batch,
                    function_ref<Matmul(Index b, Index g, Index h)> make) const {
    auto makeOf = [&](Index number) {
      Index h = number % heads;
      return make(number / heads, h / group(), h);
    };
    // There is one call for the heads that lie at equal distances.
    emitBatches(op, e, batch * heads, group() == 1 ? heads : group(), makeOf);
  }

  /// Emits make(0), ..., make(count - 1), of which each `together` are a batch for a library.
  static void emitBatches(Operation *op, KernelEmitter &e, int64_t count, int64_t together,
                          function_ref<Matmul(Index)> make) {
    if (!isLibraryMatmul(e, make(e.index(0))))
      return emitMatmuls(op, e, count, make);
    forEach(e, count / together, [&](Index number) {
      Matmul product = make(number * together);
      product.batch = together;
      emitLibraryMatmul(e, product);
    });
  }
};

int64_t batchOf(Value tensor) { return cast<RankedTensorType>(tensor.getType()).getShape()[0]; }

struct AttentionScoresKernel : KernelModel<AttentionScoresKernel, AttentionScoresOp> {
  static void emit(AttentionScoresOp op, KernelEmitter &e) {
    HeadLayout layout(op, op.getQ(), op.getK());
    auto make = [&](Index b, Index g, Index h) -> Matmul {
      Matrix keys = layout.narrow(e.operand(1), b, g);
      keys.transposed = true;
      return {.a = layout.wide(e.operand(0), b, h),
              .b = keys,
              .c = layout.scores(e.result(0), b, h),
              .rows = layout.queries,
              .columns = layout.keys,
              .inner = layout.size,
              .scale = op.getScale().convertToDouble()};
    };
    layout.emitForHeads(op, e, batchOf(op.getQ()), make);
  }
};

struct AttentionValuesKernel : KernelModel<AttentionValuesKernel, AttentionValuesOp> {
  static void emit(AttentionValuesOp op, KernelEmitter &e) {
    HeadLayout layout(op, op.getOut(), op.getValues());
    auto make = [&](Index b, Index g, Index h) -> Matmul {
      return {.a = layout.scores(e.operand(0), b, h),
              .b = layout.narrow(e.operand(1), b, g),
              .c = layout.wide(e.result(0), b, h),
              .rows = layout.queries,
              .columns = layout.size,
              .inner = layout.keys,
              .scale = op.getScale().convertToDouble()};
    };
    layout.emitForHeads(op, e, batchOf(op.getOut()), make);
  }
};

struct AttentionValuesTransposedKernel
    : KernelModel<AttentionValuesTransposedKernel, AttentionValuesTransposedOp> {
  static void emit(AttentionValuesTransposedOp op, KernelEmitter &e) {
    HeadLayout layout(op, op.getX(), op.getOut());
    auto make = [&](Index number) -> Matmul {
      Index b = number / layout.kvHeads, g = number % layout.kvHeads, first = g * layout.group();
      Matrix transposed = layout.scores(e.operand(0), b, first);
      transposed.transposed = true;
      // The heads of a group are terms of one sum, rounded once.
      return {.a = transposed,
              .b = layout.wide(e.operand(1), b, first),
              .c = layout.narrow(e.result(0), b, g),
              .rows = layout.keys,
              .columns = layout.size,
              .inner = layout.queries,
              .scale = op.getScale().convertToDouble(),
              .terms = {.count = layout.group(),
                        .stepA = layout.queries * layout.keys,
                        .stepB = layout.size}};
    };
    HeadLayout::emitBatches(op, e, batchOf(op.getX()) * layout.kvHeads, layout.kvHeads, make);
  }
};

} // namespace

void llmmem::attachMatmulKernels(MLIRContext *context) {
  attachKernels<LinearKernel, LinearWeightGradKernel, GroupedLinearKernel, GroupedWeightGradKernel,
                HeadLinearKernel, AttentionScoresKernel, AttentionValuesKernel,
                AttentionValuesTransposedKernel>(context);
}
