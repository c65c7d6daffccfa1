//===- Progress.h - How far a run is, for who waits ------------------------===//
//
//   step 120/500  loss 2.4071  5214 tokens/s  arena 48.23 MB
//
// On a terminal it is one line, written over itself; elsewhere it is a line every few seconds, so
// that a short run says nothing. It goes to stderr, since stdout is for programs.
//
//===----------------------------------------------------------------------===//

#ifndef LLMMEM_TOOLS_LLMMEM_RUN_PROGRESS_H
#define LLMMEM_TOOLS_LLMMEM_RUN_PROGRESS_H

#include "llmmem/Execution/TrainingRun.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>

namespace llmmem {

class Progress {
public:
  struct Run {
    int64_t lastStep = 0, tokensPerStep = 0, arenaBytes = 0;
    double seconds = 5; // between two lines, where there is no terminal
  };

  Progress(llvm::raw_ostream &os, bool onTerminal, Run run);

  void update(const StepReport &report);
  /// Leaves the last line standing.
  void finish();

private:
  using Clock = std::chrono::steady_clock;

  void print(const StepReport &report, Clock::time_point now);

  llvm::raw_ostream &os;
  bool onTerminal;
  Run run;
  Clock::time_point shown;     // when the last line was written
  int64_t stepsSinceShown = 0; // which the rate is the mean of
  bool any = false;
  StepReport last;
};

} // namespace llmmem

#endif // LLMMEM_TOOLS_LLMMEM_RUN_PROGRESS_H
