//===- OpFacts.cpp - What the attributes of an op or value say -------------===//

#include "llmmem/Analysis/OpFacts.h"
#include "llmmem/Analysis/OpDescription.h"
#include "llmmem/Dialect/LlmAnnotations.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Dialect/TargetInterface.h"
#include "llmmem/Interfaces/BufferOpInterface.h"
#include "llmmem/Interfaces/Bytes.h"
#include "llmmem/Interfaces/CostOpInterface.h"
#include "llmmem/Interfaces/KernelKind.h"
#include "llmmem/Layout/LoopLayout.h"
#include "llmmem/Layout/Workspaces.h"
#include "llmmem/Upstream/Loops.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;

planning::Phase llmmem::getPhase(Operation *op) {
  std::optional<llm::Phase> phase = llm::readPhase(op);
  if (!phase)
    return planning::Phase::None;
  switch (*phase) {
  case llm::Phase::Forward:
    return planning::Phase::Forward;
  case llm::Phase::Backward:
    return planning::Phase::Backward;
  case llm::Phase::Update:
    return planning::Phase::Update;
  }
  llvm_unreachable("all phases are listed");
}

std::optional<int64_t> llmmem::getBlock(Operation *op) {
  if (auto block = op->getAttrOfType<IntegerAttr>(LlmDialect::kBlock))
    return block.getInt();
  return std::nullopt;
}

std::optional<int64_t> llmmem::getMicroBatch(Operation *op) {
  if (auto number = op->getAttrOfType<IntegerAttr>(LlmDialect::kMicroBatch))
    return number.getInt();
  return std::nullopt;
}

/// Returns the name that ODS gives a result ("mean"), for ops with several.
static std::string getResultName(OpResult result) {
  std::string name = std::to_string(result.getResultNumber());
  if (auto asmInterface = dyn_cast<OpAsmOpInterface>(result.getOwner()))
    asmInterface.getAsmResultNames([&](Value value, StringRef text) {
      if (value == result && !text.empty())
        name = text.str();
    });
  return name;
}

std::string llmmem::getName(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
    auto name =
        function ? function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), LlmDialect::kName)
                 : StringAttr();
    return name ? name.str() : "argument" + std::to_string(argument.getArgNumber());
  }
  auto result = cast<OpResult>(value);
  Operation *op = result.getOwner();
  if (auto names = op->getAttrOfType<ArrayAttr>(LlmDialect::kResultNames);
      names && names.size() == op->getNumResults())
    if (auto name = dyn_cast<StringAttr>(names[result.getResultNumber()]))
      return name.str();
  auto name = op->getAttrOfType<StringAttr>(LlmDialect::kName);
  std::string text = name ? name.str() : op->getName().getStringRef().str();
  if (op->getNumResults() > 1 && result.getResultNumber() > 0)
    text += "." + getResultName(result);
  return text;
}

llm::Role llmmem::getRole(BlockArgument argument) {
  auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  std::optional<llm::Role> role =
      function ? llm::readRole(function, argument.getArgNumber()) : std::nullopt;
  return role.value_or(llm::Role::Input);
}

/// Returns what a table calls a kernel that a library multiplies for, which has prices of its own.
static std::string nameByLibrary(const std::string &name) { return "library " + name; }

/// Returns the kernel whose measured factor holds for `op`.
static std::string pricedKind(Operation *op, const DeviceModel &device) {
  Operation *matmul = matmulIn(op);
  SmallVector<std::string, 4> kinds;
  for (bool byLibrary : {true, false})
    for (Operation *named : {op, matmul})
      if (named && (!byLibrary || isForLibrary(op)))
        kinds.push_back(byLibrary ? nameByLibrary(kernelKind(named)) : kernelKind(named));
  auto known = llvm::find_if(
      kinds, [&](const std::string &kind) { return device.permilleOfKernels.contains(kind); });
  return known == kinds.end() ? kinds.back() : *known;
}

/// Returns the format whose rate a device's table has for products of a type.
static NumberFormat numbersOf(Type element) {
  if (element.isF64())
    return NumberFormat::F64;
  if (element.isBF16() || element.isF16())
    return NumberFormat::BF16;
  if (element.isInteger(4) || element.isInteger(8))
    return element.isInteger(4) ? NumberFormat::I4 : NumberFormat::I8;
  return isa<Float8E4M3FNType, Float8E5M2Type>(element) ? NumberFormat::F8 : NumberFormat::F32;
}

