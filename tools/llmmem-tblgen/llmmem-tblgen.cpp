//===- llmmem-tblgen.cpp - From options in TableGen to C++ and a page ------===//
//
// An option is defined once, in Planning/PlannerOptions.td, Transforms/Options.td or
// Pipelines/CheckpointOptions.td. This program of the build writes
//
//   -gen-planner-flags     the members of the struct of flags that ask the planner for something
//   -gen-pipeline-options  the members of a pipeline's struct of options, and for each pass that
//                          takes some of them a function `copyTo` that gives them to it
//   -gen-pass-options      for each pass with options a member function that returns them
//   -gen-pipeline-doc      a page that lists the options of each pipeline
//
//===----------------------------------------------------------------------===//

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/TableGen/Main.h"
#include "llvm/TableGen/Record.h"
#include "llvm/TableGen/TableGenBackend.h"

using namespace llvm;

namespace {

enum class Action { PlannerFlags, PipelineOptions, PassOptions, PipelineDoc };

cl::opt<Action>
    action(cl::desc("What is written:"), cl::Required,
           cl::values(clEnumValN(Action::PlannerFlags, "gen-planner-flags",
                                 "the members of the struct of the planner's flags"),
                      clEnumValN(Action::PipelineOptions, "gen-pipeline-options",
                                 "the members of the structs of pipelines"),
                      clEnumValN(Action::PassOptions, "gen-pass-options",
                                 "a function for each pass that returns its options"),
                      clEnumValN(Action::PipelineDoc, "gen-pipeline-doc", "a page in Markdown")));

using Records = ArrayRef<const Record *>;

StringRef memberOf(const Record &option) { return option.getValueAsString("cppName"); }

/// Which of a pipeline's options a pass's option is, or is the origin of; null: none.
const Record *findFor(Records options, const Record *ofPass) {
  const auto *found = find_if(options, [&](const Record *option) {
    const RecordVal *origin = option->getValue("ofPass");
    return option == ofPass || (origin && option->getValueAsDef("ofPass") == ofPass);
  });
  return found == options.end() ? nullptr : *found;
}

/// Writes a member that holds the value of `option`; `start` stands before its argument.
void writeMember(raw_ostream &os, const Record &option, StringRef holder, StringRef start,
                 StringRef description, StringRef others) {
  StringRef initial = option.getValueAsString("defaultValue");
  os << "  " << holder << "<" << option.getValueAsString("type") << "> " << memberOf(option) << "{"
     << start << "\"" << option.getValueAsString("argument") << "\", ::llvm::cl::desc(R\"text("
     << description << ")text\")";
  if (!initial.empty())
    os << ", ::llvm::cl::init(" << initial << ")";
  if (!others.empty())
    os << ", " << others;
  os << "};\n";
}

void writePlannerFlags(raw_ostream &os, const RecordKeeper &records) {
  for (const Record *option : records.getAllDerivedDefinitions("PlannerOption")) {
    StringRef flagOthers = option->getValueAsString("flagOthers");
    std::string others = ("::llvm::cl::cat(category), ::llvm::cl::value_desc(\"" +
                          option->getValueAsString("valueName") + "\")" +
                          (flagOthers.empty() ? "" : ", ") + flagOthers)
                             .str();
    writeMember(os, *option, "::llvm::cl::opt", "", option->getValueAsString("flagDescription"),
                others);
  }
}

void writeCopies(raw_ostream &os, const Record &pass, Records options) {
  std::string copies;
  for (const Record *ofPass : pass.getValueAsListOfDefs("options"))
    if (const Record *option = findFor(options, ofPass))
      copies += ("    pass." + memberOf(*ofPass) + " = " + memberOf(*option) + ";\n").str();
  if (!copies.empty())
    os << "  void copyTo(" << pass.getName() << "Options &pass) const {\n" << copies << "  }\n";
}

void writePipelines(raw_ostream &os, const RecordKeeper &records) {
  for (const Record *pipeline : records.getAllDerivedDefinitions("PipelineOptions")) {
    std::string guard = "GEN_PIPELINE_" + pipeline->getName().upper();
    os << "\n#ifdef " << guard << "\n";
    std::vector<const Record *> options = pipeline->getValueAsListOfDefs("options");
    for (const Record *option : options)
      writeMember(os, *option, "Option", "*this, ", option->getValueAsString("description"),
                  option->getValueAsString("additionalOptFlags"));
    for (const Record *pass : records.getAllDerivedDefinitions("PassBase"))
      writeCopies(os, *pass, options);
    os << "#undef " << guard << "\n#endif\n";
  }
}

void writePasses(raw_ostream &os, const RecordKeeper &records) {
  for (const Record *pass : records.getAllDerivedDefinitions("PassBase")) {
    std::vector<const Record *> options = pass->getValueAsListOfDefs("options");
    if (options.empty())
      continue;
    std::string guard = "GEN_PASS_OPTIONS_" + pass->getName().upper();
    os << "\n#ifdef " << guard << "\n  " << pass->getName() << "Options options() const {\n    "
       << pass->getName() << "Options given;\n";
    for (const Record *option : options)
      os << "    given." << memberOf(*option) << " = this->" << memberOf(*option) << ";\n";
    os << "    return given;\n  }\n#undef " << guard << "\n#endif\n";
  }
}

void writePage(raw_ostream &os, const RecordKeeper &records) {
  for (const Record *pipeline : records.getAllDerivedDefinitions("PipelineOptions")) {
    os << "### `" << pipeline->getValueAsString("name")
       << "`\n\n| option | default | |\n|---|---|---|\n";
    for (const Record *option : pipeline->getValueAsListOfDefs("options")) {
      StringRef initial = option->getValueAsString("defaultValue");
      os << "| `" << option->getValueAsString("argument") << "` | "
         << (initial.empty() ? "" : "`" + initial.drop_front(initial.rfind(':') + 1).str() + "`")
         << " | " << option->getValueAsString("description") << " |\n";
    }
  }
}

bool writeFile(raw_ostream &os, const RecordKeeper &records) {
  if (action != Action::PipelineDoc)
    emitSourceFileHeader("Options, each as it stands in TableGen", os, records);
  switch (action) {
  case Action::PlannerFlags:
    writePlannerFlags(os, records);
    break;
  case Action::PipelineOptions:
    writePipelines(os, records);
    break;
  case Action::PassOptions:
    writePasses(os, records);
    break;
  case Action::PipelineDoc:
    writePage(os, records);
    break;
  }
  return false;
}
} // namespace

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  cl::ParseCommandLineOptions(argc, argv, "llmmem's options, from TableGen to C++\n");
  return TableGenMain(argv[0], writeFile);
}
