//===- Frameworks.cpp - The policies and flags of other frameworks --------------===//
//
// torchtitan: torchtitan/config/job_config.py and distributed/activation_checkpoint.py.
// Megatron-LM: megatron/training/arguments.py. DeepSpeed: deepspeed.ai/docs/config-json. MaxText:
// MaxText/configs/base.yml and layers/decoders.py (get_remat_policy).
//
//===----------------------------------------------------------------------===//

#include "Frameworks.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace llmmem;
using planning::PipelineKind;
using planning::Policy;
using planning::PolicyKind;

/// Returns each policy alone and with parameters that are gathered again.
static std::vector<std::string> withReshard(std::vector<std::string> policies) {
  const size_t count = policies.size();
  for (size_t at = 0; at < count; ++at)
    policies.push_back(policies[at] + "+reshard");
  return policies;
}

/// Returns the nearest of two schedules, for a framework that has no other.
static void limitSchedules(Strategy &strategy, std::initializer_list<PipelineKind> known) {
  if (strategy.pp == 1 || llvm::is_contained(known, strategy.schedule))
    return;
  strategy.schedule = PipelineKind::OneForwardOneBackward;
  strategy.chunks = 1;
}

//===----------------------------------------------------------------------===//
// torchtitan
//===----------------------------------------------------------------------===//

static std::vector<std::string> policiesOfTorchtitan(int64_t blocks) {
  std::vector<std::string> policies{"none", "selective=op", "full"};
  for (int64_t every = 2; every <= std::min<int64_t>(blocks, 4); ++every)
    policies.push_back("full+layers=" + std::to_string(every));
  return withReshard(std::move(policies));
}

/// Ranks of dp have whole copies (DDP) or parts of everything (FSDP), and those of tp always have
/// parts of the sequence between products.
static Strategy nearestOfTorchtitan(Strategy strategy) {
  if (strategy.zeroStage > 0)
    strategy.zeroStage = 3;
  strategy.sequenceParallel = strategy.tp > 1;
  limitSchedules(strategy, {PipelineKind::GPipe, PipelineKind::OneForwardOneBackward,
                            PipelineKind::Interleaved, PipelineKind::ZeroBubbleV});
  return strategy;
}

static llvm::StringRef scheduleOfTorchtitan(PipelineKind kind) {
  switch (kind) {
  case PipelineKind::GPipe:
    return "GPipe";
  case PipelineKind::Interleaved:
    return "Interleaved1F1B";
  case PipelineKind::ZeroBubbleV:
    return "ZBVZeroBubble";
  default:
    return "1F1B";
  }
}

static std::string writeTorchtitan(const FrameworkSetup &setup) {
  const Strategy &strategy = setup.strategy;
  const bool shards = strategy.zeroStage > 0;
  std::string text;
  llvm::raw_string_ostream os(text);
  os << llvm::formatv(
            "[training]\nlocal_batch_size = {0}\nglobal_batch_size = {1}\nseq_len = {2}\n",
            strategy.pp > 1 ? setup.batch / strategy.dp : setup.microBatch(), setup.batch,
            setup.sequence)
     << llvm::formatv("\n[parallelism]\ndata_parallel_replicate_degree = {0}\n"
                      "data_parallel_shard_degree = {1}\n",
                      shards ? 1 : strategy.dp, shards ? strategy.dp : 1);
  if (shards)
    os << "fsdp_reshard_after_forward = \"" << (setup.policy.reshards ? "always" : "never")
       << "\"\n";
  os << "tensor_parallel_degree = " << strategy.tp << "\npipeline_parallel_degree = " << strategy.pp
     << "\n";
  if (strategy.pp > 1)
    os << llvm::formatv("pipeline_parallel_schedule = \"{0}\"\n"
                        "pipeline_parallel_microbatch_size = {1}\n",
                        scheduleOfTorchtitan(strategy.schedule), setup.microBatch());
  // Otherwise the first and the last stage have a block less, and two chunks a stage are assumed.
  if (const int64_t blocks = setup.blocksOfChunk(); blocks > 0 && strategy.pp > 1)
    os << "pipeline_parallel_layers_per_stage = " << blocks
       << "\npipeline_parallel_first_stage_less_layers = 0"
       << "\npipeline_parallel_last_stage_less_layers = 0\n";
  const bool isByOp = setup.policy.kind == PolicyKind::Selective;
  const bool isByLayer = setup.policy.blocks.every > 1;
  const bool isNone = setup.policy.kind == PolicyKind::None;
  os << "\n[activation_checkpoint]\nmode = \""
     << (isNone                ? "none"
         : isByOp || isByLayer ? "selective"
                               : "full")
     << "\"\n";
  if (isByOp || isByLayer)
    os << "selective_ac_option = \"" << (isByOp ? "op" : std::to_string(setup.policy.blocks.every))
       << "\"\n";
  return text;
}

