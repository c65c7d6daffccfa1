//===- Passes.td - From planned steps on tensors to one arena --*- tablegen -*-===//

#ifndef LLMMEM_BUFFERIZATION_PASSES
#define LLMMEM_BUFFERIZATION_PASSES

include "mlir/Pass/PassBase.td"

def GiveDestinations : Pass<"give-destinations", "::mlir::ModuleOp"> {
  let summary = "Gives a destination to ops on tensors that have none";
  let description = [{
    Elementwise ops of `arith` and `math` become `linalg.generic`. The ops `tensor.pad`, `concat`, `generate`,
    `from_elements` and `splat` write into `tensor.empty`. The pass runs before planning, on programs for
    `llmmem-arena-bufferize`.

    *Ensures*: the bits of all results are unchanged.

    ```mlir --give-destinations
    func.func @step(%x: f32) -> tensor<4xf32> {
      %0 = tensor.splat %x : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    // becomes
    %0 = tensor.empty() : tensor<4xf32>
    %1 = linalg.fill ins(%arg0 : f32) outs(%0 : tensor<4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
    ```
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def ArenaBufferize : Pass<"llmmem-arena-bufferize", "::mlir::ModuleOp"> {
  let summary = "Writes a planned step of MLIR's own dialects over views of one arena";
  let description = [{
    The offsets of the plan are the buffers. Each op becomes its variant on memrefs, in the order of the text, and
    writes into a view of the arena, which is the last argument of the step, or into the argument that it overwrites.
    `include/llmmem/Bufferization/ArenaBufferize.h` has the contract.

    *Requires*: a step with `llm.offsets` and `llm.arena`, of ops with destinations (`give-destinations`,
    `tosa-to-linalg`). *Ensures*: no op allocates, and no `llm.*` attribute is left.

    ```mlir --llmmem-arena-bufferize
    func.func @step(%x: tensor<64xf32>) -> tensor<64xf32> attributes {llm.arena = 256 : i64} {
      %e = tensor.empty() {llm.offsets = array<i64: -1>} : tensor<64xf32>
      %0 = linalg.exp {llm.offsets = array<i64: 0>} ins(%x : tensor<64xf32>) outs(%e : tensor<64xf32>) -> tensor<64xf32>
      return %0 : tensor<64xf32>
    }
    // becomes
    func.func @step(%arg0: memref<64xf32>, %arg1: memref<256xi8>) -> memref<64xf32> {
      %c0 = arith.constant 0 : index
      %view = memref.view %arg1[%c0][] : memref<256xi8> to memref<64xf32>
      linalg.exp ins(%arg0 : memref<64xf32>) outs(%view : memref<64xf32>)
      return %view : memref<64xf32>
    }
    ```
  }];
  let dependentDialects = ["::llmmem::llm::LlmDialect", "::mlir::arith::ArithDialect",
                           "::mlir::bufferization::BufferizationDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

#endif // LLMMEM_BUFFERIZATION_PASSES
