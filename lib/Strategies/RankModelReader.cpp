//===- RankModelReader.cpp - A rank's program, read by parts ---------------===//

#include "RankModelReader.h"
#include "llmmem/Analysis/OpFacts.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Interfaces/CostOpInterface.h"
#include "llmmem/Planning/Bounds/Bounds.h"
#include "llmmem/Planning/Schedulers/ExposedCosts.h"
#include "llmmem/Transforms/Differentiation.h"

using namespace mlir;
using namespace llmmem;
using planning::OpIndex;
using planning::Phase;

/// The model has three blocks.
static constexpr int64_t kBlocks = 3;

//===----------------------------------------------------------------------===//
// Whose ops and arguments are
//===----------------------------------------------------------------------===//

/// An op without a block lies before all of them, forwards and backwards, or after them.
static llvm::DenseMap<Operation *, int64_t> partsByBlock(func::FuncOp step) {
  llvm::DenseMap<Operation *, int64_t> parts;
  Block &body = step.getBody().front();
  Operation *firstForward = nullptr, *lastBackward = nullptr;
  for (Operation &op : body)
    if (getBlock(&op)) {
      firstForward = firstForward ? firstForward : &op;
      if (getPhase(&op) == Phase::Backward)
        lastBackward = &op;
    }
  bool isAfterFirst = false, isAfterLast = false;
  for (Operation &op : body) {
    isAfterFirst |= &op == firstForward;
    bool isBackward = getPhase(&op) == Phase::Backward;
    bool isFirst = isBackward ? isAfterLast : !isAfterFirst;
    parts[&op] = getBlock(&op).value_or(isFirst ? kFirstPart : kLastPart);
    isAfterLast |= &op == lastBackward;
  }
  return parts;
}

static bool isInput(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument &&
         (getRole(argument) == llm::Role::Input || getRole(argument) == llm::Role::Seed);
}

/// Finds the ops whose operands are inputs, or computed from inputs alone.
static llvm::DenseSet<Operation *> findOpsOfInputs(func::FuncOp step) {
  llvm::DenseSet<Operation *> found;
  for (Operation &op : step.getBody().front())
    if (op.getNumOperands() > 0 && llvm::all_of(op.getOperands(), [&](Value operand) {
          return isInput(operand) || found.contains(operand.getDefiningOp());
        }))
      found.insert(&op);
  return found;
}

/// Adds what reads `value`, and what is computed from it and other inputs alone.
static void addReaders(Value value, const llvm::DenseSet<Operation *> &ofInputs,
                       SmallVector<Operation *> &readers) {
  for (Operation *reader : value.getUsers())
    if (!ofInputs.contains(reader))
      readers.push_back(reader);
    else
      for (Value result : reader->getResults())
        addReaders(result, ofInputs, readers);
}

void RankModelReader::findOwners(func::FuncOp step) {
  llvm::DenseMap<Operation *, int64_t> parts = partsByBlock(step);
  llvm::DenseSet<Operation *> ofInputs = findOpsOfInputs(step);
  for (BlockArgument argument : step.getArguments()) {
    const bool isParameter = getRole(argument) == llm::Role::Param;
    if (!isParameter && !isInput(argument))
      continue;
    SmallVector<Operation *> readers;
    addReaders(argument, ofInputs, readers);
    std::optional<int64_t> owner;
    for (Operation *reader : readers)
      if (getPhase(reader) != Phase::Update && !reader->hasTrait<OpTrait::IsTerminator>()) {
        int64_t part = parts.lookup(reader);
        owner = owner && *owner != part ? (isParameter ? kTiedPart : kNoPart) : part;
      }
    ownerOfArgument[getName(argument)] = owner.value_or(isParameter ? kFirstPart : kNoPart);
  }
}

/// States and gradients are named after their parameters.
int64_t RankModelReader::ownerOf(BlockArgument argument) const {
  std::string name = getName(argument);
  llm::Role role = getRole(argument);
  if (role == llm::Role::OptimizerState || role == llm::Role::Gradient)
    name = StringRef(name).rsplit('.').first.str();
  auto owner = ownerOfArgument.find(name);
  return owner == ownerOfArgument.end() ? kNoPart : owner->second;
}

llvm::DenseMap<Operation *, int64_t> RankModelReader::partsOf(func::FuncOp step) const {
  llvm::DenseMap<Operation *, int64_t> parts = partsByBlock(step);
  for (Operation &op : step.getBody().front()) {
    if (getPhase(&op) != Phase::Update && step.getName() != kUpdateFunction)
      continue;
    // The arguments of an update say whose it is. An op that reads none belongs to what it reads.
    int64_t direct = kNoPart, through = kNoPart;
    auto add = [](int64_t &owner, int64_t other) {
      if (other != kNoPart)
        owner = owner == kNoPart || owner == other ? other : kSharedPart;
    };
    for (Value operand : op.getOperands())
      if (auto argument = dyn_cast<BlockArgument>(operand))
        add(direct, ownerOf(argument));
      else
        add(through, parts.lookup(operand.getDefiningOp()));
    int64_t owner = direct != kNoPart ? direct : through;
    parts[&op] = owner == kNoPart ? kSharedPart : owner;
  }
  return parts;
}

