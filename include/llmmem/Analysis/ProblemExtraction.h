//===- ProblemExtraction.h - From a step to what the planner is asked ------===//
//
// Every op but views and the terminator becomes an op of the Problem; every tensor with bytes of
// its own becomes a value. Arguments and constants are resident; constants are no ops. A result
// that lies in an argument's bytes is a value of 0 bytes: it orders the ops and holds nothing. Ops
// that read an argument which a later op overwrites write an *order token*, a value of 0 bytes that
// the overwriting op reads, so that no order of the ops lets a read come too late. Resident buffers
// begin on multiples of the arena's alignment, and what that adds to their sizes is one resident
// value more, the last: a budget bounds what is allocated. No peak holds it (`residentPadding`
// takes it out). The problem is the device's: a value in the host's memory has 0 bytes. A copy
// within the step takes its turn with compute; one of state that lies on the host, which every plan
// has, takes no time.
//
// Example: arguments of 1000 and 512 bytes are resident values of 1000 and 512, and "resident
// padding" of 24.
//
// Units: bytes; costs are modelled ns.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_ANALYSIS_PROBLEMEXTRACTION_H
#define LLMMEM_ANALYSIS_PROBLEMEXTRACTION_H

#include "llmmem/Alignment.h"
#include "llmmem/Device/DeviceModel.h"
#include "llmmem/Layout/StepStorage.h"
#include "llmmem/Planning/Model/Problem.h"

namespace llmmem {

struct ExtractedProblem {
  planning::Problem problem;
  std::vector<mlir::Operation *> ops; // by OpIndex
  std::vector<mlir::Value> values;    // by ValueIndex; null for an order token and for padding
  llvm::DenseMap<mlir::Value, planning::ValueIndex> indexOf; // roots and values in arguments
  /// Counts the bytes between the arguments' own and those of their buffers. The problem's peaks
  /// and bounds on them include these, but those of the step (`llm.peak`, its certificate, reports)
  /// do not.
  int64_t residentPadding = 0;
  // Lists all forward ops marked llm.core_attention except the last, whose result leaves it:
  // `selective` drops them.
  std::vector<planning::OpIndex> coreAttention;
};

struct ExtractionOptions {
  /// Says that collectives over more than this rank run on the link, at the same time as compute
  /// (`llm.started`); the problem then needs version 2 of the format. Else they take their turn
  /// with compute.
  bool overlap = false;
};

/// Fails, after located diagnostics, on what cannot be planned: an op without a cost, a dynamic
/// shape, sizes that overflow, an op with regions.
llvm::FailureOr<ExtractedProblem> extractProblem(mlir::func::FuncOp step,
                                                 const StepStorage &storage,
                                                 const DeviceModel &device,
                                                 ExtractionOptions options = {});

} // namespace llmmem

#endif // LLMMEM_ANALYSIS_PROBLEMEXTRACTION_H
