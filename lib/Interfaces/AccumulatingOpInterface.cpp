//===- AccumulatingOpInterface.cpp - Sums that go on in place ------------===//

#include "llmmem/Interfaces/AccumulatingOpInterface.h"

#include "llmmem/Interfaces/AccumulatingOpInterface.cpp.inc"