//===----------------------------------------------------------------------===//
// Sums by parts
//===----------------------------------------------------------------------===//

PartModel &RankModelReader::Parts::of(int64_t part) {
  switch (part) {
  case kFirstPart:
    return first;
  case kLastPart:
    return last;
  case kTiedPart:
    return tied;
  case kSharedPart:
    return shared;
  default:
    return part >= 0 && part < kBlocks ? blocks[part] : inputs;
  }
}

/// What the outer blocks have and the inner one lacks belongs to the part next to them.
void RankModelReader::Parts::fold() {
  first += blocks[0];
  first += blocks[1] * -1;
  last += blocks[2];
  last += blocks[1] * -1;
}

void RankModelReader::addResidents(func::FuncOp step, Parts &parts) const {
  for (BlockArgument argument : step.getArguments())
    if (!llm::isOnHost(argument.getType()))
      parts.of(ownerOf(argument)).residentBytes += allocatedBytes(argument.getType());
}

/// Returns the ops of the backward that no other part's backward waits for: gradients of weights.
static llvm::DenseSet<Operation *>
findWeightGradients(func::FuncOp function, const llvm::DenseMap<Operation *, int64_t> &partOf) {
  llvm::DenseSet<Operation *> found;
  for (Operation &op : llvm::reverse(function.getBody().front())) {
    auto waits = [&](Operation *user) {
      return getPhase(user) == Phase::Backward &&
             (partOf.lookup(user) != partOf.lookup(&op) || !found.contains(user));
    };
    if (getPhase(&op) == Phase::Backward && llvm::none_of(op.getUsers(), waits))
      found.insert(&op);
  }
  return found;
}

/// Returns whether it sends several values at once, which may belong to several parts.
static bool isBucket(Operation *op) { return op->getNumResults() > 1 && llm::isStartable(op); }

/// Returns the share of an op in each part: for a bucket the part's share of its bytes; for
/// anything else all in its own part.
static SmallVector<std::pair<int64_t, int64_t>>
sharesOf(Operation *op, int64_t own, llvm::function_ref<int64_t(Value)> partOfValue) {
  if (!isBucket(op))
    return {{own, 1}};
  SmallVector<std::pair<int64_t, int64_t>> shares;
  for (Value operand : op->getOperands()) {
    const int64_t part = partOfValue(operand);
    shares.push_back({part == kNoPart ? own : part, bytesOfType(operand.getType())});
  }
  return shares;
}

void RankModelReader::addCost(PartModel &part, Operation *op, const planning::Op &given,
                              int64_t exposedNs, bool isUpdate, bool isOfWeights) const {
  const bool isOnLink = given.resource == planning::Resource::Link;
  // A model of more blocks has other buckets, so one bucket's time is no bound.
  const int64_t proved = isBucket(op) ? 0 : given.cost;
  if (isUpdate)
    (isOnLink ? part.updateLink : part.updateCompute) += proved;
  else
    (isOnLink ? part.link : part.compute) += proved;
  if (isUpdate) {
    part.update += exposedNs;
    return;
  }
  if (getPhase(op) == Phase::Backward) {
    part.backward += exposedNs;
    part.weights += isOfWeights ? exposedNs : 0;
  } else {
    part.forward += exposedNs;
  }
  if (cast<CostOpInterface>(op).multipliesMatrices())
    part.products += given.cost;
}

void RankModelReader::addCosts(const ExtractedProblem &extracted, const planning::Problem &problem,
                               const planning::Problem &exposed, func::FuncOp function,
                               Parts &parts) const {
  llvm::DenseMap<Operation *, int64_t> partOf = partsOf(function);
  llvm::DenseSet<Operation *> weights = findWeightGradients(function, partOf);
  auto partOfValue = [&](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument ? ownerOf(argument) : partOf.lookup(value.getDefiningOp());
  };
  for (auto [op, given, priced] : llvm::zip_equal(extracted.ops, problem.ops, exposed.ops)) {
    // What sums gradients at the end of a step has the phase of the backward.
    const bool isUpdate = function.getName() == kUpdateFunction || getPhase(op) == Phase::Update;
    SmallVector<std::pair<int64_t, int64_t>> shares = sharesOf(op, partOf.lookup(op), partOfValue);
    int64_t bytesLeft = 0;
    for (auto [part, bytes] : shares)
      bytesLeft += bytes;
    planning::Op left = given;
    int64_t nsLeft = priced.cost;
    for (auto [part, bytes] : shares) {
      // The last part gets what rounding leaves.
      planning::Op share = left;
      share.cost = static_cast<int64_t>(static_cast<__int128>(left.cost) * bytes / bytesLeft);
      const auto ns = static_cast<int64_t>(static_cast<__int128>(nsLeft) * bytes / bytesLeft);
      addCost(parts.of(part), op, share, ns, isUpdate, weights.contains(op));
      bytesLeft -= bytes;
      left.cost -= share.cost;
      nsLeft -= ns;
    }
  }
}