/// Returns the format of the numbers that the op works on: that of what it unpacks, else that of
/// its tensors. Scalars such as a loss do not count.
static NumberFormat numbersOfWork(Operation *op) {
  Operation *matmul = matmulIn(op);
  if (auto cost = dyn_cast<CostOpInterface>(matmul ? matmul : op))
    if (Type unpacked = cost.getUnpackedType())
      return numbersOf(unpacked);
  for (Type type : llvm::concat<const Type>(op->getResultTypes(), op->getOperandTypes()))
    if (auto tensor = dyn_cast<RankedTensorType>(type); tensor && tensor.getRank() > 0)
      return numbersOf(tensor.getElementType());
  return NumberFormat::F32;
}

/// Returns count * ns + more, at most INT64_MAX.
static int64_t saturated(int64_t count, int64_t ns, int64_t more) {
  uint64_t sum = llvm::SaturatingMultiplyAdd<uint64_t>(count, ns, more);
  return std::min<uint64_t>(sum, INT64_MAX);
}

static int64_t modelledNs(Operation *op, const DeviceModel &device);

/// Sums the kernels of the body one after another, and the copies at the end of a round; all of
/// that as often as the loop runs.
static int64_t modelledNs(LoopLikeOpInterface loop, const DeviceModel &device) {
  int64_t round = 0;
  for (Operation &op : loop.getLoopRegions().front()->front().without_terminator())
    if (!isFreeInLoop(op))
      round = saturated(1, round, modelledNs(&op, device));
  if (int64_t copied = LoopLayout(loop).getBytesCopied())
    round = saturated(1, round,
                      device.time(0, copied, numbersOfWork(loop), loop->getName().getStringRef()));
  return saturated(countLoopRounds(loop).value_or(0), round, 0);
}

static int64_t modelledNs(Operation *op, const DeviceModel &device) {
  if (auto loop = dyn_cast<LoopLikeOpInterface>(op))
    return modelledNs(loop, device);
  NumberFormat numbers = numbersOfWork(op);
  int64_t sum = 0;
  SmallVector<KernelCost> kernels = cast<CostOpInterface>(op).getKernelCosts();
  if (const llm::TargetInterface *targets = llm::getTargets(op))
    if (std::optional<KernelCost> adding = targets->getSumPartsKernel(op))
      kernels.push_back(*adding);
  for (KernelCost kernel : kernels) {
    int64_t ns = device.time(kernel.flops, kernel.bytesMoved, numbers, pricedKind(op, device));
    sum = ns > INT64_MAX - sum ? INT64_MAX : sum + ns;
  }
  return sum;
}

static std::optional<int64_t> measuredNs(Operation *op, const DeviceModel &device) {
  if (device.measuredNs.empty())
    return std::nullopt;
  std::string key = kernelKey(op);
  auto known = device.measuredNs.end();
  if (isForLibrary(op))
    known = device.measuredNs.find(nameByLibrary(key));
  if (known == device.measuredNs.end())
    known = device.measuredNs.find(key);
  return known == device.measuredNs.end() ? std::nullopt : std::optional(known->second);
}

/// A matmul with an epilogue that was not timed takes as much longer than the matmul, if that
/// was, as the model says.
static int64_t unmeasuredNs(Operation *op, const DeviceModel &device) {
  int64_t ns = modelledNs(op, device);
  Operation *matmul = matmulIn(op);
  std::optional<int64_t> measured = matmul ? measuredNs(matmul, device) : std::nullopt;
  if (!measured || ns == INT64_MAX)
    return ns;
  int64_t more = std::max<int64_t>(ns - modelledNs(matmul, device), 0);
  return *measured > INT64_MAX - more ? INT64_MAX : *measured + more;
}

/// Returns the axes of the group that `op` sends to; null where it does not say.
static ArrayAttr axesOf(Operation *op) {
  auto vocabulary = op->getAttrOfType<llm::VocabularyAttr>("vocabulary");
  return vocabulary ? vocabulary.getAxes() : op->getAttrOfType<ArrayAttr>("axes");
}

/// Returns where the group of a collective is, with ranks numbered row-major over the mesh and
/// nodes filled in that order. Parts of nodes that hold no whole groups make some of them cross.
static GroupPlace placeOf(Operation *op, const TransferCost &transfer, const DeviceModel &device) {
  ArrayAttr axes = axesOf(op);
  auto function = op->getParentOfType<func::FuncOp>();
  auto mesh = function ? function->getAttrOfType<llm::MeshAttr>(LlmDialect::kMesh) : nullptr;
  GroupPlace place;
  if (device.devicesPerNode == 0 || !axes || !mesh || mesh.getNumRanks() <= device.devicesPerNode)
    return place;
  int64_t stride = 1;
  for (size_t axis = mesh.getSizes().size(); axis-- > 0;) {
    int64_t size = mesh.getSizes()[axis];
    if (size > 1 && llvm::is_contained(axes, mesh.getNames()[axis])) {
      place.perNode *= std::clamp<int64_t>(device.devicesPerNode / stride, 1, size);
      place.crossesNodes |= device.devicesPerNode % (stride * size) != 0;
    }
    stride *= size;
  }
  // One message from one device to another is no ring.
  if (transfer.messages <= 1)
    place.perNode = 1;
  return place;
}

