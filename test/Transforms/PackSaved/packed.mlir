// Saved values are packed in 8 bits. Where recomputing an op costs ten times what packing costs, and the budget has room for three of five values as they
// are, those of the first ops are held as bytes and a scale a row, and the backward reads what these stand for. At the peak: 32,768
// resident, d, e and f of 16,384, and three times 4,096 + 256 bytes: 94,976. Without, two ops run again in 98,304.
// RUN: echo '{"name": "slow", "source": "made up", "flops_per_ns": {"bf16": 50, "f32": 50, "f64": 25}, "bytes_per_ns": 100, "launch_ns": 0}' > %t.json
// RUN: llmmem-opt --checkpoint-kernels=apart --checkpoint-device=%t.json --checkpoint-budget=110000 --saved-bits=8 --memory-report %s 2> %t.report | FileCheck %s -enable-var-scope
// RUN: FileCheck %s --check-prefix=REPORT < %t.report
// RUN: llmmem-opt --checkpoint-kernels=apart --checkpoint-device=%t.json --checkpoint-budget=140000 --saved-bits=8 %s | FileCheck %s --check-prefix=ROOM
// RUN: llmmem-opt --checkpoint-kernels=apart --checkpoint-device=%t.json --checkpoint-budget=110000 %s | FileCheck %s --check-prefix=ROOM
// RUN: not llmmem-opt --checkpoint-budget=110000 --saved-bits=4 %s 2>&1 | FileCheck %s --check-prefix=BITS
// RUN: not llmmem-opt --checkpoint-budget=110000 --saved-bits=8 --host-budget=1MB --link=1GB/s %s 2>&1 | FileCheck %s --check-prefix=HOST

// REPORT: peak 94.98 kB (94976 bytes)
// REPORT: packed 3 saved values of 49.15 kB in 8 bits, 13.06 kB with scales
// REPORT: recompute 0 ops

// With room for it, and unasked, every value keeps its bits.
// ROOM-NOT: llm.pack
// ROOM: return

// BITS: llmmem-opt: --saved-bits is 4, expected 8; leave it out to keep all bits
// HOST: llmmem-opt: --host-budget and --saved-bits do not go together yet: take one of them

// CHECK: %[[A:.*]] = llm.linear %arg0, %arg1 {{.*}}llm.name = "a"
// CHECK-NEXT: %[[PACKED:.*]], %[[SCALES:.*]] = llm.pack %[[A]] {{.*}}llm.decision = ["keep", "keep"], llm.name = "a.packed"{{.*}} : tensor<64x64xf32> -> tensor<64x64xi8>, tensor<64x1xf32>
// The forward reads the value itself.
// CHECK-NEXT: llm.linear %[[A]], %arg1 {{.*}}llm.name = "b"
// CHECK: %[[BACK:.*]] = llm.unpack %[[PACKED]], %[[SCALES]] {{.*}}llm.name = "a.unpacked"{{.*}}llm.phase = "backward"}
// CHECK-NEXT: llm.mul %{{.*}}, %[[BACK]] {{.*}}llm.name = "da"
func.func @step(%x: tensor<64x64xf32> {llm.role = "input", llm.name = "x"}, %w: tensor<64x64xf32> {llm.role = "param", llm.name = "w"}) -> tensor<64x64xf32> {
  %a = llm.linear %x, %w layout(in_out) {llm.name = "a", llm.phase = "forward"} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %b = llm.linear %a, %w layout(in_out) {llm.name = "b", llm.phase = "forward"} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %c = llm.linear %b, %w layout(in_out) {llm.name = "c", llm.phase = "forward"} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %d = llm.linear %c, %w layout(in_out) {llm.name = "d", llm.phase = "forward"} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %e = llm.linear %d, %w layout(in_out) {llm.name = "e", llm.phase = "forward"} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %f = llm.linear %e, %w layout(in_out) {llm.name = "f", llm.phase = "forward"} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %de = llm.mul %f, %e {llm.name = "de", llm.phase = "backward"} : tensor<64x64xf32>
  %dd = llm.mul %de, %d {llm.name = "dd", llm.phase = "backward"} : tensor<64x64xf32>
  %dc = llm.mul %dd, %c {llm.name = "dc", llm.phase = "backward"} : tensor<64x64xf32>
  %db = llm.mul %dc, %b {llm.name = "db", llm.phase = "backward"} : tensor<64x64xf32>
  %da = llm.mul %db, %a {llm.name = "da", llm.phase = "backward"} : tensor<64x64xf32>
  return %da : tensor<64x64xf32>
}
