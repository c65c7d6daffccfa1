// What attention keeps on the stack has the same bytes whatever the sequence: blocks, never rows of scores.
//
// RUN: sed 's/SEQ/128/g' %s | llmmem-opt --convert-step-to-kernels | grep -o 'memref.alloca().*' > %t.128
// RUN: sed 's/SEQ/1024/g' %s | llmmem-opt --convert-step-to-kernels | grep -o 'memref.alloca().*' > %t.1024
// RUN: diff %t.128 %t.1024
// RUN: FileCheck %s < %t.1024
//
// A panel of 64 keys and 64 queries is the largest.
// CHECK-NOT: memref<{{[0-9][0-9][0-9][0-9][0-9]+}}xf32>
// CHECK: memref.alloca() {{.*}} : memref<4096xf32>
// CHECK-NOT: memref<{{[0-9][0-9][0-9][0-9][0-9]+}}xf32>

func.func @step(%q: tensor<1xSEQx128xbf16>, %k: tensor<1xSEQx64xbf16>, %v: tensor<1xSEQx64xbf16>, %do: tensor<1xSEQx128xbf16>)
    -> (tensor<1xSEQx128xbf16>, tensor<1xSEQx64xbf16>, tensor<1xSEQx64xbf16>) attributes {llm.arena = 4194304 : i64} {
  %o, %l = llm.attention %q, %k, %v {heads = 2 : i64, kv_heads = 1 : i64, scale = 0.125 : f64, llm.offsets = array<i64: 0, 1048576>}
    : (tensor<1xSEQx128xbf16>, tensor<1xSEQx64xbf16>, tensor<1xSEQx64xbf16>) -> (tensor<1xSEQx128xbf16>, tensor<1x2xSEQxf32>)
  %dq, %dk, %dv = llm.attention_grad %q, %k, %v, %o, %l, %do {heads = 2 : i64, kv_heads = 1 : i64, scale = 0.125 : f64,
      llm.offsets = array<i64: 2097152, 2621440, 3145728>, llm.workspace = array<i64: 3670016, 8192>}
    : (tensor<1xSEQx128xbf16>, tensor<1xSEQx64xbf16>, tensor<1xSEQx64xbf16>, tensor<1xSEQx128xbf16>, tensor<1x2xSEQxf32>,
       tensor<1xSEQx128xbf16>) -> (tensor<1xSEQx128xbf16>, tensor<1xSEQx64xbf16>, tensor<1xSEQx64xbf16>)
  return %dq, %dk, %dv : tensor<1xSEQx128xbf16>, tensor<1xSEQx64xbf16>, tensor<1xSEQx64xbf16>
}
