// A collective becomes one call of the runtime on views of the arena: pointers, elements of a part, their type, the bits of
// the group's axes. Sums have a workspace, and so have parts that do not lie in one piece.
//
// RUN: llmmem-opt --convert-step-to-kernels %s | FileCheck %s

func.func @step(%x: tensor<4x6xf32>, %n: tensor<i32>, %b: tensor<6xbf16>)
    -> (tensor<4x6xf32>, tensor<4x12xf32>, tensor<2x6xf32>, tensor<6xbf16>, tensor<i32>)
    attributes {llm.arena = 4096 : i64, llm.mesh = #llm.mesh<dp = 2, tp = 3>} {
  %sum = llm.all_reduce %x over ["dp", "tp"] {llm.offsets = array<i64: 0>, llm.workspace = array<i64: 2048, 96>} : tensor<4x6xf32>
  %wide = llm.all_gather %sum over ["dp"] {dimension = 1 : i64, llm.offsets = array<i64: 256>, llm.workspace = array<i64: 2048, 192>} : (tensor<4x6xf32>) -> tensor<4x12xf32>
  %part = llm.reduce_scatter %sum over ["dp"] {dimension = 0 : i64, llm.offsets = array<i64: 512>, llm.workspace = array<i64: 2048, 96>} : (tensor<4x6xf32>) -> tensor<2x6xf32>
  %given = llm.broadcast %b over ["tp"] {root = 2 : i64, llm.offsets = array<i64: 768>} : tensor<6xbf16>
  %passed = llm.send_receive %given over ["tp"] {shift = -1 : i64, wraps, llm.offsets = array<i64: 1024>} : tensor<6xbf16>
  %count = llm.reduce %n over ["dp"] {root = 1 : i64, llm.offsets = array<i64: 1280>, llm.workspace = array<i64: 2048, 8>} : tensor<i32>
  %moved = llm.all_to_all %wide over ["tp"] {concat = 1 : i64, split = 1 : i64, llm.offsets = array<i64: 1536>, llm.workspace = array<i64: 2048, 384>} : (tensor<4x12xf32>) -> tensor<4x12xf32>
  return %sum, %moved, %part, %passed, %count : tensor<4x6xf32>, tensor<4x12xf32>, tensor<2x6xf32>, tensor<6xbf16>, tensor<i32>
}

// CHECK-DAG: func.func private @llmmem_all_reduce(!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64, i64)
// CHECK-DAG: func.func private @llmmem_all_gather(!llvm.ptr, !llvm.ptr, i64, i64, i64)
// CHECK-DAG: func.func private @llmmem_reduce_scatter(!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64, i64)
// CHECK-DAG: func.func private @llmmem_broadcast(!llvm.ptr, !llvm.ptr, i64, i64, i64, i64)
// CHECK-DAG: func.func private @llmmem_send_receive(!llvm.ptr, !llvm.ptr, i64, i64, i64, i64, i64)
// CHECK-DAG: func.func private @llmmem_reduce(!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64, i64, i64)
// CHECK-DAG: func.func private @llmmem_all_to_all(!llvm.ptr, !llvm.ptr, i64, i64, i64)

// CHECK-LABEL: func.func @step(
// CHECK: call @kernel_0_all_reduce(%{{.*}}, %{{.*}}, %{{.*}}) : (memref<24xf32>, memref<24xf32>, memref<96xi8>)
// CHECK: call @kernel_1_all_gather(%{{.*}}, %{{.*}}, %{{.*}}) : (memref<24xf32>, memref<48xf32>, memref<192xi8>)

// 24 elements of type 0 (f32) over both axes.
// CHECK-LABEL: func.func private @kernel_0_all_reduce(
// CHECK-DAG: %[[COUNT:.*]] = arith.constant 24 : i64
// CHECK-DAG: %[[F32:.*]] = arith.constant 0 : i64
// CHECK-DAG: %[[AXES:.*]] = arith.constant 3 : i64
// CHECK: call @llmmem_all_reduce(%{{.*}}, %{{.*}}, %{{.*}}, %[[COUNT]], %[[F32]], %[[AXES]])

// What was gathered along dimension 1 is brought to its rows.
// CHECK-LABEL: func.func private @kernel_1_all_gather(
// CHECK: call @llmmem_all_gather
// CHECK: scf.for

// The parts along dimension 0 are summed where they lie.
// CHECK-LABEL: func.func private @kernel_2_reduce_scatter(
// CHECK-DAG: %[[COUNT:.*]] = arith.constant 12 : i64
// CHECK-DAG: %[[AXES:.*]] = arith.constant 1 : i64
// CHECK-NOT: scf.
// CHECK: call @llmmem_reduce_scatter(%{{.*}}, %{{.*}}, %{{.*}}, %[[COUNT]], %{{.*}}, %[[AXES]])

// CHECK-LABEL: func.func private @kernel_3_broadcast(
// CHECK-DAG: %[[COUNT:.*]] = arith.constant 6 : i64
// CHECK-DAG: %[[TWO:.*]] = arith.constant 2 : i64
// CHECK: call @llmmem_broadcast(%{{.*}}, %{{.*}}, %[[COUNT]], %{{.*}}, %{{.*}}, %{{.*}})

// CHECK-LABEL: func.func private @kernel_4_send_receive(
// CHECK-DAG: %[[SHIFT:.*]] = arith.constant -1 : i64
// CHECK-DAG: %[[WRAPS:.*]] = arith.constant 1 : i64
// CHECK: call @llmmem_send_receive(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[SHIFT]], %{{.*}})

// CHECK-LABEL: func.func private @kernel_5_reduce(
// CHECK-DAG: %[[I32:.*]] = arith.constant 3 : i64
// CHECK: call @llmmem_reduce(

// Parts are brought together before and after.
// CHECK-LABEL: func.func private @kernel_6_all_to_all(
// CHECK: scf.for
// CHECK: call @llmmem_all_to_all
// CHECK: scf.for
