//===- LlmUpdateOps.td - Optimizer updates ---------------------*- tablegen -*-===//
//
// Every result reuses the bytes of the operand that it updates. With `server`, axes of the mesh,
// position 0 of their group alone updates; elsewhere the parameter does not change and the state
// does not exist (docs/Design/Ranks.md).
//
// Elementwise updates run on the device or, where all that they read and write is in `#llm.host`,
// on the host (docs/Design/SeveralMemories.md, "Updates on the host").
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_DIALECT_LLMUPDATEOPS
#define LLMMEM_DIALECT_LLMUPDATEOPS

include "llmmem/Dialect/LlmHostCopyOps.td"

defvar Llm_EitherMemoryTraits = [Llm_InOneMemory, Llm_Startable];

def Llm_GlobalNormOp : Llm_PureOp<"global_norm", [CostWithWorkspace]> {
  let summary = "Computes the Euclidean norm of all gradients taken together.";
  let description = [{
    norm = sqrt(sum of squares over all operands), in f32 (f64 for f64), operand by operand. The workspace holds the
    sums of parts, at most 256 an operand.

    ```mlir
    %norm = llm.global_norm %dw, %db : (tensor<768x3072xbf16>, tensor<3072xbf16>) -> tensor<f32>
    ```
  }];
  let arguments = (ins Variadic<Llm_Tensor>:$gradients);
  let results = (outs Llm_Scalar:$norm);
  let assemblyFormat = "$gradients attr-dict `:` functional-type(operands, results)";
  let extraClassDeclaration = [{
    /// Counts the elements of the pieces that an operand is summed in.
    static constexpr int64_t kPiece = 4096;
    /// Returns the pieces of a part. An operand has at most 256 parts.
    static int64_t getPiecesOfPart(int64_t elements);
    static int64_t getNumParts(int64_t elements);
  }];
  let hasVerifier = 0;
}

def Llm_AdjustLossScaleOp : Llm_PureOp<"adjust_loss_scale", [Cost, BuffersInPlace,
    AllTypesMatch<["norm", "scale", "good", "updates", "factor", "new_scale", "new_good", "new_updates"]>]> {
  let summary = "Computes the factor of the gradients of a scaled loss, and the scale of the next step.";
  let description = [{
    The gradients of a loss that was multiplied by `scale` have the norm `norm`, which is finite exactly where all of
    them are: a sum of squares of f16 cannot overflow f32. As in torch.amp.GradScaler:

      where it is finite   factor = c / scale, with c = min(1, clip_norm / (norm / scale + 1e-6)), or 1 for a clip_norm of 0;
                           `updates` and `good` grow by 1; where `good` is then `interval`, it becomes 0 and the scale grows by the
                           factor `growth`, if that is finite
      elsewhere            factor = NaN, which updates take as a step to be skipped; `good` becomes 0, and the scale shrinks by
                           the factor `backoff`

    So `updates` counts the steps that were not skipped, and `step`, the same number, is what corrections of the bias
    count. Counts have the type of the scale, so that files hold them as they hold other states; f32 counts to 2^24.

    ```mlir
    %factor, %scale1, %good1, %updates1, %step = llm.adjust_loss_scale %norm, %scale, %good, %updates
        {backoff = 0.5 : f64, growth = 2.0 : f64, interval = 2000 : i64}
       : (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>)
      -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<i32>)
    ```
  }];
  let arguments = (ins Llm_Scalar:$norm, Llm_Scalar:$scale, Llm_Scalar:$good, Llm_Scalar:$updates, F64Attr:$growth,
    F64Attr:$backoff, I64Attr:$interval, DefaultValuedAttr<F64Attr, "0.0">:$clip_norm);
  let results = (outs Llm_Scalar:$factor, Llm_Scalar:$new_scale, Llm_Scalar:$new_good, Llm_Scalar:$new_updates, Llm_Count:$step);
  let assemblyFormat = "$norm `,` $scale `,` $good `,` $updates attr-dict `:` functional-type(operands, results)";
}

