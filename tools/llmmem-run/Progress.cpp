//===- Progress.cpp - How far a run is, for who waits ----------------------===//

#include "Progress.h"
#include "llmmem/Support/ByteSize.h"
#include "llvm/Support/Format.h"

using namespace llmmem;

Progress::Progress(llvm::raw_ostream &os, bool onTerminal, Run run)
    : os(os), onTerminal(onTerminal), run(run), shown(Clock::now()) {}

void Progress::update(const StepReport &report) {
  Clock::time_point now = Clock::now();
  last = report;
  ++stepsSinceShown;
  // Limits the rate of updates on a terminal.
  std::chrono::duration<double> pause(onTerminal ? 0.1 : run.seconds);
  bool isFirst = onTerminal && !any;
  if (isFirst || now - shown >= pause)
    print(report, now);
}

void Progress::print(const StepReport &report, Clock::time_point now) {
  double seconds = std::chrono::duration<double>(now - shown).count();
  double tokens = static_cast<double>(stepsSinceShown * run.tokensPerStep);
  os << (onTerminal ? "\r" : "") << "step " << report.step << "/" << run.lastStep << "  loss "
     << llvm::format("%.4f", report.loss)
     << (report.droppedChoices ? "  dropped " + std::to_string(*report.droppedChoices) : "") << "  "
     << llvm::format("%.0f", seconds > 0 ? tokens / seconds : 0.0) << " tokens/s  arena "
     << formatByteSize(run.arenaBytes)
     << (onTerminal ? "\033[K" : "\n"); // the old line may have been longer
  os.flush();
  shown = now;
  stepsSinceShown = 0;
  any = true;
}

void Progress::finish() {
  if (stepsSinceShown > 0 && (any || onTerminal))
    print(last, Clock::now());
  if (any && onTerminal)
    os << "\n";
  os.flush();
}
