//===- LlmCollectiveOps.td - What ranks do together ------------*- tablegen -*-===//
//
// A collective names its group by axes of the mesh (`llm.mesh` on the function), in the mesh's
// order; n is the group's size, x_p the operand of the rank at position p, and q the position of
// the rank that the result is on. Sums run over positions from 0 on, in f32 (f64 on f64, i32 on
// i32), and are rounded once. docs/Design/Ranks.md says how ranks are numbered, what the gradients
// mean, and which calls of the runtime the ops become.
//
// All ranks run one program, so dead collectives may be erased and equal ones merged; none is
// hoisted. A repeat carries another `llm.instance` than its original, which keeps the two apart.
//
// A collective with `llm.started` overlaps the ops that follow it, until the llm.wait that reads
// its result. Started collectives run one after another, in the order of the text.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_DIALECT_LLMCOLLECTIVEOPS
#define LLMMEM_DIALECT_LLMCOLLECTIVEOPS

include "llmmem/Dialect/LlmOpBase.td"

def Llm_Shared : Llm_TensorOf<AnyTypeOf<[BF16, F16, F32, F64, I32]>>;
def Llm_SharedRows : RankedTensorOf<[BF16, F16, F32, F64, I32],
    [HasStaticShapePred, HasNoEmptyDimension, HasRankGreaterOrEqualPred<1>],
    "statically shaped tensor of at least one dimension, none empty,">; // parts lie along a dimension
// What is not summed may have fewer bits.
def Llm_GatheredRows : RankedTensorOf<[BF16, F16, F32, F64, I32, Llm_Packed],
    [HasStaticShapePred, HasNoEmptyDimension, HasRankGreaterOrEqualPred<1>],
    "statically shaped tensor of at least one dimension, none empty,">;

def Collective : DeclareOpInterfaceMethods<CostOpInterface, ["getBytesMoved", "getTransfer", "getWorkspaceBytes"]>;

// Lets an op carry `llm.started`: verifies that one llm.wait waits for it, and that nothing reads
// its results before.
def Llm_Startable : NativeOpTrait<"Startable"> {
  let cppNamespace = "::llmmem::llm";
}

class Llm_CollectiveOp<string mnemonic, list<Trait> traits = [], Trait differentiable = DifferentiableInFirst>
    : Llm_Op<mnemonic, !listconcat(Llm_CollectiveTraits, [Collective, differentiable, Llm_Startable], traits)> {
  let extraClassDeclaration = [{
    /// Returns the number of ranks of a group.
    int64_t getGroupSize();
  }];
  let extraClassDefinition = [{
    int64_t $cppClass::getGroupSize() { return ::llmmem::llm::groupSizeOf(*this, getAxes()); }
  }];
}

def Llm_AllGatherOp : Llm_CollectiveOp<"all_gather", [BuffersInPlace, Shardable]> {
  let summary = "Concatenates the operands of all ranks of a group.";
  let description = [{
    whole = x_0, x_1, ..., x_(n-1) along `dimension`. With a destination, whose elements are not read, the result may
    reuse its bytes. The vector-Jacobian product is llm.reduce_scatter: each rank's gradient is what it contributes.

    ```mlir
    func.func @gather(%part: tensor<192x3072xbf16>) -> tensor<768x3072xbf16> attributes {llm.mesh = #llm.mesh<dp = 4>} {
      %w = llm.all_gather %part over ["dp"] {dimension = 0 : i64} : (tensor<192x3072xbf16>) -> tensor<768x3072xbf16>
      return %w : tensor<768x3072xbf16>
    }
    ```
  }];
  let arguments = (ins Llm_GatheredRows:$x, Optional<Llm_GatheredRows>:$destination, Llm_Axes:$axes, I64Attr:$dimension);
  let results = (outs Llm_GatheredRows:$whole);
  let assemblyFormat = [{
    $x `over` $axes (`destination` `(` $destination^ `)`)? attr-dict `:` functional-type(operands, results)
  }];
}

def Llm_ReduceScatterOp : Llm_CollectiveOp<"reduce_scatter", [Shardable]> {
  let summary = "Sums the operands of all ranks of a group and leaves each rank its part.";
  let description = [{
    part = part q of sum_p x_p, of n equal parts along `dimension`. The vector-Jacobian product is llm.all_gather. The
    workspace holds the parts of all ranks before they are summed.

    ```mlir
    func.func @scatter(%dw: tensor<768x3072xbf16>) -> tensor<192x3072xbf16> attributes {llm.mesh = #llm.mesh<dp = 4>} {
      %part = llm.reduce_scatter %dw over ["dp"] {dimension = 0 : i64}
         : (tensor<768x3072xbf16>) -> tensor<192x3072xbf16>
      return %part : tensor<192x3072xbf16>
    }
    ```
  }];
  let arguments = (ins Llm_SharedRows:$x, Llm_Axes:$axes, I64Attr:$dimension);
  let results = (outs Llm_SharedRows:$part);
  let assemblyFormat = "$x `over` $axes attr-dict `:` functional-type(operands, results)";
}

