//===- LlmHostCopyOps.td - Values that leave for the host -------*- tablegen -*-===//
//
// A value of the host's memory has `#llm.host` in its type, so that no kernel of the device can
// read it: only these copies, their waits, ops that run on the host (trait InOneMemory) and the
// function's `return` take such values. docs/Design/SeveralMemories.md says who decides which
// values are offloaded.
//
// A copy with `llm.started` overlaps the ops that follow it, until the llm.wait that reads its
// result. Device-to-host copies run one after another in the order of the text, and so do
// host-to-device copies and ops of the host. All of these run concurrently with each other and with
// collectives.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_DIALECT_LLMHOSTCOPYOPS
#define LLMMEM_DIALECT_LLMHOSTCOPYOPS

include "llmmem/Dialect/LlmCollectiveOps.td"

def Llm_IsOnHost : CPred<"::llmmem::llm::isOnHost($_self)">;
def Llm_OnHostTensor : RankedTensorOf<[AnyFloat, AnyInteger], [HasStaticShapePred, HasNoEmptyDimension, Llm_IsOnHost],
    "statically shaped tensor with #llm.host, without empty dimensions">;

// Verifies that all operands and results lie in one memory, which is where the op runs. On the host
// it may carry `llm.started`.
def Llm_InOneMemory : NativeOpTrait<"InOneMemory"> {
  let cppNamespace = "::llmmem::llm";
}

class Llm_HostCopyOp<string mnemonic, list<Trait> traits>
    : Op<LlmDialect, mnemonic, !listconcat(Llm_PureTraits, [Llm_Startable], traits)> {
  let hasVerifier = 1;
}

def Llm_CopyToHostOp : Llm_HostCopyOp<"copy_up", [BuffersInPlace]> {
  let summary = "Copies a value from the device to the host.";
  let description = [{
    host = x, bit for bit, in the host's memory. With a destination, whose elements are not read, the result may reuse
    its bytes: state that an argument holds there between steps.

    ```mlir
    func.func @leave(%x: tensor<8x1024xbf16>) -> tensor<8x1024xbf16, #llm.host> {
      %host = llm.copy_up %x : (tensor<8x1024xbf16>) -> tensor<8x1024xbf16, #llm.host>
      return %host : tensor<8x1024xbf16, #llm.host>
    }
    ```
  }];
  let arguments = (ins Llm_AnyTensor:$x, Optional<Llm_OnHostTensor>:$destination);
  let results = (outs Llm_OnHostTensor:$host);
  let assemblyFormat = "$x (`into` `(` $destination^ `)`)? attr-dict `:` functional-type(operands, results)";
}

def Llm_CopyToDeviceOp : Llm_HostCopyOp<"copy_down", [BuffersInPlace]> {
  let summary = "Copies a value from the host to the device.";
  let description = [{
    y = host, bit for bit, in the device's memory. With a destination, whose elements are not read, the result may reuse
    its bytes: a parameter whose new value the host computes.

    ```mlir
    func.func @pass(%x: tensor<8x1024xbf16>, %z: tensor<8x1024xbf16>) -> (tensor<8x1024xbf16>, tensor<8x1024xbf16>) {
      %leaving = llm.copy_up %x {llm.started} : (tensor<8x1024xbf16>) -> tensor<8x1024xbf16, #llm.host>
      %y = llm.gelu %z : tensor<8x1024xbf16>
      %left = llm.wait %leaving : tensor<8x1024xbf16, #llm.host>
      %again = llm.copy_down %left : (tensor<8x1024xbf16, #llm.host>) -> tensor<8x1024xbf16>
      return %again, %y : tensor<8x1024xbf16>, tensor<8x1024xbf16>
    }
    ```
  }];
  let arguments = (ins Llm_OnHostTensor:$host, Optional<Llm_AnyTensor>:$destination);
  let results = (outs Llm_AnyTensor:$y);
  let assemblyFormat = "$host (`into` `(` $destination^ `)`)? attr-dict `:` functional-type(operands, results)";
}

#endif // LLMMEM_DIALECT_LLMHOSTCOPYOPS
