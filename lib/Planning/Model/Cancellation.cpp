//===- Cancellation.cpp - Cancelling a call of the planner --------------------===//

#include "llmmem/Planning/Model/Cancellation.h"

using namespace llmmem::planning;

bool Cancellation::ask() {
  constexpr std::chrono::milliseconds interval(2);
  const std::chrono::steady_clock::time_point now = std::chrono::steady_clock::now();
  if (now - last < interval)
    return false;
  last = now;
  return asked = question();
}

void Cancellation::stop() { throw Cancelled(); }