//===----------------------------------------------------------------------===//
// Megatron-LM
//===----------------------------------------------------------------------===//

static std::vector<std::string> policiesOfMegatron(int64_t blocks) {
  std::vector<std::string> policies{"none", "full", "every=2", "every=4"};
  for (const char *modules :
       {"core_attn", "layernorm", "mlp", "moe_act", "moe", "mla_up_proj", "core_attn,layernorm",
        "core_attn,mlp", "core_attn,moe_act", "core_attn,layernorm,moe_act", "layernorm,mlp",
        "layernorm,moe_act,mla_up_proj", "core_attn,layernorm,mlp", "core_attn,moe",
        "layernorm,mlp,moe,mla_up_proj"})
    policies.push_back(std::string("selective=") + modules);
  // Of a stage's blocks a quarter, a half, and three quarters.
  for (int64_t quarters = 1; quarters <= 3; ++quarters)
    if (const int64_t first = blocks * quarters / 4; first > 0)
      policies.push_back("full+first=" + std::to_string(first));
  return policies;
}

static Strategy nearestOfMegatron(Strategy strategy) {
  limitSchedules(strategy, {PipelineKind::OneForwardOneBackward, PipelineKind::Interleaved});
  return strategy;
}

static void writeRecomputation(const Policy &policy, llvm::raw_ostream &os) {
  switch (policy.kind) {
  case PolicyKind::Selective:
    os << "--recompute-granularity selective\n--recompute-modules "
       << (policy.modules.empty() ? "core_attn" : llvm::join(policy.modules, " ")) << "\n";
    return;
  case PolicyKind::Full:
  case PolicyKind::EveryK:
    os << "--recompute-granularity full\n--recompute-method "
       << (policy.blocks.first ? "block" : "uniform") << "\n--recompute-num-layers "
       << policy.blocks.first.value_or(policy.every) << "\n";
    return;
  default:
    return;
  }
}

static std::string writeMegatron(const FrameworkSetup &setup) {
  const Strategy &strategy = setup.strategy;
  std::string text;
  llvm::raw_string_ostream os(text);
  os << llvm::formatv("--micro-batch-size {0}\n--global-batch-size {1}\n--seq-length {2}\n"
                      "--tensor-model-parallel-size {3}\n--pipeline-model-parallel-size {4}\n",
                      setup.microBatch(), setup.batch, setup.sequence, strategy.tp, strategy.pp);
  if (strategy.chunks > 1)
    os << "--num-virtual-stages-per-pipeline-rank " << strategy.chunks << "\n";
  if (strategy.sequenceParallel)
    os << "--sequence-parallel\n";
  if (strategy.zeroStage >= 1)
    os << "--use-distributed-optimizer\n";
  if (strategy.zeroStage >= 2)
    os << "--use-megatron-fsdp\n--data-parallel-sharding-strategy "
       << (strategy.zeroStage == 2 ? "optim_grads" : "optim_grads_params")
       << "\n--no-gradient-accumulation-fusion\n--ckpt-format fsdp_dtensor\n";
  writeRecomputation(setup.policy, os);
  return text;
}

//===----------------------------------------------------------------------===//
// DeepSpeed
//===----------------------------------------------------------------------===//

static std::vector<std::string> policiesOfDeepSpeed(int64_t blocks) {
  std::vector<std::string> policies{"none", "full"};
  for (int64_t every = 2; every <= std::min<int64_t>(blocks, 8); every *= 2)
    policies.push_back("every=" + std::to_string(every));
  return withReshard(std::move(policies));
}

static Strategy nearestOfDeepSpeed(Strategy strategy) {
  if (strategy.pp > 1) // its pipelines take ZeRO-1 at most
    strategy.zeroStage = std::min<int64_t>(strategy.zeroStage, 1);
  limitSchedules(strategy, {PipelineKind::OneForwardOneBackward});
  return strategy;
}

