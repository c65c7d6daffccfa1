//===- llmmem-fit.cpp - Does a model train on a card ------------------------===//

#include "PythonPackage.h"
#include "Tools.h"
#include "TrainingFlags.h"
#include "llmmem/Device/CardName.h"
#include "llmmem/Device/Topology.h"
#include "llmmem/Fit/FitCluster.h"
#include "llmmem/Fit/FitInference.h"
#include "llmmem/Fit/FitTorch.h"
#include "llmmem/Support/ByteSize.h"
#include "llmmem/Support/ExitCode.h"
#include "llmmem/Support/StartTool.h"
#include "llmmem/Support/TextFile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/WithColor.h"
#include <cmath>

namespace cl = llvm::cl;
using namespace llmmem;
using importer::ElementKind;

namespace {
/// Has a member for each flag, which is there once the tool runs: a program has several tools.
/// Many fields: the flags.
class FitTool {
public:
  int run(int argc, char **argv) {
    llvm::InitLLVM init(argc, argv);
    startTool("llmmem-fit");
    cl::HideUnrelatedOptions(category);
    cl::ParseCommandLineOptions(argc, argv,
                                "Whether a model trains on a card, with which batch and sequence, "
                                "and what would help; or how "
                                "many sequences it answers there\n");
    return run();
  }

private:
  cl::OptionCategory category{"llmmem-fit"};

  cl::opt<std::string> input{cl::Positional, cl::desc("<config.json>"), cl::cat(category)};
  Flag<std::string> gpu{category, "gpu", "name, file or bytes",
                        "The card, in any spelling (4090, 'RTX 4090', h100-80gb), or several of a "
                        "node (2x3090, 8xh100); a table's .json file; or its bytes (24GB), then no "
                        "time is said"};
  Flag<int64_t> batch{category, "batch", "B",
                      "Sequences in a step (default: the largest that fits)"};
  Flag<int64_t> seq{category, "seq", "S",
                    "Tokens in a sequence (default 4096, or the most that the model has)",
                    cl::init(4096)};
  enum class Way { Full, Lora, Qlora };
  Choice<Way> way{
      "train", cl::desc("What is trained (default: full):"),
      cl::values(clEnumValN(Way::Full, "full", "all parameters"),
                 clEnumValN(Way::Lora, "lora",
                            "adapters of rank 16 of all projections of blocks, unless "
                            "--lora-rank and --lora-targets say otherwise"),
                 clEnumValN(Way::Qlora, "qlora", "the same over a base of --weights int4:128")),
      cl::init(Way::Full), cl::cat(category)};
  TrainingFlags training{category};
  Choice<HostData> offload{
      "offload", cl::desc("What lies in the host's memory between steps (default: none):"),
      cl::values(
          clEnumValN(HostData::None, "none", "nothing"),
          clEnumValN(HostData::State, "state", "the optimizer's state (--optimizer-on=host)"),
          clEnumValN(HostData::StateAndParameters, "all",
                     "parameters, too (--parameters-on=host)")),
      cl::init(HostData::None), cl::cat(category)};
  Flag<std::string> hostBudget{category, "host-budget", "bytes",
                               "Bytes of the host's memory: for what --offload puts there, and for "
                               "values that leave within a "
                               "step and come back (default: none leaves)"};
  Flag<std::string> mlpChunk{
      category, "mlp-chunk", "tokens",
      "Tokens whose feed-forward a block runs at a time: a number, auto, whole, or apart (default: "
      "apart, whose wide values may be saved)",
      cl::init("apart")};
  Flag<bool> phase{category, "phase", "",
                   "Show the bytes over time: parameters loaded, the first step, later steps"};
  Flag<bool> inference{category, "inference", "",
                       "Ask what the card holds of a model that only runs: weights, caches of "
                       "--context tokens, activations of steps that read prompts and decode"};
  Flag<int64_t> context{category, "context", "C",
                        "Of --inference: tokens of the longest sequence (default 8192, or the most "
                        "that the model has)"};
  Flag<double> utilization{category, "utilization", "share",
                           "Of --inference: what becomes of the share of the card, as 0.9, that an "
                           "engine reserves when it starts"};
  Choice<ElementKind> dtype{
      "dtype", cl::desc("Type of parameters and activations (default: the config's own):"),
      cl::values(clEnumValN(ElementKind::BF16, "bf16", "bfloat16"),
                 clEnumValN(ElementKind::F16, "f16", "float16"),
                 clEnumValN(ElementKind::F32, "f32", "float32")),
      cl::cat(category)};
  Flag<std::string> weights{
      category, "weights", "type:G",
      "Hold weights that are not trained in fewer bits, as llmmem-import does: "
      "int8:128, int4:128, f8e4m3:128"};
  Flag<std::string> kvCache{category, "kv-cache", "type",
                            "Of --inference: hold caches in int8, f8 or f8e5m2"};
  Flag<std::string> torchModel{category, "torch", "package.module:function",
                               "Ask of what PyTorch traces in place of a config: a function that "
                               "returns (model, inputs) or (model, inputs, loss)"};
  Flag<std::string> as{
      category, "as", "way[,way]",
      "Ask what ways to train in PyTorch hold, of any config of transformers: all, "
      "pytorch-eager, pytorch-compiled, hf-checkpointing, ddp, fsdp2, "
      "fsdp2-checkpointing, ours (default with --torch: all)"};
  Flag<int64_t> ranks{category, "ranks", "N", "Of --as: ranks that hold the model (default 8)",
                      cl::init(8)};
  Flag<std::string> reserve{
      category, "reserve", "bytes",
      "Bytes of the card for context and libraries (default: the table's, 1GB without one)"};
  Flag<double> seconds{category, "seconds", "",
                       "Bound on the work of each plan's search, as of llmmem-opt (default 3)",
                       cl::init(3)};
  Flag<bool> json{category, "json", "", "JSON instead of a table"};
  Flag<std::string> output{category, "o", "file", "Where to write (default: -, stdout)",
                           cl::init("-")};

