//===- Train.cpp - The steps of a run, and what they report ----------------===//

#include "CompareRanks.h"
#include "Interrupt.h"
#include "Progress.h"
#include "ReadTokenizer.h"
#include "WriteProfile.h"
#include "llmmem/Execution/ImageFeed.h"
#include "llmmem/Execution/ProcessMemory.h"
#include "llmmem/Execution/RankJob.h"
#include "llmmem/Runtime/Parallel.h"
#include "llmmem/Support/ExitCode.h"
#include "llmmem/Support/JsonTree.h"
#include "llmmem/Support/TextFile.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include <chrono>
#include <cmath>

using namespace llvm;
using namespace llmmem;

/// Returns the feed that a file of the text's ids would give.
static Expected<TokenFeed> feedOfTokens(const Tokenizer &tokenizer, StringRef file, StringRef text,
                                        TokenFeed::Shape shape) {
  Expected<std::vector<int32_t>> ids = encodeText(tokenizer, file, text);
  if (!ids)
    return ids.takeError();
  return TokenFeed::fromIds(file, std::move(*ids), shape);
}

static Expected<TokenFeed> openTokens(TokenFeed::Shape shape, const RunOptions &options) {
  if (options.dataFile.has_value() == options.tokensFile.has_value())
    return createStringError("expected either --data text.txt or --tokens ids.txt");
  std::string file = options.dataFile ? *options.dataFile : *options.tokensFile;
  if (file == "-" && options.inputFile == "-")
    return createStringError("stdin cannot be both the step and its data");
  Expected<std::unique_ptr<MemoryBuffer>> text = readTextFile(file, FileKind::Data);
  if (!text)
    return text.takeError();
  Expected<std::optional<Tokenizer>> tokenizer = readTokenizer(options, shape.vocabulary);
  if (!tokenizer)
    return tokenizer.takeError();
  if (*tokenizer)
    return feedOfTokens(**tokenizer, file, (*text)->getBuffer(), shape);
  if (options.dataFile)
    return TokenFeed::fromText(file, std::move(*text), shape);
  return TokenFeed::fromIds(file, (*text)->getBuffer(), shape);
}

static Error readLabels(TokenFeed &feed, const StepRoles &roles, const RunOptions &options) {
  if (options.labelsFile.empty()) {
    if (!roles.labels)
      return Error::success();
    return createStringError(
        "the step predicts labels and not the next token; give --labels ids.txt, with -100 "
        "where there is no loss");
  }
  Expected<std::unique_ptr<MemoryBuffer>> text = readTextFile(options.labelsFile, FileKind::Data);
  if (!text)
    return text.takeError();
  return feed.readLabels(options.labelsFile, (*text)->getBuffer());
}

static Error readSegments(TokenFeed &feed, const PlannedFunction &step, const RunOptions &options) {
  if (options.segmentsFile.empty())
    return Error::success();
  // Of the stages of a pipeline, those without attention read no positions.
  if (!step.roles.positions && step.compiled->parametersOfAllStages().empty())
    return createStringError("--segments: the step takes each row for one sequence; import the "
                             "model with --packed");
  Expected<std::unique_ptr<MemoryBuffer>> text = readTextFile(options.segmentsFile, FileKind::Data);
  if (!text)
    return text.takeError();
  return feed.readSegments(options.segmentsFile, (*text)->getBuffer());
}

static Expected<std::unique_ptr<StepFeed>> openImages(const PlannedFunction &step,
                                                      const RunOptions &options) {
  if (options.dataFile || options.tokensFile || !options.labelsFile.empty() ||
      !options.segmentsFile.empty() || !options.tokenizerFile.empty())
    return createStringError("the step reads images and no text; give --images file.safetensors, "
                             "or nothing for noise");
  ImageFeed::Shape shape = imageShapeOf(*step.compiled, step.roles);
  if (options.imagesFile.empty())
    return std::make_unique<ImageFeed>(ImageFeed::sampled(options.seed.value_or(0), shape));
  Expected<SafeTensors> file = SafeTensors::read(options.imagesFile);
  if (!file)
    return file.takeError();
  Expected<ImageFeed> feed =
      ImageFeed::fromFile(options.imagesFile, std::move(*file), std::move(shape));
  if (!feed)
    return feed.takeError();
  return std::make_unique<ImageFeed>(std::move(*feed));
}

