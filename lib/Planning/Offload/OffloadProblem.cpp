//===- OffloadProblem.cpp - Values that may leave for the host ----------------===//

#include "llmmem/Planning/Offload/OffloadProblem.h"
#include "llmmem/Planning/Model/Graph.h"
#include "llmmem/Support/ByteSize.h"
#include "llmmem/Support/LlvmResult.h"
#include <algorithm>
#include <limits>

using namespace llmmem;
using namespace llmmem::planning;

static llvm::Expected<int64_t> parseRate(llvm::StringRef text, llvm::StringRef whole) {
  auto bad = [&](const llvm::Twine &what) {
    return llvm::createStringError("'" + whole + "' is not a rate of a link: " + what +
                                   " (write for example 25GB/s, or 25GB/s,20GB/s up and down)");
  };
  llvm::StringRef bytes = text.trim();
  if (!bytes.consume_back("/s"))
    return bad("expected a size in bytes and '/s'");
  llvm::Expected<int64_t> rate = parseByteSize(bytes);
  if (!rate)
    return bad(llvm::StringRef(llvm::toString(rate.takeError())).split(" (").first);
  return *rate;
}

static llvm::Expected<HostLink> parseLink(llvm::StringRef text) {
  auto [up, down] = text.split(',');
  llvm::Expected<int64_t> upRate = parseRate(up, text);
  if (!upRate)
    return upRate.takeError();
  if (!text.contains(','))
    return HostLink{*upRate, *upRate};
  llvm::Expected<int64_t> downRate = parseRate(down, text);
  if (!downRate)
    return downRate.takeError();
  return HostLink{*upRate, *downRate};
}

Result<HostLink> llmmem::planning::parseHostLink(std::string_view text) {
  return toResult(parseLink(text));
}

namespace {
/// Adds the copies. It fails where the problem already has several memories or resources, or where
/// the host holds none of the values.
class CopyAdder {
public:
  CopyAdder(const Problem &problem, int64_t hostBudget, const HostLink &link,
            const std::vector<bool> &allowed)
      : problem(problem), graph(problem), hostBudget(hostBudget), link(link), allowed(allowed) {}

  llvm::Expected<Problem> run();

private:
  bool mayLeave(ValueIndex value) const;
  void addCopies(Problem &result, ValueIndex value);

  const Problem &problem;
  const Graph graph;
  const int64_t hostBudget;
  const HostLink link;
  const std::vector<bool> &allowed;  // of each value, or empty: all
  int64_t nextValue = 0, nextOp = 0; // the lowest ids that are not taken
};
} // namespace

/// Returns whether the value is allowed to leave, and some op is between two of its uses in program
/// order.
bool CopyAdder::mayLeave(ValueIndex value) const {
  if (!allowed.empty() && !allowed[value])
    return false;
  const OpIndex writer = graph.writer(value);
  if (writer < 0 || problem.values[value].bytes == 0)
    return false;
  OpIndex last = writer;
  for (OpIndex reader : graph.readers(value)) {
    if (reader > last + 1)
      return true;
    last = reader;
  }
  return graph.isKept(value) && last + 1 < graph.numOps();
}

int64_t llmmem::planning::timeOfCopy(int64_t bytes, int64_t rate, int64_t latency) {
  constexpr __int128 nanoseconds = 1'000'000'000, most = std::numeric_limits<int64_t>::max();
  const __int128 time = (static_cast<__int128>(bytes) * nanoseconds + rate - 1) / rate + latency;
  return static_cast<int64_t>(std::min(time, most));
}

void CopyAdder::addCopies(Problem &result, ValueIndex value) {
  const int64_t bytes = problem.values[value].bytes;
  const auto host = static_cast<ValueIndex>(result.values.size());
  const OpIndex writer = graph.writer(value);
  Value copy;
  copy.id = nextValue++;
  copy.bytes = bytes;
  copy.memory = 1;
  if (!problem.values[value].name.empty())
    copy.name = problem.values[value].name + " on the host";
  result.values.push_back(std::move(copy));
  auto add = [&](Resource resource, ValueIndex from, ValueIndex to, int64_t cost) {
    Op op;
    op.id = nextOp++;
    op.cost = cost;
    op.reads = {from};
    op.writes = {to};
    op.resource = resource;
    op.optional = true;
    op.block = problem.ops[writer].block;
    op.microBatch = problem.ops[writer].microBatch;
    op.phase = problem.ops[writer].phase;
    op.name = resource == Resource::DeviceToHost ? "copy to the host" : "copy to the device";
    result.ops.push_back(std::move(op));
  };
  add(Resource::DeviceToHost, value, host, timeOfCopy(bytes, link.up, link.latency));
  add(Resource::HostToDevice, host, value, timeOfCopy(bytes, link.down, link.latency));
}

llvm::Expected<Problem> CopyAdder::run() {
  if (problem.needsVersion2())
    return llvm::createStringError(
        "values leave for the host from problems of one memory whose ops run on compute; this one "
        "has several memories or resources, optional ops or alternatives already");
  if (link.up <= 0 || link.down <= 0 || link.latency < 0)
    return llvm::createStringError("the link to the host must move at least 1 byte per second each "
                                   "way, with a latency of 0 ns or more");
  std::vector<ValueIndex> leaving;
  std::optional<int64_t> smallest;
  for (ValueIndex value = 0; value < graph.numValues(); ++value)
    if (mayLeave(value)) {
      leaving.push_back(value);
      smallest = std::min(smallest.value_or(INT64_MAX), problem.values[value].bytes);
    }
  if (hostBudget < smallest.value_or(0))
    return llvm::createStringError("the host's budget of " + llvm::Twine(hostBudget) +
                                   " bytes holds none of the values that may leave the device; the "
                                   "smallest has " +
                                   llvm::Twine(*smallest) + " bytes, so give at least that");
  Problem result = problem;
  result.moreMemories = {{"host", hostBudget, problem.alignment}};
  for (const Value &value : problem.values)
    nextValue = std::max(nextValue, value.id + 1);
  for (const Op &op : problem.ops)
    nextOp = std::max(nextOp, op.id + 1);
  for (ValueIndex value : leaving)
    addCopies(result, value);
  if (std::optional<std::string> wrong = validateProblem(result))
    return llvm::createStringError("with copies to the host: " + *wrong);
  return result;
}

Result<Problem> llmmem::planning::withHostCopies(const Problem &problem, int64_t hostBudget,
                                                 const HostLink &link,
                                                 const std::vector<bool> &mayLeave) {
  return toResult(CopyAdder(problem, hostBudget, link, mayLeave).run());
}
