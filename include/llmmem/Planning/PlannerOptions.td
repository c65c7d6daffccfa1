//===- PlannerOptions.td - What may be asked of the planner -*- tablegen -*-===//
//
// An option of the planner stands here once, for every program that plans. `llmmem-tblgen` makes the flags of `llmmem-plan` from
// it. Transforms/Options.td makes the options of passes from it, and so those of the pipeline, the flags of `llmmem-opt` and the
// reference. The file does without MLIR, as the planner does.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_PLANNING_PLANNEROPTIONS
#define LLMMEM_PLANNING_PLANNEROPTIONS

/// Is an option whose value --help shows as `taken`. `more` is what `llmmem-plan --help` adds to the sentence, and `others` holds
/// what its flag alone has of cl::opt.
class PlannerOption<string member, string name, string valueType, string initial, string taken, string sentence,
                    string more = "", string others = ""> {
  string cppName = member;
  string argument = name;
  string type = valueType;
  string defaultValue = initial;
  string valueName = taken;
  string description = sentence;
  string flagDescription = sentence # more;
  string flagOthers = others;
}

def PlannerBudget : PlannerOption<"budget", "budget", "std::string", "", "bytes",
  "Plan recomputation so that resident bytes and arena stay under this: 40GB, 37.25GiB, 123456",
  "; min: the least that can be found; without it, the problem's own">;
def PlannerPolicy : PlannerOption<"policy", "policy", "std::string", "\"budget\"", "policy",
  "What decides what is kept: none, every=K, sqrt, full, selective, least-peak or budget",
  " (default budget); see POLICIES below">;
def PlannerSeconds : PlannerOption<"seconds", "seconds", "double", "10", "number",
  "Bound on the planner's search",
  ", as a count of work that takes about so many seconds (default 10)">;
def PlannerHostBudget : PlannerOption<"hostBudget", "host-budget", "std::string", "", "bytes",
  "Values may leave for so much of the host's memory and come back, where that is shorter than to run ops again: 64GB",
  "; it takes --link, costs are then ns, and --check takes both">;
def PlannerLink : PlannerOption<"link", "link", "std::string", "", "rate",
  "What copies to and from the host move, each way (25GB/s) or up and down (25GB/s,20GB/s)">;
def PlannerLinkLatency : PlannerOption<"linkLatency", "link-latency", "int64_t", "0", "ns",
  "ns that each copy takes in addition to its bytes",
  " (default 0)">;
def PlannerEmitProof : PlannerOption<"emitProof", "emit-proof", "std::string", "", "file",
  "Write what proves the plan's bounds, checked, as a llmmem-proof">;
def PlannerExplain : PlannerOption<"explain", "explain", "std::string", "", "value",
  "Say on stderr why a value or op is kept or run again, by its name, or why a step of the plan runs, by step:N",
  "; without a value: why each saved value is, the cost of the other choice, what holds the peak and what more budget buys",
  "::llvm::cl::ValueOptional">;

#endif // LLMMEM_PLANNING_PLANNEROPTIONS
