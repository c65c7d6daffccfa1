//===- ReportLaunches.cpp - A line for each call of a GPU ------------------===//

#include "llmmem/Conversion/LaunchList.h"
#include "llmmem/Conversion/Passes.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

namespace llmmem {
#define GEN_PASS_DEF_REPORTLAUNCHES
#include "llmmem/Conversion/Passes.h.inc"
} // namespace llmmem

using namespace mlir;
using namespace llmmem;

namespace {
/// Prints "1+256" for byte 256 of argument 1, and "7" for the number 7.
struct WordText {
  const std::optional<LaunchWord> &word;
};

llvm::raw_ostream &operator<<(llvm::raw_ostream &os, const WordText &text) {
  if (!text.word)
    return os << "none";
  if (text.word->argument)
    os << *text.word->argument << "+";
  return os << text.word->value;
}

class Printer {
public:
  Printer(const LaunchList &list, llvm::raw_ostream &os) : list(list), os(os) {}

  void operator()(const Launch &launch) {
    os << llvm::formatv("launch {0} grid {1} {2} {3} block {4} {5} {6} shared {7} (",
                        list.kernels[launch.kernel].second, launch.grid[0], launch.grid[1],
                        launch.grid[2], launch.block[0], launch.block[1], launch.block[2],
                        launch.sharedBytes);
    llvm::interleaveComma(launch.words, os, [&](LaunchWord word) { print(word); });
    os << ")";
    for (const llmmem_tensor_map &map : launch.maps)
      print(map);
    os << "\n";
  }

  void operator()(const LibraryCall &call) {
    const llmmem_product_form &form = call.product.form;
    os << llvm::formatv("multiply {0} times {1} x {2} by {2} x {3}, epilogue {4}, ", form.batch,
                        form.rows, form.inner, form.columns, form.epilogue)
       << "a " << WordText{call.a} << " b " << WordText{call.b} << " initial "
       << WordText{call.initial} << " c " << WordText{call.c} << " bias " << WordText{call.bias}
       << " aux " << WordText{call.aux} << " workspace " << WordText{call.workspace} << " of "
       << form.workspace_bytes << "\n";
  }

  void operator()(const HostCall &call) {
    static constexpr llvm::StringLiteral names[] = {"copy", "host copy", "start host copy",
                                                    "wait for host copy", "wait for update"};
    os << names[static_cast<size_t>(call.kind)];
    if (call.kind == HostCall::Kind::WaitForUpdate) {
      os << "\n";
      return;
    }
    if (call.kind != HostCall::Kind::WaitForHostCopy) {
      os << " of " << call.bytes << " bytes to ";
      print(call.to);
      os << " from ";
      print(call.from);
    }
    if (call.kind != HostCall::Kind::Copy)
      os << " direction " << call.direction;
    os << "\n";
  }

  void operator()(const HostUpdateCall &call) {
    os << (call.isStarted ? "start update " : "update ") << list.updates[call.kernel] << " (";
    llvm::interleaveComma(call.words, os, [&](LaunchWord word) { print(word); });
    os << ")\n";
  }

  void operator()(const Mark &mark) { os << "mark " << mark.number << "\n"; }

private:
  /// Prints " map of word 1+64+word 3: 72 rows of 264 elements, 264 apart, boxes of 64", for
  /// example.
  void print(const llmmem_tensor_map &map) {
    os << " map of word " << map.argument << "+" << map.begin;
    if (map.first_argument >= 0)
      os << "+word " << map.first_argument;
    os << llvm::formatv(": {0} rows of {1} {2}, {3} apart, boxes of {4}", map.rows, map.columns,
                        map.is_f16 ? "f16" : "bf16", map.pitch, map.box_rows);
  }
  void print(std::optional<LaunchWord> word) { os << WordText{word}; }

  const LaunchList &list;
  llvm::raw_ostream &os;
};

struct ReportLaunches : public llmmem::impl::ReportLaunchesBase<ReportLaunches> {
  using ReportLaunchesBase::ReportLaunchesBase;

  void runOnOperation() override {
    if (failed(checkSizes(getOperation())))
      return signalPassFailure();
    markAllAnalysesPreserved();
    auto step = getOperation().lookupSymbol<func::FuncOp>(function);
    if (!step || step.isExternal()) {
      getOperation().emitError("has no function '") << function << "' whose launches to list";
      return signalPassFailure();
    }
    FailureOr<LaunchList> list = listLaunches(step);
    if (failed(list))
      return signalPassFailure();
    printLaunches(*list, llvm::errs());
  }
};
} // namespace

void llmmem::printLaunches(const LaunchList &list, llvm::raw_ostream &os) {
  for (const auto &call : list.calls)
    std::visit(Printer(list, os), call);
}
