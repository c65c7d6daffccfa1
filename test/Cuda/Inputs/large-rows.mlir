// Kernels that memory bounds, at the shapes of GPT-2 124M (8 x 1024 tokens) and Llama-3-8B (8192 tokens).
func.func @step(%x: tensor<8192x768xbf16>, %w: tensor<768xbf16>, %b: tensor<768xbf16>, %dy: tensor<8192x768xbf16>,
                %h: tensor<8192x3072xbf16>, %g: tensor<8192x3072xbf16>,
                %y: tensor<1x8192x4096xbf16>, %v: tensor<4096xbf16>, %dz: tensor<1x8192x4096xbf16>,
                %a: tensor<1x8192x14336xbf16>, %u: tensor<1x8192x14336xbf16>, %ids: tensor<1x8192xi32>, %table: tensor<128256x4096xbf16>,
                %p: tensor<4096x14336xbf16> {llm.donated = 0 : i64}, %dp: tensor<4096x14336xbf16>,
                %m: tensor<4096x14336xf32> {llm.donated = 1 : i64}, %n: tensor<4096x14336xf32> {llm.donated = 2 : i64},
                %rate: tensor<f32>, %number: tensor<i32>, %master: tensor<4096x14336xf32> {llm.donated = 3 : i64})
    -> (tensor<4096x14336xbf16>, tensor<4096x14336xf32>, tensor<4096x14336xf32>, tensor<4096x14336xf32>,
        tensor<8192x768xbf16>, tensor<8192x768xbf16>, tensor<768xbf16>, tensor<768xbf16>, tensor<8192x3072xbf16>, tensor<8192x3072xbf16>,
        tensor<1x8192x4096xbf16>, tensor<1x8192x4096xbf16>, tensor<4096xbf16>, tensor<1x8192x4096xbf16>, tensor<1x8192x4096xbf16>,
        tensor<1x8192x14336xbf16>, tensor<1x8192x4096xbf16>) {
  %ln, %mean, %rstd = llm.layer_norm %x, %w, %b {eps = 1.0e-5 : f64} : (tensor<8192x768xbf16>, tensor<768xbf16>, tensor<768xbf16>) -> (tensor<8192x768xbf16>, tensor<8192xf32>, tensor<8192xf32>)
  %dx = llm.layer_norm_grad %x, %mean, %rstd, %w, %dy : (tensor<8192x768xbf16>, tensor<8192xf32>, tensor<8192xf32>, tensor<768xbf16>, tensor<8192x768xbf16>) -> tensor<8192x768xbf16>
  %dw = llm.norm_weight_grad %x, %dy, %rstd mean(%mean) : (tensor<8192x768xbf16>, tensor<8192x768xbf16>, tensor<8192xf32>, tensor<8192xf32>) -> tensor<768xbf16>
  %db = llm.sum_rows %dy : (tensor<8192x768xbf16>) -> tensor<768xbf16>
  %gelu = llm.gelu %h : tensor<8192x3072xbf16>
  %dh = llm.gelu_grad %h, %g : tensor<8192x3072xbf16>
  %rms, %inverse = llm.rms_norm %y, %v {eps = 1.0e-5 : f64} : (tensor<1x8192x4096xbf16>, tensor<4096xbf16>) -> (tensor<1x8192x4096xbf16>, tensor<1x8192xf32>)
  %dr = llm.rms_norm_grad %y, %inverse, %v, %dz : (tensor<1x8192x4096xbf16>, tensor<1x8192xf32>, tensor<4096xbf16>, tensor<1x8192x4096xbf16>) -> tensor<1x8192x4096xbf16>
  %dv = llm.norm_weight_grad %y, %dz, %inverse : (tensor<1x8192x4096xbf16>, tensor<1x8192x4096xbf16>, tensor<1x8192xf32>) -> tensor<4096xbf16>
  %rope = llm.rope %y {heads = 32 : i64, theta = 500000.0 : f64} : tensor<1x8192x4096xbf16>
  %sum = llm.add %y, %dz : tensor<1x8192x4096xbf16>
  %silu = llm.silu %a : tensor<1x8192x14336xbf16>
  %gated = llm.mul %silu, %u : tensor<1x8192x14336xbf16>
  %rows = llm.embedding %ids, %table : (tensor<1x8192xi32>, tensor<128256x4096xbf16>) -> tensor<1x8192x4096xbf16>
  %p1, %m1, %n1, %master1 = llm.adamw %p, %dp, %m, %n, %rate, %number master(%master)
    {beta1 = 0.9 : f64, beta2 = 0.999 : f64, eps = 1.0e-8 : f64, weight_decay = 0.1 : f64}
    : (tensor<4096x14336xbf16>, tensor<4096x14336xbf16>, tensor<4096x14336xf32>, tensor<4096x14336xf32>, tensor<f32>, tensor<i32>, tensor<4096x14336xf32>)
   -> (tensor<4096x14336xbf16>, tensor<4096x14336xf32>, tensor<4096x14336xf32>, tensor<4096x14336xf32>)
  return %p1, %m1, %n1, %master1, %ln, %dx, %dw, %db, %gelu, %dh, %rms, %dr, %dv, %rope, %sum, %gated, %rows
    : tensor<4096x14336xbf16>, tensor<4096x14336xf32>, tensor<4096x14336xf32>, tensor<4096x14336xf32>,
      tensor<8192x768xbf16>, tensor<8192x768xbf16>, tensor<768xbf16>, tensor<768xbf16>, tensor<8192x3072xbf16>, tensor<8192x3072xbf16>,
      tensor<1x8192x4096xbf16>, tensor<1x8192x4096xbf16>, tensor<4096xbf16>, tensor<1x8192x4096xbf16>, tensor<1x8192x4096xbf16>,
      tensor<1x8192x14336xbf16>, tensor<1x8192x4096xbf16>
}
