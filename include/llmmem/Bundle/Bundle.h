//===- Bundle.h - A step that runs where there is no compiler ---*- C++ -*-===//
//
// A bundle is everything that a planned step needs on a machine with a GPU alone, as data: machine
// code of its kernels, every call in order, and how its buffers are filled. llmmem-replay, plain C,
// runs it (docs/Design/Gpu.md, "A bundle").
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_BUNDLE_BUNDLE_H
#define LLMMEM_BUNDLE_BUNDLE_H

#include "llmmem/Codegen/Emitter/KernelOptions.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

namespace llmmem {

struct BundleOptions {
  std::string function = "step";
  /// Says what the kernels run on. The machine takes the latest that it can.
  std::vector<std::string> chips = {"sm_80", "sm_90a"};
  /// Names the CUDA toolkit's assembler. If it is empty, kernels stay PTX, which the driver
  /// compiles.
  std::string ptxas;
  /// Names a C compiler that links the code of updates on the host. Empty means that there is none.
  std::string linker;
  /// Says how kernels for sm_90a multiply.
  TensorCores warpgroups = TensorCores::WarpgroupTma;
  /// Set, for measurements of tiles, which two blocks share, and the only tiles of products that
  /// can have them, as 128x192.
  llm::TileSharing tileSharing = llm::TileSharing::Modelled;
  std::string tile;
  /// Adds to the program of generated kernels one whose matmuls a library computes.
  bool withLibrary = true;
  /// Names the folder where images of kernels are written, each under the hash of its PTX. Bundles
  /// that share the folder share kernels. It must exist.
  std::string kernels;
};

/// Makes the bundle of a planned step of one rank. *Requires* a plan that `verifyPlan` accepts.
/// Fails after a located diagnostic for what a bundle cannot hold: several ranks, stages or
/// micro-batches; inputs other than tokens and what follows them; and elements in fewer bits.
mlir::FailureOr<llvm::json::Object> makeBundle(mlir::ModuleOp module, const BundleOptions &options);

/// Describes the buffers of a planned step, in the order of their addresses after the arena:
/// arguments, then results of their own. `{"name", "role", "type", "elements", "columns", "make":
/// {"kind", ...}}`.
mlir::FailureOr<llvm::json::Array> describeBuffers(mlir::func::FuncOp step);

/// Assembles `ptx` into the file NAME.CHIP.cubin of the folder, or writes it as NAME.CHIP.ptx where
/// there is no assembler. NAME is the hash of the text. Does nothing where the file exists. Returns
/// `{"chip", "file", "bytes", "hash"}`.
llvm::Expected<llvm::json::Object> writeImage(llvm::StringRef ptx, llvm::StringRef chip,
                                              const BundleOptions &options);

/// Compiles the functions of `module` for processors with AVX2 and FMA, into the library
/// NAME.PROCESSOR.so of the folder. NAME is the hash of their machine code. Overwrites an existing
/// file. Consumes `module`. Returns `{"processor", "file", "bytes", "hash"}`.
llvm::Expected<llvm::json::Object> writeHostCode(mlir::ModuleOp module,
                                                 const BundleOptions &options);

} // namespace llmmem

#endif // LLMMEM_BUNDLE_BUNDLE_H
