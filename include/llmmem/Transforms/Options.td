//===- Options.td - What several passes have ------------------*- tablegen -*-===//

#ifndef LLMMEM_TRANSFORMS_OPTIONS
#define LLMMEM_TRANSFORMS_OPTIONS

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// Options of several passes
//===----------------------------------------------------------------------===//

def DeviceOption : Option<"device", "device", "std::string", "\"h100\"",
  "Device table: h100, rtx4090 and others, cpu, or a .json file; of stages one for all, or one for each: h100,a100">;

class EpiloguesOption<string name, string default, string withAuto>
  : Option<name, name, "::llmmem::Epilogues", default, "Which matmuls take what follows them",
           "::llmmem::EpiloguesValues{/*withAuto=*/" # withAuto # "}">;

//===----------------------------------------------------------------------===//
// Kinds of passes
//===----------------------------------------------------------------------===//

/// Works on the step of a module alone: @step, else @forward, else its only function (Analysis/Step.h). Leaves other
/// functions as they are; fails where there is no step, or the step has more than one block.
class StepPass<string argument> : Pass<argument, "::mlir::func::FuncOp">;

#endif // LLMMEM_TRANSFORMS_OPTIONS