//===----------------------------------------------------------------------===//
// The model
//===----------------------------------------------------------------------===//

FailureOr<std::vector<StepVariant>> RankModelReader::alternativesOf(func::FuncOp function) const {
  StepStorage storage(function);
  if (!storage.isValid())
    return failure();
  return makeStepVariants(function, storage, settings.request, device);
}

static int64_t crossingBytes(const ExtractedProblem &extracted) {
  int64_t bytes = 0;
  for (auto [index, op] : llvm::enumerate(extracted.ops)) {
    if (getPhase(op) == Phase::Backward || getBlock(op).value_or(-1) != 0)
      continue;
    for (planning::ValueIndex value : extracted.problem.ops[index].writes)
      if (llvm::any_of(llvm::seq<size_t>(0, extracted.ops.size()), [&](size_t reader) {
            return getBlock(extracted.ops[reader]) == 1 &&
                   getPhase(extracted.ops[reader]) != Phase::Backward &&
                   llvm::is_contained(extracted.problem.ops[reader].reads, value);
          }))
        bytes += extracted.problem.values[value].bytes;
  }
  return bytes;
}

std::vector<int64_t> RankModelReader::tiedGradients(func::FuncOp step) const {
  std::vector<int64_t> bytes;
  for (BlockArgument argument : step.getArguments())
    if (getRole(argument) == llm::Role::Gradient && ownerOf(argument) == kTiedPart)
      bytes.push_back(bytesOfType(argument.getType()));
  return bytes;
}

/// Each chunk of the loss is a choice.
void RankModelReader::addChoices(const StepVariant &alternative, const Parts &update,
                                 RankModel &model) const {
  for (const planning::Tiling &tiling : alternative.tilings.tilings) {
    RankStepVariant choice;
    const planning::Problem problem = planning::withTiling(alternative.extracted.problem, tiling);
    choice.problem = planning::withExposedCosts(problem);
    Parts parts = update;
    addResidents(alternative.step, parts);
    addCosts(alternative.extracted, problem, choice.problem, alternative.step, parts);
    parts.fold();
    choice.first = parts.first;
    choice.block = parts.blocks[1];
    choice.last = parts.last;
    choice.tied = parts.tied;
    model.inputBytes = parts.inputs.residentBytes;
    model.shared = parts.shared.update;
    const planning::Graph graph(choice.problem);
    int64_t needed = planning::peakLowerBound(graph).bytes - graph.residentBytes();
    model.largestOp = model.choices.empty() ? needed : std::min(model.largestOp, needed);
    model.choices.push_back(std::move(choice));
  }
}

FailureOr<RankModel> RankModelReader::read(ModuleOp few, const RankShape &shape) {
  FailureOr<RankProgram> program = buildRankProgram(few, shape, settings, device);
  if (failed(program))
    return failure();
  findOwners(program->step);
  RankModel model;
  model.hasOverlap = settings.request.overlap;
  Parts update;
  if (program->update) {
    FailureOr<std::vector<StepVariant>> alternatives = alternativesOf(program->update);
    if (failed(alternatives))
      return failure();
    StepVariant &once = alternatives->front();
    addCosts(once.extracted, once.extracted.problem,
             planning::withExposedCosts(once.extracted.problem), once.step, update);
    const planning::Graph graph(once.extracted.problem);
    model.updateBytes =
        planning::profile(graph, planning::givenOrder(graph)).peak - graph.residentBytes();
  }
  FailureOr<std::vector<StepVariant>> alternatives = alternativesOf(program->step);
  if (failed(alternatives))
    return failure();
  for (const StepVariant &alternative : *alternatives)
    addChoices(alternative, update, model);
  model.tiedBytes = tiedGradients(program->step);
  model.crossingBytes = crossingBytes(alternatives->front().extracted);
  model.blocks.resize(model.choices.size());
  model.known.resize(model.choices.size());
  const RankStepVariant &choice = model.choices.front();
  int64_t all = choice.first.residentBytes + kBlocks * choice.block.residentBytes +
                choice.last.residentBytes + choice.tied.residentBytes;
  // Work that reads all parameters grows with their bytes.
  if (all > 0)
    model.sharedStep = static_cast<int64_t>(static_cast<__int128>(model.shared) *
                                            choice.block.residentBytes / all);
  return model;
}
