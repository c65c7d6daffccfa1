//===- Interrupt.h - Ctrl-C ends a run after the step at hand --------------===//

#ifndef LLMMEM_TOOLS_LLMMEM_RUN_INTERRUPT_H
#define LLMMEM_TOOLS_LLMMEM_RUN_INTERRUPT_H

namespace llmmem {

/// Catches signals: from now on the first SIGINT or SIGTERM is only recorded; the next one of its
/// kind ends the process as by default.
void catchInterrupts();

/// Returns the recorded signal, or 0 if there is none.
int caughtInterrupt();

} // namespace llmmem

#endif // LLMMEM_TOOLS_LLMMEM_RUN_INTERRUPT_H
