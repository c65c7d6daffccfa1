//===- GroupableOpInterface.cpp - Who may share a kernel -----------------===//

#include "llmmem/Interfaces/GroupableOpInterface.h"

#include "llmmem/Interfaces/GroupableOpInterface.cpp.inc"
