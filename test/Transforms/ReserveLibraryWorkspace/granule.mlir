// Where a library multiplies, a granule has as many tokens as give its products enough tiles: the shape alone says how many, and no
// budget. A width of 768 has 6 tiles of 128 for each 128 tokens: 2048 tokens have 96, for 132 multiprocessors. A width of 4096
// has 128 of 512 tokens, which stay.
// RUN: sed "s/@narrow/@step/" %s | llmmem-opt --group-loss-head --reserve-library-workspace | FileCheck %s --check-prefix=NARROW
// RUN: sed "s/@wide/@step/" %s | llmmem-opt --group-loss-head --reserve-library-workspace | FileCheck %s --check-prefix=WIDE
// RUN: sed "s/@short/@step/" %s | llmmem-opt --group-loss-head --reserve-library-workspace | FileCheck %s --check-prefix=SHORT
// RUN: sed "s/@narrow/@step/" %s | llmmem-opt --group-loss-head | FileCheck %s --check-prefix=GENERATED

// NARROW-LABEL: @step
// NARROW: llm.loss_head {{.*}}chunk = 8192 : i64, granule = 2048 : i64
// GENERATED-LABEL: @step
// GENERATED: llm.loss_head {{.*}}{chunk = 8192 : i64}
func.func @narrow(%x: tensor<8192x768xbf16>, %w: tensor<50257x768xbf16>, %t: tensor<8192xi32>)
    -> (tensor<f32>, tensor<8192x768xbf16>, tensor<50257x768xbf16>) {
  %logits = llm.linear %x, %w layout(out_in) : (tensor<8192x768xbf16>, tensor<50257x768xbf16>) -> tensor<8192x50257xbf16>
  %loss, %lse = llm.cross_entropy %logits, %t : (tensor<8192x50257xbf16>, tensor<8192xi32>) -> (tensor<f32>, tensor<8192xf32>)
  %one = llm.fill {value = 1.0 : f64} : tensor<f32>
  %dlogits = llm.cross_entropy_grad %logits, %lse, %t, %one
    : (tensor<8192x50257xbf16>, tensor<8192xf32>, tensor<8192xi32>, tensor<f32>) -> tensor<8192x50257xbf16>
  %dw = llm.linear_weight_grad %x, %dlogits layout(out_in)
    : (tensor<8192x768xbf16>, tensor<8192x50257xbf16>) -> tensor<50257x768xbf16>
  %dx = llm.linear %dlogits, %w layout(in_out) : (tensor<8192x50257xbf16>, tensor<50257x768xbf16>) -> tensor<8192x768xbf16>
  return %loss, %dx, %dw : tensor<f32>, tensor<8192x768xbf16>, tensor<50257x768xbf16>
}

// WIDE-LABEL: @step
// WIDE: llm.loss_head {{.*}}{chunk = 8192 : i64, llm.library_workspace
func.func @wide(%x: tensor<8192x4096xbf16>, %w: tensor<128256x4096xbf16>, %t: tensor<8192xi32>)
    -> (tensor<f32>, tensor<8192x4096xbf16>, tensor<128256x4096xbf16>) {
  %logits = llm.linear %x, %w layout(out_in) : (tensor<8192x4096xbf16>, tensor<128256x4096xbf16>) -> tensor<8192x128256xbf16>
  %loss, %lse = llm.cross_entropy %logits, %t : (tensor<8192x128256xbf16>, tensor<8192xi32>) -> (tensor<f32>, tensor<8192xf32>)
  %one = llm.fill {value = 1.0 : f64} : tensor<f32>
  %dlogits = llm.cross_entropy_grad %logits, %lse, %t, %one
    : (tensor<8192x128256xbf16>, tensor<8192xf32>, tensor<8192xi32>, tensor<f32>) -> tensor<8192x128256xbf16>
  %dw = llm.linear_weight_grad %x, %dlogits layout(out_in)
    : (tensor<8192x4096xbf16>, tensor<8192x128256xbf16>) -> tensor<128256x4096xbf16>
  %dx = llm.linear %dlogits, %w layout(in_out) : (tensor<8192x128256xbf16>, tensor<128256x4096xbf16>) -> tensor<8192x4096xbf16>
  return %loss, %dx, %dw : tensor<f32>, tensor<8192x4096xbf16>, tensor<128256x4096xbf16>
}

// SHORT-LABEL: @step
// SHORT: llm.loss_head {{.*}}{chunk = 600 : i64, llm.library_workspace
func.func @short(%x: tensor<600x768xbf16>, %w: tensor<50257x768xbf16>, %t: tensor<600xi32>)
    -> (tensor<f32>, tensor<600x768xbf16>, tensor<50257x768xbf16>) {
  %logits = llm.linear %x, %w layout(out_in) : (tensor<600x768xbf16>, tensor<50257x768xbf16>) -> tensor<600x50257xbf16>
  %loss, %lse = llm.cross_entropy %logits, %t : (tensor<600x50257xbf16>, tensor<600xi32>) -> (tensor<f32>, tensor<600xf32>)
  %one = llm.fill {value = 1.0 : f64} : tensor<f32>
  %dlogits = llm.cross_entropy_grad %logits, %lse, %t, %one
    : (tensor<600x50257xbf16>, tensor<600xf32>, tensor<600xi32>, tensor<f32>) -> tensor<600x50257xbf16>
  %dw = llm.linear_weight_grad %x, %dlogits layout(out_in)
    : (tensor<600x768xbf16>, tensor<600x50257xbf16>) -> tensor<50257x768xbf16>
  %dx = llm.linear %dlogits, %w layout(in_out) : (tensor<600x50257xbf16>, tensor<50257x768xbf16>) -> tensor<600x768xbf16>
  return %loss, %dx, %dw : tensor<f32>, tensor<600x768xbf16>, tensor<50257x768xbf16>
}