static Expected<std::unique_ptr<StepFeed>> openFeed(const PlannedFunction &step,
                                                    const RunOptions &options) {
  if (step.compiled->pixels())
    return openImages(step, options);
  if (!options.imagesFile.empty())
    return createStringError("--images: the step reads no images");
  Expected<TokenFeed> feed = openTokens(feedShapeOf(*step.compiled, step.roles), options);
  if (!feed)
    return feed.takeError();
  if (Error error = readLabels(*feed, step.roles, options))
    return std::move(error);
  if (Error error = readSegments(*feed, step, options))
    return std::move(error);
  return std::make_unique<TokenFeed>(std::move(*feed));
}

namespace {
/// A run with its buffers and its reports.
class Training {
public:
  Training(TrainingRun run, ProcessMemory processMemory, const PlannedFunction &step,
           const RunOptions &options)
      : run(std::move(run)), processMemory(processMemory), profile(step.compiled->profiledCalls()),
        step(step), options(options) {}

  Error load();
  Error runSteps(StepFeed &feed);
  Error save();
  Error printEnd();
  Error writeProfile();
  std::vector<StepProfile::Parts> profileRanks();
  int interruptOfAnyRank();
  uint64_t seedOfSamples() const { return run.seedOfSamples(); }

private:
  Error printStep(const StepReport &report, double seconds);
  Expected<std::string> digest();
  Expected<json::Object> describeMemory();
  Error printMemory();
  void printRanks();
  void printDevicesOfRanks(int64_t predicted, int64_t measured);
  void printHostMemory();
  void printProcessMemory(int64_t predicted);

  /// What one person reads comes from one rank.
  raw_ostream &out = RankJob::rank() == 0 ? outs() : nulls();
  TrainingRun run;
  ProcessMemory processMemory;
  StepProfile profile;
  const PlannedFunction &step;
  const RunOptions &options;
};
} // namespace

Error Training::load() {
  bool isResumed = !options.resumeFile.empty();
  const std::string &path = isResumed ? options.resumeFile : options.loadFile;
  if (path.empty())
    return Error::success();
  Expected<SafeTensors> file = SafeTensors::read(path);
  if (!file)
    return file.takeError();
  if (isResumed && !TrainingRun::isSavedRun(*file))
    return createStringError("'" + path +
                             "' has no optimizer state and number of a step to continue from; "
                             "--load begins with its parameters");
  if (Error error = compareCheckpoints(*file, path))
    return error;
  bool isOther = TrainingRun::isSavedRun(*file) && !run.hasState(*file);
  if (isResumed && isOther)
    return createStringError("'" + path +
                             "' was saved by another training, and has no optimizer state of what "
                             "this step trains; --load begins with its parameters");
  Expected<int64_t> extra = run.load(*file);
  if (!extra)
    return createStringError("'" + path + "': " + toString(extra.takeError()));
  if (options.seed)
    run.setSeed(*options.seed);
  if (isOther)
    errs() << "llmmem-run: note: '" << path
           << "' was saved by another training, whose state is left out: begins at step 1 with its "
              "parameters\n";
  // What one stage of a pipeline does not have, another has.
  if (*extra > 0 && !isOther && step.compiled->parametersOfAllStages().empty())
    errs() << "llmmem-run: note: " << *extra << " tensors of '" << path
           << "' belong to no parameter\n";
  return Error::success();
}

/// Returns the signal that any rank has caught: all stop after the same step, or some would wait
/// for ever.
int Training::interruptOfAnyRank() {
  std::vector<int64_t> caught = RankJob::gather({caughtInterrupt()});
  return static_cast<int>(*llvm::max_element(caught));
}

Error Training::runSteps(StepFeed &feed) {
  int64_t first = run.stepsDone() + 1, last = run.stepsDone() + options.steps;
  Progress progress(errs(), errs().is_displayed() && RankJob::rank() == 0,
                    {last, feed.size(), step.compiled->arenaBytes(), options.progressSeconds});
  processMemory.forgetPeak();
  for (int64_t number = first; number <= last && !interruptOfAnyRank(); ++number) {
    auto start = std::chrono::steady_clock::now();
    Expected<StepReport> report = run.runStep(feed, options.learningRate.at(number));
    if (!report) {
      progress.finish();
      return report.takeError();
    }
    std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    if (!step.compiled->profiledCalls().empty())
      profile.add(run.memory().callTimes());
    if (Error error = printStep(*report, taken.count()))
      return error;
    progress.update(*report);
    if (number == first && !options.gradientsFile.empty())
      if (Error error = run.saveGradients(options.gradientsFile))
        return error;
    if (options.saveEvery > 0 && number % options.saveEvery == 0 && number < last)
      if (Error error = save())
        return error;
  }
  progress.finish();
  return Error::success();
}

