//===- Trainings.cpp - Ways to train a model, and their flags ---------------===//

#include "Trainings.h"
#include "llmmem/Support/NumberText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llmmem;
using importer::ImportOptions;
using importer::StateType;
using llm::GradientLifetime;
using llm::OptimizerKind;

std::vector<std::string> llmmem::blockProjections(const importer::Model &model) {
  std::vector<std::string> names;
  for (const importer::Parameter &parameter : model.parameters()) {
    const llvm::StringRef module = llvm::StringRef(parameter.name).rsplit('.').first;
    const llvm::StringRef name = module.substr(module.rfind('.') + 1);
    const bool isProjection =
        parameter.layout && !parameter.head && !parameter.ofExperts && !parameter.frozen;
    if (isProjection && !llvm::is_contained(names, name))
      names.push_back(name.str());
  }
  return names;
}

//===----------------------------------------------------------------------===//
// Flags
//===----------------------------------------------------------------------===//

static llvm::StringRef nameOf(StateType state) {
  switch (state) {
  case StateType::Wide:
    return "f32";
  case StateType::BF16:
    return "bf16";
  case StateType::Int8:
    return "int8";
  }
  return "";
}

std::string llmmem::importFlags(const ImportOptions &options) {
  std::string text;
  llvm::raw_string_ostream os(text);
  const importer::TrainingOptions &training = options.training;
  if (options.dtype)
    os << " --dtype " << dtypeName(*options.dtype);
  if (options.expertCapacity)
    os << " --expert-capacity " << *options.expertCapacity;
  if (training.optimizer != OptimizerKind::AdamW)
    os << " --optimizer " << llm::stringifyOptimizerKind(training.optimizer);
  if (training.state != StateType::Wide)
    os << " --optimizer-state " << nameOf(training.state);
  if (training.gradients != GradientLifetime::Resident)
    os << " --gradients transient";
  if (options.weights)
    os << " --weights " << options.weights->text();
  if (!options.freeze.empty())
    os << " --freeze='" << llvm::join(options.freeze, ",") << "'";
  if (options.lora)
    os << " --lora-rank " << options.lora->rank
       << llvm::format(" --lora-alpha %g --lora-targets ", options.lora->alpha)
       << llvm::join(options.lora->targets, ",");
  return text;
}

std::string llmmem::hostFlags(const StepForm &form, const DeviceModel &device) {
  std::string flags;
  if (form.onHost != HostData::None)
    flags += " --optimizer-on=host";
  if (form.onHost == HostData::StateAndParameters)
    flags += " --parameters-on=host";
  if (form.hostMemory)
    flags += " --host-budget=" + std::to_string(*form.hostMemory);
  // Without a table the tools must be told the link.
  const bool needsLink = !flags.empty() && !device.linkTo(DeviceLink::To::Host);
  return flags + (needsLink ? " --link=25GB/s" : "");
}

std::string llmmem::formFlags(const StepForm &form) {
  if (!form.mlpChunk)
    return "";
  const ChunkRequest &chunk = *form.mlpChunk;
  return " --mlp-chunk=" + (chunk.kind == ChunkRequest::Kind::Auto    ? "auto"
                            : chunk.kind == ChunkRequest::Kind::Whole ? "whole"
                                                                      : std::to_string(chunk.rows));
}

//===----------------------------------------------------------------------===//
// Other ways to train
//===----------------------------------------------------------------------===//

namespace {
class Alternatives {
public:
  explicit Alternatives(const FitModel &model) : model(model), base(model.importOptions()) {}

  std::vector<Relief> run();

private:
  void add(llvm::StringRef name, std::string changes, ImportOptions options, HostData data);
  void addSmallerState();
  void addAdapters();
  void addHost();

  const FitModel &model;
  const ImportOptions &base;
  std::vector<Relief> list;
};
} // namespace

void Alternatives::add(llvm::StringRef name, std::string changes, ImportOptions options,
                       HostData data) {
  list.push_back({name.str(), std::move(changes), std::move(options), data});
}

/// Adds what keeps every parameter trained.
void Alternatives::addSmallerState() {
  const HostData data = model.form().onHost;
  ImportOptions transient = base;
  transient.training.gradients = GradientLifetime::Transient;
  if (base.training.gradients == GradientLifetime::Resident)
    add("transient gradients", "no clipping by the norm of all, and no accumulation", transient,
        data);
  if (base.training.optimizer != OptimizerKind::AdamW)
    return;
  ImportOptions int8 = transient;
  int8.training.state = StateType::Int8;
  if (base.training.state == StateType::Wide)
    add("moments in 8 bits", "AdamW's moments are rounded; transient gradients", int8, data);
  ImportOptions other = transient;
  other.training.state = StateType::Wide;
  other.training.optimizer = OptimizerKind::Adafactor;
  add("Adafactor", "another optimizer; transient gradients", other, data);
  other.training.optimizer = OptimizerKind::SGD;
  add("SGD", "another optimizer, without a state; transient gradients", other, data);
}

void Alternatives::addAdapters() {
  constexpr double alphaOfRank = 2;
  ImportOptions lora = base;
  if (!base.lora)
    lora.lora = importer::LoraOptions{kAdapterRank, alphaOfRank * kAdapterRank,
                                      blockProjections(model.source())};
  llvm::Expected<int64_t> trained = importer::countTrained(model.source(), lora);
  if (!trained) { // A model without projections has no adapters.
    llvm::consumeError(trained.takeError());
    return;
  }
  const std::string changes = formatCount(*trained) + " parameters of adapters are trained";
  if (!base.lora)
    add("LoRA of rank 16", changes + ", all else is frozen", lora, model.form().onHost);
  if (base.weights)
    return;
  lora.weights = importer::HeldFormat{importer::HeldKind::Int4};
  add("QLoRA of rank 16", changes + ", all else is frozen and held in 4 bits", lora,
      model.form().onHost);
}

void Alternatives::addHost() {
  if (model.form().onHost == HostData::None)
    add("state on the host", "moves over the link to the host", base, HostData::State);
  if (model.form().onHost == HostData::StateAndParameters)
    return;
  ImportOptions transient = base;
  transient.training.gradients = GradientLifetime::Transient;
  add("state and parameters on the host", "move over the link to the host; transient gradients",
      transient, HostData::StateAndParameters);
}

std::vector<Relief> Alternatives::run() {
  if (!base.lora)
    addSmallerState();
  addAdapters();
  addHost();
  return std::move(list);
}

std::vector<Relief> llmmem::otherTrainings(const FitModel &model) {
  return Alternatives(model).run();
}
