// What stands in a loop and has no price is priced by its bytes where that is asked for, as outside of loops.
// RUN: llmmem-opt --allow-unregistered-dialect --describe-ops=unpriced=by-bytes %s | FileCheck %s
// RUN: not llmmem-opt --allow-unregistered-dialect --describe-ops %s 2>&1 | FileCheck %s --check-prefix=REFUSED
// REFUSED: error: 'stablehlo.custom_call' of 'mine' calls a function that no op table describes

func.func @main(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  %zero = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
  // Four rounds of 8,192 bytes of each unknown op and 12 of the counter; both results are held, since nothing is known to be in place. The loop may do what these do, so it is not pure.
  // CHECK: llm.cost = #llm.cost<flops = 4, bytes = 65584, ns = 0, workspace = 8192>
  // CHECK-NOT: llm.pure
  // CHECK: return
  %r:2 = "stablehlo.while"(%zero, %x) ({
  ^bb0(%i: tensor<i32>, %v: tensor<1024xf32>):
    %end = "stablehlo.constant"() <{value = dense<4> : tensor<i32>}> : () -> tensor<i32>
    %less = "stablehlo.compare"(%i, %end) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "stablehlo.return"(%less) : (tensor<i1>) -> ()
  }, {
  ^bb0(%i: tensor<i32>, %v: tensor<1024xf32>):
    %one = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %next = "stablehlo.add"(%i, %one) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %a = "stablehlo.custom_call"(%v) <{call_target_name = "mine"}> : (tensor<1024xf32>) -> tensor<1024xf32>
    %b = "other.op"(%a) : (tensor<1024xf32>) -> tensor<1024xf32>
    "stablehlo.return"(%next, %b) : (tensor<i32>, tensor<1024xf32>) -> ()
  }) : (tensor<i32>, tensor<1024xf32>) -> (tensor<i32>, tensor<1024xf32>)
  return %r#1 : tensor<1024xf32>
}