class Llm_EqualShapesOp<string mnemonic, string result, list<Trait> traits = []>
    : Llm_CollectiveOp<mnemonic, !listconcat([AllTypesMatch<["x", result]>], traits)> {
  let assemblyFormat = "$x `over` $axes attr-dict `:` type($x)";
}

def Llm_AllReduceOp : Llm_EqualShapesOp<"all_reduce", "sum", [BuffersInPlace, Shardable]> {
  let summary = "Sums the operands of all ranks of a group, for all of them.";
  let description = [{
    sum = sum_p x_p, equal on all ranks of the group. The vector-Jacobian product is the identity: the result is one
    value for all, with one gradient, and each operand is an addend of it. The workspace holds the parts that this rank
    sums.

    ```mlir
    func.func @sum(%x: tensor<8x1024x768xbf16>) -> tensor<8x1024x768xbf16>
        attributes {llm.mesh = #llm.mesh<dp = 2, tp = 4>} {
      %y = llm.all_reduce %x over ["tp"] : tensor<8x1024x768xbf16>
      return %y : tensor<8x1024x768xbf16>
    }
    ```
  }];
  let arguments = (ins Llm_Shared:$x, Llm_Axes:$axes);
  let results = (outs Llm_Shared:$sum);
}

def Llm_WaitOp : Op<LlmDialect, "wait", !listconcat(Llm_WaitTraits, [BuffersView,
    RangedTypesMatchWith<"results have the types of the operands", "x", "y", "llvm::make_range($_self.begin(), $_self.end())">])> {
  let summary = "Waits until a started collective or copy is done.";
  let description = [{
    y = x are views of the results of one collective or copy (`LlmHostCopyOps.td`) that carries `llm.started`, all of
    them in order. Others work on these results while the ops between the start and its wait run. Until the wait, only
    started ops that run after the start may read x, or write bytes that it reads, writes or takes as workspace.
    Collectives run one after another, and so do copies to the host and copies to the device. The waits of each of these
    kinds stand in the order of their starts. A wait without operands is for a start without results, an exchange that
    only sends: the n-th wait is for the n-th start.

    ```mlir
    func.func @overlap(%w: tensor<192x3072xbf16>, %x: tensor<8x1024xbf16>) -> (tensor<768x3072xbf16>, tensor<8x1024xbf16>)
        attributes {llm.mesh = #llm.mesh<dp = 4>} {
      %whole = llm.all_gather %w over ["dp"] {dimension = 0 : i64, llm.started}
         : (tensor<192x3072xbf16>) -> tensor<768x3072xbf16>
      %y = llm.gelu %x : tensor<8x1024xbf16>
      %there = llm.wait %whole : tensor<768x3072xbf16>
      return %there, %y : tensor<768x3072xbf16>, tensor<8x1024xbf16>
    }
    ```
  }];
  let arguments = (ins Variadic<Llm_AnyTensor>:$x);
  let results = (outs Variadic<Llm_AnyTensor>:$y);
  let assemblyFormat = "($x^)? attr-dict (`:` type($x)^)?";
  let extraClassDeclaration = [{
    /// Returns the collective or copy that it waits for; null where there is none.
    mlir::Operation *getStart();
  }];
  let hasVerifier = 1;
}

def Llm_ReplicaOp : Llm_EqualShapesOp<"replica", "copy", [BuffersView, Shardable]> {
  let summary = "Makes a rank's own copy of a value that is equal on all ranks of a group.";
  let description = [{
    copy = x, which must be equal on all ranks: a view, without bytes or work. After it each rank computes something
    else from the copy, so the vector-Jacobian product is llm.all_reduce, the sum of what the ranks contribute.

    ```mlir
    func.func @use(%x: tensor<8x1024x768xbf16>) -> tensor<8x1024x768xbf16> attributes {llm.mesh = #llm.mesh<tp = 4>} {
      %y = llm.replica %x over ["tp"] : tensor<8x1024x768xbf16>
      return %y : tensor<8x1024x768xbf16>
    }
    ```
  }];
  let arguments = (ins Llm_Shared:$x, Llm_Axes:$axes);
  let results = (outs Llm_Shared:$copy);
}

