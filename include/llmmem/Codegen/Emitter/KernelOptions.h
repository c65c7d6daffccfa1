//===- KernelOptions.h - What kernels are written for ---------------------===//

#ifndef LLMMEM_CODEGEN_EMITTER_KERNELOPTIONS_H
#define LLMMEM_CODEGEN_EMITTER_KERNELOPTIONS_H

#include "llmmem/Targets/WarpgroupTiles.h"
#include <string_view>

namespace llmmem {

enum class KernelTarget { Cpu, Gpu };

/// What computes matmuls: generated kernels, or a library where it can: on a CPU oneDNN, for f32
/// and perhaps bf16; on a GPU cuBLASLt.
enum class MatmulSource { Generated, Library };

/// By which instructions a GPU multiplies 16-bit matrices: mma.sync of a warp, which sm_80 and all
/// later ones have, or wgmma of four warps, which sm_90a alone has; the latter with tiles that
/// threads copy, or, where a tensor map can say where they lie, that the tensor memory accelerator
/// does.
enum class TensorCores { Warp, Warpgroup, WarpgroupTma };

/// Whether that is wgmma.
inline bool isByWarpgroup(TensorCores tensorCores) { return tensorCores != TensorCores::Warp; }

/// What generated kernels of a chip use: wgmma where there is one.
inline TensorCores tensorCoresOf(std::string_view chip) {
  return chip == "sm_90a" ? TensorCores::WarpgroupTma : TensorCores::Warp;
}

struct KernelOptions {
  MatmulSource products = MatmulSource::Generated;
  /// Whether a CPU's library computes bf16 matmuls: where the processor has units for it.
  bool bf16ByLibrary = false;
  KernelTarget target = KernelTarget::Cpu;
  TensorCores tensorCores = TensorCores::Warp;
  llm::TileLimits tiles;
};

} // namespace llmmem

#endif // LLMMEM_CODEGEN_EMITTER_KERNELOPTIONS_H
