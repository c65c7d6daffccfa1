//===- LlmUpdateOps.td - Optimizer updates ---------------------*- tablegen -*-===//
//
// Every result takes over the bytes of the operand that it updates. With `server`, axes of the mesh, position 0 of their group
// alone updates; elsewhere the parameter stays as it is and the state is not there (docs/Design/Ranks.md).
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_DIALECT_LLMUPDATEOPS
#define LLMMEM_DIALECT_LLMUPDATEOPS

include "llmmem/Dialect/LlmOpBase.td"

def Llm_GlobalNormOp : Llm_PureOp<"global_norm", [CostWithWorkspace]> {
  let summary = "The Euclidean norm of all gradients taken together.";
  let description = [{
    norm = sqrt(sum of squares over all operands), in f32 (f64 beside f64), operand by operand. The workspace holds the
    sums of parts, at most 256 an operand.

    ```mlir
    %norm = llm.global_norm %dw, %db : (tensor<768x3072xbf16>, tensor<3072xbf16>) -> tensor<f32>
    ```
  }];
  let arguments = (ins Variadic<Llm_Tensor>:$gradients);
  let results = (outs Llm_Scalar:$norm);
  let assemblyFormat = "$gradients attr-dict `:` functional-type(operands, results)";
  let extraClassDeclaration = [{
    /// Elements of the pieces that an operand is summed in.
    static constexpr int64_t kPiece = 4096;
    /// Pieces of a part, of which an operand of so many elements has at most 256.
    static int64_t getPiecesOfPart(int64_t elements);
    static int64_t getNumParts(int64_t elements);
  }];
}

def Llm_AdamWOp : Llm_PureOp<"adamw", [Cost, BuffersInPlace, AttrSizedOperandSegments,
    AllTypesMatch<["param", "gradient", "new_param"]>,
    AllTypesMatch<["first_moment", "second_moment", "new_first_moment", "new_second_moment"]>]> {
  let summary = "AdamW with decoupled weight decay, as PyTorch's.";
  let description = [{
    In the order of torch.optim.AdamW (Loshchilov & Hutter 2019), t = step counted from 1:
    p *= 1 - lr wd; m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2;
    p -= lr / (1 - b1^t) * m / (sqrt(v) / sqrt(1 - b2^t) + eps).
    With a master copy, p is the master and the parameter is its rounding. With a norm, g is first scaled by
    min(1, clip_norm / (norm + 1e-6)), as torch.nn.utils.clip_grad_norm_.

    ```mlir
    %p1, %m1, %v1, %w1 = llm.adamw %p, %g, %m, %v, %lr, %step master(%w)
        {beta1 = 0.9 : f64, beta2 = 0.999 : f64, eps = 1.0e-8 : f64, weight_decay = 0.1 : f64}
       : (tensor<768xbf16>, tensor<768xbf16>, tensor<768xf32>, tensor<768xf32>, tensor<f32>, tensor<i32>,
          tensor<768xf32>) -> (tensor<768xbf16>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>)
    ```
  }];
  let arguments = (ins Llm_Tensor:$param, Llm_Tensor:$gradient, Llm_WideTensor:$first_moment,
    Llm_WideTensor:$second_moment, Llm_Scalar:$learning_rate, TensorRankOf<[I32], [0]>:$step,
    Optional<Llm_WideTensor>:$master, Optional<Llm_Scalar>:$norm,
    F64Attr:$beta1, F64Attr:$beta2, F64Attr:$eps, F64Attr:$weight_decay, DefaultValuedAttr<F64Attr, "0.0">:$clip_norm,
    OptionalAttr<Llm_Axes>:$server);
  let results = (outs Llm_Tensor:$new_param, Llm_WideTensor:$new_first_moment, Llm_WideTensor:$new_second_moment,
    Optional<Llm_WideTensor>:$new_master);
  let assemblyFormat = [{
    $param `,` $gradient `,` $first_moment `,` $second_moment `,` $learning_rate `,` $step
    (`master` `(` $master^ `)`)? (`norm` `(` $norm^ `)`)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Llm_SGDOp : Llm_PureOp<"sgd", [Cost, BuffersInPlace, AllTypesMatch<["param", "gradient", "new_param"]>]> {
  let summary = "Plain gradient descent.";
  let description = [{
    p -= lr (g + wd p), rounded once; with a norm, g is scaled as in llm.adamw.

    ```mlir
    %p1 = llm.sgd %p, %g, %lr {weight_decay = 0.0 : f64} : (tensor<768xf32>, tensor<768xf32>, tensor<f32>) -> tensor<768xf32>
    ```
  }];
  let arguments = (ins Llm_Tensor:$param, Llm_Tensor:$gradient, Llm_Scalar:$learning_rate, Optional<Llm_Scalar>:$norm,
    F64Attr:$weight_decay, DefaultValuedAttr<F64Attr, "0.0">:$clip_norm,
    OptionalAttr<Llm_Axes>:$server);
  let results = (outs Llm_Tensor:$new_param);
  let assemblyFormat = [{
    $param `,` $gradient `,` $learning_rate (`norm` `(` $norm^ `)`)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif // LLMMEM_DIALECT_LLMUPDATEOPS
