//===- DifferentiableOpInterface.cpp - Vector-Jacobian products ----------===//

#include "llmmem/Interfaces/DifferentiableOpInterface.h"

#include "llmmem/Interfaces/DifferentiableOpInterface.cpp.inc"
