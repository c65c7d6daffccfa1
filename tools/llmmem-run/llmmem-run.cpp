//===- llmmem-run.cpp - Run a planned training step on the CPU -------------===//
//
// Exit codes: 0 all steps ran; 1 bad input.
//
//===----------------------------------------------------------------------===//

#include "../../lib/Runtime/Parallel.h"
#include "../../lib/Runtime/Runtime.h"
#include "llmmem/Analysis/PlanVerifier.h"
#include "llmmem/Dialect/LlmDialect.h"
#include "llmmem/Execution/TrainingRun.h"
#include "llmmem/Planning/TextFile.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/SourceMgr.h"

using namespace llvm;
using namespace llmmem;

static cl::OptionCategory category("Options of the run");

static cl::opt<std::string> inputFile(cl::Positional, cl::cat(category), cl::init("-"),
                                      cl::desc("<planned step>"));
static cl::opt<int64_t> steps("steps", cl::cat(category), cl::init(1),
                              cl::desc("Steps to run (default 1)"));
static cl::opt<uint64_t> seed("seed", cl::cat(category), cl::init(0),
                              cl::desc("What parameters and dropout are drawn from (default 0)"));
static cl::opt<std::string> dataFile("data", cl::cat(category), cl::value_desc("text"),
                                     cl::desc("Train on the bytes of this file (- is stdin)"));
static cl::opt<std::string>
    tokensFile("tokens", cl::cat(category), cl::value_desc("ids"),
               cl::desc("Train on token ids separated by white space (- is stdin)"));
static cl::opt<double> learningRate("lr", cl::cat(category), cl::init(1e-3),
                                    cl::desc("Learning rate (default 1e-3)"));
static cl::opt<std::string> loadFile("load", cl::cat(category), cl::value_desc("safetensors"),
                                     cl::desc("Begin with these parameters"));
static cl::opt<std::string> saveFile("save", cl::cat(category), cl::value_desc("safetensors"),
                                     cl::desc("Write the parameters after the last step"));
static cl::opt<std::string> gradientsFile("save-gradients", cl::cat(category),
                                          cl::value_desc("safetensors"),
                                          cl::desc("Write the gradients of the first step"));
static cl::opt<bool> asJson("json", cl::cat(category),
                            cl::desc("Print one line of JSON for each step"));
static cl::opt<bool>
    poison("poison", cl::cat(category),
           cl::desc("Fill arena ranges with NaN when their values die; no number may change"));
static cl::extrahelp examples(R"(
EXAMPLES
  llmmem-opt --checkpoint-budget=2GB model.mlir -o step.mlir
  llmmem-run step.mlir --steps 20 --data book.txt
  llmmem-run step.mlir --tokens ids.txt --load gpt2.safetensors --save trained.safetensors

EXIT CODES
  0  all steps ran
  1  bad input: the message says what was expected
)");

static int fail(const Twine &message) {
  errs() << "llmmem-run: " << message << "\n";
  return 1;
}

/// What the plan claims, to stand beside what is measured.
struct Claims {
  std::optional<int64_t> peak;
  int64_t arena = 0;
};

static void printStep(TrainingRun &run, const StepReport &report, const Claims &claims) {
  if (!asJson) {
    outs() << "step " << report.step << "  loss "
           << format(run.lossIsDouble() ? "%.17g" : "%.9g", report.loss) << "\n";
    return;
  }
  json::Object line{
      {"step", report.step},
      {"loss", std::isfinite(report.loss) ? json::Value(report.loss) : json::Value(nullptr)},
      {"digest", report.digest},
      {"arena", claims.arena},
      {"arena_measured", run.memory().arena().measureHighWater()},
      {"resident_measured", run.memory().residentBytes()}};
  if (claims.peak)
    line["peak"] = *claims.peak;
  outs() << json::Value(std::move(line)) << "\n";
}

static void printEnd(TrainingRun &run, const Claims &claims) {
  if (asJson)
    return;
  int64_t resident = run.memory().residentBytes(),
          touched = run.memory().arena().measureHighWater();
  outs() << "digest " << run.digest() << "\n";
  if (claims.peak)
    outs() << "peak predicted " << *claims.peak << " bytes\n";
  outs() << "arena predicted " << claims.arena << " bytes, measured " << touched << " ("
         << run.memory().arena().measureTouchedPages() << " in touched pages)\n"
         << "resident measured " << resident << " bytes, with the arena " << resident + touched
         << "\n"
         << "matrix products by " << llmmem_gemm_name() << ", threads " << llmmem_threads() << "\n";
}

