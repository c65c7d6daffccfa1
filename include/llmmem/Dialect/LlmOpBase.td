//===- LlmOpBase.td - What all ops of the dialect share --------*- tablegen -*-===//

#ifndef LLMMEM_DIALECT_LLMOPBASE
#define LLMMEM_DIALECT_LLMOPBASE

include "llmmem/Dialect/LlmAttributes.td"
include "llmmem/Interfaces/AccumulatingOpInterface.td"
include "llmmem/Interfaces/BufferOpInterface.td"
include "llmmem/Interfaces/ChunkedOpInterface.td"
include "llmmem/Interfaces/CostOpInterface.td"
include "llmmem/Interfaces/DifferentiableOpInterface.td"
include "llmmem/Interfaces/GroupableOpInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Buffers : DeclareOpInterfaceMethods<BufferOpInterface>;
def BuffersInPlace : DeclareOpInterfaceMethods<BufferOpInterface, ["getInPlaceOperands"]>;
def BuffersView : DeclareOpInterfaceMethods<BufferOpInterface, ["getViewedOperand"]>;
def Cost : DeclareOpInterfaceMethods<CostOpInterface>;
def CostWithWorkspace : DeclareOpInterfaceMethods<CostOpInterface, ["getWorkspaceBytes"]>;
def CostOfProduct : DeclareOpInterfaceMethods<CostOpInterface, ["multipliesMatrices"]>;
def CostWithTraffic : DeclareOpInterfaceMethods<CostOpInterface, ["getBytesMoved"]>;
def Differentiable : DeclareOpInterfaceMethods<DifferentiableOpInterface>;
def ByElements : DeclareOpInterfaceMethods<GroupableOpInterface>;
def ByCostlyElements : DeclareOpInterfaceMethods<GroupableOpInterface, ["isCheapToRepeat"]>;
def ByElementsOfProducts : DeclareOpInterfaceMethods<GroupableOpInterface, ["getEpilogueOperand"]>;
def ByRows : DeclareOpInterfaceMethods<GroupableOpInterface, ["getTraversal"]>;
def ByColumns : DeclareOpInterfaceMethods<GroupableOpInterface, ["getTraversal"]>;
def ByProduct : DeclareOpInterfaceMethods<GroupableOpInterface, ["getTraversal"]>;

class Llm_Op<string mnemonic, list<Trait> traits = []> : Op<LlmDialect, mnemonic, !listconcat([Pure], traits)> {
}


#endif // LLMMEM_DIALECT_LLMOPBASE
