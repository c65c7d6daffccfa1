//===- KernelOptions.h - What kernels are written for ---------------------===//

#ifndef LLMMEM_CODEGEN_EMITTER_KERNELOPTIONS_H
#define LLMMEM_CODEGEN_EMITTER_KERNELOPTIONS_H

#include "llmmem/Targets/WarpgroupTiles.h"
#include <string_view>

namespace llmmem {

enum class KernelTarget { Cpu, Gpu };

/// Says what computes matmuls: generated kernels, or a library where it can. On a CPU that is
/// oneDNN, for f32 and perhaps bf16; on a GPU it is cuBLASLt.
enum class MatmulSource { Generated, Library };

/// Says by which instructions a GPU multiplies 16-bit matrices: mma.sync of a warp, which sm_80 and
/// all later chips have, or wgmma of four warps, which only sm_90a has. With wgmma, threads copy
/// the tiles, or the tensor memory accelerator does where a tensor map can describe them.
enum class TensorCores { Warp, Warpgroup, WarpgroupTma };

/// Returns whether that is wgmma.
inline bool isByWarpgroup(TensorCores tensorCores) { return tensorCores != TensorCores::Warp; }

/// Returns what generated kernels of a chip use: wgmma where the chip has it.
inline TensorCores tensorCoresOf(std::string_view chip) {
  return chip == "sm_90a" ? TensorCores::WarpgroupTma : TensorCores::Warp;
}

struct KernelOptions {
  MatmulSource products = MatmulSource::Generated;
  /// Says whether a CPU's library computes bf16 matmuls: it does where the processor has units for
  /// them.
  bool bf16ByLibrary = false;
  KernelTarget target = KernelTarget::Cpu;
  TensorCores tensorCores = TensorCores::Warp;
  llm::TileLimits tiles;
};

} // namespace llmmem

#endif // LLMMEM_CODEGEN_EMITTER_KERNELOPTIONS_H
