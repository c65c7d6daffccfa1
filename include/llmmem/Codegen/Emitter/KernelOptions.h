//===- KernelOptions.h - What kernels are written for ---------------------===//

#ifndef LLMMEM_CODEGEN_EMITTER_KERNELOPTIONS_H
#define LLMMEM_CODEGEN_EMITTER_KERNELOPTIONS_H

namespace llmmem {

enum class KernelTarget { Cpu, Gpu };

/// What computes matmuls: generated kernels, or a library where it can: on a CPU oneDNN, for f32
/// and perhaps bf16; on a GPU cuBLASLt.
enum class MatmulSource { Generated, Library };

struct KernelOptions {
  MatmulSource products = MatmulSource::Generated;
  /// Whether a CPU's library computes bf16 matmuls: where the processor has units for it.
  bool bf16ByLibrary = false;
  KernelTarget target = KernelTarget::Cpu;
};

} // namespace llmmem

#endif // LLMMEM_CODEGEN_EMITTER_KERNELOPTIONS_H
