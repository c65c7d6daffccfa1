// RUN: llmmem-opt --apply-checkpoints --verify-diagnostics --split-input-file %s

// expected-error @below {{'llm.copies' must name, for each value that leaves, its op, which of the op's results it is, and the ns of its copy to the host and of the one back}}
func.func @no_such_op(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.copies = array<i64: 1, 0, 21, 42>, llm.schedule = array<i64: 0>} {
  %a = llm.gelu %x {llm.id = 0 : i64} : tensor<64xf32>
  return %a : tensor<64xf32>
}

// -----

func.func @down_first(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.copies = array<i64: 0, 0, 21, 42>, llm.schedule = array<i64: 0, 2, 1>} {
  // expected-error @below {{has a copy of 'llm.gelu' to the device scheduled before it went to the host}}
  %a = llm.gelu %x {llm.id = 0 : i64} : tensor<64xf32>
  return %a : tensor<64xf32>
}

// -----

func.func @up_first(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.copies = array<i64: 0, 0, 21, 42>, llm.schedule = array<i64: 1, 0>} {
  // expected-error @below {{has a copy of 'llm.gelu' to the host scheduled before it is written}}
  %a = llm.gelu %x {llm.id = 0 : i64} : tensor<64xf32>
  return %a : tensor<64xf32>
}

// -----

// expected-error @below {{'llm.schedule' names op 3, but the step has 1 and their copies}}
func.func @no_such_copy(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.copies = array<i64: 0, 0, 21, 42>, llm.schedule = array<i64: 0, 3>} {
  %a = llm.gelu %x {llm.id = 0 : i64} : tensor<64xf32>
  return %a : tensor<64xf32>
}
