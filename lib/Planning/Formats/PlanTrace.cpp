//===- PlanTrace.cpp - A plan in the Trace Event Format ------------------------===//
//
// "Trace Event Format" of the Chromium project: complete events ("X") of one thread lie within each
// other or do not overlap, a counter ("C") holds its values until its next event, and times are in
// microseconds.
//
//===----------------------------------------------------------------------===//

#include "llmmem/Planning/Formats/PlanTimeline.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace llmmem::planning {
namespace {

constexpr int64_t process = 1;

class TraceWriter {
public:
  TraceWriter(const Problem &problem, const PlanTimeline &timeline, llvm::raw_ostream &os)
      : problem(problem), timeline(timeline), json(os) {}

  void run() {
    json.object([&] {
      json.attribute("displayTimeUnit", "ms");
      json.attributeObject("otherData", [&] {
        json.attribute("times", timeline.isMeasured ? "measured" : "predicted");
        json.attribute("peak_bytes", timeline.peak);
        json.attribute("arena_bytes", timeline.arena);
      });
      json.attributeArray("traceEvents", [&] {
        writeNames();
        writeParts();
        for (size_t step = 0; step < timeline.steps.size(); ++step)
          writeStep(step);
        writeCounters();
      });
    });
  }

private:
  const Op &opAt(size_t step) const { return problem.ops[timeline.steps[step].op]; }

  static int64_t threadOf(Resource resource) { return static_cast<int64_t>(resource) + 1; }

  void writeName(llvm::StringRef kind, int64_t thread, llvm::StringRef name) {
    json.object([&] {
      json.attribute("name", kind);
      json.attribute("ph", "M");
      json.attribute("pid", process);
      json.attribute("tid", thread);
      json.attributeObject("args", [&] { json.attribute("name", name); });
    });
  }

  void writeNames() {
    writeName("process_name", 0,
              timeline.isMeasured ? "llmmem plan, measured" : "llmmem plan, predicted");
    for (Resource resource : allResources)
      if (llvm::any_of(problem.ops, [&](const Op &op) { return op.resource == resource; }))
        writeName("thread_name", threadOf(resource), nameOf(resource));
  }

  template <typename Arguments>
  void writeSlice(const std::string &name, llvm::StringRef category, int64_t thread, int64_t start,
                  int64_t end, Arguments arguments) {
    json.object([&] {
      json.attribute("name", llvm::json::isUTF8(name) ? name : llvm::json::fixUTF8(name));
      json.attribute("cat", category);
      json.attribute("ph", "X");
      json.attribute("ts", 1e-3 * static_cast<double>(start));
      json.attribute("dur", 1e-3 * static_cast<double>(end - start));
      json.attribute("pid", process);
      json.attribute("tid", thread);
      json.attributeObject("args", arguments);
    });
  }

  /// Writes the runs of compute steps that have one phase, and within them the runs of one block. A
  /// repeated run counts to the phase that contains it.
  void writeParts() {
    struct Part {
      std::string name;
      int64_t start = 0, end = 0;
    };
    Part phase, block;
    auto close = [&](Part &part, llvm::StringRef category) {
      if (!part.name.empty() && part.end > part.start)
        writeSlice(part.name, category, threadOf(Resource::Compute), part.start, part.end, [] {});
      part.name.clear();
    };
    auto extend = [](Part &part, const std::string &name, const TimelineStep &step) {
      if (part.name.empty())
        part = {name, step.start, step.end};
      part.end = step.end;
    };
    static constexpr llvm::StringLiteral names[] = {"", "forward", "backward", "update"};
    std::string current;
    for (size_t number = 0; number < timeline.steps.size(); ++number) {
      const Op &op = opAt(number);
      if (op.resource != Resource::Compute)
        continue;
      const TimelineStep &step = timeline.steps[number];
      if (step.run == 0)
        current = names[static_cast<size_t>(op.phase)];
      const std::string blockName = op.block ? "block " + std::to_string(*op.block) : "";
      if (blockName != block.name || current != phase.name)
        close(block, "block");
      if (current != phase.name)
        close(phase, "phase");
      extend(phase, current, step);
      extend(block, blockName, step);
    }
    close(block, "block");
    close(phase, "phase");
  }

  void writeStep(size_t number) {
    const TimelineStep &step = timeline.steps[number];
    const Op &op = opAt(number);
    writeSlice(op.name, step.run > 0 ? "recompute" : "step", threadOf(op.resource), step.start,
               step.end, [&] {
                 json.attribute("step", static_cast<int64_t>(number));
                 json.attribute("result", llvm::json::fixUTF8(nameOfResult(problem, op)));
                 json.attribute("run", step.run);
                 json.attribute("live_bytes", step.live);
                 json.attribute("workspace_bytes", op.workspace);
               });
  }

  void writeCounter(int64_t time, const std::vector<int64_t> &bytes) {
    json.object([&] {
      json.attribute("name", "live bytes");
      json.attribute("ph", "C");
      json.attribute("ts", 1e-3 * static_cast<double>(time));
      json.attribute("pid", process);
      json.attributeObject("args", [&] {
        json.attribute("resident", timeline.resident);
        for (BufferKind kind : allBufferKinds)
          json.attribute(llvm::StringRef(nameOf(kind)), bytes[static_cast<size_t>(kind)]);
      });
    });
  }

  void writeCounters() {
    const size_t count = timeline.steps.size();
    std::vector<std::vector<int64_t>> change(count + 1,
                                             std::vector<int64_t>(std::size(allBufferKinds), 0));
    for (const TimelineBuffer &buffer : timeline.buffers) {
      change[buffer.from][static_cast<size_t>(buffer.kind)] += buffer.bytes;
      change[buffer.to + 1][static_cast<size_t>(buffer.kind)] -= buffer.bytes;
    }
    std::vector<int64_t> bytes(std::size(allBufferKinds), 0);
    int64_t now = 0; // a step of another resource may start before the step that precedes it
    for (size_t step = 0; step < count; ++step) {
      for (size_t kind = 0; kind < bytes.size(); ++kind)
        bytes[kind] += change[step][kind];
      now = std::max(now, timeline.steps[step].start);
      writeCounter(now, bytes);
    }
  }

  const Problem &problem;
  const PlanTimeline &timeline;
  llvm::json::OStream json;
};

} // namespace

std::string traceJson(const Problem &problem, const PlanTimeline &timeline) {
  std::string text;
  llvm::raw_string_ostream os(text);
  TraceWriter(problem, timeline, os).run();
  text += '\n';
  return text;
}

} // namespace llmmem::planning
