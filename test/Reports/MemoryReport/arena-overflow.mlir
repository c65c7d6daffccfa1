// Arenas that somebody wrote, which together with what is resident are more than 64 bits count, or negative.
// RUN: llmmem-opt %s --report-memory=print=true --verify-diagnostics --split-input-file

// expected-error @below {{claims an arena of 9223372036854775552 bytes in addition to 256 resident ones; expected fewer than 2^63 together, and no negative number: plan the model again}}
func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.arena = 9223372036854775552 : i64, llm.peak = 512 : i64} {
  %0 = llm.gelu %x {llm.offsets = array<i64: 9223372036854775296>} : tensor<64xf32>
  return %0 : tensor<64xf32>
}

// -----

// expected-error @below {{claims an arena on the host of 9223372036854775552 bytes in addition to 256 resident ones}}
func.func @step(%x: tensor<64xf32>, %m: tensor<64xf32, #llm.host>) -> tensor<64xf32> attributes {llm.arena = 256 : i64, llm.host_arena = 9223372036854775552 : i64, llm.peak = 512 : i64} {
  %0 = llm.gelu %x {llm.offsets = array<i64: 0>} : tensor<64xf32>
  return %0 : tensor<64xf32>
}

// -----

// expected-error @below {{claims an arena of -256 bytes}}
func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.arena = -256 : i64, llm.peak = 512 : i64} {
  %0 = llm.gelu %x {llm.offsets = array<i64: 0>} : tensor<64xf32>
  return %0 : tensor<64xf32>
}