def Llm_AdamWOp : Op<LlmDialect, "adamw", !listconcat(Llm_EitherMemoryTraits, Llm_PureTraits, [CostWithWorkspace,
    BuffersInPlace, Updates, AttrSizedOperandSegments, AllTypesMatch<["param", "gradient", "new_param"]>,
    AllTypesMatch<["first_moment", "second_moment", "new_first_moment", "new_second_moment"]>])> {
  let summary = "Updates a parameter by AdamW with decoupled weight decay, as PyTorch does.";
  let description = [{
    In the order of torch.optim.AdamW (Loshchilov & Hutter 2019), t = step counted from 1: p *= 1 - lr wd; m = b1 m + (1
    - b1) g; v = b2 v + (1 - b2) g^2; p -= lr / (1 - b1^t) * m / (sqrt(v) / sqrt(1 - b2^t) + eps). With a master copy, p
    is the master and the parameter, which is not read, is its rounding: on the host the gradient may replace a
    parameter that lies on the device. With a norm, g is first scaled by min(1, clip_norm / (norm + 1e-6)), as
    torch.nn.utils.clip_grad_norm_ does. With a factor (llm.adjust_loss_scale), g is first multiplied by it; where it is
    NaN the step is skipped: every result equals its operand.

    Moments in bf16 are rounded stochastically when they are stored: the probability of rounding up is the distance from
    the lower neighbour, so that the contribution of a step is kept on average however small it is. The random word is
    word 0 for the first and word 1 for the second moment of the Philox block under the key (step, 0) whose counter is
    the bits of g, p, m and v in f32. It depends on values alone, so ranks that update parts round as one that updates
    the whole.

    Moments in i8 are numbers of a dynamic map (Dettmers et al. 2022), each times the scale of its block of 256
    neighbours in row-major order, of which the last may be shorter: `scales` has those of the first and of the second
    moments. A new scale is the largest magnitude of its block. A new number is the entry of the map that is nearest to
    the block's value divided by the scale (docs/Design/FewerBits.md). The parameter is updated by the moments before they are rounded.

    ```mlir
    %p2, %m2, %v2, %a2, %b2 = llm.adamw %q, %h, %m8, %v8, %lr, %step scales(%a, %b)
        {beta1 = 0.9 : f64, beta2 = 0.999 : f64, eps = 1.0e-8 : f64, weight_decay = 0.1 : f64}
       : (tensor<64x768xf32>, tensor<64x768xf32>, tensor<64x768xi8>, tensor<64x768xi8>, tensor<f32>, tensor<i32>,
          tensor<192xf32>, tensor<192xf32>) -> (tensor<64x768xf32>, tensor<64x768xi8>, tensor<64x768xi8>, tensor<192xf32>, tensor<192xf32>)
    ```

    ```mlir
    %p1, %m1, %v1, %w1 = llm.adamw %p, %g, %m, %v, %lr, %step master(%w)
        {beta1 = 0.9 : f64, beta2 = 0.999 : f64, eps = 1.0e-8 : f64, weight_decay = 0.1 : f64}
       : (tensor<768xbf16>, tensor<768xbf16>, tensor<768xf32>, tensor<768xf32>, tensor<f32>, tensor<i32>,
          tensor<768xf32>) -> (tensor<768xbf16>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>)
    ```
  }];
  let arguments = (ins Llm_Tensor:$param, Llm_Tensor:$gradient, Llm_Moment:$first_moment,
    Llm_Moment:$second_moment, Llm_Scalar:$learning_rate, TensorRankOf<[I32], [0]>:$step,
    Optional<Llm_WideTensor>:$master, Optional<Llm_Scalar>:$norm, Optional<Llm_Scalar>:$factor,
    Variadic<Llm_WideTensor>:$scales, F64Attr:$beta1, F64Attr:$beta2, F64Attr:$eps, F64Attr:$weight_decay, DefaultValuedAttr<F64Attr, "0.0">:$clip_norm,
    OptionalAttr<Llm_Axes>:$server);
  // The scales follow the moments, then the master copy.
  let results = (outs Llm_Tensor:$new_param, Llm_Moment:$new_first_moment, Llm_Moment:$new_second_moment,
    Variadic<Llm_WideTensor>:$new_others);
  let assemblyFormat = [{
    $param `,` $gradient `,` $first_moment `,` $second_moment `,` $learning_rate `,` $step
    (`master` `(` $master^ `)`)? (`norm` `(` $norm^ `)`)? (`factor` `(` $factor^ `)`)?
    (`scales` `(` $scales^ `)`)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Neighbours that share a scale where moments have 8 bits, and the fewest elements of a
    /// parameter whose moments `differentiate` stores so: small ones (norms, biases) would save
    /// nothing.
    static constexpr int64_t kBlock = 256, kFewestInBlocks = 4096;
    static int64_t getNumBlocks(int64_t elements) { return (elements + kBlock - 1) / kBlock; }
    bool hasBlocks() { return !getScales().empty(); }
  }];
}

