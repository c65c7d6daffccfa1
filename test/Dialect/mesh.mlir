// A mesh has axes of different names with sizes of at least 1, and stands on a function.
// RUN: llmmem-opt %s --verify-diagnostics --split-input-file | FileCheck %s

// CHECK: llm.mesh = #llm.mesh<dp = 2, tp = 4>
func.func @sound() attributes {llm.mesh = #llm.mesh<dp = 2, tp = 4>} { return }

// -----

// expected-error @below {{the mesh names axis 'dp' twice}}
func.func @twice() attributes {llm.mesh = #llm.mesh<dp = 2, dp = 4>} { return }

// -----

// expected-error @below {{axis 'dp' has size 0, expected at least 1}}
func.func @none() attributes {llm.mesh = #llm.mesh<dp = 0>} { return }

// -----

// expected-error @below {{the mesh has 2^31 ranks or more}}
func.func @many() attributes {llm.mesh = #llm.mesh<dp = 65536, tp = 32768>} { return }

// -----

// expected-error @below {{a mesh has 1 to 8 axes, each a name and a size, as dp = 2}}
func.func @empty() attributes {llm.mesh = #llm.mesh<>} { return }

// -----

// expected-error @below {{'llm.mesh' is "dp=2", expected #llm.mesh<...>}}
func.func @text() attributes {llm.mesh = "dp=2"} { return }

// -----

// expected-error @below {{'llm.mesh' stands on 'builtin.module', expected on a function}}
module attributes {llm.mesh = #llm.mesh<dp = 2>} {}
