//===- FillableOpInterface.cpp ----------------------------------------------===//

#include "llmmem/Interfaces/FillableOpInterface.h"

#include "llmmem/Interfaces/FillableOpInterface.cpp.inc"
