//===- Interrupt.h - Ctrl-C ends a run after the step at hand --------------===//

#ifndef LLMMEM_TOOLS_LLMMEM_RUN_INTERRUPT_H
#define LLMMEM_TOOLS_LLMMEM_RUN_INTERRUPT_H

namespace llmmem {

/// From now on the first SIGINT or SIGTERM is only remembered; the next one of its kind ends the
/// process as it always did.
void catchInterrupts();

/// The signal that came; 0 where none did.
int caughtInterrupt();

} // namespace llmmem

#endif // LLMMEM_TOOLS_LLMMEM_RUN_INTERRUPT_H
