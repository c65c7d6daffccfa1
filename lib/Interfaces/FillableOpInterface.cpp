//===- FillableOpInterface.cpp - Constants of one number -----------------===//

#include "llmmem/Interfaces/FillableOpInterface.h"

#include "llmmem/Interfaces/FillableOpInterface.cpp.inc"
