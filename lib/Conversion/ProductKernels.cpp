//===- ProductKernels.cpp - Kernels that call the runtime's matrix product -===//

#include "KernelModels.h"
#include "llmmem/Dialect/LlmOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace llmmem;
using namespace llmmem::llm;

namespace {

int64_t widthOf(Value tensor) { return cast<RankedTensorType>(tensor.getType()).getShape().back(); }

//===----------------------------------------------------------------------===//
// The call
//===----------------------------------------------------------------------===//

/// A matrix inside a buffer: rows `pitch` elements apart, from element `begin` on.
struct Matrix {
  Buffer buffer;
  int64_t pitch = 0;
  bool transposed = false;
  std::optional<Index> begin = std::nullopt;
};

/// c = scale * sum over t < terms of a_t b_t + initial, where a_t and b_t lie `steps` elements
/// behind a_0 and b_0. The meaning of each field is that of `llmmem_gemm_*` in lib/Runtime/Gemm.h.
struct Product {
  Matrix a, b, initial = {}, c;
  int64_t rows, columns, inner;
  double scale = 1.0;
  int64_t terms = 1, stepA = 0, stepB = 0;
};

class ProductCall {
public:
  ProductCall(Operation *op, KernelEmitter &e) : op(op), builder(e.builder()) {}

  void emit(const Product &p) {
    SmallVector<Value> arguments;
    for (const Matrix &factor : {p.a, p.b})
      arguments.append({pointerTo(factor), integer(factor.pitch), integer(factor.transposed)});
    arguments.append(
        {pointerTo(p.initial), integer(p.initial.pitch), pointerTo(p.c), integer(p.c.pitch)});
    for (int64_t number : {p.rows, p.columns, p.inner, p.terms, p.stepA, p.stepB})
      arguments.push_back(integer(number));
    arguments.push_back(
        arith::ConstantOp::create(builder, op->getLoc(), builder.getF64FloatAttr(p.scale)));
    func::CallOp::create(builder, op->getLoc(), declare(p.c.buffer.element, arguments), arguments);
  }

private:
  Value integer(int64_t value) {
    return arith::ConstantOp::create(builder, op->getLoc(), builder.getI64IntegerAttr(value));
  }

  /// Null for a matrix that is not there.
  Value pointerTo(const Matrix &matrix) {
    Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
    if (!matrix.buffer)
      return LLVM::ZeroOp::create(builder, op->getLoc(), pointer);
    Value address =
        memref::ExtractAlignedPointerAsIndexOp::create(builder, op->getLoc(), matrix.buffer.memref);
    Index begin{&builder, address};
    if (matrix.begin)
      begin = begin + *matrix.begin * (matrix.buffer.element.getIntOrFloatBitWidth() / 8);
    Value bits =
        arith::IndexCastOp::create(builder, op->getLoc(), builder.getI64Type(), begin.value);
    return LLVM::IntToPtrOp::create(builder, op->getLoc(), pointer, bits);
  }

  func::FuncOp declare(Type element, ValueRange arguments) {
    std::string name = element.isBF16()  ? "llmmem_gemm_bf16"
                       : element.isF64() ? "llmmem_gemm_f64"
                                         : "llmmem_gemm_f32";
    auto module = op->getParentOfType<ModuleOp>();
    if (auto known = module.lookupSymbol<func::FuncOp>(name))
      return known;
    OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
    auto function = func::FuncOp::create(top, op->getLoc(), name,
                                         top.getFunctionType(arguments.getTypes(), {}));
    function.setPrivate();
    return function;
  }

  Operation *op;
  OpBuilder &builder;
};

//===----------------------------------------------------------------------===//
// Linear
//===----------------------------------------------------------------------===//

struct LinearKernel : KernelModel<LinearKernel, LinearOp> {
  static void emit(LinearOp op, KernelEmitter &e) {
    int64_t in = widthOf(op.getX()), out = widthOf(op.getY());
    bool transposed = op.getLayout() == WeightLayout::OutIn;
    ProductCall(op, e).emit(
        {.a = {e.operand(0), in},
         .b = {e.operand(1), transposed ? in : out, transposed},
         .initial = {e.operand(op.getBiasMutable()), 0}, // every row is the bias
         .c = {e.result(0), out},
         .rows = e.result(0).size / out,
         .columns = out,
         .inner = in});
  }
};

struct LinearWeightGradKernel : KernelModel<LinearWeightGradKernel, LinearWeightGradOp> {
  static void emit(LinearWeightGradOp op, KernelEmitter &e) {
    int64_t in = widthOf(op.getX()), out = widthOf(op.getDy());
    bool inOut = op.getLayout() == WeightLayout::InOut;
    Matrix x{e.operand(0), in}, dy{e.operand(1), out};
    int64_t columns = inOut ? out : in;
    Product product{.a = inOut ? x : dy,
                    .b = inOut ? dy : x,
                    .initial = {e.operand(op.getIntoMutable()), columns},
                    .c = {e.result(0), columns},
                    .rows = inOut ? in : out,
                    .columns = columns,
                    .inner = e.operand(0).size / in};
    product.a.transposed = true;
    ProductCall(op, e).emit(product);
  }
};

//===----------------------------------------------------------------------===//
// Attention, written out
//===----------------------------------------------------------------------===//

/// Places of one head's matrices, the same for all ops below.
struct HeadLayout {
  int64_t seq, heads, kvHeads, size;

