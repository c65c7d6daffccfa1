//===- KernelOpInterface.td - How an op becomes a kernel -------*- tablegen -*--===//

#ifndef LLMMEM_CONVERSION_KERNELOPINTERFACE
#define LLMMEM_CONVERSION_KERNELOPINTERFACE

include "mlir/IR/OpBase.td"

def KernelOpInterface : OpInterface<"KernelOpInterface"> {
  let description = [{
    Says how an op becomes a kernel: loops over flat buffers, in destination style. Ops of another dialect take part by
    external models. An op whose results are all views needs no model.
  }];
  let cppNamespace = "::llmmem";
  let methods = [
    InterfaceMethod<[{
        Writes the body of the kernel with `emitter`. Equal ops share one kernel, so the body may depend on the
        op's name, types and inherent attributes and on nothing else. A kernel must be right where a result lies on
        the bytes of an operand that `getInPlaceOperands` names, and where it does not. Fails after a located
        diagnostic.
      }],
      "::llvm::LogicalResult", "emitKernel", (ins "::llmmem::KernelEmitter &":$emitter)>,
    InterfaceMethod<[{
        Writes the elements from `first` on, `lanes` of each result, for an elementwise op
        (`GroupableOpInterface`) and shares a kernel with others. Fails after a located diagnostic.
      }],
      "::llvm::LogicalResult", "emitElements",
      (ins "::llmmem::KernelEmitter &":$emitter, "::llmmem::Index":$first, "unsigned":$lanes), "", [{
        return $_op.emitOpError("has no formula for single elements, so it cannot be fused into a kernel; "
                                "implement KernelOpInterface::emitElements for it");
      }]>,
    InterfaceMethod<[{
        The operands that neighbouring ops must have in common to share one launch of a GPU, where they differ in the
        lengths of their tensors alone. Nothing: every op has launches of its own.
      }],
      "::std::optional<::llvm::SmallVector<unsigned>>", "getOperandsInCommon", (ins), "",
      [{ return ::std::nullopt; }]>,
    InterfaceMethod<[{
        Writes one launch for several such ops, equal to this one but for lengths; `ops` has the buffers of each, in
        order. It must give the bits that the ops' own kernels give. Fails after a located diagnostic.
      }],
      "::llvm::LogicalResult", "emitSharedLaunch",
      (ins "::llmmem::KernelEmitter &":$emitter, "::llvm::ArrayRef<::llmmem::OpBuffers>":$ops), "", [{
        return $_op.emitOpError("cannot share a launch with other ops; implement "
                                "KernelOpInterface::emitSharedLaunch for it");
      }]>,
  ];
}

#endif // LLMMEM_CONVERSION_KERNELOPINTERFACE
