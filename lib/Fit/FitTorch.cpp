//===- FitTorch.cpp - Ask PyTorch what a step holds ------------------------===//

#include "llmmem/Fit/FitTorch.h"
#include "llmmem/Support/TextFile.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"

using namespace llmmem;
using llvm::StringRef;

namespace {
struct Way {
  StringRef name, strategy;
};
} // namespace

/// Lists the ways by the names of llmmem-fit and of llmmem.torch.predict.
static constexpr Way kWays[] = {{"pytorch-eager", "eager"},
                                {"pytorch-compiled", "compiled"},
                                {"hf-checkpointing", "checkpointed"},
                                {"ddp", "ddp"},
                                {"fsdp2", "fsdp2"},
                                {"fsdp2-checkpointing", "fsdp2-checkpointed"},
                                {"ours", "planned"}};

/// Imports what the answer comes from, or says what is missing. What is installed comes first.
// clang-format off
static constexpr StringRef kProgram = R"(import os, sys
sys.path += [sys.argv.pop(1), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
try:
    from llmmem.torch._command import main
except ImportError as error:
    sys.exit(f"llmmem.torch: error: {sys.executable} cannot import {error.name or 'llmmem'} ({error}): install it there (pip install torch), "
             "or name a Python that has it in LLMMEM_PYTHON")
sys.exit(main()))";
// clang-format on

static constexpr StringRef kMark = "llmmem.torch: error: ";

std::vector<StringRef> llmmem::torchWays() {
  std::vector<StringRef> names;
  for (const Way &way : kWays)
    names.push_back(way.name);
  return names;
}

llvm::Expected<std::vector<std::string>> llmmem::readTorchWays(StringRef text) {
  std::vector<std::string> ways;
  for (StringRef name : llvm::split(text, ',')) {
    if (name == "all")
      for (const Way &way : kWays)
        ways.push_back(way.name.str());
    else if (llvm::is_contained(torchWays(), name))
      ways.push_back(name.str());
    else
      return llvm::createStringError("--as: '" + name.str() +
                                     "' is no way to train; expected all, " +
                                     llvm::join(torchWays(), ", "));
  }
  return ways;
}

static std::string strategiesOf(const TorchRequest &request) {
  return llvm::join(llvm::map_range(request.ways,
                                    [](const std::string &name) {
                                      const Way *way = llvm::find_if(
                                          kWays, [&](const Way &it) { return it.name == name; });
                                      return way->strategy.str();
                                    }),
                    ",");
}

static std::vector<std::string> argumentsOf(const TorchRequest &request, const Card &card) {
  std::vector<std::string> arguments = {"predict", request.model, "--json", "--strategies",
                                        strategiesOf(request)};
  auto add = [&](StringRef flag, std::string value) {
    arguments.insert(arguments.end(), {flag.str(), std::move(value)});
  };
  // Bytes alone name no device, and kernels take on most what they take on an H100.
  add("--device", card.hasRates ? card.name : "h100");
  add("--budget", std::to_string(card.budget()));
  add("--ranks", std::to_string(request.ranks));
  if (request.batch)
    add("--batch", std::to_string(*request.batch));
  if (request.seq)
    add("--seq", std::to_string(*request.seq));
  if (!request.dtype.empty())
    add("--dtype", request.dtype);
  return arguments;
}

/// Returns what Python said last that is meant for the user, or the end of all that it said.
static std::string messageIn(StringRef said) {
  llvm::SmallVector<StringRef> lines;
  said.split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef line : llvm::reverse(lines))
    if (line.consume_front(kMark))
      return line.str();
  return lines.empty() ? "it ended without a message" : lines.back().str();
}

static llvm::Expected<std::string> findPython() {
  const std::string named = llvm::sys::Process::GetEnv("LLMMEM_PYTHON").value_or("python3");
  llvm::ErrorOr<std::string> found = llvm::sys::findProgramByName(named);
  if (!found)
    return llvm::createStringError("there is no Python '" + named +
                                   "', which traces models of PyTorch: install python3, or name "
                                   "one in LLMMEM_PYTHON");
  return *found;
}

/// Runs Python and returns what it wrote to stdout.
static llvm::Expected<std::string> runPython(StringRef package,
                                             llvm::ArrayRef<std::string> arguments) {
  llvm::Expected<std::string> python = findPython();
  if (!python)
    return python.takeError();
  llvm::SmallString<128> out, err;
  for (llvm::SmallString<128> *path : {&out, &err})
    if (std::error_code code = llvm::sys::fs::createTemporaryFile("llmmem-fit", "json", *path))
      return llvm::createStringError(code, "cannot create a temporary file");
  llvm::FileRemover removeOut(out), removeErr(err);
  llvm::SmallVector<StringRef> command = {*python, "-I", "-c", kProgram, package};
  llvm::append_range(command, arguments);
  std::string why;
  const int code = llvm::sys::ExecuteAndWait(*python, command, std::nullopt, {"", out, err},
                                             /*SecondsToWait=*/0, /*MemoryLimit=*/0, &why);
  auto said = readTextFile(err), made = readTextFile(out);
  if (!said)
    return said.takeError();
  if (!made)
    return made.takeError();
  if (code != 0)
    return llvm::createStringError(why.empty() ? messageIn((*said)->getBuffer()) : why);
  return (*made)->getBuffer().str();
}

static TorchWay readWay(StringRef name, StringRef strategy, const llvm::json::Object &prediction,
                        const Card &card) {
  TorchWay way;
  way.name = name.str();
  const llvm::json::Object *strategies = prediction.getObject("strategies"),
                           *refused = prediction.getObject("refused"),
                           *found = strategies ? strategies->getObject(strategy) : nullptr;
  if (!found) {
    way.refused = (refused ? refused->getString(strategy) : std::nullopt).value_or("no answer");
    return way;
  }
  way.allocated = found->getInteger("allocated").value_or(0);
  way.reserved = found->getInteger("reserved").value_or(way.allocated);
  way.fits = way.reserved <= card.budget();
  return way;
}

llvm::Expected<TorchAnswer> llmmem::fitTorch(const TorchRequest &request, const Card &card,
                                             StringRef package) {
  TorchAnswer answer{card, request, {}, {}, false};
  if (request.ways.empty())
    for (StringRef name : torchWays())
      answer.request.ways.push_back(name.str());
  llvm::Expected<std::string> text = runPython(package, argumentsOf(answer.request, card));
  if (!text)
    return text.takeError();
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(*text);
  if (!value || !value->getAsObject())
    return llvm::joinErrors(llvm::createStringError("llmmem.torch has written no JSON object"),
                            value.takeError());
  answer.prediction = std::move(*value->getAsObject());
  for (const Way &way : kWays)
    if (llvm::is_contained(answer.request.ways, way.name)) {
      answer.ways.push_back(readWay(way.name, way.strategy, answer.prediction, card));
      answer.fits |= answer.ways.back().fits;
    }
  return answer;
}