  const std::string help = R"(
EXAMPLES
  llmmem-fit examples/configs/llama-3-8b.json --gpu h200 --seq 4096
  llmmem-fit examples/configs/gpt2.json --gpu 24GB --seq 1024 --dtype bf16 --json
  llmmem-fit examples/configs/llama-3-8b.json --gpu 4090 --seq 2048 --train lora
  llmmem-fit examples/configs/llama-3-8b.json --gpu 8xh100
  llmmem-fit examples/configs/llama-3.1-8b.json --gpu h100 --batch 1 --seq 131072 --offload state --host-budget 256GB --mlp-chunk auto
  llmmem-fit examples/configs/llama-3-8b.json --gpu rtx4090 --inference --context 8192 --utilization 0.9
  llmmem-fit examples/configs/gpt2.json --gpu rtx4090 --seq 1024 --as=pytorch-eager,fsdp2
)" + exitCodeHelp("llmmem-fit");
  cl::extrahelp extraHelp{help};

  int fail(llvm::Error error) {
    llvm::WithColor::error(llvm::errs(), "llmmem-fit") << llvm::toString(std::move(error)) << '\n';
    return ExitBadInput;
  }

  /// Holds what --gpu names: the bytes, and the table that times are taken from.
  struct GivenCard {
    Card card;
    DeviceModel device;
  };

  static constexpr int64_t kDefaultReserve = 1'000'000'000;

  /// Reads a table, of one card or of several of a node.
  llvm::Expected<GivenCard> readTable() {
    llvm::Expected<NamedCards> cards = NamedCards();
    if (llvm::StringRef(gpu).ends_with(".json")) {
      llvm::Expected<DeviceModel> device = loadDeviceModel(gpu);
      if (!device)
        return device.takeError();
      cards->table = std::move(*device);
    } else {
      cards = readCardName(gpu);
    }
    if (!cards)
      return llvm::createStringError(llvm::toString(cards.takeError()) +
                                     ", or bytes as in --gpu 24GB");
    DeviceModel &device = cards->table;
    if (device.memoryBytes == 0)
      return llvm::createStringError("the table of '" + gpu +
                                     "' has no 'memory_bytes'; add it, or give bytes: --gpu 24GB");
    // Commands take the name of a table; only a file and several cards have another.
    const bool isFile = llvm::StringRef(gpu).ends_with(".json");
    GivenCard given{
        {isFile ? gpu.getValue() : device.name, device.memoryBytes, device.reserveBytes}, device};
    given.card.count = cards->count;
    if (cards->count == 1)
      return given;
    given.card.name = llvm::formatv("{0}x{1}", cards->count, device.name).str();
    llvm::Expected<Topology> topology = loadTopology(given.card.name);
    if (!topology)
      return topology.takeError();
    given.device = topology->kinds.front().table;
    return given;
  }

