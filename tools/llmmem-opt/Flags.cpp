//===- Flags.cpp - The flags of llmmem-opt ---------------------------------===//

#include "Flags.h"
#include "llmmem/Support/TextFile.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace llmmem;

//===----------------------------------------------------------------------===//
// From options to flags
//===----------------------------------------------------------------------===//

static std::string flagOf(StringRef option) {
  static constexpr StringLiteral withSubject[] = {"budget", "device", "kernels", "policy",
                                                  "seconds"};
  return ((is_contained(withSubject, option) ? "checkpoint-" : "") + option).str();
}

static std::string spellFlag(StringRef option) { return "--" + flagOf(option); }

Flags::Flags()
    : category("Options of the memory plan"),
      printDeviceTable("print-device-table", cl::cat(category),
                       cl::desc("Print the table of --checkpoint-device as JSON")),
      target("target", cl::cat(category), cl::init(Target::None),
             cl::values(clEnumValN(Target::Cuda, "cuda",
                                   "kernels as PTX, and the host code that launches them")),
             cl::desc("Lower the planned @step, after planning it where a plan is asked for")),
      chipName("chip", cl::cat(category), cl::init("sm_90a"), cl::value_desc("architecture"),
               cl::desc("What --target=cuda compiles for (default sm_90a)")) {
  std::vector<cl::Option *> options = pipeline.all();
  for (cl::Option *option : options)
    names.push_back(flagOf(option->ArgStr));
  for (auto [option, name] : zip_equal(options, names))
    forwarded.push_back(std::make_unique<cl::opt<std::string>>(
        StringRef(name), cl::cat(category), cl::desc(option->HelpStr),
        cl::value_desc(option->ValueStr), option->getValueExpectedFlag()));
}

void Flags::hideFlagsOfOthers() {
  SmallVector<cl::Option *> shown;
  for (cl::Option *option : make_second_range(cl::getRegisteredOptions()))
    if (option->getOptionHiddenFlag() == cl::NotHidden)
      shown.push_back(option);
  cl::HideUnrelatedOptions(category);
  for (cl::Option *option : shown)
    if (option->getOptionHiddenFlag() == cl::ReallyHidden)
      option->setHiddenFlag(cl::Hidden);
}

//===----------------------------------------------------------------------===//
// What they say
//===----------------------------------------------------------------------===//

bool Flags::wantsPlan() const {
  // With --target=cuda these two also say how a step that is planned already is lowered.
  static constexpr StringLiteral ofLowering[] = {"products", "collectives"};
  return any_of(zip_equal(names, forwarded), [&](auto entry) {
    auto &[name, flag] = entry;
    return flag->getNumOccurrences() && !(wantsCuda() && is_contained(ofLowering, name));
  });
}

ConvertStepToKernelsOptions Flags::conversion() const {
  ConvertStepToKernelsOptions options;
  options.products = productsOf(pipeline);
  options.tensorCores = tensorCoresOf(chip());
  return options;
}

/// Returns whether passes are named one by one; all of them are values of one option of mlir-opt's.
static bool namesPasses() {
  return any_of(ArrayRef<StringRef>{"cse", "pass-pipeline"}, [](StringRef name) {
    cl::Option *option = cl::getRegisteredOptions().lookup(name);
    return option && option->getNumOccurrences();
  });
}

Error Flags::read(StringRef outputFile) {
  for (auto [option, name, flag] : zip_equal(pipeline.all(), names, forwarded))
    if (flag->getNumOccurrences() && option->addOccurrence(flag->getPosition(), name, *flag))
      return createStringError("--" + name + ": '" + flag->getValue() + "' is no value of it; " +
                               option->HelpStr);
  // What is lowered for GPUs is planned for what sums there.
  bool isChosen = any_of(zip_equal(names, forwarded), [](auto entry) {
    auto &[name, flag] = entry;
    return name == "collectives" && flag->getNumOccurrences();
  });
  if (wantsCuda() && !isChosen)
    pipeline.collectives = CollectiveSource::Nccl;
  if (Error error = checkOptions(pipeline, [](StringRef option) { return spellFlag(option); }))
    return error;
  if (namesPasses() && (wantsPlan() || wantsCuda()))
    return createStringError(
        "a plan and --target run passes of their own, in their own order; give "
        "them alone, or passes alone");
  return checkFiles(outputFile);
}

Error Flags::checkFiles(StringRef outputFile) const {
  StringRef report = pipeline.memoryReportJson.getValue(),
            problem = pipeline.emitProblem.getValue(), plan = pipeline.emitPlan.getValue(),
            proof = pipeline.emitProof.getValue(), mesh = pipeline.meshReport.getValue(),
            setup = pipeline.emit.empty() ? "" : pipeline.emitMeant().second;
  if (outputFile == "-" && is_contained({report, problem, plan, proof, mesh, setup}, "-"))
    return createStringError("a report on stdout needs the program elsewhere: give -o step.mlir");
  return checkOutputs({outputFile, report, problem, plan, proof, mesh, setup});
}