static Expected<TokenFeed> openFeed(TokenFeed::Shape shape) {
  bool hasText = dataFile.getNumOccurrences(), hasIds = tokensFile.getNumOccurrences();
  if (hasText == hasIds)
    return createStringError("expected either --data text.txt or --tokens ids.txt");
  std::string file = hasText ? dataFile : tokensFile;
  if (file == "-" && inputFile == "-")
    return createStringError("stdin cannot be both the step and its data");
  Expected<std::unique_ptr<MemoryBuffer>> text = planning::readTextFile(file);
  if (!text)
    return text.takeError();
  if (hasText)
    return TokenFeed::fromText(file, (*text)->getBuffer(), shape);
  return TokenFeed::fromIds(file, (*text)->getBuffer(), shape);
}

static Error loadParameters(TrainingRun &run) {
  if (loadFile.empty())
    return Error::success();
  Expected<SafeTensors> file = SafeTensors::read(loadFile);
  if (!file)
    return file.takeError();
  Expected<int64_t> extra = run.load(*file);
  if (!extra)
    return createStringError("'" + loadFile + "': " + toString(extra.takeError()));
  if (*extra > 0)
    errs() << "llmmem-run: note: " << *extra << " tensors of '" << loadFile
           << "' belong to no parameter\n";
  return Error::success();
}

static Error train(TrainingRun &run, const Claims &claims) {
  Expected<TokenFeed> feed = openFeed(run.feedShape());
  if (!feed)
    return feed.takeError();
  if (Error error = loadParameters(run))
    return error;
  for (int64_t k = 0; k < steps; ++k) {
    StepReport report = run.runStep(*feed, learningRate);
    printStep(run, report, claims);
    outs().flush();
    if (k == 0 && !gradientsFile.empty())
      if (Error error = run.saveGradients(gradientsFile))
        return error;
  }
  printEnd(run, claims);
  return saveFile.empty() ? Error::success() : run.save(saveFile);
}

static Error checkOptions() {
  if (steps < 1)
    return createStringError("--steps: expected a number of steps, 1 or more");
  if (!(learningRate >= 0) || !std::isfinite(learningRate))
    return createStringError("--lr: expected a number, 0 or more");
  return Error::success();
}

/// @step, or the one function that there is.
static mlir::func::FuncOp findStep(mlir::ModuleOp module) {
  if (auto step = module.lookupSymbol<mlir::func::FuncOp>("step"))
    return step;
  auto functions = module.getOps<mlir::func::FuncOp>();
  return hasSingleElement(functions) ? *functions.begin() : nullptr;
}

static int runFile(mlir::MLIRContext &context) {
  Expected<std::unique_ptr<MemoryBuffer>> text = planning::readTextFile(inputFile);
  if (!text)
    return fail(toString(text.takeError()));
  SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(*text), SMLoc());
  mlir::SourceMgrDiagnosticHandler handler(sources, &context);
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::parseSourceFile<mlir::ModuleOp>(sources, &context);
  if (!module)
    return 1;
  mlir::func::FuncOp function = findStep(*module);
  if (!function)
    return fail("'" + inputFile + "' has no function @step");
  // A plan may have been edited, or made by other hands: offsets that overlap would run and be
  // wrong.
  if (function->hasAttr(llm::LlmDialect::kArena) && failed(verifyPlan(function)))
    return 1;

  CompiledStep::Options options;
  options.function = function.getName().str();
  options.poison = poison;
  mlir::FailureOr<std::unique_ptr<CompiledStep>> step = CompiledStep::compile(*module, options);
  if (failed(step))
    return 1;
  Expected<StepRoles> roles = StepRoles::find(function);
  if (!roles)
    return fail(toString(roles.takeError()));
  Expected<TrainingRun> run = TrainingRun::create(**step, std::move(*roles), seed);
  if (!run)
    return fail(toString(run.takeError()));
  Claims claims{std::nullopt, (*step)->arenaBytes()};
  if (auto peak = function->getAttrOfType<mlir::IntegerAttr>(llm::LlmDialect::kPeak))
    claims.peak = peak.getInt();
  if (Error error = train(*run, claims))
    return fail(toString(std::move(error)));
  return 0;
}

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  // LLVM's library brings a --threads of its own, which nothing here reads.
  if (cl::Option *other = cl::getRegisteredOptions().lookup("threads"))
    other->removeArgument();
  cl::opt<unsigned> threads(
      "threads", cl::cat(category), cl::init(0),
      cl::desc("Threads of kernels and matrix products (default: all cores)"));
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv, "llmmem-run: runs a planned training step on the CPU\n");
  if (Error error = checkOptions())
    return fail(toString(std::move(error)));
  if (threads > 0)
    llmmem_set_threads(threads);
  if (threads > static_cast<unsigned>(llmmem_threads()))
    errs() << "llmmem-run: note: runs on one thread, as neither libgomp nor libomp is installed\n";
  mlir::DialectRegistry registry;
  registerExecution(registry);
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();
  return runFile(context);
}