  /// Reads bytes alone: they describe no device, and llmmem-opt then plans for an H100, too.
  llvm::Expected<GivenCard> readBytes() {
    llvm::Expected<int64_t> bytes = parseByteSize(gpu);
    llvm::Expected<DeviceModel> device = loadDeviceModel("h100");
    if (!bytes || !device)
      return llvm::joinErrors(bytes.takeError(), device.takeError());
    device->libraryWorkspace = 0; // As llmmem-opt has no device's name.
    return GivenCard{{gpu, *bytes, kDefaultReserve, false}, std::move(*device)};
  }

  /// Returns whether what is no card is meant as bytes: 24XB is, and 3090ti is not.
  bool looksLikeBytes() const {
    const llvm::StringRef text = llvm::StringRef(gpu).trim();
    return !text.empty() && llvm::isDigit(text.front()) && splitCount(text).first == 1 &&
           (llvm::isDigit(text.back()) || text.ends_with_insensitive("b"));
  }

  llvm::Expected<GivenCard> readCard() {
    llvm::Expected<GivenCard> given = readTable();
    if (!given && looksLikeBytes()) {
      llvm::consumeError(given.takeError());
      given = readBytes();
    }
    if (!given)
      return llvm::createStringError("--gpu: " + llvm::toString(given.takeError()));
    Card &card = given->card;
    if (reserve.getNumOccurrences()) {
      llvm::Expected<int64_t> bytes = reserve == "0" ? 0 : parseByteSize(reserve);
      if (!bytes)
        return llvm::createStringError("--reserve: " + llvm::toString(bytes.takeError()));
      card.reserve = *bytes;
    }
    if (card.budget() <= 0)
      return llvm::createStringError(
          "--gpu: " + formatByteSize(card.memory) + " are no more than the reserve of " +
          formatByteSize(card.reserve) +
          "; write 24GB for 24 * 10^9 bytes, give --reserve, or name a card that is known (4090)");
    return given;
  }

  /// Refuses flags of the other question.
  llvm::Error checkFlags() {
    if ((batch.getNumOccurrences() && batch < 1) || seq < 1 || !(seconds >= 0) ||
        !std::isfinite(seconds) || (context.getNumOccurrences() && context < 1))
      return llvm::createStringError(
          "--batch, --seq and --context are numbers from 1 up, --seconds one from 0 up");
    if (inference)
      if (const cl::Option *flag =
              firstGiven(way, training.optimizer, training.optimizerState, training.gradients,
                         training.freeze, training.loraRank, training.loraAlpha,
                         training.loraTargets, offload, hostBudget, mlpChunk, phase))
        return llvm::createStringError("--" + flag->ArgStr +
                                       " is of a step of training; leave it out with --inference");
    if (inference && seq.getNumOccurrences())
      return llvm::createStringError("--seq is of a step of training; --inference has --context");
    for (auto [flag, isGiven] : {std::pair("--context", context.getNumOccurrences() > 0),
                                 {"--utilization", utilization.getNumOccurrences() > 0},
                                 {"--kv-cache", kvCache.getNumOccurrences() > 0}})
      if (!inference && isGiven)
        return llvm::createStringError(std::string(flag) +
                                       " is of --inference; add that, or leave " + flag + " out");
    const bool hasAdapters = training.loraRank.getNumOccurrences() || way != Way::Full;
    if (const cl::Option *flag = firstGiven(training.loraAlpha, training.loraTargets);
        flag && !hasAdapters)
      return llvm::createStringError("--" + flag->ArgStr +
                                     " says something of adapters; add --train lora");
    if (!inference && weights.getNumOccurrences() && !hasAdapters)
      return llvm::createStringError(
          "--weights is of --inference, or of a base under adapters; add "
          "one of --inference and --train qlora, or leave it out");
    if (utilization.getNumOccurrences() && !(utilization > 0 && utilization <= 1))
      return llvm::createStringError("--utilization is a share of the card above 0, at most 1");
    if (const bool asksTorch = as.getNumOccurrences() || torchModel.getNumOccurrences();
        asksTorch) {
      if (inference)
        return llvm::createStringError("--inference has no --torch and no --as; leave them out");
      if (ranks < 1)
        return llvm::createStringError("--ranks is a number from 1 up");
    } else if (ranks.getNumOccurrences()) {
      return llvm::createStringError("--ranks is of --as; add that, or leave --ranks out");
    }
    if (torchModel.getNumOccurrences() && input.getNumOccurrences())
      return llvm::createStringError("--torch takes the place of a config; leave one of them out");
    if (!torchModel.getNumOccurrences() && !input.getNumOccurrences())
      return llvm::createStringError("expected a config.json, or --torch package.module:function");
    if (!gpu.getNumOccurrences())
      return llvm::createStringError("expected a card, as in --gpu 4090, or its bytes, as in "
                                     "--gpu 24GB");
    return llvm::Error::success();
  }

