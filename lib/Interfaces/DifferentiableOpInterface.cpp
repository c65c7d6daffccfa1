//===- DifferentiableOpInterface.cpp ---------------------------------------===//

#include "llmmem/Interfaces/DifferentiableOpInterface.h"

#include "llmmem/Interfaces/DifferentiableOpInterface.cpp.inc"