static LogicalResult failNoLink(Operation *op, const DeviceModel &device) {
  return op->emitError()
         << "sends to other devices, and the table of '" << device.name
         << "' has no link to them; give it one: \"links\": [{\"name\": \"nvlink\", "
            "\"to\": \"device\", \"up_bytes_per_ns\": 450, "
            "\"down_bytes_per_ns\": 450, \"latency_ns\": 2000}]";
}

/// Returns the time of what an op sends to other devices, and of the copies around it. A time that
/// is modelled and not measured is at least `least`.
static FailureOr<MeasuredTime> sendingNs(Operation *op, const TransferCost &transfer,
                                         const DeviceModel &device, int64_t least) {
  GroupPlace place = placeOf(op, transfer, device);
  int64_t copies = llvm::divideCeil(transfer.copied, device.bytesPerNs);
  StringRef name = transfer.measuredAs.empty() ? op->getName().stripDialect() : transfer.measuredAs;
  std::optional<MeasuredTime> measured =
      device.measuredTransferTime(name, transfer.ranks, transfer.whole);
  if (measured && !place.crossesNodes)
    return MeasuredTime{saturated(transfer.times, measured->ns, copies),
                        measured->isExact && copies == 0};
  if (transfer.bytes < 0)
    return op->emitError("sends more than 2^63 bytes; make the value or the group smaller");
  std::optional<int64_t> ns = device.transferTime(transfer.messages, transfer.bytes, place);
  if (!ns)
    return failNoLink(op, device);
  // A launch is in the time of one.
  int64_t modelled = saturated(transfer.times - 1, device.launchNs, saturated(1, *ns, copies));
  return MeasuredTime{std::max(modelled, least)};
}

/// Sets the time of a collective. The key of a kernel does not say over how many ranks it ran, so
/// no time of a kernel is taken for it.
static LogicalResult setTimeOfCollective(Operation *op, const TransferCost &transfer,
                                         const DeviceModel &device, OpCost &cost) {
  cost.ns = modelledNs(op, device);
  if (transfer.messages == 0)
    return success();
  FailureOr<MeasuredTime> sending = sendingNs(op, transfer, device, /*least=*/cost.ns);
  if (failed(sending))
    return failure();
  cost.measured = sending->isExact;
  cost.ns = cost.sendingNs = sending->ns;
  return success();
}

/// Sets the time of an op that computes, and of what it sends between its kernels.
static LogicalResult setTimeOfWork(Operation *op, const std::optional<TransferCost> &transfer,
                                   const DeviceModel &device, OpCost &cost) {
  std::optional<int64_t> measured = transfer ? std::nullopt : measuredNs(op, device);
  cost.measured = measured.has_value();
  cost.ns = measured ? *measured : unmeasuredNs(op, device);
  if (!transfer || transfer->messages == 0)
    return success();
  FailureOr<MeasuredTime> sending = sendingNs(op, *transfer, device, /*least=*/0);
  if (failed(sending))
    return failure();
  cost.sendingNs = sending->ns;
  cost.ns = saturated(1, cost.ns, sending->ns);
  return success();
}

/// Sets the time of an op that runs on the host.
static LogicalResult setTimeOnHost(Operation *op, const DeviceModel &device, OpCost &cost) {
  std::optional<int64_t> ns = device.hostTime(cost.bytesMoved);
  if (!ns)
    return op->emitError() << "runs on the host, and the table of '" << device.name
                           << "' does not say what that moves; give it one: \"host\": "
                              "{\"bytes_per_ns\": 50}";
  cost.ns = *ns;
  return success();
}

/// Adds the time of what an op sends by its op table, over the link to other devices of a node.
static LogicalResult addTransferTime(Operation *op, const DeviceModel &device, OpCost &cost) {
  auto transfer = op->getAttrOfType<DenseI64ArrayAttr>(kTransferAttribute);
  if (!transfer || transfer.size() != 2)
    return success();
  std::optional<int64_t> ns = device.transferTime(transfer[0], transfer[1]);
  if (!ns)
    return failNoLink(op, device);
  cost.sendingNs = *ns;
  cost.ns = saturated(1, cost.ns, *ns);
  return success();
}