// All updates except AdamW's have these operands, in this order. `state` is what the optimizer
// keeps, with the master copy last, if there is one. A norm or a factor scales g as in llm.adamw.
class Llm_UpdateOp<string mnemonic, list<Trait> memory, list<Trait> traits, dag attributes> : Op<LlmDialect, mnemonic,
    !listconcat(memory, Llm_PureTraits, [BuffersInPlace, Updates, AttrSizedOperandSegments,
    AllTypesMatch<["param", "gradient", "new_param"]>], traits)> {
  let arguments = !con((ins Llm_Tensor:$param, Llm_Tensor:$gradient, Llm_Scalar:$learning_rate,
    Optional<Llm_Count>:$step, Variadic<Llm_Tensor>:$state, Optional<Llm_Scalar>:$norm,
    Optional<Llm_Scalar>:$factor), attributes,
    (ins F64Attr:$weight_decay, DefaultValuedAttr<F64Attr, "0.0">:$clip_norm, OptionalAttr<Llm_Axes>:$server));
  let results = (outs Llm_Tensor:$new_param, Variadic<Llm_Tensor>:$new_state);
  let assemblyFormat = [{
    $param `,` $gradient `,` $learning_rate (`step` `(` $step^ `)`)? (`state` `(` $state^ `)`)? (`norm` `(` $norm^ `)`)?
    (`factor` `(` $factor^ `)`)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Llm_SGDOp : Llm_UpdateOp<"sgd", Llm_EitherMemoryTraits, [Cost], (ins DefaultValuedAttr<F64Attr, "0.0">:$momentum, UnitAttr:$nesterov)> {
  let summary = "Updates a parameter by gradient descent, with momentum or without.";
  let description = [{
    g += wd p; without momentum p -= lr g, rounded once. With momentum, as in torch.optim.SGD: b = momentum b + g, and p
    -= lr b, or with `nesterov` p -= lr (g + momentum b); the state is b, which begins as 0. With a norm, g is scaled as
    in llm.adamw; with a master copy, which follows b, p is the master copy.

    ```mlir
    %p1, %b1 = llm.sgd %p, %g, %lr state(%b) {momentum = 0.9 : f64, weight_decay = 0.0 : f64}
       : (tensor<768xf32>, tensor<768xf32>, tensor<f32>, tensor<768xf32>) -> (tensor<768xf32>, tensor<768xf32>)
    ```
  }];
  let extraClassDeclaration = [{
    static constexpr bool kNeedsStep = false;
    /// Returns the number of states without a master copy.
    unsigned getNumStates() { return getMomentum().isZero() ? 0 : 1; }
  }];
}

def Llm_LionOp : Llm_UpdateOp<"lion", Llm_EitherMemoryTraits, [Cost], (ins F64Attr:$beta1, F64Attr:$beta2)> {
  let summary = "Updates a parameter by Lion: the sign of an average of gradients (Chen et al. 2023).";
  let description = [{
    In the order of algorithm 2 of the paper: p *= 1 - lr wd; p -= lr sign(b1 m + (1 - b1) g); m = b2 m + (1 - b2) g.
    The state is m, and optionally a master copy; with a norm, g is scaled as in llm.adamw.

    ```mlir
    %p1, %m1 = llm.lion %p, %g, %lr state(%m) {beta1 = 0.9 : f64, beta2 = 0.99 : f64, weight_decay = 0.1 : f64}
       : (tensor<768xf32>, tensor<768xf32>, tensor<f32>, tensor<768xf32>) -> (tensor<768xf32>, tensor<768xf32>)
    ```
  }];
  let extraClassDeclaration = [{
    static constexpr bool kNeedsStep = false;
    unsigned getNumStates() { return 1; }
  }];
}

def Llm_AdafactorOp : Llm_UpdateOp<"adafactor", [Llm_OnDevice], [CostWithWorkspace], (ins F64Attr:$beta2_decay, F64Attr:$eps)> {
  let summary = "Updates a parameter by Adafactor: the second moment of a matrix by its rows and columns (Shazeer & Stern 2018).";
  let description = [{
    As in torch.optim.Adafactor with d = 1 and eps2 = 1e-3, t = step counted from 1, w = t^beta2_decay, rms(x) =
    sqrt(mean(x^2)): alpha = max(1e-3, rms(p)) min(lr, 1 / sqrt(t)); p *= 1 - lr wd; for a matrix r and c, the means of
    g^2 over its rows and columns, follow as r = (1 - w) r + w mean(g^2), and v[i, j] = r[i] c[j] / max(mean(r), eps);
    for any other parameter v = (1 - w) v + w g^2; u = g / sqrt(max(v, eps^2)); p -= alpha u / max(1, rms(u)). The state
    is r and c, or v, and optionally a master copy, which is then p; with a norm, g is scaled as in llm.adamw. It reads
    whole rows and columns, so no rank can update a part.

    ```mlir
    %p1, %r1, %c1 = llm.adafactor %p, %g, %lr step(%t) state(%r, %c)
        {beta2_decay = -0.8 : f64, eps = 1.0e-7 : f64, weight_decay = 0.0 : f64}
       : (tensor<64x768xf32>, tensor<64x768xf32>, tensor<f32>, tensor<i32>, tensor<64xf32>, tensor<768xf32>)
      -> (tensor<64x768xf32>, tensor<64xf32>, tensor<768xf32>)
    ```
  }];
  let extraClassDeclaration = [{
    static constexpr bool kNeedsStep = true;
    static constexpr double kSmallestScale = 1e-3;
    bool isFactored() { return getParam().getType().getRank() == 2; }
    unsigned getNumStates() { return isFactored() ? 2 : 1; }
    /// A parameter that is no matrix is one row.
    int64_t getRows() { return isFactored() ? getParam().getType().getShape()[0] : 1; }
    int64_t getColumns() { return getParam().getType().getNumElements() / getRows(); }
  }];
}

def Llm_MuonOp : Llm_UpdateOp<"muon", [Llm_OnDevice], [CostWithWorkspace], (ins F64Attr:$momentum, UnitAttr:$nesterov)> {
  let summary = "Updates a matrix by Muon: an average of gradients whose singular values are moved towards 1 (Jordan et al. 2024).";
  let description = [{
    As in torch.optim.Muon with adjust_lr_fn "match_rms_adamw", on matrices alone: m += (1 - momentum) (g - m); u = m,
    or with `nesterov` g + momentum (m - g); x = u / max(|u|, 1e-7); five times, on the side of x that is no longer than
    the other, a = x x^T and x = 3.4445 x + (-4.7750 a + 2.0315 a a) x; p *= 1 - lr wd; p -= 0.2 sqrt(the longer side)
    lr x. All of it is in f32 (f64 for f64), where PyTorch uses bf16 for x. The state is m, and optionally a master
    copy, which is then p; with a norm, g is scaled as in llm.adamw. It reads the whole matrix, so no rank can update a
    part.

    ```mlir
    %p1, %m1 = llm.muon %p, %g, %lr state(%m) {momentum = 0.95 : f64, nesterov, weight_decay = 0.1 : f64}
       : (tensor<64x768xf32>, tensor<64x768xf32>, tensor<f32>, tensor<64x768xf32>) -> (tensor<64x768xf32>, tensor<64x768xf32>)
    ```
  }];
  let extraClassDeclaration = [{
    static constexpr bool kNeedsStep = false;
    static constexpr int64_t kIterations = 5;
    unsigned getNumStates() { return 1; }
    /// Return the shorter and the longer side.
    int64_t getShorter();
    int64_t getLonger();
  }];
}

#endif // LLMMEM_DIALECT_LLMUPDATEOPS