  llvm::Error readHeldFormats(importer::ImportOptions &options) {
    if (weights.getNumOccurrences()) {
      llvm::Expected<importer::HeldFormat> format = importer::readWeightFormat(weights);
      if (!format)
        return format.takeError();
      options.weights = *format;
    }
    if (kvCache.getNumOccurrences()) {
      llvm::Expected<importer::HeldKind> kind = importer::readCacheFormat(kvCache);
      if (!kind)
        return kind.takeError();
      options.kvCache = *kind;
    }
    return llvm::Error::success();
  }

  template <typename Answer>
  bool fits(const Answer &answer) {
    return answer.fits;
  }
  bool fits(const ClusterAnswer &answer) { return answer.common.fits; }

  llvm::Expected<StepForm> readForm() {
    StepForm form;
    form.onHost = offload;
    if (hostBudget.getNumOccurrences()) {
      llvm::Expected<int64_t> bytes = parseByteSize(hostBudget);
      if (!bytes)
        return llvm::createStringError("--host-budget: " + llvm::toString(bytes.takeError()));
      form.hostMemory = *bytes;
    }
    if (mlpChunk == "apart")
      return form;
    llvm::Expected<ChunkRequest> chunk = parseChunkRequest(mlpChunk);
    if (!chunk)
      return llvm::createStringError("--mlp-chunk: " + llvm::toString(chunk.takeError()) +
                                     "; or apart, to leave feed-forwards several ops");
    form.mlpChunk = *chunk;
    return form;
  }

  /// Sets how the model is trained.
  void readTraining(importer::ImportOptions &options) {
    constexpr double alphaOfRank = 2;
    training.apply(options);
    if (way == Way::Full)
      return;
    if (!options.lora)
      options.lora =
          importer::LoraOptions{kAdapterRank,
                                alphaOfRank * kAdapterRank,
                                {training.loraTargets.begin(), training.loraTargets.end()}};
    if (training.loraAlpha.getNumOccurrences())
      options.lora->alpha = training.loraAlpha;
    if (way == Way::Qlora && !options.weights)
      options.weights = importer::HeldFormat{importer::HeldKind::Int4};
  }

  template <typename Answer>
  int write(const FitModel &model, const Answer &answer) {
    std::string said;
    llvm::raw_string_ostream os(said);
    if (json)
      os << llvm::formatv("{0:2}\n", toJson(model, answer));
    else
      printFit(model, answer, os);
    if (llvm::Error error = writeTextFile(output, said))
      return fail(std::move(error));
    return fits(answer) ? ExitSuccess : ExitNoPlan;
  }