def Llm_BroadcastOp : Llm_EqualShapesOp<"broadcast", "y", [BuffersInPlace]> {
  let summary = "Gives all ranks of a group the operand of one.";
  let description = [{
    y = x_root. The vector-Jacobian product is llm.reduce.

    ```mlir
    func.func @give(%w: tensor<768xbf16>) -> tensor<768xbf16> attributes {llm.mesh = #llm.mesh<dp = 4>} {
      %y = llm.broadcast %w over ["dp"] {root = 0 : i64} : tensor<768xbf16>
      return %y : tensor<768xbf16>
    }
    ```
  }];
  let arguments = (ins Llm_Shared:$x, Llm_Axes:$axes, I64Attr:$root);
  let results = (outs Llm_Shared:$y);
}

def Llm_ReduceOp : Llm_EqualShapesOp<"reduce", "sum", [BuffersInPlace]> {
  let summary = "Sums the operands of all ranks of a group, for one of them.";
  let description = [{
    sum = sum_p x_p at the position `root`, and 0 elsewhere. The vector-Jacobian product is llm.broadcast. The workspace
    is that of llm.all_reduce.

    ```mlir
    func.func @collect(%dw: tensor<768xbf16>) -> tensor<768xbf16> attributes {llm.mesh = #llm.mesh<dp = 4>} {
      %sum = llm.reduce %dw over ["dp"] {root = 0 : i64} : tensor<768xbf16>
      return %sum : tensor<768xbf16>
    }
    ```
  }];
  let arguments = (ins Llm_Shared:$x, Llm_Axes:$axes, I64Attr:$root);
  let results = (outs Llm_Shared:$sum);
}

def Llm_AllToAllOp : Llm_CollectiveOp<"all_to_all", [Shardable]> {
  let summary = "Exchanges parts, so that another dimension is split over the ranks of a group.";
  let description = [{
    y = part q of x_0, part q of x_1, ..., along `concat`; the parts are n equal ones along `split`. The vector-Jacobian
    product is the same op with the dimensions exchanged. Parts that are not contiguous pass through the workspace.

    ```mlir
    func.func @exchange(%x: tensor<8x256x768xbf16>) -> tensor<8x1024x192xbf16>
        attributes {llm.mesh = #llm.mesh<tp = 4>} {
      %y = llm.all_to_all %x over ["tp"] {concat = 1 : i64, split = 2 : i64}
         : (tensor<8x256x768xbf16>) -> tensor<8x1024x192xbf16>
      return %y : tensor<8x1024x192xbf16>
    }
    ```
  }];
  let arguments = (ins Llm_SharedRows:$x, Llm_Axes:$axes, I64Attr:$split, I64Attr:$concat);
  let results = (outs Llm_SharedRows:$y);
  let assemblyFormat = "$x `over` $axes attr-dict `:` functional-type(operands, results)";
}

def Llm_SendReceiveOp : Llm_EqualShapesOp<"send_receive", "y"> {
  let summary = "Sends to a neighbour and receives from the opposite one, as one op.";
  let description = [{
    y = x of position q - shift, modulo n where it `wraps`; 0 where there is no such position. Both directions run at
    once, so no order of sends and receives can deadlock. The vector-Jacobian product is the same op with the opposite
    shift.

    ```mlir
    func.func @pass_on(%x: tensor<8x1024x768xbf16>) -> tensor<8x1024x768xbf16>
        attributes {llm.mesh = #llm.mesh<pp = 4>} {
      %y = llm.send_receive %x over ["pp"] {shift = 1 : i64} : tensor<8x1024x768xbf16>
      return %y : tensor<8x1024x768xbf16>
    }
    ```
  }];
  let arguments = (ins Llm_Shared:$x, Llm_Axes:$axes, I64Attr:$shift, UnitAttr:$wraps);
  let results = (outs Llm_Shared:$y);
}

//===----------------------------------------------------------------------===//
// Buckets
//===----------------------------------------------------------------------===//

// Buckets combine several values in one collective, so that they share its latency. Each result is
// that of the collective of one value, bit for bit. The values are copied next to each other into
// the workspace, and from there to the results. All have one element type.
class Llm_BucketOp<string mnemonic, list<Trait> traits = []> : Llm_CollectiveOp<mnemonic, traits, Differentiable>;

def Llm_AllReduceBucketOp : Llm_BucketOp<"all_reduce_bucket", [BuffersInPlace]> {
  let summary = "Sums several values over the ranks of a group at once, for all of them.";
  let description = [{
    Result k is llm.all_reduce of operand k. The workspace holds the values one after another, and the parts that this
    rank sums.

    ```mlir
    func.func @sum(%dw: tensor<768x768xbf16>, %db: tensor<768xbf16>) -> (tensor<768x768xbf16>, tensor<768xbf16>)
        attributes {llm.mesh = #llm.mesh<dp = 4>} {
      %sums:2 = llm.all_reduce_bucket %dw, %db over ["dp"]
         : (tensor<768x768xbf16>, tensor<768xbf16>) -> (tensor<768x768xbf16>, tensor<768xbf16>)
      return %sums#0, %sums#1 : tensor<768x768xbf16>, tensor<768xbf16>
    }
    ```
  }];
  let arguments = (ins Variadic<Llm_Shared>:$x, Llm_Axes:$axes);
  let results = (outs Variadic<Llm_Shared>:$sums);
  let assemblyFormat = "$x `over` $axes attr-dict `:` functional-type(operands, results)";
}

