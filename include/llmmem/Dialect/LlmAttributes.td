//===- LlmAttributes.td - Attributes and element types ---------*- tablegen -*-===//

#ifndef LLMMEM_DIALECT_LLMATTRIBUTES
#define LLMMEM_DIALECT_LLMATTRIBUTES

include "llmmem/Dialect/LlmDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def Llm_WeightLayout : I32EnumAttr<"WeightLayout",
    "Which dimension of a weight the input is contracted with",
    [I32EnumAttrCase<"InOut", 0, "in_out">,  // y = x W, as in GPT-2's Conv1D
     I32EnumAttrCase<"OutIn", 1, "out_in">]> // y = x W^T, as in every other projection and a tied
                                             // embedding
{
  let cppNamespace = "::llmmem::llm";
}

def Llm_Gradients : I32EnumAttr<"GradientLifetime", "How long a parameter's gradient lives",
    [I32EnumAttrCase<"Resident", 0, "resident">,   // arguments, to which micro-batches add
     I32EnumAttrCase<"Transient", 1, "transient">]> // values that end at their parameter's update
{
  let cppNamespace = "::llmmem::llm";
}

def Llm_Optimizer : I32EnumAttr<"OptimizerKind", "The update of a parameter",
    [I32EnumAttrCase<"AdamW", 0, "adamw">, I32EnumAttrCase<"SGD", 1, "sgd">, I32EnumAttrCase<"Lion", 2, "lion">,
     I32EnumAttrCase<"Adafactor", 3, "adafactor">, I32EnumAttrCase<"Muon", 4, "muon">]> {
  let cppNamespace = "::llmmem::llm";
}

class Llm_Attr<string name, string mnemonicText> : AttrDef<LlmDialect, name> {
  let mnemonic = mnemonicText;
}

def Llm_LossScalingAttr : Llm_Attr<"LossScaling", "loss_scaling"> {
  let summary = "The factor of a loss before its gradients are computed, and how it adapts to overflows.";
  let description = [{
    As in torch.amp.GradScaler, the scale begins as `initial`. A step whose gradients are not all finite changes no
    parameter and multiplies the scale by `backoff`. After `interval` consecutive steps with finite gradients the scale
    is multiplied by `growth`. A constant scale has 1 for both.

    Example: `#llm.loss_scaling<initial = 65536.0 : f64, growth = 2.0 : f64, backoff = 0.5 : f64, interval = 2000>`.
  }];
  let parameters = (ins "::mlir::FloatAttr":$initial, "::mlir::FloatAttr":$growth, "::mlir::FloatAttr":$backoff, "int64_t":$interval);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Llm_TrainingAttr : Llm_Attr<"Training", "training"> {
  let summary = "The rules by which a forward function becomes a training step.";
  let description = [{
    The importer writes it on the module, and `differentiate` reads it.

    Example: `#llm.training<optimizer = adamw, gradients = resident, beta1 = 0.9 : f64, beta2 = 0.999 : f64, eps =
    1.0e-8 : f64, weight_decay = 0.1 : f64, clip_norm = 0.0 : f64>`; a clip_norm of 0 turns clipping off. Optional
    parameters are `momentum` and `nesterov` (of sgd and muon; 0 and false by default), `beta2_decay` (of adafactor;
    -0.8), `master` (whether a bf16 or f16 parameter has an f32 copy; true, except for sgd), `moments` (the type of the
    optimizer's state: bf16, rounded stochastically so that small changes are not lost; i8, by blocks, for parameters of
    4096 elements or more; else f32, or f64 for f64 parameters), and `loss_scaling` (none).
  }];
  let parameters = (ins EnumParameter<Llm_Optimizer>:$optimizer, EnumParameter<Llm_Gradients>:$gradients,
    "::mlir::FloatAttr":$beta1, "::mlir::FloatAttr":$beta2, "::mlir::FloatAttr":$eps, "::mlir::FloatAttr":$weight_decay, "::mlir::FloatAttr":$clip_norm,
    OptionalParameter<"::mlir::FloatAttr">:$momentum, OptionalParameter<"::mlir::BoolAttr">:$nesterov,
    OptionalParameter<"::mlir::FloatAttr">:$beta2_decay, OptionalParameter<"::mlir::BoolAttr">:$master,
    OptionalParameter<"::mlir::TypeAttr">:$moments,
    OptionalParameter<"::llmmem::llm::LossScalingAttr">:$loss_scaling);
  let extraClassDeclaration = [{
    TrainingAttr withResidentGradients() const;
    /// Return `momentum`, `nesterov` and `beta2_decay`, or their defaults where they are left out.
    double momentumOrNone() const;
    bool usesNesterov() const;
    double beta2DecayOrUsual() const;
    /// Returns whether a parameter of this element type has a copy in f32.
    bool hasMaster(::mlir::Type element) const;
    /// Returns the type of the first and the second moment of such a parameter.
    ::mlir::RankedTensorType momentOf(::mlir::RankedTensorType param) const;
  }];
  let assemblyFormat = "`<` struct(params) `>`";
}

def Llm_RopeScalingAttr : Llm_Attr<"RopeScaling", "rope_scaling"> {
  let summary = "The factors by which the rotary frequency of each pair is slowed down.";
  let description = [{
    Pair i of a head rotates by theta^(-2i/d) / divisors[i] from one position to the next, and the result is multiplied
    by `magnitude`. All published scalings are such lists: a linear one divides all pairs alike, those of Llama 3.1 and
    of YaRN leave the fast pairs unchanged, and LongRoPE publishes the list. The importer computes it
    (Import/RopeScaling.h).

    Example: `#llm.rope_scaling<divisors = dense<[1.0, 8.0]> : tensor<2xf64>, magnitude = 1.0 : f64>` for heads of 4.
  }];
  let parameters = (ins "::mlir::DenseFPElementsAttr":$divisors, "::mlir::FloatAttr":$magnitude);
  let assemblyFormat = "`<` struct(params) `>`";
  let genMnemonicAlias = 1; // It is long, so the text defines it once, at the top.
}

def Llm_MeshAttr : Llm_Attr<"Mesh", "mesh"> {
  let summary = "The axes that the ranks of a run are arranged by.";
  let description = [{
    It holds names and sizes of the axes, in order. Ranks are numbered row-major over them: the last axis is the
    fastest.

    Example: `#llm.mesh<dp = 2, tp = 4>`: 8 ranks; rank 6 has the coordinates dp 1 and tp 2.
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$names, ArrayRefParameter<"int64_t">:$sizes);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getNumRanks() const;
    /// Returns the number of an axis in the mesh's order.
    std::optional<unsigned> findAxis(::llvm::StringRef name) const;
    /// Returns the number of ranks that differ in these axes alone. The axes are the mesh's.
    int64_t getGroupSize(::mlir::ArrayAttr axes) const;
    /// Returns bits: bit i says that axis i is among them.
    int64_t getAxisBits(::mlir::ArrayAttr axes) const;
  }];
}

