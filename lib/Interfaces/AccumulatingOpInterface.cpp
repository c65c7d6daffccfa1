//===- AccumulatingOpInterface.cpp -----------------------------------------===//

#include "llmmem/Interfaces/AccumulatingOpInterface.h"

#include "llmmem/Interfaces/AccumulatingOpInterface.cpp.inc"
