//===- LibraryMatmuls.cpp - Matmuls of a GPU by cuBLASLt ------------------===//

#include "LibraryKernels.h"
#include "MmaTile.h"
#include "llmmem/Alignment.h"
#include "llmmem/Codegen/Gpu/LibraryForm.h"
#include "llmmem/Dialect/LlmAnnotations.h"
#include "llmmem/Interfaces/Bytes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include <numeric>

using namespace mlir;
using namespace llmmem;

/// An initial value of one repeated row is a bias.
static bool hasBias(const Matmul &matmul) {
  return matmul.initial().buffer && matmul.initial().pitch == 0;
}

bool llmmem::isLibraryTarget(const KernelOptions &options) {
  return options.target == KernelTarget::Gpu && options.products == MatmulSource::Library;
}

/// The types must be bf16 to bf16 or f32, or f32 to f32, with one term and `initial` of C's type.
static bool isOfLibrary(const Matmul &p) {
  Type a = p.a.buffer.element, b = p.b.buffer.element, c = p.c.buffer.element;
  bool areTypes = a == b && ((a.isBF16() && (c.isBF16() || c.isF32())) || (a.isF32() && c.isF32()));
  bool areInMemory = p.a.buffer.memref && p.b.buffer.memref && p.c.buffer.memref;
  bool isSum =
      !p.initial().buffer || (p.initial().buffer.memref && p.initial().buffer.element == c);
  return areTypes && areInMemory && isSum && p.terms.count == 1;
}

/// Buffers begin at multiples of 256 bytes, and a view at a known distance from there.
static int64_t alignmentOf(const Matrix &matrix, int64_t batch) {
  int64_t alignment = kArenaAlignment, width = bytesOfNumber(matrix.buffer.element);
  if (auto view = matrix.buffer.memref.getDefiningOp<memref::ViewOp>())
    alignment = std::gcd(alignment, knownDivisor(view.getByteShift()));
  if (matrix.begin)
    alignment = std::gcd(alignment, knownDivisor(matrix.begin->value) * width);
  return batch > 1 ? std::gcd(alignment, matrix.stride * width) : alignment;
}

/// Returns null if there is no matrix.
static llm::MatrixAttr formOf(const Matrix &matrix, int64_t batch) {
  if (!matrix.buffer)
    return llm::MatrixAttr();
  int64_t stride = batch > 1 ? matrix.stride : 0;
  return llm::MatrixAttr::get(matrix.buffer.memref.getContext(), matrix.pitch, matrix.transposed,
                              stride, alignmentOf(matrix, batch));
}

namespace {
/// Holds what a call reads and writes in addition to A, B and C.
struct Extras {
  Matrix initial = {};
  Value bias = {}, aux = {};
};
} // namespace

/// Returns the last bytes of the workspace, which the plan reserved for the op's library matmul;
/// null if it reserved none.
static Value libraryWorkspace(KernelEmitter &e) {
  auto cost = dyn_cast<CostOpInterface>(e.operation());
  int64_t bytes = libraryWorkspaceBytes(e.operation());
  if (!cost || bytes == 0 || !e.hasWorkspace())
    return Value();
  return e.workspace(cost.getWorkspaceBytes() - bytes, bytes, e.builder().getI8Type()).memref;
}

/// `p` gives A, B and C.
static llm::LibraryProductOp emitCall(KernelEmitter &e, const Matmul &p,
                                      llm::ProductEpilogue epilogue, const Extras &extras) {
  auto beginOf = [&](const Matrix &matrix) {
    return matrix.begin ? matrix.begin->value : e.index(0).value;
  };
  return llm::LibraryProductOp::create(
      e.builder(), e.location(), p.a.buffer.memref, beginOf(p.a), p.b.buffer.memref, beginOf(p.b),
      p.c.buffer.memref, beginOf(p.c), extras.initial.buffer.memref,
      extras.initial.buffer ? beginOf(extras.initial) : Value(), extras.bias, extras.aux,
      libraryWorkspace(e), p.rows, p.columns, p.inner, p.batch, formOf(p.a, p.batch),
      formOf(p.b, p.batch), formOf(p.c, p.batch), formOf(extras.initial, p.batch),
      llvm::APFloat(p.scale), epilogue);
}

static llm::LibraryProductOp emitCall(KernelEmitter &e, const Matmul &p) {
  if (hasBias(p))
    return emitCall(e, p, llm::ProductEpilogue::Bias, {.bias = p.initial().buffer.memref});
  return emitCall(e, p, llm::ProductEpilogue::None, {.initial = p.initial()});
}