def Llm_DataParallelAttr : Llm_Attr<"DataParallel", "data_parallel"> {
  let summary = "The way in which the ranks of a group share the update of a parameter.";
  let description = [{
    Its gradient is the sum over the ranks of these axes. Stages of ZeRO (Rajbhandari et al. 2020): 0 splits nothing
    over them, 1 splits the optimizer's state, 2 also the gradient, 3 also the parameter. Values with at most
    `bucket_bytes` in total share a collective (0: each has its own; the default is 25 MB). With a `server`, position 0
    of these axes alone has the state and updates. `parallelize` writes it, and `differentiate` reads it.

    Example: `#llm.data_parallel<axes = ["dp"], zero = 1>`.
  }];
  let parameters = (ins "::mlir::ArrayAttr":$axes, "int64_t":$zero,
    DefaultValuedParameter<"int64_t", "25000000">:$bucketBytes, DefaultValuedParameter<"bool", "false">:$server);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Llm_ShardingAttr : Llm_Attr<"Sharding", "sharding"> {
  let summary = "The axes of the mesh over which each dimension of a value is split.";
  let description = [{
    It lists for each dimension the axes, outermost first; an unsharded dimension has none. A rank holds the part of its
    position, of equal parts. Where the ranks do not divide a dimension the last parts are padded. `pieces` are the
    sizes of adjacent pieces of a dimension, each split by itself: of GPT-2's weight for queries, keys and values, a
    rank has its heads of each.

    Example: `#llm.sharding<dimensions = [[], ["tp"]], pieces = [array<i64>, array<i64: 768, 768, 768>]>` of 768x2304 over
    tp = 2: rank 1 holds the columns 384 to 767, 1152 to 1535 and 1920 to 2303.
  }];
  let parameters = (ins "::mlir::ArrayAttr":$dimensions, OptionalParameter<"::mlir::ArrayAttr">:$pieces);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Returns the axes of a dimension.
    ::mlir::ArrayAttr getAxes(unsigned dimension) const;
    /// Returns the sizes of its pieces; empty where it is one.
    ::llvm::ArrayRef<int64_t> getPiecesOf(unsigned dimension) const;
    unsigned getRank() const { return getDimensions().size(); }
  }];
}

