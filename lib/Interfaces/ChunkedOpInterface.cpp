//===- ChunkedOpInterface.cpp ----------------------------------------------===//

#include "llmmem/Interfaces/ChunkedOpInterface.h"

#include "llmmem/Interfaces/ChunkedOpInterface.cpp.inc"
