//===- UpdateOpInterface.cpp - What an optimizer's update is ---------------===//

#include "llmmem/Interfaces/UpdateOpInterface.h"

#include "llmmem/Interfaces/UpdateOpInterface.cpp.inc"