def Llm_ReduceScatterBucketOp : Llm_BucketOp<"reduce_scatter_bucket"> {
  let summary = "Sums several values over the ranks of a group at once, and leaves each rank its part of each.";
  let description = [{
    Result k is llm.reduce_scatter of operand k along dimension 0. The workspace holds, for each rank, its parts one
    after another, this rank's parts of the sums, and the parts of all ranks before they are summed. The vector-Jacobian
    product is llm.all_gather_bucket.

    ```mlir
    func.func @scatter(%dw: tensor<768x768xbf16>, %db: tensor<768xbf16>) -> (tensor<192x768xbf16>, tensor<192xbf16>)
        attributes {llm.mesh = #llm.mesh<dp = 4>} {
      %parts:2 = llm.reduce_scatter_bucket %dw, %db over ["dp"]
         : (tensor<768x768xbf16>, tensor<768xbf16>) -> (tensor<192x768xbf16>, tensor<192xbf16>)
      return %parts#0, %parts#1 : tensor<192x768xbf16>, tensor<192xbf16>
    }
    ```
  }];
  let arguments = (ins Variadic<Llm_SharedRows>:$x, Llm_Axes:$axes);
  let results = (outs Variadic<Llm_SharedRows>:$parts);
  let assemblyFormat = "$x `over` $axes attr-dict `:` functional-type(operands, results)";
}

def Llm_AllGatherBucketOp : Llm_BucketOp<"all_gather_bucket", [BuffersInPlace, AttrSizedOperandSegments]> {
  let summary = "Concatenates the operands of all ranks of a group, for several values at once.";
  let description = [{
    Result k is llm.all_gather of part k along dimension 0. With destinations, one for each part, whose elements are not
    read, the results may reuse their bytes. The workspace holds this rank's parts one after another, and those of all
    ranks. The vector-Jacobian product is llm.reduce_scatter_bucket.

    ```mlir
    func.func @gather(%w: tensor<192x768xbf16>, %b: tensor<192xbf16>) -> (tensor<768x768xbf16>, tensor<768xbf16>)
        attributes {llm.mesh = #llm.mesh<dp = 4>} {
      %wholes:2 = llm.all_gather_bucket %w, %b over ["dp"]
         : (tensor<192x768xbf16>, tensor<192xbf16>) -> (tensor<768x768xbf16>, tensor<768xbf16>)
      return %wholes#0, %wholes#1 : tensor<768x768xbf16>, tensor<768xbf16>
    }
    ```
  }];
  let arguments = (ins Variadic<Llm_GatheredRows>:$parts, Variadic<Llm_GatheredRows>:$destinations, Llm_Axes:$axes);
  let results = (outs Variadic<Llm_GatheredRows>:$wholes);
  let assemblyFormat = [{
    $parts `over` $axes (`destinations` `(` $destinations^ `)`)? attr-dict `:` functional-type(operands, results)
  }];
}

// The op is not speculatable, though it sends nothing, because the part differs on each rank.
def Llm_PartOp : Llm_Op<"part", !listconcat(Llm_CollectiveTraits, [CostWithTraffic, DifferentiableInFirst, Shardable])> {
  let summary = "Takes a rank's own part of a value that it has unsharded.";
  let description = [{
    part = part q of x, of n equal parts along `dimension`; nothing is sent. x must be equal on all ranks and have one
    gradient, so the vector-Jacobian product is llm.all_gather of the gradients of the parts.

    ```mlir
    func.func @own(%w: tensor<768x3072xbf16>) -> tensor<192x3072xbf16> attributes {llm.mesh = #llm.mesh<dp = 4>} {
      %part = llm.part %w over ["dp"] : tensor<768x3072xbf16> -> tensor<192x3072xbf16>
      return %part : tensor<192x3072xbf16>
    }
    ```
  }];
  let arguments = (ins Llm_SharedRows:$x, Llm_Axes:$axes, DefaultValuedAttr<I64Attr, "0">:$dimension);
  let results = (outs Llm_SharedRows:$part);
  let assemblyFormat = "$x `over` $axes attr-dict `:` type($x) `->` type($part)";
  let extraClassDeclaration = [{
    /// Returns the number of ranks of a group.
    int64_t getGroupSize();
  }];
}

#endif // LLMMEM_DIALECT_LLMCOLLECTIVEOPS
