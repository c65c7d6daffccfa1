// A place that no value can have, as it ends beyond 2^63, or does so together with what is resident, is refused.
// RUN: llmmem-opt --apply-checkpoints --verify-diagnostics --split-input-file %s

func.func @end(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.schedule = array<i64: 0>,
    llm.places = [#llm.place<op = 0, instance = 0, result = 0, bytes = 256, offset = 9223372036854775552>]} {
  // expected-error @below {{has a place of 256 bytes at byte 9223372036854775552 of the arena; expected fewer than 2^63 together with the resident bytes: plan the model again}}
  %a = llm.gelu %x {llm.id = 0 : i64} : tensor<64xf32>
  return %a : tensor<64xf32>
}

// -----

func.func @with_resident(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.schedule = array<i64: 0>,
    llm.places = [#llm.place<op = 0, instance = 0, result = 0, bytes = 256, offset = 9223372036854775296>]} {
  // expected-error @below {{has a place of 256 bytes at byte 9223372036854775296 of the arena}}
  %a = llm.gelu %x {llm.id = 0 : i64} : tensor<64xf32>
  return %a : tensor<64xf32>
}

// -----

// expected-error @below {{needs 9.22 EB of resident buffers and arena, more than the budget of 1.00 kB}}
func.func @over_budget(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.budget = 1000 : i64, llm.schedule = array<i64: 0>,
    llm.places = [#llm.place<op = 0, instance = 0, result = 0, bytes = 256, offset = 9223372036854774784>]} {
  %a = llm.gelu %x {llm.id = 0 : i64} : tensor<64xf32>
  return %a : tensor<64xf32>
}
