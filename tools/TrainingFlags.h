//===- TrainingFlags.h - How a model is trained, as flags --------*- C++ -*-===//
//
// These flags mean the same in every tool that makes a training step of a config.json, so that the
// flags of one are the flags of the other.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_TOOLS_TRAININGFLAGS_H
#define LLMMEM_TOOLS_TRAININGFLAGS_H

#include "Flag.h"
#include "llmmem/Import/ImportOptions.h"

namespace llmmem {

struct TrainingFlags {
  explicit TrainingFlags(llvm::cl::OptionCategory &category);

  /// Sets the options that these flags are for.
  void apply(importer::ImportOptions &options) const;

  Choice<llm::OptimizerKind> optimizer;
  Choice<importer::StateType> optimizerState;
  Choice<llm::GradientLifetime> gradients;
  llvm::cl::list<std::string> freeze;
  Flag<int64_t> loraRank;
  Flag<double> loraAlpha;
  llvm::cl::list<std::string> loraTargets;
  Flag<int64_t> expertCapacity;
};

inline TrainingFlags::TrainingFlags(llvm::cl::OptionCategory &category)
    : optimizer("optimizer", llvm::cl::desc("Update of the parameters (default: adamw):"),
                llvm::cl::values(clEnumValN(llm::OptimizerKind::AdamW, "adamw", "as PyTorch's"),
                                 clEnumValN(llm::OptimizerKind::SGD, "sgd",
                                            "gradient descent, with --momentum or without"),
                                 clEnumValN(llm::OptimizerKind::Lion, "lion",
                                            "the sign of an average of gradients"),
                                 clEnumValN(llm::OptimizerKind::Adafactor, "adafactor",
                                            "the second moment of a matrix by rows and columns"),
                                 clEnumValN(llm::OptimizerKind::Muon, "muon",
                                            "for the matrices of blocks; adamw for all else")),
                llvm::cl::init(llm::OptimizerKind::AdamW), llvm::cl::cat(category)),
      optimizerState(
          "optimizer-state", llvm::cl::desc("Type of AdamW's moments (default: f32):"),
          llvm::cl::values(
              clEnumValN(importer::StateType::Wide, "f32", "f64 with f64"),
              clEnumValN(importer::StateType::BF16, "bf16",
                         "rounded stochastically, half the bytes"),
              clEnumValN(importer::StateType::Int8, "int8",
                         "blocks of 256 with a scale, a quarter of the bytes; parameters of fewer "
                         "than 4096 elements keep f32")),
          llvm::cl::init(importer::StateType::Wide), llvm::cl::cat(category)),
      gradients(
          "gradients", llvm::cl::desc("How long a parameter's gradient lives (default: resident):"),
          llvm::cl::values(clEnumValN(llm::GradientLifetime::Resident, "resident",
                                      "the whole step; micro-batches add to it"),
                           clEnumValN(llm::GradientLifetime::Transient, "transient",
                                      "until its parameter's update, which comes as early as it "
                                      "can")),
          llvm::cl::init(llm::GradientLifetime::Resident), llvm::cl::cat(category)),
      freeze("freeze", llvm::cl::CommaSeparated,
             llvm::cl::desc("Parameters that are not trained, by their names; * stands for any "
                            "part: --freeze=*.bias,model.embed_tokens.*"),
             llvm::cl::value_desc("patterns"), llvm::cl::cat(category)),
      loraRank(category, "lora-rank", "R",
               "Train adapters of this rank and freeze all else (LoRA)"),
      loraAlpha(category, "lora-alpha", "A",
                "What adapters give is scaled by this over the rank (default: 8)",
                llvm::cl::init(8)),
      loraTargets("lora-targets", llvm::cl::CommaSeparated,
                  llvm::cl::desc("Projections that get an adapter: q_proj,v_proj"),
                  llvm::cl::value_desc("names"), llvm::cl::cat(category)),
      expertCapacity(category, "expert-capacity", "N",
                     "Places that each expert of a mixture has in a sequence; choices beyond them "
                     "are dropped and counted (default: --seq, so that none is)") {}

inline void TrainingFlags::apply(importer::ImportOptions &options) const {
  options.training.optimizer = optimizer;
  options.training.state = optimizerState;
  options.training.gradients = gradients;
  options.freeze.assign(freeze.begin(), freeze.end());
  if (loraRank.getNumOccurrences())
    options.lora =
        importer::LoraOptions{loraRank, loraAlpha, {loraTargets.begin(), loraTargets.end()}};
  if (expertCapacity.getNumOccurrences())
    options.expertCapacity = expertCapacity;
}

} // namespace llmmem

#endif // LLMMEM_TOOLS_TRAININGFLAGS_H
