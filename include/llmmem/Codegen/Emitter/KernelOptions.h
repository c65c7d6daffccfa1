//===- KernelOptions.h - What kernels are written for ----------------------===//

#ifndef LLMMEM_CODEGEN_EMITTER_KERNELOPTIONS_H
#define LLMMEM_CODEGEN_EMITTER_KERNELOPTIONS_H

namespace llmmem {

enum class KernelTarget { Cpu, Gpu };

/// Who multiplies matrices: kernels of ours, or a library where it can. On a CPU that is oneDNN,
/// for f32; on a GPU cuBLASLt.
enum class ProductSource { Generated, Library };

struct KernelOptions {
  ProductSource products = ProductSource::Generated;
  KernelTarget target = KernelTarget::Cpu;
};

} // namespace llmmem

#endif // LLMMEM_CODEGEN_EMITTER_KERNELOPTIONS_H