/// Returns the time of a copy to the host or back that the program itself has.
static FailureOr<OpCost> costOfHostCopy(Operation *op, const DeviceModel &device) {
  const DeviceLink *link = device.linkTo(DeviceLink::To::Host);
  if (!link)
    return op->emitError() << "copies over the link to the host, and the table of '" << device.name
                           << "' has none; give it one: \"links\": [{\"name\": \"pcie\", "
                              "\"to\": \"host\", \"up_bytes_per_ns\": 25, "
                              "\"down_bytes_per_ns\": 25, \"latency_ns\": 2000}]";
  int64_t bytes = bytesOfType(op->getResult(0).getType());
  int64_t rate = isa<llm::CopyToHostOp>(op) ? link->upBytesPerNs : link->downBytesPerNs;
  OpCost cost;
  cost.bytesMoved = bytes;
  cost.ns = saturated(1, llvm::divideCeil(bytes, std::max<int64_t>(rate, 1)), link->latencyNs);
  return cost;
}

/// Returns what `llm.cost` says about an op that does not price itself. Its time is taken as it is
/// written; 0 leaves it to the table of the device.
static FailureOr<OpCost> writtenCost(Operation *op, const DeviceModel &device) {
  OpCost cost;
  if (isViewOp(op) || isResidentOp(op))
    return cost;
  auto written = op->getAttrOfType<llm::CostAttr>(LlmDialect::kCost);
  if (!written && llm::isHostCopy(op))
    return costOfHostCopy(op, device);
  if (!written)
    return op->emitError()
           << "'" << op->getName() << "' has no cost, so no plan can be priced; write '"
           << LlmDialect::kCost
           << "' on it, describe it in an op table (--op-table=FILE), price it by the bytes that "
              "it "
              "reads and writes (--unpriced=by-bytes), or implement CostOpInterface";
  cost = {written.getFlops(), written.getBytes(), written.getNs(), written.getWorkspace()};
  if (cost.flops < 0 || cost.bytesMoved < 0 || cost.ns < 0 || cost.workspace < 0)
    return op->emitError() << "has '" << LlmDialect::kCost << "' = " << written
                           << ", expected numbers of 0 or more";
  if (cost.ns > 0)
    return cost;
  if (cost.flops > 0 || cost.bytesMoved > 0)
    cost.ns =
        device.time(cost.flops, cost.bytesMoved, numbersOfWork(op), op->getName().getStringRef());
  if (failed(addTransferTime(op, device, cost)))
    return failure();
  return cost;
}

FailureOr<OpCost> llmmem::getCost(Operation *op, const DeviceModel &device) {
  if (!pricesItself(op))
    return writtenCost(op, device);
  auto interface = cast<CostOpInterface>(op);
  if (auto loop = dyn_cast<LoopLikeOpInterface>(op); loop && failed(checkLoopHasCost(loop)))
    return failure();
  OpCost cost;
  cost.flops = interface.getFlops();
  cost.bytesMoved = interface.getBytesMoved();
  cost.workspace = interface.getWorkspaceBytes();
  if (cost.flops < 0 || cost.bytesMoved < 0 || cost.workspace < 0)
    return op->emitError(
        "costs more than 2^63 FLOPs or bytes; make the batch, the sequence or the model smaller");
  // A view costs nothing, not even a launch.
  if (cost.flops == 0 && cost.bytesMoved == 0)
    return cost;
  std::optional<TransferCost> transfer = interface.getTransfer();
  bool isCollective = transfer && !transfer->betweenKernels;
  LogicalResult priced = llm::runsOnHost(op) ? setTimeOnHost(op, device, cost)
                         : isCollective      ? setTimeOfCollective(op, *transfer, device, cost)
                                             : setTimeOfWork(op, transfer, device, cost);
  if (failed(priced))
    return failure();
  return cost;
}

Attribute llmmem::toAttribute(const OpCost &cost, MLIRContext *context) {
  return llm::CostAttr::get(context, cost.flops, cost.bytesMoved, cost.ns, cost.workspace);
}

bool llmmem::isRecomputable(Operation *op) {
  if (auto buffers = dyn_cast<BufferOpInterface>(op))
    return buffers.isRecomputable() && isMemoryEffectFree(op);
  return isFreeOfEffects(op);
}

bool llmmem::meetsOtherStages(Operation *op) {
  Operation *function = op->getParentOp();
  if (!function || !function->hasAttr(LlmDialect::kStage) || isViewOp(op))
    return false;
  auto axes = op->getAttrOfType<ArrayAttr>("axes");
  return !isMemoryEffectFree(op) ||
         (axes && llvm::is_contained(axes.getAsValueRange<StringAttr>(), "pp"));
}
