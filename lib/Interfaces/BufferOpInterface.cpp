//===- BufferOpInterface.cpp -----------------------------------------------===//

#include "llmmem/Interfaces/BufferOpInterface.h"

#include "llmmem/Interfaces/BufferOpInterface.cpp.inc"
