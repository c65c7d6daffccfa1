//===- ChunkedOpInterface.cpp - Ops that work in chunks ------------------===//

#include "llmmem/Interfaces/ChunkedOpInterface.h"

#include "llmmem/Interfaces/ChunkedOpInterface.cpp.inc"
