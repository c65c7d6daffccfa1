//===- Help.cpp - What --help says after the flags -------------------------===//

#include "Help.h"
#include "llmmem/Planning/Policies/Policies.h"
#include "llmmem/Support/ExitCode.h"

using namespace llmmem;

std::string llmmem::helpAfterFlags() {
  return R"(
EXAMPLES
  llmmem-import examples/configs/gpt2.json --batch 8 --seq 1024 -o model.mlir
  llmmem-opt --checkpoint-budget=6GB model.mlir -o step.mlir    plan under six billion bytes
  llmmem-opt --checkpoint-policy=sqrt --memory-report model.mlir -o step.mlir
  llmmem-opt --checkpoint-budget=3GB --host-budget=8GB --link=25GB/s model.mlir -o step.mlir   values may leave
  llmmem-opt --checkpoint-budget=24GB --optimizer-on=host --update-on=host model.mlir -o step.mlir   as ZeRO-Offload
  llmmem-opt --checkpoint-budget=24GB --optimizer-on=host --parameters-on=host model.mlir -o step.mlir   as ZeRO-Infinity
  llmmem-opt --mesh=dp=4 --zero=3 --checkpoint-budget=2GB model.mlir -o step.mlir   of one of 4 ranks
  llmmem-opt --mesh=pp=2 --micro-batches=4 --checkpoint-budget=2GB model.mlir -o step.mlir   of both stages
  llmmem-opt --mesh=dp=2,tp=4 --sequence-parallel --checkpoint-budget=2GB model.mlir -o step.mlir
  llmmem-opt --mesh=auto --topology=cluster.json model.mlir -o step.mlir   the fastest mesh for a cluster
  llmmem-opt --target=cuda --chip=sm_80 step.mlir               a planned step as PTX and host code
  llmmem-opt --differentiate model.mlir                         one stage alone, as in mlir-opt

POLICIES of --checkpoint-policy
)" + planning::policyHelp() +
         R"(
STAGES, passes that --checkpoint-budget runs in this order
  parallelize (with --mesh), split-micro-batches (with --micro-batches), differentiate (with pp build-stages), group-loss-head, group-feed-forward (with --mlp-chunk), move-state-to-host (with --optimizer-on=host), group-kernels, annotate-memory,
  plan-checkpoints, apply-checkpoints, start-collectives (with --overlap), start-host-copies (with --host-budget), verify-plan
  --help-hidden lists every pass and flag, those of MLIR and LLVM too.
)" + exitCodeHelp("llmmem-opt");
}