static std::string writeDeepSpeed(const FrameworkSetup &setup) {
  const Strategy &strategy = setup.strategy;
  llvm::json::Object zero{{"stage", strategy.zeroStage}};
  if (strategy.zeroStage == 3) {
    // A gathered parameter stays where it is read again within so many others: always, or never.
    constexpr int64_t all = int64_t(1) << 40;
    zero["stage3_max_reuse_distance"] = setup.policy.reshards ? 0 : all;
    if (!setup.policy.reshards)
      zero["stage3_max_live_parameters"] = all;
  }
  llvm::json::Object file{{"train_batch_size", setup.batch},
                          {"train_micro_batch_size_per_gpu", setup.microBatch()},
                          {"gradient_accumulation_steps", strategy.microBatches},
                          {"zero_optimization", std::move(zero)}};
  if (strategy.tp > 1)
    file["tensor_parallel"] = llvm::json::Object{{"autotp_size", strategy.tp}};
  if (strategy.pp > 1)
    file["pipeline"] = llvm::json::Object{{"stages", strategy.pp}};
  if (setup.policy.kind != PolicyKind::None) {
    const int64_t every = std::max<int64_t>(setup.policy.every, 1);
    file["activation_checkpointing"] =
        llvm::json::Object{{"partition_activations", false},
                           {"number_checkpoints", (setup.blocks + every - 1) / every}};
  }
  return llvm::formatv("{0:2}\n", llvm::json::Value(std::move(file)));
}

//===----------------------------------------------------------------------===//
// MaxText
//===----------------------------------------------------------------------===//

static std::vector<std::string> policiesOfMaxText(int64_t) {
  std::vector<std::string> policies{"none", "full"};
  for (const char *module :
       {"minimal", "minimal_with_context", "save_dot_except_mlp", "save_qkv_proj", "save_out_proj"})
    policies.push_back(std::string("selective=") + module);
  for (std::string &policy : policies)
    policy += "+reshard";
  return policies;
}

static Strategy nearestOfMaxText(Strategy strategy) {
  if (strategy.zeroStage > 0)
    strategy.zeroStage = 3;
  limitSchedules(strategy, {PipelineKind::GPipe, PipelineKind::Interleaved});
  if (strategy.pp > 1 && strategy.schedule == PipelineKind::OneForwardOneBackward)
    strategy.schedule = PipelineKind::GPipe;
  return strategy;
}

/// Returns a number with a point and as many digits as it takes to read it back.
static std::string exactly(double number) {
  const std::string text = llvm::formatv("{0}", llvm::json::Value(number));
  return llvm::StringRef(text).contains_insensitive('e') || llvm::StringRef(text).contains('.')
             ? text
             : text + ".0";
}

static std::string writeMaxText(const FrameworkSetup &setup) {
  const Strategy &strategy = setup.strategy;
  // Its batch of a device is that of one part of an update, but of all parts in a pipeline.
  const int64_t parts = strategy.numDevices() * (strategy.pp > 1 ? 1 : strategy.microBatches);
  std::string text;
  llvm::raw_string_ostream os(text);
  os << llvm::formatv("per_device_batch_size: {0}\nmax_target_length: {1}\n",
                      exactly(double(setup.batch) / double(parts)), setup.sequence)
     << llvm::formatv("{0}: {1}\nici_tensor_parallelism: {2}\n",
                      strategy.zeroStage > 0 ? "ici_fsdp_parallelism" : "ici_data_parallelism",
                      strategy.dp, strategy.tp);
  if (strategy.pp > 1)
    os << llvm::formatv("ici_pipeline_parallelism: {0}\nnum_pipeline_microbatches: {1}\n"
                        "num_pipeline_repeats: {2}\n",
                        strategy.pp, strategy.microBatches, strategy.chunks);
  if (const int64_t blocks = setup.blocksOfChunk(); blocks > 0 && strategy.pp > 1)
    os << "num_layers_per_pipeline_stage: " << blocks << "\n";
  if (strategy.pp == 1 && strategy.microBatches > 1)
    os << "gradient_accumulation_steps: " << strategy.microBatches << "\n";
  const std::vector<std::string> &modules = setup.policy.modules;
  os << "remat_policy: "
     << (!modules.empty()                        ? modules.front()
         : setup.policy.kind == PolicyKind::None ? "none"
                                                 : "full")
     << "\n";
  return text;
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

/// A new framework adds one line here.
static constexpr Framework table[] = {
    {"torchtitan", policiesOfTorchtitan, nearestOfTorchtitan, writeTorchtitan, "# "},
    {"megatron", policiesOfMegatron, nearestOfMegatron, writeMegatron, "# "},
    {"deepspeed", policiesOfDeepSpeed, nearestOfDeepSpeed, writeDeepSpeed, ""},
    {"maxtext", policiesOfMaxText, nearestOfMaxText, writeMaxText, "# "},
};

const Framework *llmmem::findFramework(llvm::StringRef name) {
  const auto *found =
      llvm::find_if(table, [&](const Framework &framework) { return framework.name == name; });
  return found == std::end(table) ? nullptr : found;
}

std::string llmmem::frameworkNames() {
  std::string names;
  for (const Framework &framework : table) {
    if (&framework != table)
      names += &framework == std::end(table) - 1 ? " or " : ", ";
    names += framework.name;
  }
  return names;
}
