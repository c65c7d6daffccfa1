//===- RandomOpInterface.td - Ops that sample random numbers ---*- tablegen -*-===//

#ifndef LLMMEM_INTERFACES_RANDOMOPINTERFACE
#define LLMMEM_INTERFACES_RANDOMOPINTERFACE

include "mlir/IR/OpBase.td"

def RandomOpInterface : OpInterface<"RandomOpInterface"> {
  let description = [{
    Is an op that samples numbers of a counter-based generator. Which of its streams it samples is an inherent i64
    attribute. Ops that differ in it alone share a kernel, which gets the number as an argument
    (`KernelEmitter::stream`): else twelve layers with dropout would be twelve kernels.

    Example: `llm.dropout %x, %seed {p = 0.1 : f64, key = 7 : i64}` samples stream 7, by its attribute `key`.
  }];
  let cppNamespace = "::llmmem";
  let methods = [
    InterfaceMethod<"The name of the attribute that numbers the stream.", "::llvm::StringRef", "getStreamAttrName">,
    InterfaceMethod<[{
        Returns how what is sampled is split over the mesh (`#llm.sharding`, of the dimensions of `getSampleShape`), or null: the samples
        of a rank are those that its elements have in the whole.
      }],
      "::mlir::Attribute", "getSampleSharding">,
    InterfaceMethod<"The dimensions of what this rank samples, one sample an element, in row-major order.",
      "::llvm::SmallVector<int64_t>", "getSampleShape">,
  ];
}

#endif // LLMMEM_INTERFACES_RANDOMOPINTERFACE
