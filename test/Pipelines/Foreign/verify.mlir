// What ops say of themselves is checked too: overwritten arguments, constants, and what clones have in their regions.
// RUN: llmmem-opt --allow-unregistered-dialect --verify-plan --split-input-file --verify-diagnostics %s

func.func @step(%w: tensor<64xf32> {llm.donated = 0 : i64}) -> (tensor<64xf32>, tensor<64xf32>)
    attributes {llm.arena = 256 : i64, llm.peak = 512 : i64} {
  %new = "any.new"() {llm.in_argument = array<i64: 0>, llm.offsets = array<i64: -1>, llm.pure} : () -> tensor<64xf32>
  // expected-error @below {{[clobber] reads argument 0 after its bytes were overwritten}}
  %late = "any.read"(%w) {llm.offsets = array<i64: 0>, llm.pure} : (tensor<64xf32>) -> tensor<64xf32>
  return %new, %late : tensor<64xf32>, tensor<64xf32>
}

// -----

func.func @step(%w: tensor<64xf32> {llm.donated = 0 : i64}) -> tensor<64xf32> attributes {llm.arena = 0 : i64, llm.peak = 256 : i64} {
  // expected-error @below {{[clobber] overwrites argument 0 while it reads it as operand 0}}
  %new = "any.new"(%w) {llm.in_argument = array<i64: 0>, llm.offsets = array<i64: -1>, llm.pure} : (tensor<64xf32>) -> tensor<64xf32>
  return %new : tensor<64xf32>
}

// -----

func.func @step(%w: tensor<64xf32>) -> tensor<64xf32> attributes {llm.arena = 256 : i64, llm.peak = 768 : i64} {
  // expected-error @below {{[offsets] is a constant at offset 0, expected -1: it lies outside of the arena}}
  %c = "any.constant"() {llm.offsets = array<i64: 0>, llm.resident} : () -> tensor<64xf32>
  %0 = "any.add"(%w, %c) {llm.offsets = array<i64: 0>, llm.pure} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// -----

func.func @step(%w: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) attributes {llm.arena = 512 : i64, llm.peak = 768 : i64} {
  %0 = "any.map"(%w) ({
    "any.twice"() : () -> ()
  }, {
  }) {llm.id = 0 : i64, llm.offsets = array<i64: 0>, llm.pure} : (tensor<64xf32>) -> tensor<64xf32>
  // expected-error @below {{[clone] is a clone of op 0, but does not do the same}}
  %1 = "any.map"(%w) ({
    "any.thrice"() : () -> ()
  }, {
  }) {llm.clone_of = 0 : i64, llm.instance = 1 : i64, llm.offsets = array<i64: 256>, llm.pure} : (tensor<64xf32>) -> tensor<64xf32>
  return %0, %1 : tensor<64xf32>, tensor<64xf32>
}

// -----

func.func @step(%w: tensor<64xf32>) -> tensor<64xf32> {
  // expected-error @below {{'llm.views' is array<i64: 1>, expected array<i64: ...> with the number of an operand, or -1, for each result}}
  %0 = "any.view"(%w) {llm.views = array<i64: 1>} : (tensor<64xf32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