//===----------------------------------------------------------------------===//
// Forms that a device's library has no algorithm for
//===----------------------------------------------------------------------===//

DictionaryAttr llmmem::libraryFormOf(llm::LibraryProductOp op) {
  Builder builder(op.getContext());
  NamedAttrList form(cast<DictionaryAttr>(op->getPropertiesAsAttribute()));
  SmallVector<Attribute> elements;
  for (Type type : op->getOperandTypes())
    if (auto buffer = dyn_cast<MemRefType>(type))
      elements.push_back(TypeAttr::get(buffer.getElementType()));
  form.set("elements", builder.getArrayAttr(elements));
  if (op.getWorkspace())
    form.set(
        "workspace_bytes",
        builder.getI64IntegerAttr(cast<MemRefType>(op.getWorkspace().getType()).getNumElements()));
  return form.getDictionary(op.getContext());
}

static ArrayAttr missingProductsOf(KernelEmitter &e) {
  auto module = e.operation()->getParentOfType<ModuleOp>();
  return module->getAttrOfType<ArrayAttr>(llm::LlmDialect::kMissingProducts);
}

/// Erases the call where the library has no algorithm for it.
static bool keepIfKnown(KernelEmitter &e, llm::LibraryProductOp call) {
  ArrayAttr missing = missingProductsOf(e);
  if (!missing || !llvm::is_contained(missing, libraryFormOf(call)))
    return true;
  call.erase();
  return false;
}

static bool hasAlgorithm(KernelEmitter &e, const Matmul &p) {
  if (!missingProductsOf(e))
    return true;
  llm::LibraryProductOp call = emitCall(e, p);
  bool has = keepIfKnown(e, call);
  if (has)
    call.erase();
  return has;
}

bool llmmem::isLibraryMatmul(KernelEmitter &e, const Matmul &p) {
  return isLibraryTarget(e.options()) && isOfLibrary(p) && hasAlgorithm(e, p);
}

void llmmem::emitLibraryMatmul(KernelEmitter &e, const Matmul &p) { emitCall(e, p); }

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

bool llmmem::isLibraryKernel(llm::KernelOp kernel, const KernelOptions &options) {
  return isLibraryTarget(options) && isForLibrary(kernel);
}

/// The library overwrites its sum, which therefore goes to the workspace and is then added to the
/// accumulator.
static bool emitWithSum(llm::LibrarySum call, KernelEmitter &e) {
  auto bufferOf = [&](Value inside) {
    return inside ? e.operand(cast<BlockArgument>(inside).getArgNumber()) : Buffer();
  };
  SmallVector<Buffer> factors = llvm::map_to_vector(call.matmul->getOperands(), bufferOf);
  KernelEmitter product(call.matmul, e, factors, e.result(0));
  Matmul p = matmulOf(call.matmul, product);
  Buffer db = e.result(1), into = bufferOf(call.sum.getInto());
  Buffer sum = into ? e.workspace(0, db.size, db.element) : db;
  if (!keepIfKnown(e, emitCall(e, p, call.kind, {.initial = p.initial(), .bias = sum.memref})))
    return false;
  if (into)
    forLanesParallel(e, db.size, [&](Index i, unsigned lanes) {
      e.store(db, i, e.load(into, i, lanes) + e.load(sum, i, lanes));
    });
  return true;
}

bool llmmem::emitLibraryKernel(llm::KernelOp kernel, KernelEmitter &e) {
  if (std::optional<llm::LibrarySum> call = llm::librarySumOf(kernel))
    return emitWithSum(*call, e);
  llm::LibraryEpilogue epilogue = *llm::libraryEpilogueOf(kernel);
  auto bufferOf = [&](Value inside) {
    if (auto argument = dyn_cast<BlockArgument>(inside))
      return e.operand(argument.getArgNumber());
    return e.result(llvm::find(kernel.getYielded(), inside) - kernel.getYielded().begin());
  };
  SmallVector<Buffer> factors = llvm::map_to_vector(epilogue.matmul->getOperands(), bufferOf);
  KernelEmitter product(epilogue.matmul, e, factors, bufferOf(epilogue.c));
  Matmul p = matmulOf(epilogue.matmul, product);
  Matrix initial = epilogue.initial ? Matrix{bufferOf(epilogue.initial), p.c.pitch} : Matrix{};
  Value bias = hasBias(p) ? p.initial().buffer.memref : Value();
  Value aux = epilogue.aux ? bufferOf(epilogue.aux).memref : Value();
  return keepIfKnown(e, emitCall(e, p, epilogue.kind, {initial, bias, aux}));
}
