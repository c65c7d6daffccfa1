//===- CheckExchanges.cpp - Whether the stages of a pipeline wait for ever ----===//

#include "llmmem/Analysis/OpFacts.h"
#include "llmmem/Analysis/Step.h"
#include "llmmem/Dialect/LlmOps.h"
#include "llmmem/Interfaces/BufferOpInterface.h"
#include "llmmem/Planning/Pipeline/PipelineExchanges.h"
#include "llmmem/Transforms/PipelineStages.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace llmmem;
using llm::LlmDialect;
using planning::Rendezvous;

namespace {
/// Holds what the stages do with each other, and the ops that do it.
struct Meetings {
  std::vector<std::vector<Rendezvous>> stages;
  std::vector<SmallVector<Operation *>> ops;
};
} // namespace

static std::optional<Rendezvous> meetingOf(Operation *op) {
  if (auto exchange = dyn_cast<llm::ExchangeOp>(op)) {
    Rendezvous meeting;
    meeting.sends.assign(exchange.getTo().begin(), exchange.getTo().end());
    meeting.receives.assign(exchange.getFrom().begin(), exchange.getFrom().end());
    return meeting;
  }
  if (meetsOtherStages(op))
    return Rendezvous{{}, {}, /*isOfAll=*/true};
  return std::nullopt;
}

static Meetings findMeetings(ArrayRef<func::FuncOp> stages) {
  Meetings found;
  for (func::FuncOp stage : stages) {
    found.stages.emplace_back();
    found.ops.emplace_back();
    for (Operation &op : stage.getBody().front())
      if (std::optional<Rendezvous> meeting = meetingOf(&op)) {
        found.stages.back().push_back(std::move(*meeting));
        found.ops.back().push_back(&op);
      }
  }
  return found;
}

static std::string nameOf(Operation *op) {
  auto name = op->getAttrOfType<StringAttr>(LlmDialect::kName);
  return name ? " '" + name.str() + "'" : std::string();
}

/// Messages match in order, and then in type: a stage that sends in another order than the next
/// receives gives it another value.
static LogicalResult checkTypes(const Meetings &meetings) {
  for (auto &[send, receive] : planning::matchMessages(meetings.stages)) {
    auto sender = cast<llm::ExchangeOp>(meetings.ops[send.stage][send.op]);
    auto receiver = cast<llm::ExchangeOp>(meetings.ops[receive.stage][receive.op]);
    Type sent = sender.getSent()[send.number].getType(),
         received = receiver.getReceived()[receive.number].getType();
    if (sent == received)
      continue;
    InFlightDiagnostic error = sender.emitError();
    error << "'" << sender->getName() << "'" << nameOf(sender) << " of stage " << send.stage
          << " sends " << sent << " to stage " << receive.stage << ", which receives " << received;
    error.attachNote(receiver.getLoc())
        << "here, by '" << receiver->getName() << "'" << nameOf(receiver);
    return error;
  }
  return success();
}

static LogicalResult checkEnd(ArrayRef<func::FuncOp> stages, const Meetings &meetings) {
  std::optional<planning::Deadlock> found = planning::findDeadlock(meetings.stages);
  if (!found)
    return success();
  Operation *op = meetings.ops[found->stage][found->op];
  InFlightDiagnostic error = op->emitError();
  error << "'" << op->getName() << "'" << nameOf(op) << " of stage " << found->stage
        << " waits for ever for stage " << found->other;
  if (!found->otherOp) {
    func::FuncOp other = stages[found->other];
    error.attachNote(other.getLoc())
        << "@" << other.getName() << " has ended without an op that meets it";
    return error;
  }
  Operation *inTheWay = meetings.ops[found->other][*found->otherOp];
  error.attachNote(inTheWay->getLoc())
      << "which stands at '" << inTheWay->getName() << "'" << nameOf(inTheWay)
      << " and waits too; exchange both at once, or in the same order on both stages";
  return error;
}

static SmallVector<func::FuncOp> findStages(ModuleOp module) {
  SmallVector<func::FuncOp> stages;
  for (func::FuncOp function : findStepFunctions(module))
    if (function->hasAttr(LlmDialect::kStage))
      stages.push_back(function);
  return stages;
}

/// Returns what an op is in the time of its stage. A view is work that takes no time.
static FailureOr<planning::StageEvent> eventOf(Operation &op, const DeviceModel &device) {
  using Kind = planning::StageEvent::Kind;
  if (isa<llm::WaitOp>(op))
    return planning::StageEvent{Kind::Wait};
  if (isViewOp(&op))
    return planning::StageEvent{Kind::Work};
  FailureOr<OpCost> cost = getCost(&op, device);
  if (failed(cost))
    return failure();
  Kind kind = meetingOf(&op) ? Kind::Meeting : llm::isSending(&op) ? Kind::Transfer : Kind::Work;
  return planning::StageEvent{kind, cost->ns, llm::isStarted(&op)};
}

using StageEvents = std::vector<planning::StageEvent>;

static FailureOr<StageEvents> eventsOf(func::FuncOp function, const DeviceModel &device) {
  StageEvents events;
  for (Operation &op : function.getBody().front().without_terminator()) {
    FailureOr<planning::StageEvent> event = eventOf(op, device);
    if (failed(event))
      return failure();
    events.push_back(*event);
  }
  return events;
}

FailureOr<planning::PipelineTime> llmmem::modelPipeline(ModuleOp module,
                                                        ArrayRef<const DeviceModel *> devices) {
  SmallVector<func::FuncOp> stages = findStages(module);
  Meetings meetings = findMeetings(stages);
  std::vector<StageEvents> events;
  for (auto [number, stage] : llvm::enumerate(stages)) {
    const DeviceModel &device = *devices[std::min(number, devices.size() - 1)];
    FailureOr<StageEvents> ofStage = eventsOf(stage, device);
    if (failed(ofStage))
      return failure();
    events.push_back(std::move(*ofStage));
  }
  return planning::modelTime(meetings.stages, events);
}

LogicalResult llmmem::checkExchanges(ModuleOp module) {
  SmallVector<func::FuncOp> stages = findStages(module);
  Meetings meetings = findMeetings(stages);
  for (auto [number, sequence] : llvm::enumerate(meetings.stages))
    for (auto [op, meeting] : llvm::enumerate(sequence))
      for (ArrayRef<int64_t> peers : {ArrayRef(meeting.sends), ArrayRef(meeting.receives)})
        for (int64_t peer : peers)
          if (peer >= static_cast<int64_t>(stages.size()) || peer == static_cast<int64_t>(number))
            return meetings.ops[number][op]->emitError()
                   << "exchanges with stage " << peer << ", and the module has others than "
                   << number << " up to " << stages.size() - 1;
  // An order in which some stage waits for ever may also mismatch messages, so it is reported
  // first.
  if (failed(checkEnd(stages, meetings)))
    return failure();
  return checkTypes(meetings);
}
