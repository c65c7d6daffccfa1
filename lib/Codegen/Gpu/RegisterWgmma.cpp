//===- RegisterWgmma.cpp - wgmma whose A is in registers -------------------===//

#include "llmmem/Codegen/Gpu/RegisterWgmma.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace llmmem;

static constexpr StringLiteral kName = "llvm.llmmem.wgmma", kF16 = ".f16", kBF16 = ".bf16",
                               kTurned = ".turned";

Value RegisterWgmma::create(OpBuilder &builder, Location loc, Value sums, ValueRange a, Value b,
                            bool isTurned, bool isF16) {
  SmallVector<Value> operands = {sums};
  llvm::append_range(operands, a);
  operands.push_back(b);
  std::string name = (kName + (isF16 ? kF16 : kBF16) + (isTurned ? kTurned : "")).str();
  auto call = LLVM::CallIntrinsicOp::create(builder, loc, sums.getType(),
                                            builder.getStringAttr(name), operands);
  return call.getResult(0);
}

std::optional<RegisterWgmma> RegisterWgmma::match(Operation *op) {
  auto call = dyn_cast<LLVM::CallIntrinsicOp>(op);
  if (!call || !call.getIntrin().starts_with(kName))
    return std::nullopt;
  return RegisterWgmma(call);
}

bool RegisterWgmma::isTurned() const { return call.getIntrin().ends_with(kTurned); }
bool RegisterWgmma::isF16() const { return call.getIntrin().contains(kF16); }

int64_t RegisterWgmma::columns() const {
  return 2 * static_cast<int64_t>(cast<LLVM::LLVMStructType>(sums().getType()).getBody().size());
}

/// Operands $0 ... are the sums, followed by the same sums as inputs, A's words, and B.
std::string RegisterWgmma::assembly() const {
  const int64_t count = columns() / 2;
  auto list = [](int64_t first, int64_t number) {
    return llvm::join(llvm::map_range(llvm::seq(first, first + number),
                                      [](int64_t n) { return "$" + std::to_string(n); }),
                      ", ");
  };
  std::string type = isF16() ? "f16" : "bf16";
  return "{\n.reg .pred p;\nsetp.ne.b32 p, 1, 0;\nwgmma.mma_async.sync.aligned.m64n" +
         std::to_string(columns()) + "k16.f32." + type + "." + type + " {" + list(0, count) +
         "}, {" + list(2 * count, 4) + "}, $" + std::to_string(2 * count + 4) + ", p, 1, 1, " +
         (isTurned() ? "1" : "0") + ";\n}\n";
}

void RegisterWgmma::lower(OpBuilder &builder) const {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(call);
  Location loc = call.getLoc();
  std::string constraints;
  SmallVector<Value> operands;
  for (int64_t number = 0; number < columns() / 2; ++number) {
    constraints += "=f,";
    operands.push_back(LLVM::ExtractValueOp::create(builder, loc, sums(), number));
  }
  for (int64_t number = 0; number < columns() / 2; ++number)
    constraints += std::to_string(number) + ",";
  llvm::append_range(operands, a());
  operands.push_back(b());
  auto written = LLVM::InlineAsmOp::create(
      builder, loc, sums().getType(), operands, assembly(), constraints + "r,r,r,r,l",
      /*has_side_effects=*/true, /*is_align_stack=*/false, LLVM::TailCallKind::None,
      LLVM::AsmDialectAttr::get(builder.getContext(), LLVM::AsmDialect::AD_ATT), ArrayAttr());
  call.getResult(0).replaceAllUsesWith(written.getResult(0));
  call.erase();
}