/// Parameters come from the device first.
Expected<std::string> Training::digest() {
  std::string text = run.model().digest();
  if (Error error = run.memory().check())
    return std::move(error);
  return text;
}

/// Returns the measurements as JSON.
Expected<json::Object> Training::describeMemory() {
  json::Object memory{{"arena", step.compiled->arenaBytes()},
                      {"resident_measured", run.memory().residentBytes()}};
  if (const std::shared_ptr<CudaDevice> &device = step.compiled->cuda()) {
    Expected<int64_t> bytes = device->measuredBytes();
    if (!bytes)
      return bytes.takeError();
    memory["device_measured"] = *bytes - CudaDevice::ncclBytes();
  } else {
    memory["arena_measured"] = run.memory().arena().measureHighWater();
  }
  if (int64_t host = run.memory().residentOnHost())
    memory["host_resident_measured"] = host;
  if (int64_t host = step.compiled->hostArenaBytes()) {
    memory["host_arena"] = host;
    memory["host_arena_measured"] = run.memory().hostArena().measureHighWater();
  }
  if (step.peak)
    memory["peak"] = *step.peak;
  if (std::optional<int64_t> bytes = processMemory.peakBytes())
    memory["process_measured"] = *bytes;
  return memory;
}

/// Returns "  dropped 12 choices of experts", where the step counts them.
static std::string describeDropped(const StepReport &report) {
  return report.droppedChoices
             ? formatv("  dropped {0} choices of experts", *report.droppedChoices).str()
             : "";
}

Error Training::printStep(const StepReport &report, double seconds) {
  if (!options.asJson) {
    // On a terminal the progress line shows it; launchers give their ranks terminals that are none.
    if (!outs().is_displayed() || RankJob::size() > 1)
      out << "step " << report.step << "  loss "
          << format(run.lossIsDouble() ? "%.17g" : "%.9g", report.loss) << describeDropped(report)
          << "\n";
    outs().flush();
    return Error::success();
  }
  Expected<json::Object> line = describeMemory();
  if (!line)
    return line.takeError();
  if (RankJob::size() > 1) {
    (*line)["rank"] = RankJob::rank();
    (*line)["transport_measured"] = step.transportBytes;
    if (int64_t bytes = CudaDevice::ncclBytes())
      (*line)["nccl_measured"] = bytes;
  }
  (*line)["step"] = report.step;
  (*line)["loss"] = std::isfinite(report.loss) ? json::Value(report.loss) : json::Value(nullptr);
  (*line)["seconds"] = seconds;
  if (report.droppedChoices)
    (*line)["dropped_choices"] = *report.droppedChoices;
  if (std::optional<LossScaleReport> scale = run.lossScale()) {
    (*line)["loss_scale"] = scale->scale;
    (*line)["skipped_steps"] = scale->skippedSteps;
  }
  if (step.compiled->cuda() && step.compiled->profiledCalls().empty())
    (*line)["device_seconds"] = 1e-9 * static_cast<double>(report.deviceNs);
  if (options.digest) {
    Expected<std::string> parameters = digest();
    if (!parameters)
      return parameters.takeError();
    (*line)["digest"] = *parameters;
  }
  (*line)["products"] = step.products;
  // It is written in one piece, as launchers mix the output of ranks.
  outs() << formatv("{0}\n", json::Value(std::move(*line))).str();
  outs().flush();
  return Error::success();
}

/// Returns ", 5 algorithms chosen", if the library computes matmuls.
static std::string describeAlgorithms(const CudaDevice &device) {
  if (device.products().empty())
    return "";
  CudaDevice::AlgorithmCounts counts = device.countAlgorithms();
  return formatv(", {0} algorithms chosen, {1} of a file", counts.chosen, counts.given);
}

void Training::printProcessMemory(int64_t predicted) {
  if (std::optional<int64_t> process = processMemory.peakBytes())
    out << "process memory measured " << *process
        << " bytes over what it was before, predicted (resident and arena"
        << (step.compiled->hostArenaBytes() > 0 ? "s" : "") << ") " << predicted << "\n";
}

