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
include "llmmem/Interfaces/RandomOpInterface.td"
include "llmmem/Interfaces/ShardingOpInterface.td"
include "llmmem/Interfaces/UpdateOpInterface.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Buffers : DeclareOpInterfaceMethods<BufferOpInterface>;
def BuffersInPlace : DeclareOpInterfaceMethods<BufferOpInterface, ["getInPlaceOperands"]>;
def BuffersOnce : DeclareOpInterfaceMethods<BufferOpInterface, ["isRecomputable"]>;
def BuffersView : DeclareOpInterfaceMethods<BufferOpInterface, ["getViewedOperand"]>;
def Cost : DeclareOpInterfaceMethods<CostOpInterface>;
def CostWithWorkspace : DeclareOpInterfaceMethods<CostOpInterface, ["getWorkspaceBytes"]>;
def CostOfMatmul : DeclareOpInterfaceMethods<CostOpInterface, ["getLibraryWorkspaceBytes", "getWorkspaceBytes",
    "multipliesMatrices"]>;
def CostOfUnpackingMatmul : DeclareOpInterfaceMethods<CostOpInterface, ["getLibraryWorkspaceBytes", "getWorkspaceBytes",
    "multipliesMatrices", "getUnpackedType"]>;
def CostWithTraffic : DeclareOpInterfaceMethods<CostOpInterface, ["getBytesMoved"]>;
def CostOfUnpackingCaches : DeclareOpInterfaceMethods<CostOpInterface, ["getBytesMoved", "getUnpackedType"]>;
def Differentiable : DeclareOpInterfaceMethods<DifferentiableOpInterface, ["buildVJP"]>;
def DifferentiableInFirst : DeclareOpInterfaceMethods<DifferentiableOpInterface, ["buildGradient"]>;
def Random : DeclareOpInterfaceMethods<RandomOpInterface>;
def Updates : DeclareOpInterfaceMethods<UpdateOpInterface>;
def Shardable : DeclareOpInterfaceMethods<ShardingOpInterface>;
def ShardableWithChange : DeclareOpInterfaceMethods<ShardingOpInterface, ["localize"]>;
def ShardableByJoin : DeclareOpInterfaceMethods<ShardingOpInterface, ["localize", "joinPartial"]>;
def ShardableBySeparation : DeclareOpInterfaceMethods<ShardingOpInterface, ["separate"]>;
def ShardableBySeparationAndChange : DeclareOpInterfaceMethods<ShardingOpInterface, ["localize", "separate"]>;
def GroupElementwise : DeclareOpInterfaceMethods<GroupableOpInterface>;
def GroupCostlyElementwise : DeclareOpInterfaceMethods<GroupableOpInterface, ["isCheapToRepeat"]>;
def GroupElementwiseEpilogue : DeclareOpInterfaceMethods<GroupableOpInterface, ["getEpilogueOperand"]>;
def GroupRowReduction : DeclareOpInterfaceMethods<GroupableOpInterface, ["getTraversal"]>;
def GroupColumnReduction : DeclareOpInterfaceMethods<GroupableOpInterface, ["getTraversal"]>;
def GroupMatmul : DeclareOpInterfaceMethods<GroupableOpInterface, ["getTraversal"]>;
def GroupAttention : DeclareOpInterfaceMethods<GroupableOpInterface, ["getTraversal", "getHeadOperands",
    "getHeadResults"]>;
def GroupColumns : DeclareOpInterfaceMethods<GroupableOpInterface, ["getTraversal"]>;

// The class of an op says what generic passes (cse, canonicalize, loop-invariant-code-motion) may
// do with it. The lists are named, so that other dialects and tests use them too.
//
//   class       memory effects   dead: erased   equal: merged   hoisted   recomputed by plans
//   pure        none             yes            yes             yes       yes
//   collective  none             yes            yes             no        yes
//   exchange    the network      no             no              no        no
//   wait        as its start's
//
// All devices run one program, so what is dead or equal is so on all of them. But only where the
// program says so do all of them reach an op: a collective (an all-gather) that is hoisted out of a
// loop or a branch may wait for devices that never arrive. Its repeats carry different
// `llm.instance`s, as those of pure ops do, and stay apart. An exchange (send, receive, the
// reduction of a gradient in place) happens exactly once, in the order of the text. (An op that is
// not speculatable lacks AlwaysSpeculatable, which is in Pure.)
defvar Llm_PureTraits = [Pure];
defvar Llm_CollectiveTraits = [NoMemoryEffect];
def Llm_Network : Resource<"::llmmem::llm::NetworkResource">;
defvar Llm_WaitTraits = [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>];
defvar Llm_ExchangeTraits = [MemoryEffects<[MemRead<Llm_Network>, MemWrite<Llm_Network>]>];

// Verifies that no operand and no result lies in the host's memory. An op that may use those is no
// Llm_Op.
def Llm_OnDevice : NativeOpTrait<"OnDevice"> {
  let cppNamespace = "::llmmem::llm";
}

// An op has a verifier unless its types and traits state every requirement.
class Llm_Op<string mnemonic, list<Trait> traits = []> : Op<LlmDialect, mnemonic, !listconcat([Llm_OnDevice], traits)> {
  let hasVerifier = 1;
}
class Llm_PureOp<string mnemonic, list<Trait> traits = []> : Llm_Op<mnemonic, !listconcat(Llm_PureTraits, traits)>;

class Llm_UnaryOp<string mnemonic, Trait elements = GroupElementwise, dag attributes = (ins)> : Llm_PureOp<mnemonic,
    [Shardable, Cost, DifferentiableInFirst, BuffersInPlace, elements, AllTypesMatch<["x", "y"]>]> {
  let arguments = !con((ins Llm_Tensor:$x), attributes);
  let results = (outs Llm_Tensor:$y);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

#endif // LLMMEM_DIALECT_LLMOPBASE
