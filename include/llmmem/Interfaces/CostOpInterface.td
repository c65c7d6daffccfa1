//===- CostOpInterface.td - What running an op costs -----------*- tablegen -*-===//

#ifndef LLMMEM_INTERFACES_COSTOPINTERFACE
#define LLMMEM_INTERFACES_COSTOPINTERFACE

include "mlir/IR/OpBase.td"

def CostOpInterface : OpInterface<"CostOpInterface"> {
  let description = [{
    Says what one run of an op costs: work, traffic, and the scratch bytes that it needs while it runs. The planner
    turns work and traffic into time by a device table (`Device/DeviceModel.h`). An op of a step that has no
    cost is an error: a free op would be a false claim.
  }];
  let cppNamespace = "::llmmem";
  let methods = [
    InterfaceMethod<"Floating-point operations of one run; a multiply-add counts two.",
      "int64_t", "getFlops", (ins)>,
    InterfaceMethod<"Bytes read and written by one run, each operand and result once unless the op says else.",
      "int64_t", "getBytesMoved", (ins), "", [{
        return ::llmmem::sumOfOperandAndResultBytes($_op);
      }]>,
    InterfaceMethod<"The kernels that one run launches one after another: their times add up, their sums are the above.",
      "::llvm::SmallVector<::llmmem::KernelCost>", "getKernelCosts", (ins), "", [{
        return {::llmmem::costAsOneKernel($_op)};
      }]>,
    InterfaceMethod<"What one run sends to other devices; none where it stays on its own.",
      "std::optional<::llmmem::TransferCost>", "getTransfer", (ins), "", [{ return std::nullopt; }]>,
    InterfaceMethod<[{
        Returns the scratch bytes that a plan gives to a matmul library while the op runs (`llm.library_workspace`, on an op that
        `multipliesMatrices`); 0 where no library computes it.
      }],
      "int64_t", "getLibraryWorkspaceBytes", (ins), "", [{ return 0; }]>,
    InterfaceMethod<"Scratch bytes held only while the op runs; those of a library are among them, and are the last.",
      "int64_t", "getWorkspaceBytes", (ins), "", [{ return 0; }]>,
    InterfaceMethod<[{
        Returns whether it multiplies matrices that a matmul library may multiply in its place, with scratch bytes of its own.
      }],
      "bool", "multipliesMatrices", (ins), "", [{ return false; }]>,
    InterfaceMethod<[{
        Returns the type of the numbers in fewer bits that it unpacks while it multiplies them, whose products have a rate of their own in
        device tables (`i4`, `i8`, `f8`); null where it multiplies numbers as they are computed with.
      }],
      "::mlir::Type", "getUnpackedType", (ins), "", [{ return {}; }]>,
  ];
}

#endif // LLMMEM_INTERFACES_COSTOPINTERFACE
