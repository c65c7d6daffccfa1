//===- Interrupt.cpp - Ctrl-C ends a run after the step at hand ------------===//

#include "Interrupt.h"
#include <csignal>
#include <initializer_list>

// A signal handler has nothing else to write to.
static volatile std::sig_atomic_t caught = 0;

static void remember(int signal) { caught = signal; }

void llmmem::catchInterrupts() {
  struct sigaction action = {};
  action.sa_handler = remember;
  action.sa_flags = SA_RESETHAND | SA_RESTART;
  for (int signal : {SIGINT, SIGTERM})
    sigaction(signal, &action, nullptr);
}

int llmmem::caughtInterrupt() { return caught; }
