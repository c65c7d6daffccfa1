//===- llmmem-plan.cpp - The planner alone ------------------------------------===//

#include "llmmem/Planning/BufferCsv.h"
#include "llmmem/Planning/ByteSize.h"
#include "llmmem/Planning/TextFile.h"
#include "llmmem/Planning/Verify.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace llmmem::planning;

namespace {

enum Exit { Planned = 0, BadInput = 1, NoPlan = 2 };

llvm::cl::OptionCategory category("llmmem-plan");
llvm::cl::list<std::string> inputs(llvm::cl::Positional, llvm::cl::desc("<file>..."),
                                   llvm::cl::cat(category));
llvm::cl::opt<bool> checkMode("check", llvm::cl::cat(category),
                              llvm::cl::desc("Check a plan: --check problem.json plan.json"));
llvm::cl::opt<bool> packMode("pack", llvm::cl::cat(category),
                             llvm::cl::desc("Pack a list of buffers: --pack instance.csv"));
llvm::cl::opt<std::string> capacity("capacity", llvm::cl::value_desc("bytes"),
                                    llvm::cl::cat(category),
                                    llvm::cl::desc("With --pack: the arena must not be larger"));
llvm::cl::opt<double> seconds("seconds", llvm::cl::init(10), llvm::cl::cat(category),
                              llvm::cl::desc("Time to spend, as a count of work (default 10)"));
llvm::cl::opt<std::string> output("o", llvm::cl::init("-"), llvm::cl::value_desc("file"),
                                  llvm::cl::cat(category),
                                  llvm::cl::desc("Where to write (default: -, stdout)"));

int fail(const llvm::Twine &what) {
  llvm::WithColor::error(llvm::errs(), "llmmem-plan") << what << '\n';
  return BadInput;
}

int write(llvm::StringRef text, int code) {
  if (llvm::Error error = writeTextFile(output, text))
    return fail(llvm::toString(std::move(error)));
  return code;
}

/// Reads and parses `file`; what fails is said with the file's name.
template <typename Parse>
auto load(llvm::StringRef file, Parse parse) -> decltype(parse(llvm::StringRef())) {
  auto buffer = readTextFile(file);
  if (!buffer)
    return buffer.takeError();
  auto parsed = parse((*buffer)->getBuffer());
  if (!parsed)
    return llvm::createStringError(file + ": " + llvm::toString(parsed.takeError()));
  return parsed;
}

int check() {
  if (inputs.size() != 2)
    return fail("--check takes a problem and a plan: llmmem-plan --check problem.json plan.json");
  llvm::Expected<Problem> problem = load(inputs[0], parseProblem);
  if (!problem)
    return fail(llvm::toString(problem.takeError()));
  llvm::Expected<Plan> plan =
      load(inputs[1], [&](llvm::StringRef text) { return parsePlan(*problem, text); });
  if (!plan)
    return fail(llvm::toString(plan.takeError()));
  const std::vector<Violation> violations = verify(*problem, *plan);
  for (const Violation &violation : violations) {
    llvm::errs() << inputs[1] << ": ";
    if (violation.step >= 0)
      llvm::errs() << "step " << violation.step << ": ";
    llvm::errs() << violation.rule << ": " << violation.message << '\n';
  }
  return violations.empty() ? Planned : NoPlan;
}

int packBuffers() {
  if (inputs.size() != 1)
    return fail("--pack takes one list of buffers: llmmem-plan --pack instance.csv");
  PackOptions options;
  if (!capacity.empty()) {
    llvm::Expected<int64_t> bytes = parseByteSize(capacity);
    if (!bytes)
      return fail("--capacity: " + llvm::toString(bytes.takeError()));
    options.capacity = *bytes;
  }
  llvm::Expected<BufferTable> table = load(inputs[0], parseBufferCsv);
  if (!table)
    return fail(llvm::toString(table.takeError()));
  options.work = packWork(seconds);
  const Packing packing = pack(table->buffers, options);
  llvm::errs() << "arena " << packing.arena << ", largest live sum " << packing.lowerBound << '\n';
  if (options.capacity && packing.arena > *options.capacity) {
    // The live sum is what any packing needs; only above it is the packing to blame.
    const bool proved = packing.lowerBound > *options.capacity;
    llvm::errs() << "no packing within " << *options.capacity << ": "
                 << (proved ? "so many bytes are live at once that none exists\n"
                            : "none was found in the time given, though the live bytes fit\n");
    return NoPlan;
  }
  std::string text;
  llvm::raw_string_ostream os(text);
  printBufferCsv(*table, packing.offsets, os);
  return write(text, Planned);
}

} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  llvm::cl::HideUnrelatedOptions(category);
  llvm::cl::ParseCommandLineOptions(argc, argv, "llmmem's planner\n");
  if (!(seconds >= 0) || !std::isfinite(seconds))
    return fail("--seconds must be a number from 0 up");
  if (checkMode && packMode)
    return fail("--check and --pack exclude each other");
  if (checkMode)
    return check();
  if (packMode)
    return packBuffers();
  return fail("nothing to do: give --check or --pack");
}