  template <typename Op>
  HeadLayout(Op op, Value wide)
      : seq(cast<RankedTensorType>(wide.getType()).getShape()[1]), heads(op.getHeads()),
        kvHeads(op.getKvHeads()), size(widthOf(wide) / heads) {}

  int64_t group() const { return heads / kvHeads; }
  /// Head `h` of [batch, seq, heads * size].
  Matrix wide(Buffer x, Index b, Index h) const {
    return {x, heads * size, false, b * (seq * heads * size) + h * size};
  }
  /// Key/value head `g` of [batch, seq, kvHeads * size].
  Matrix narrow(Buffer x, Index b, Index g) const {
    return {x, kvHeads * size, false, b * (seq * kvHeads * size) + g * size};
  }
  /// Head `h` of [batch, heads, seq, seq].
  Matrix scores(Buffer x, Index b, Index h) const {
    return {x, seq, false, (b * heads + h) * (seq * seq)};
  }

  /// Calls `body` with the batch, the key/value head, and the number of a query head in its group.
  void forHeads(KernelEmitter &e, int64_t batch,
                function_ref<void(Index b, Index g, Index h)> body) const {
    e.forEach(batch, [&](Index b) {
      e.forEach(kvHeads, [&](Index g) {
        e.forEach(group(), [&](Index k) { body(b, g, g * group() + k); });
      });
    });
  }
};

int64_t batchOf(Value tensor) { return cast<RankedTensorType>(tensor.getType()).getShape()[0]; }

struct AttentionScoresKernel : KernelModel<AttentionScoresKernel, AttentionScoresOp> {
  static void emit(AttentionScoresOp op, KernelEmitter &e) {
    HeadLayout layout(op, op.getQ());
    layout.forHeads(e, batchOf(op.getQ()), [&](Index b, Index g, Index h) {
      Matrix keys = layout.narrow(e.operand(1), b, g);
      keys.transposed = true;
      ProductCall(op, e).emit({.a = layout.wide(e.operand(0), b, h),
                               .b = keys,
                               .c = layout.scores(e.result(0), b, h),
                               .rows = layout.seq,
                               .columns = layout.seq,
                               .inner = layout.size,
                               .scale = op.getScale().convertToDouble()});
    });
  }
};

struct AttentionValuesKernel : KernelModel<AttentionValuesKernel, AttentionValuesOp> {
  static void emit(AttentionValuesOp op, KernelEmitter &e) {
    HeadLayout layout(op, op.getOut());
    layout.forHeads(e, batchOf(op.getOut()), [&](Index b, Index g, Index h) {
      ProductCall(op, e).emit({.a = layout.scores(e.operand(0), b, h),
                               .b = layout.narrow(e.operand(1), b, g),
                               .c = layout.wide(e.result(0), b, h),
                               .rows = layout.seq,
                               .columns = layout.size,
                               .inner = layout.seq,
                               .scale = op.getScale().convertToDouble()});
    });
  }
};

struct AttentionValuesTransposedKernel
    : KernelModel<AttentionValuesTransposedKernel, AttentionValuesTransposedOp> {
  static void emit(AttentionValuesTransposedOp op, KernelEmitter &e) {
    HeadLayout layout(op, op.getX());
    e.forEach(batchOf(op.getX()), [&](Index b) {
      e.forEach(layout.kvHeads, [&](Index g) {
        Index first = g * layout.group();
        Matrix transposed = layout.scores(e.operand(0), b, first);
        transposed.transposed = true;
        // The heads of a group are terms of one sum, rounded once.
        ProductCall(op, e).emit({.a = transposed,
                                 .b = layout.wide(e.operand(1), b, first),
                                 .c = layout.narrow(e.result(0), b, g),
                                 .rows = layout.seq,
                                 .columns = layout.size,
                                 .inner = layout.seq,
                                 .scale = op.getScale().convertToDouble(),
                                 .terms = layout.group(),
                                 .stepA = layout.seq * layout.seq,
                                 .stepB = layout.size});
      });
    });
  }
};

} // namespace

void llmmem::attachProductKernels(MLIRContext *context) {
  attachKernels<LinearKernel, LinearWeightGradKernel, AttentionScoresKernel, AttentionValuesKernel,
                AttentionValuesTransposedKernel>(context);
}