void Training::printHostMemory() {
  if (const int64_t host = step.compiled->hostArenaBytes())
    out << "host arena predicted " << host << " bytes, measured "
        << run.memory().hostArena().measureHighWater() << " ("
        << run.memory().hostArena().measureTouchedPages() << " in touched pages)\n";
  if (const int64_t resident = run.memory().residentOnHost())
    out << "resident on the host measured " << resident << " bytes\n";
}

Error Training::printMemory() {
  int64_t resident = run.memory().residentBytes(), arena = step.compiled->arenaBytes();
  if (const std::shared_ptr<CudaDevice> &device = step.compiled->cuda()) {
    Expected<int64_t> bytes = device->measuredBytes();
    if (!bytes)
      return bytes.takeError();
    int64_t measured = *bytes - CudaDevice::ncclBytes();
    out << "device memory predicted " << resident + arena << " bytes (resident " << resident
        << ", arena " << arena << "), measured " << measured << "\n";
    printHostMemory();
    printDevicesOfRanks(resident + arena, measured);
    return Error::success();
  }
  int64_t touched = run.memory().arena().measureHighWater();
  out << "arena predicted " << arena << " bytes, measured " << touched << " ("
      << run.memory().arena().measureTouchedPages() << " in touched pages)\n"
      << "resident measured " << resident << " bytes, with the arena " << resident + touched
      << "\n";
  printHostMemory();
  printProcessMemory(resident + arena + run.memory().residentOnHost() +
                     step.compiled->hostArenaBytes());
  printRanks();
  return Error::success();
}

/// Prints a line for each of several ranks. What MPI and NCCL hold is not in the plan.
void Training::printDevicesOfRanks(int64_t predicted, int64_t measured) {
  if (RankJob::size() == 1)
    return;
  constexpr size_t kNumbers = 4;
  std::vector<int64_t> all =
      RankJob::gather({predicted, measured, CudaDevice::ncclBytes(), step.transportBytes});
  for (int64_t rank = 0; rank < RankJob::size(); ++rank) {
    const int64_t *of = all.data() + rank * kNumbers;
    out << "rank " << rank << ": device memory predicted " << of[0] << " bytes, measured " << of[1]
        << ", in addition NCCL " << of[2] << "; " << RankJob::transport() << " " << of[3]
        << " of the host\n";
  }
}

/// Prints the same on CPUs.
void Training::printRanks() {
  if (RankJob::size() == 1)
    return;
  constexpr size_t kNumbers = 5;
  std::vector<int64_t> all = RankJob::gather(
      {step.compiled->arenaBytes(), run.memory().arena().measureHighWater(),
       run.memory().residentBytes(), processMemory.peakBytes().value_or(-1), step.transportBytes});
  for (int64_t rank = 0; rank < RankJob::size(); ++rank) {
    const int64_t *of = all.data() + rank * kNumbers;
    out << "rank " << rank << ": arena predicted " << of[0] << " bytes, measured " << of[1]
        << ", resident " << of[2];
    if (of[3] >= 0)
      out << ", process memory " << of[3];
    out << ", in addition " << RankJob::transport() << " " << of[4];
    out << "\n";
  }
}

Error Training::printEnd() {
  if (options.asJson)
    return Error::success();
  Expected<std::string> parameters = digest();
  if (!parameters)
    return parameters.takeError();
  out << "digest " << *parameters << "\n";
  if (std::optional<LossScaleReport> scale = run.lossScale())
    out << "loss scale " << format("%g", scale->scale) << ", " << scale->skippedSteps << " of "
        << run.stepsDone() << " steps skipped\n";
  if (step.peak)
    out << "peak predicted " << *step.peak << " bytes\n";
  if (Error error = printMemory())
    return error;
  out << "compiled " << step.compiled->numFunctions()
      << (step.compiled->cuda() ? " kernels" : " functions") << " in "
      << format("%.1f", step.compiled->compileSeconds()) << " s\n";
  out << "matmuls by " << step.products;
  if (const std::shared_ptr<CudaDevice> &device = step.compiled->cuda())
    out << describeAlgorithms(*device) << "\nrun on " << device->name() << "\n";
  else
    out << (options.lacksLibrary ? ", as no oneDNN was found" : "") << ", threads "
        << llmmem_threads() << "\n";
  if (RankJob::size() > 1)
    out << RankJob::describe() << "\n";
  return Error::success();
}