def Llm_VocabularyAttr : Llm_Attr<"Vocabulary", "vocabulary"> {
  let summary = "The rows or columns of a vocabulary that a rank has.";
  let description = [{
    Of `size` tokens a rank of these axes has as many as its tensor has rows or columns, starting at its position times
    that number. What lies beyond `size` is padding, which nothing looks up and no sum counts.

    Example: `#llm.vocabulary<axes = ["tp"], size = 50257>` on a tensor of 12565 rows, tp = 4: position 3 has the tokens 37695
    to 50256, and 3 rows of padding.
  }];
  let parameters = (ins "::mlir::ArrayAttr":$axes, "int64_t":$size);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Llm_CostAttr : Llm_Attr<"Cost", "cost"> {
  let summary = "The cost of one run of an op on the modelled device.";
  let description = [{
    Example: `#llm.cost<flops = 309237645312, bytes = 75497472, ns = 314677, workspace = 0>`.
  }];
  let parameters = (ins "int64_t":$flops, "int64_t":$bytes, "int64_t":$ns, "int64_t":$workspace);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Llm_PlaceAttr : Llm_Attr<"Place", "place"> {
  let summary = "The place that a plan gives one result of one run of an op, or the workspace of that run.";
  let description = [{
    `op` is the `llm.id` of the op, `instance` counts its runs in the schedule from 0, and `result` is the number of the result; the
    place of a workspace has none. `bytes` is the size that the place was made for, and `offset` where it begins in the arena of the
    value's memory.

    Example: `#llm.place<op = 3, instance = 1, result = 0, bytes = 2048, offset = 4096>`.
  }];
  let parameters = (ins "int64_t":$op, "int64_t":$instance, OptionalParameter<"std::optional<int64_t>">:$result, "int64_t":$bytes,
    "int64_t":$offset);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Llm_HostAttr : Llm_Attr<"Host", "host"> {
  let summary = "Says in a tensor's type that the value lies in the host's memory.";
  let description = [{
    It is the encoding of a tensor: `tensor<8x1024xbf16, #llm.host>`. A tensor without an encoding lies in the device's
    memory. Kernels read and write the device alone; llm.copy_up and llm.copy_down copy between the two.
  }];
}

def Llm_Axes : TypedArrayAttrBase<StrAttr, "axes of the mesh">;

// Element types of activations, parameters and gradients.
def Llm_Float : AnyTypeOf<[BF16, F16, F32, F64]>;
// Element types of statistics and losses: f64 for f64 tensors, else f32.
def Llm_Wide : AnyTypeOf<[F32, F64]>;

// Numbers that are stored in fewer bits than they are computed in, as products of an element and
// the scale of its group (docs/Design/FewerBits.md): i4 is 0 to 15 and has a zero point for each
// group, i8 is -127 to 127.
def Llm_I4 : I<4>;
def Llm_Packed : AnyTypeOf<[Llm_I4, I8, F8E4M3FN, F8E5M2]>;

// An empty dimension has nothing to compute, and rows, heads and means divide by dimensions.
def HasNoEmptyDimension : CPred<"!::llvm::is_contained(::llvm::cast<::mlir::ShapedType>($_self).getShape(), 0)">;
class Llm_TensorOf<Type element> : RankedTensorOf<[element], [HasStaticShapePred, HasNoEmptyDimension],
    "statically shaped tensor without empty dimensions">;

def Llm_Tensor : Llm_TensorOf<Llm_Float>;
def Llm_AnyTensor : Llm_TensorOf<AnyTypeOf<[AnyFloat, AnyInteger]>>; // Copies and waits pass these
                                                                     // on.
def Llm_Rows : RankedTensorOf<[Llm_Float], [HasStaticShapePred, HasNoEmptyDimension, HasRankGreaterOrEqualPred<1>],
    "statically shaped tensor of at least one dimension, none empty,">; // normalised along the last
def Llm_PackedTensor : Llm_TensorOf<Llm_Packed>;
def Llm_ZeroPoints : Llm_TensorOf<Llm_I4>;
// What may be stored in fewer bits: weights, tables, and the rows of caches.
def Llm_HeldTensor : Llm_TensorOf<AnyTypeOf<[Llm_Float, Llm_Packed]>>;
def Llm_WideTensor : Llm_TensorOf<Llm_Wide>;
def Llm_Moment : Llm_TensorOf<AnyTypeOf<[Llm_Float, I8]>>; // In i8 by blocks, with separate scales.
def Llm_Ids : Llm_TensorOf<I32>;
def Llm_Mask : Llm_TensorOf<I8>;
def Llm_Seed : Llm_TensorOf<I32>; // tensor<2xi32>: the key of Philox4x32-10
def Llm_Count : TensorRankOf<[I32], [0]>;
def Llm_Scalar : TensorRankOf<[Llm_Wide], [0]>;

#endif // LLMMEM_DIALECT_LLMATTRIBUTES
