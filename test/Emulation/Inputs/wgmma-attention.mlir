// Two blocks of queries and of keys, by wgmma: heads of 64, sequences of whole blocks of 128.
func.func @step(%q: tensor<1x256x64xbf16>, %k: tensor<1x256x64xbf16>, %v: tensor<1x256x64xbf16>)
    -> (tensor<1x256x64xbf16>, tensor<1x1x256xf32>) attributes {llm.arena = 33792 : i64} {
  %out, %lse = llm.attention %q, %k, %v {heads = 1 : i64, kv_heads = 1 : i64, scale = 0.125 : f64, llm.offsets = array<i64: 0, 32768>}
    : (tensor<1x256x64xbf16>, tensor<1x256x64xbf16>, tensor<1x256x64xbf16>) -> (tensor<1x256x64xbf16>, tensor<1x1x256xf32>)
  return %out, %lse : tensor<1x256x64xbf16>, tensor<1x1x256xf32>
}