  int answerTraining(FitModel &model, const Card &card) {
    FitRequest request{seq, std::nullopt, phase};
    if (!seq.getNumOccurrences())
      request.seq = std::min<int64_t>(seq, model.longestSequence());
    if (batch.getNumOccurrences())
      request.batch = batch;
    if (card.count > 1) {
      if (model.form().hostMemory)
        return fail(llvm::createStringError("--host-budget is of one card; leave it out with " +
                                            card.name));
      llvm::Expected<ClusterAnswer> answer = fitCluster(model, card, request);
      return answer ? write(model, *answer) : fail(answer.takeError());
    }
    llvm::Expected<FitAnswer> answer = fit(model, card, request);
    return answer ? write(model, *answer) : fail(answer.takeError());
  }

  int answerInference(FitModel &model, const Card &card) {
    constexpr int64_t kDefaultContext = 8192;
    InferenceRequest request;
    request.context = context.getNumOccurrences()
                          ? context.getValue()
                          : std::min<int64_t>(kDefaultContext, model.longestSequence());
    if (batch.getNumOccurrences())
      request.batch = batch;
    if (utilization.getNumOccurrences())
      request.utilization = utilization;
    llvm::Expected<InferenceAnswer> answer = fitInference(model, card, request);
    return answer ? write(model, *answer) : fail(answer.takeError());
  }

  int answerTorch(const Card &card) {
    TorchRequest request;
    request.model = torchModel.getNumOccurrences() ? torchModel : input;
    if (as.getNumOccurrences()) {
      llvm::Expected<std::vector<std::string>> ways = readTorchWays(as);
      if (!ways)
        return fail(ways.takeError());
      request.ways = *ways;
    }
    if (batch.getNumOccurrences())
      request.batch = batch;
    if (seq.getNumOccurrences())
      request.seq = seq;
    if (dtype.getNumOccurrences())
      request.dtype = dtypeName(dtype).str();
    request.ranks = ranks;
    llvm::Expected<TorchAnswer> answer = fitTorch(request, card, findPythonPackage());
    if (!answer)
      return fail(answer.takeError());
    std::string said;
    llvm::raw_string_ostream os(said);
    if (json)
      os << llvm::formatv("{0:2}\n", toJson(*answer));
    else
      printTorch(*answer, os);
    if (llvm::Error error = writeTextFile(output, said))
      return fail(std::move(error));
    return answer->fits ? ExitSuccess : ExitNoPlan;
  }

  int run() {
    if (llvm::Error error = checkFlags())
      return fail(std::move(error));
    if (llvm::Error error = checkOutputs({output}))
      return fail(std::move(error));
    llvm::Expected<GivenCard> card = readCard();
    if (!card)
      return fail(card.takeError());
    if (card->card.count > 1)
      if (const cl::Option *flag = firstGiven(inference, phase, offload))
        return fail(llvm::createStringError("--" + flag->ArgStr + " is of one card; --gpu " +
                                            card->device.name + " names one"));
    if (torchModel.getNumOccurrences() || as.getNumOccurrences())
      return answerTorch(card->card);
    auto text = readTextFile(input);
    if (!text)
      return fail(text.takeError());
    importer::ImportOptions options;
    if (dtype.getNumOccurrences())
      options.dtype = dtype;
    if (llvm::Error error = readHeldFormats(options))
      return fail(std::move(error));
    if (inference) {
      options.mode = importer::Mode::Decode;
      options.context = context.getNumOccurrences() ? context.getValue() : 1;
    } else {
      readTraining(options);
    }
    llvm::Expected<StepForm> form = readForm();
    if (!form)
      return fail(form.takeError());
    llvm::Expected<FitModel> model =
        FitModel::read((*text)->getBuffer(), input == "-" ? "<stdin>" : input.c_str(), options,
                       card->device, seconds, *form);
    if (!model)
      return fail(model.takeError());
    std::vector<std::string> notes = model->facts().notes;
    if (std::string places = importer::placesNote(model->facts(), options);
        !places.empty() && !inference)
      notes.push_back(places);
    for (const std::string &note : notes)
      llvm::WithColor::note(llvm::errs(), "llmmem-fit") << note << '\n';
    return inference ? answerInference(*model, card->card) : answerTraining(*model, card->card);
  }
};
} // namespace

int llmmem::fitMain(int argc, char **argv) { return FitTool().run(argc, argv); }
