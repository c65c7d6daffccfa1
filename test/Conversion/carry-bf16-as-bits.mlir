// What moves bf16 moves 16 bits, and a constant is its bits: 1.5 is 0x3FC0.
//
// RUN: llmmem-opt --carry-bf16-as-bits %s | FileCheck %s --implicit-check-not=bf16

// CHECK-LABEL: llvm.func @choose(%arg0: !llvm.ptr, %arg1: i1, %arg2: i16)
llvm.func @choose(%from: !llvm.ptr, %take: i1, %other: bf16) -> vector<2xbf16> {
  // CHECK: llvm.mlir.constant(16320 : i16) : i16
  %one = llvm.mlir.constant(1.5 : bf16) : bf16
  // CHECK: llvm.mlir.constant(dense<[0, 16320]> : vector<2xi16>) : vector<2xi16>
  %pair = llvm.mlir.constant(dense<[0.0, 1.5]> : vector<2xbf16>) : vector<2xbf16>
  // CHECK: llvm.getelementptr %arg0[2] : (!llvm.ptr) -> !llvm.ptr, i16
  %place = llvm.getelementptr %from[2] : (!llvm.ptr) -> !llvm.ptr, bf16
  // CHECK: llvm.load {{.*}} : !llvm.ptr -> vector<2xi16>
  %loaded = llvm.load %place {alignment = 4 : i64} : !llvm.ptr -> vector<2xbf16>
  // CHECK: llvm.cond_br %arg1, ^bb1({{.*}} : vector<2xi16>)
  llvm.cond_br %take, ^bb1(%loaded : vector<2xbf16>), ^bb1(%pair : vector<2xbf16>)
^bb1(%chosen: vector<2xbf16>):
  // CHECK: llvm.select {{.*}} : i1, i16
  %number = llvm.select %take, %one, %other : i1, bf16
  // CHECK: llvm.bitcast {{.*}} : i16 to i16
  %bits = llvm.bitcast %number : bf16 to i16
  llvm.store %bits, %from : i16, !llvm.ptr
  llvm.return %chosen : vector<2xbf16>
}