/// Returns what a step was on each rank, by the transfers that any of them has seen; none for one
/// rank.
std::vector<StepProfile::Parts> Training::profileRanks() {
  std::vector<StepProfile::Parts> ranks;
  if (RankJob::size() == 1 || step.compiled->profiledCalls().empty())
    return ranks;
  json::Object own;
  for (auto &[key, ns] : profile.transfers())
    own[key] = ns;
  StepProfile::Transfers least;
  for (const std::string &text :
       RankJob::gatherTexts(formatv("{0}", json::Value(std::move(own))).str())) {
    Expected<json::Value> seen = parseJsonTree(text);
    if (!seen) { // what a rank has written just now
      consumeError(seen.takeError());
      continue;
    }
    for (auto &[key, ns] : *seen->getAsObject()) {
      int64_t &known = least.try_emplace(key.str(), INT64_MAX).first->second;
      known = std::min(known, *ns.getAsInteger());
    }
  }
  StepProfile::Parts parts = profile.parts(least);
  std::vector<int64_t> all =
      RankJob::gather({parts.compute, parts.communication, parts.waiting, parts.overlapped});
  for (int64_t rank = 0; rank < RankJob::size(); ++rank) {
    const int64_t *of = all.data() + rank * 4;
    ranks.push_back({of[0], of[1], of[2], of[3]});
  }
  return ranks;
}

static json::Object describe(int64_t rank, const StepProfile::Parts &parts) {
  return json::Object{{"rank", rank},
                      {"compute_ns", parts.compute},
                      {"communication_ns", parts.communication},
                      {"waiting_ns", parts.waiting},
                      {"beside_ns", parts.overlapped}};
}

/// Rank 0 writes for all.
Error Training::writeProfile() {
  std::vector<StepProfile::Parts> ranks = profileRanks();
  if (RankJob::rank() != 0)
    return Error::success();
  if (options.profile)
    profile.print(options.asJson ? errs() : outs());
  json::Value calls = profile.toJson();
  json::Array ofRanks;
  for (auto [rank, parts] : enumerate(ranks)) {
    if (options.profile)
      (options.asJson ? errs() : outs())
          << format("rank %d: compute %.3f ms, communication %.3f ms, waiting %.3f ms; %.3f ms of "
                    "communication overlapped\n",
                    static_cast<int>(rank), 1e-6 * parts.compute, 1e-6 * parts.communication,
                    1e-6 * parts.waiting, 1e-6 * parts.overlapped);
    ofRanks.push_back(describe(static_cast<int64_t>(rank), parts));
  }
  if (!ranks.empty())
    (*calls.getAsObject())["ranks"] = std::move(ofRanks);
  return writeProfileFiles(profile, calls, options);
}

Error Training::save() {
  if (options.saveFile.empty())
    return Error::success();
  return run.save(options.saveFile, options.fileBytes);
}

Expected<int> llmmem::train(PlannedFunction &step, const RunOptions &options) {
  Expected<std::unique_ptr<StepFeed>> feed = openFeed(step, options);
  if (!feed)
    return feed.takeError();
  if (Error error = compareData(**feed, step.products, options))
    return std::move(error);
  ProcessMemory memory = ProcessMemory::begin();
  Expected<TrainingRun> run =
      TrainingRun::create(*step.compiled, step.roles, options.seed.value_or(0));
  if (!run)
    return run.takeError();
  Training training(std::move(*run), memory, step, options);
  if (Error error = training.load())
    return std::move(error);
  if (options.shuffle)
    (*feed)->shuffle(training.seedOfSamples());
  catchInterrupts();
  if (Error error = training.runSteps(**feed))
    return std::move(error);
  if (Error error = training.printEnd())
    return std::move(error);
  if (Error error = training.writeProfile())
    return std::move(error);
  if (Error error = training.save())
    return std::move(error);
  if (int signal = training.interruptOfAnyRank()) {
    (RankJob::rank() == 0 ? errs() : nulls())
        << "llmmem-run: interrupted; "
        << (options.saveFile.empty() ? "nothing is saved without --save"
                                     : "--resume '" + options.saveFile + "' goes on from here")
        << "\n";
    return ExitSignal + signal;
  }
  return ExitSuccess;
}
