//===- Profile.cpp - Times around the calls of kernels ---------------------===//

#include "Profile.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Interfaces/CostOpInterface.h"
#include "llmmem/Interfaces/KernelKind.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

/// Returns the work that a profile counts a call as (Execution/StepProfile.h).
static StringRef workOf(Operation &op) {
  if (isa<llm::WaitOp>(op))
    return "wait";
  if (llm::isStarted(&op))
    return "started";
  auto cost = dyn_cast<CostOpInterface>(op);
  std::optional<TransferCost> transfer = cost ? cost.getTransfer() : std::nullopt;
  bool isCollective = transfer && !transfer->betweenKernels;
  return isCollective && transfer->ranks > 1 ? "communication" : "compute";
}

DictionaryAttr llmmem::describeCall(Operation &op) {
  Builder builder(op.getContext());
  auto cost = dyn_cast<CostOpInterface>(op);
  NamedAttrList record;
  record.set("kind", builder.getStringAttr(kernelKind(&op)));
  record.set("key", builder.getStringAttr(kernelKey(&op)));
  for (auto [key, attribute] : {std::pair<StringRef, StringRef>{"name", LlmDialect::kName},
                                {"phase", LlmDialect::kPhase},
                                {"block", LlmDialect::kBlock}})
    if (Attribute value = op.getAttr(attribute))
      record.set(key, value);
  record.set("recomputed", builder.getBoolAttr(op.hasAttr(LlmDialect::kInstance)));
  record.set("flops", builder.getI64IntegerAttr(cost ? cost.getFlops() : 0));
  record.set("bytes", builder.getI64IntegerAttr(cost ? cost.getBytesMoved() : 0));
  if (StringRef work = workOf(op); work != "compute")
    record.set("work", builder.getStringAttr(work));
  return record.getDictionary(op.getContext());
}

DictionaryAttr llmmem::describeCall(ArrayRef<Operation *> run) {
  Builder builder(run.front()->getContext());
  NamedAttrList record(describeCall(*run.front()));
  int64_t flops = 0, bytes = 0;
  for (Operation *op : run)
    if (auto cost = dyn_cast<CostOpInterface>(op)) {
      flops += cost.getFlops();
      bytes += cost.getBytesMoved();
    }
  record.set("key", builder.getStringAttr(""));
  record.set("flops", builder.getI64IntegerAttr(flops));
  record.set("bytes", builder.getI64IntegerAttr(bytes));
  return record.getDictionary(builder.getContext());
}

static func::FuncOp runtimeFunction(OpBuilder &builder, Location loc, StringRef name,
                                    TypeRange takes, TypeRange gives) {
  auto module = builder.getBlock()->getParentOp()->getParentOfType<ModuleOp>();
  if (auto known = module.lookupSymbol<func::FuncOp>(name))
    return known;
  OpBuilder top = OpBuilder::atBlockBegin(module.getBody());
  auto function = func::FuncOp::create(top, loc, name, top.getFunctionType(takes, gives));
  function.setPrivate();
  return function;
}

void llmmem::emitTime(OpBuilder &builder, Location loc, Value times, int64_t index) {
  func::FuncOp clock = runtimeFunction(builder, loc, "llmmem_clock", {}, builder.getI64Type());
  Value time = func::CallOp::create(builder, loc, clock, ValueRange()).getResult(0);
  Value place = arith::ConstantIndexOp::create(builder, loc, index);
  memref::StoreOp::create(builder, loc, time, times, place);
}

void llmmem::emitMark(OpBuilder &builder, Location loc, int64_t number) {
  func::FuncOp mark = runtimeFunction(builder, loc, kMarkFunction, builder.getI64Type(), {});
  Value which = arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(number));
  func::CallOp::create(builder, loc, mark, which);
}
