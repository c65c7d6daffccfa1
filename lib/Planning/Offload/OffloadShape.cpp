//===- OffloadShape.cpp - The part of a problem that the device runs ------------===//

#include "OffloadShape.h"
#include "llvm/ADT/STLExtras.h"

using namespace llmmem::planning;

static bool isCopy(const Op &op) {
  return op.resource == Resource::DeviceToHost || op.resource == Resource::HostToDevice;
}

bool llmmem::planning::hasOffload(const Problem &problem) {
  return !problem.moreMemories.empty() || llvm::any_of(problem.ops, isCopy);
}

/// Returns whether `op` copies one value into one value, need not run and may run again.
static bool isPlainCopy(const Op &op) {
  return op.optional && op.recompute && op.reads.size() == 1 && op.writes.size() == 1 &&
         op.inPlace.empty() && op.workspace == 0;
}

namespace {
/// Finds the pair of copies of each value.
class PairFinder {
public:
  explicit PairFinder(const Problem &problem)
      : problem(problem), copyOf(problem.values.size(), -1), hostOf(copyOf) {}

  /// Returns why the problem has copies other than such pairs, and nothing where it has none.
  std::optional<std::string> run();

  std::vector<CopyPair> copies;

private:
  std::optional<std::string> addUp(OpIndex op);
  std::optional<std::string> addDown(OpIndex op);
  std::optional<std::string> checkDeviceOp(OpIndex op) const;
  std::string place(OpIndex op) const { return "ops[" + std::to_string(op) + "]: "; }

  const Problem &problem;
  std::vector<int32_t> copyOf, hostOf; // by value on the device, and by value of the host
};
} // namespace

std::optional<std::string> PairFinder::addUp(OpIndex index) {
  const Op &op = problem.ops[index];
  const ValueIndex value = op.reads[0], host = op.writes[0];
  if (problem.values[value].resident || copyOf[value] >= 0 || hostOf[host] >= 0 ||
      problem.values[value].bytes != problem.values[host].bytes)
    return place(index) + "planning copies other than one up and one down of a value that an op "
                          "writes, with a host value of its own, is not offered";
  copyOf[value] = hostOf[host] = static_cast<int32_t>(copies.size());
  copies.push_back({value, host, index, -1});
  return std::nullopt;
}

std::optional<std::string> PairFinder::addDown(OpIndex index) {
  const Op &op = problem.ops[index];
  const int32_t copy = hostOf[op.reads[0]];
  if (copy < 0 || copies[copy].down >= 0 || copies[copy].value != op.writes[0])
    return place(index) + "planning a host-to-device copy that does not bring back what one "
                          "device-to-host copy took is not offered";
  copies[copy].down = index;
  return std::nullopt;
}

/// Refuses an op of the device that names a value of the host, even where the value has no bytes.
std::optional<std::string> PairFinder::checkDeviceOp(OpIndex index) const {
  for (const auto *list : {&problem.ops[index].reads, &problem.ops[index].writes})
    for (ValueIndex value : *list)
      if (problem.values[value].memory != 0)
        return place(index) + "planning ops on values of the host is not offered";
  return std::nullopt;
}

std::optional<std::string> PairFinder::run() {
  std::vector<bool> isWritten(problem.values.size(), false);
  for (OpIndex op = 0; op < static_cast<OpIndex>(problem.ops.size()); ++op) {
    if (isCopy(problem.ops[op]))
      continue;
    if (std::optional<std::string> why = checkDeviceOp(op))
      return why;
    for (ValueIndex value : problem.ops[op].writes)
      isWritten[value] = true;
  }
  for (Resource resource : {Resource::DeviceToHost, Resource::HostToDevice})
    for (OpIndex op = 0; op < static_cast<OpIndex>(problem.ops.size()); ++op)
      if (problem.ops[op].resource == resource)
        if (std::optional<std::string> why =
                resource == Resource::DeviceToHost ? addUp(op) : addDown(op))
          return why;
  for (const CopyPair &copy : copies)
    if (!isWritten[copy.value])
      return place(copy.up) + "planning copies of a value that no other op writes is not offered";
  for (ValueIndex value : problem.keep)
    if (problem.values[value].memory != 0)
      return std::string("planning values that are kept on the host is not offered");
  llvm::erase_if(copies, [](const CopyPair &copy) { return copy.down < 0; }); // it never comes back
  return std::nullopt;
}

std::optional<std::string> llmmem::planning::checkOffloadable(const Problem &problem) {
  if (problem.moreMemories.size() != 1)
    return "planning copies between other memories than the device and one more is not offered; "
           "--check verifies such plans";
  for (OpIndex index = 0; index < static_cast<OpIndex>(problem.ops.size()); ++index) {
    const Op &op = problem.ops[index];
    std::optional<std::string> what;
    if (!op.alternatives.empty())
      what = "alternatives of ops together with copies";
    else if (isCopy(op) && !isPlainCopy(op))
      what = "copies that must run, or of several values";
    else if (!isCopy(op) && op.optional)
      what = "optional ops other than copies";
    else if (!isCopy(op) && op.resource != Resource::Compute)
      what = "resources other than compute together with copies";
    if (what)
      return "planning " + *what + " is not offered; --check verifies such plans";
  }
  if (std::optional<std::string> why = PairFinder(problem).run())
    return *why + "; --check verifies such plans";
  return std::nullopt;
}

OffloadShape llmmem::planning::takeApart(const Problem &problem) {
  PairFinder finder(problem);
  (void)finder.run();
  OffloadShape shape;
  shape.copies = std::move(finder.copies);
  shape.copyOf.assign(problem.values.size(), -1);
  for (size_t copy = 0; copy < shape.copies.size(); ++copy)
    shape.copyOf[shape.copies[copy].value] = static_cast<int32_t>(copy);
  shape.device.budget = problem.budget;
  shape.device.alignment = problem.alignment;
  shape.device.values = problem.values;
  shape.device.keep = problem.keep;
  for (Value &value : shape.device.values) {
    value.orderOnly = false; // the device alone runs one op at a time
    if (value.memory == 0)
      continue;
    value.memory = 0;
    value.bytes = 0;
    value.resident = false;
  }
  // The values of the host at the end are left out. So withHostCopies followed by this function
  // gives the original problem, and the same plan.
  while (!shape.device.values.empty() && problem.values[shape.device.values.size() - 1].memory != 0)
    shape.device.values.pop_back();
  for (OpIndex op = 0; op < static_cast<OpIndex>(problem.ops.size()); ++op)
    if (!isCopy(problem.ops[op])) {
      shape.device.ops.push_back(problem.ops[op]);
      shape.opOf.push_back(op);
    }
  return shape;
}
